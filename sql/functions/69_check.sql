-- What order-sweep check asks.  Nothing here writes; a finding is a level (ok,
-- note, warn, fail), the sweep it belongs to (NULL: all), what it is about, what
-- was found, why that matters, and how to mend it.  A note is what may be so on
-- purpose.

CREATE OR REPLACE FUNCTION order_sweep.check_plan(
    sweep text, argument text, plan json)
RETURNS TABLE (level text, item text, what text, why text, mend text)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
SET standard_conforming_strings = on
AS $$
#variable_conflict use_column
DECLARE
    s order_sweep.sweep;
BEGIN
    SELECT * INTO STRICT s FROM order_sweep.sweep d WHERE d.name = check_plan.sweep;
    IF argument = 'look' THEN
        RETURN QUERY SELECT * FROM order_sweep.check_index(s, plan);
    ELSIF argument = 'look, whole' THEN
        RETURN QUERY SELECT * FROM order_sweep.check_look(s);
        RETURN QUERY SELECT * FROM order_sweep.check_failures(s);
        RETURN QUERY SELECT * FROM order_sweep.check_retention(s);
        RETURN QUERY SELECT * FROM order_sweep.check_events(s);
    ELSIF argument = 'look, rules' THEN
        RETURN QUERY SELECT * FROM order_sweep.check_payments(s, plan);
    ELSIF argument LIKE 'each%' THEN
        RETURN QUERY SELECT * FROM order_sweep.check_inserts(argument, plan);
    ELSIF argument = 'set' THEN
        RETURN QUERY SELECT * FROM order_sweep.check_nulls(s, plan);
    ELSIF argument LIKE 'unless%' OR argument IN ('unpaid', 'paid') THEN
        RETURN QUERY SELECT * FROM order_sweep.check_hidden(s, argument, plan);
    END IF;
END $$;
COMMENT ON FUNCTION order_sweep.check_plan IS
    'what the plan of a part of a definition tells';

CREATE OR REPLACE FUNCTION order_sweep.check(
    role text DEFAULT NULL, patience interval DEFAULT '5 minutes')
RETURNS TABLE (level text, sweep text, item text, what text, why text, mend text)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
SET standard_conforming_strings = on
AS $$
#variable_conflict use_column
DECLARE
    s order_sweep.sweep;
BEGIN
    RETURN QUERY SELECT c.level, NULL, c.item, c.what, c.why, c.mend
      FROM (SELECT * FROM order_sweep.check_server(patience)
            UNION ALL SELECT * FROM order_sweep.check_database()
            UNION ALL SELECT * FROM order_sweep.check_read_only(role)
            UNION ALL SELECT * FROM order_sweep.check_login(role)) c;
    RETURN QUERY SELECT c.level, NULL, c.item, c.what, c.why, c.mend
      FROM order_sweep.check_role(role) c;
    FOR s IN SELECT * FROM order_sweep.sweep d ORDER BY d.name LOOP
        IF NOT order_sweep.owner_exists(s) THEN
            level := 'fail';
            sweep := s.name;
            item := 'owner';
            what := format('role %I, which it belongs to, does not exist', s.owner);
            why := 'Its functions went with the role: every run of it fails.';
            mend := format('SELECT order_sweep.undefine(%L);', s.name);
            RETURN NEXT;
            CONTINUE;
        END IF;
        RETURN QUERY SELECT c.level, s.name, c.item, c.what, c.why, c.mend FROM (
            SELECT * FROM order_sweep.check_functions(s)
            UNION ALL SELECT * FROM order_sweep.check_owner(s)
            UNION ALL SELECT * FROM order_sweep.check_rights(s)
            UNION ALL SELECT * FROM order_sweep.check_settings_of(s)
            UNION ALL SELECT * FROM order_sweep.check_search_path(s)
            UNION ALL SELECT * FROM order_sweep.check_types(s)
            UNION ALL SELECT * FROM order_sweep.check_table(s)
            UNION ALL SELECT * FROM order_sweep.check_unique(s)
            UNION ALL SELECT * FROM order_sweep.check_window(s)) c;
    END LOOP;
    IF NOT FOUND THEN
        level := 'fail';
        sweep := NULL;
        item := 'sweep';
        what := 'no sweep is defined';
        why := 'A run has nothing to do, and says so.';
        mend := 'Call order_sweep.define in this database.';
        RETURN NEXT;
    END IF;
END $$;
COMMENT ON FUNCTION order_sweep.check IS
    'what would make a run fail or lie, as far as the catalogs tell; '
    'order-sweep check also prepares the statements and asks for plans';
