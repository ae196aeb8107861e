-- From a definition's row to the clauses that its functions are put together
-- from.

CREATE OR REPLACE FUNCTION order_sweep.bound_type(clock_type text)
RETURNS text LANGUAGE sql IMMUTABLE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT CASE WHEN clock_type LIKE '%int%' THEN 'bigint' ELSE clock_type END
$$;
COMMENT ON FUNCTION order_sweep.bound_type IS
    'the type of the moment that a clock is compared with; bigint for any integer';

CREATE OR REPLACE FUNCTION order_sweep.clock_bound(
    clock_type text, zone text, unit text, moment text)
RETURNS text LANGUAGE sql IMMUTABLE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT CASE clock_type
        WHEN 'timestamp with time zone' THEN moment
        WHEN 'timestamp without time zone' THEN
            format('(%s) AT TIME ZONE %L', moment, zone)
        -- a date counts from the end of its day
        WHEN 'date' THEN
            format('((%s) AT TIME ZONE %L)::date - 1', moment, zone)
        -- floor, since the cast alone rounds up and would be early
        ELSE format('floor(extract(epoch FROM %s) * %s)::bigint', moment,
                    CASE unit WHEN 'ms' THEN 1000 ELSE 1 END)
    END
$$;
COMMENT ON FUNCTION order_sweep.clock_bound IS
    'SQL for a moment on the clock of the orders table: the side of the '
    'comparison that an index serves';

CREATE OR REPLACE FUNCTION order_sweep.clock_moment(
    clock_type text, zone text, unit text, clock text)
RETURNS text LANGUAGE sql IMMUTABLE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT CASE clock_type
        -- a cast, since the clock may be of a domain
        WHEN 'timestamp with time zone' THEN format('(%s)::timestamptz', clock)
        WHEN 'timestamp without time zone' THEN
            format('(%s AT TIME ZONE %L)', clock, zone)
        WHEN 'date' THEN
            format('((%s + 1)::timestamp AT TIME ZONE %L)', clock, zone)
        -- kept within what a timestamptz can hold: one wild integer must not
        -- stop the listing; least and greatest would take a NULL for a bound
        ELSE format('CASE WHEN %s IS NOT NULL THEN to_timestamp('
                    'least(greatest(%s, -2e11::float8), 9e12::float8)%s) END',
                    clock, clock, CASE unit WHEN 'ms' THEN ' / 1000' ELSE '' END)
    END
$$;
COMMENT ON FUNCTION order_sweep.clock_moment IS
    'SQL for the moment that a clock value of the orders table means';

CREATE OR REPLACE FUNCTION order_sweep.clock_is_typed(clock_type text, clock text)
RETURNS text LANGUAGE sql IMMUTABLE
SET search_path = pg_catalog, pg_temp
AS $$
    -- A timestamptz that became a timestamp would still compare, but with the
    -- zone taken wrong.  coalesce gives the type under a domain.
    SELECT format('order_sweep.same_type(coalesce(%s, NULL), NULL::%s)', clock,
                  clock_type)
$$;
COMMENT ON FUNCTION order_sweep.clock_is_typed IS
    'SQL that parses only as long as a clock has the type it was defined with';

CREATE OR REPLACE FUNCTION order_sweep.relation(name text)
RETURNS regclass LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT c.oid::regclass
      FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace,
           parse_ident($1) AS p(name)
     WHERE n.nspname = p.name[1] AND c.relname = p.name[2]
$$;
COMMENT ON FUNCTION order_sweep.relation IS
    'the relation of this name, schema and all; to_regclass would raise where '
    'the caller may not use the schema';

CREATE OR REPLACE FUNCTION order_sweep.is_bound(orders regclass, owner text)
RETURNS boolean LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT EXISTS (
        SELECT FROM pg_class c, pg_roles r
         WHERE c.oid = $1 AND c.relrowsecurity
           AND r.rolname = $2 AND NOT r.rolsuper AND NOT r.rolbypassrls
           AND (c.relforcerowsecurity
                OR NOT pg_has_role(r.oid, c.relowner, 'USAGE')))
$$;
COMMENT ON FUNCTION order_sweep.is_bound IS
    'do the policies of a table hide rows from a role';

CREATE OR REPLACE FUNCTION order_sweep.pins(s order_sweep.sweep)
RETURNS text LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    -- What the caller may have set must not change what the text means: how
    -- literals and names of zones are read, how values are written.
    SELECT format(
        E'SECURITY DEFINER\n SET search_path = %s\n'
        ' SET standard_conforming_strings = on\n'
        ' SET transform_null_equals = off\n'
        ' SET TimeZone = ''UTC''\n'
        ' SET DateStyle = ''ISO, MDY''\n'
        ' SET IntervalStyle = postgres\n'
        ' SET bytea_output = hex\n'
        ' SET extra_float_digits = 1\n'
        ' SET array_nulls = on\n'
        ' SET xmloption = content\n'
        ' SET lc_monetary = ''C''\n'
        ' SET lc_numeric = ''C''\n'
        ' SET lc_time = ''C''\n'
        ' SET default_text_search_config = ''pg_catalog.simple''\n'
        ' SET lock_timeout = ''200ms''\n'
        ' SET row_security = %s', s.search_path,
        -- Hidden rows raise instead of being passed in silence.  Whoever names
        -- settings says that the policies of the orders are wanted; where there
        -- are none, those of other tables must not hide a payment.
        CASE WHEN s.settings IS NOT NULL
                  AND order_sweep.is_bound(order_sweep.relation(s.orders), s.owner)
             THEN 'on' ELSE 'off' END)
$$;
COMMENT ON FUNCTION order_sweep.pins IS
    'the settings that a definition''s functions do not take from their caller';

CREATE OR REPLACE FUNCTION order_sweep.look_pins(s order_sweep.sweep)
RETURNS text LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    -- Setting this reads a file, 0.1 ms each time: _cancel looks at it instead.
    SELECT order_sweep.pins(s) || E'\n SET timezone_abbreviations = ''Default'''
$$;
COMMENT ON FUNCTION order_sweep.look_pins IS
    'the pins of the functions that are called once, not once an order';

CREATE OR REPLACE FUNCTION order_sweep.index_pins()
RETURNS text LANGUAGE sql IMMUTABLE
SET search_path = pg_catalog, pg_temp
AS $$
    -- What the planner can only do by a way that is off looks so dear to it
    -- that it would compile the plan: no jit.  Sorts and bitmaps are set here
    -- so that what by_index sets ends with the function.
    SELECT E'\n SET enable_seqscan = off\n SET enable_bitmapscan = on'
           '\n SET enable_sort = on\n SET jit = off'
$$;
COMMENT ON FUNCTION order_sweep.index_pins IS
    'more pins, for the functions that walk the index of the due orders';

CREATE OR REPLACE FUNCTION order_sweep.by_index(s order_sweep.sweep)
RETURNS text LANGUAGE sql IMMUTABLE
SET search_path = pg_catalog, pg_temp
AS $$
    -- The planner takes a rule for one that keeps nearly all, so that it would
    -- rather fetch and sort all due rows for each batch than walk the index.
    -- But a sub-select may need the same way, ORDER BY ... LIMIT 1 a sort, OR a
    -- bitmap: then that one is off only where the orders were never analysed.
    SELECT string_agg(format(E'    PERFORM set_config(%L, ''off'', true)%s;\n',
               way, CASE WHEN text ~* need THEN never_analysed ELSE '' END), '')
      FROM (SELECT concat_ws(' ', s.unpaid, s.since, s.deadline,
                   (SELECT string_agg(r.value, ' ')
                      FROM json_each_text(s.unless) r)),
                   format(
        E'\n      FROM (SELECT to_regclass(%1$L) AS relid UNION ALL\n'
        '            SELECT p.relid FROM pg_partition_tree(to_regclass(%1$L)) p) t\n'
        '    HAVING max((SELECT c.reltuples FROM pg_class c\n'
        '                 WHERE c.oid = t.relid AND c.relkind = ''r'')) < 0',
        s.orders)) AS d(text, never_analysed),
           (VALUES ('enable_sort', '\m(select)\M.*\m(order)\s+by\M'),
                   ('enable_bitmapscan', '\m(select)\M.*\m(or)\M'))
               AS w(way, need)
$$;
COMMENT ON FUNCTION order_sweep.by_index IS
    'SQL that keeps the functions that walk the index from sorting all due rows '
    'instead';

CREATE OR REPLACE FUNCTION order_sweep.until(
    s order_sweep.sweep, parameter text, shorter boolean)
RETURNS text LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
SET IntervalStyle = postgres
AS $$
DECLARE
    _lead interval := coalesce(s.after, '0') + s.grace;
    -- The window as exact seconds: a day is 24 hours here too.
    _window text := format('make_interval(secs => extract(epoch FROM %s)::float8)',
                           parameter);
BEGIN
    IF shorter AND s.deadline IS NOT NULL THEN
        RETURN format('now() - %L::interval', _lead);
    ELSIF shorter THEN
        RETURN format('now() - coalesce(%s + %L::interval, %L::interval)',
                      _window, s.grace, _lead);
    END IF;
    -- Only longer: moments are compared, since intervals do not compare
    -- exactly.
    RETURN format('least(now() - %L::interval, now() - %s - %L::interval)',
                  _lead, _window, s.grace);
END $$;
COMMENT ON FUNCTION order_sweep.until IS
    'SQL for the moment until which clocks are due, under the window in this '
    'parameter; shorter: may it shorten the defined one';

CREATE OR REPLACE FUNCTION order_sweep.clauses(s order_sweep.sweep)
RETURNS TABLE (
    key_columns text, key_where text, key_json text, key_object text,
    key_output text, clock text, moment text, lead text, unpaid text,
    on_time text, young_enough text, allowed text, reasons text, due_now text,
    event text, declarations text, settings text)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
SET IntervalStyle = postgres
AS $$
#variable_conflict use_column
DECLARE
    _naive boolean := s.zone IS NOT NULL;
    _bound_type text := order_sweep.bound_type(s.clock_type);
    _is_int boolean := _bound_type = 'bigint';
    _not_before text := 'true';
    _has_key text;
    _rule record;
BEGIN
    SELECT string_agg(format('o.%I', k), ', ' ORDER BY n),
           string_agg(format('o.%I = $%s', k, n), ' AND ' ORDER BY n),
           format('jsonb_build_array(%s)',
                  string_agg(format('o.%I', k), ', ' ORDER BY n)),
           format('jsonb_build_object(%s)',
                  string_agg(format('%L, o.%I', k, k), ', ' ORDER BY n)),
           string_agg(format('(o.%I)::%s', k, s.key_types[n]), ', ' ORDER BY n)
      INTO key_columns, key_where, key_json, key_object, key_output
      FROM unnest(s.key) WITH ORDINALITY AS t(k, n);

    -- A row without a key cannot be named, and so not be swept.
    SELECT coalesce(string_agg(format(E'o.%I IS NOT NULL\n       AND ', k), ''
                               ORDER BY n), '')
      INTO _has_key
      FROM unnest(s.key) WITH ORDINALITY AS t(k, n);

    -- The line break ends a trailing comment of a fragment.
    clock := '(' || coalesce(s.deadline, s.since) || E'\n)';
    unpaid := '(' || s.unpaid || E'\n)';
    moment := order_sweep.clock_moment(s.clock_type, s.zone, s.unit, clock);
    lead := format('%L::interval', coalesce(s.after, '0') + s.grace);

    -- order_sweep_until: clocks that stand there or before are due.
    declarations := format(E'    order_sweep_to %s := %s;\n', _bound_type,
        order_sweep.clock_bound(s.clock_type, s.zone, s.unit,
                                'order_sweep_until'));
    on_time := format('%s <= order_sweep_to', clock);
    IF NOT _is_int THEN
        on_time := on_time || format(E'\n       AND %s > ''-infinity''', clock);
    END IF;
    -- A clock without zone: the first bound serves the index, the second
    -- decides; the first alone is an hour early on an autumn night.
    IF _naive THEN
        on_time := on_time
            || format(E'\n       AND %s <= order_sweep_until', moment);
    END IF;

    on_time := on_time || E'\n       AND '
        || order_sweep.clock_is_typed(s.clock_type, clock);

    young_enough := 'true';
    IF s.max_age IS NOT NULL THEN
        declarations := declarations || format(
            E'    order_sweep_oldest timestamptz := order_sweep_until - %L::interval;\n'
            '    order_sweep_from %s := %s;\n', s.max_age, _bound_type,
            order_sweep.clock_bound(s.clock_type, s.zone, s.unit,
                CASE WHEN _naive
                     THEN 'order_sweep_oldest - interval ''24 hours'''
                     ELSE 'order_sweep_oldest' END));
        young_enough := format('%s >= order_sweep_from', clock);
        IF _naive THEN
            young_enough := young_enough
                || format(' AND %s >= order_sweep_oldest', moment);
        END IF;
    END IF;

    -- They are sub-selects, not joins: a join could read the whole journal or
    -- failure table for each batch.  The fragments stand outside of them: a
    -- fragment's bare column can only be the orders table's.
    IF NOT s.again THEN
        _not_before := format(
            '(SELECT true FROM order_sweep.journal order_sweep_j'
            ' WHERE order_sweep_j.sweep = %L AND order_sweep_j.order_key = %s'
            ' LIMIT 1) IS NULL', s.name, key_json);
    END IF;
    allowed := 'true';
    reasons := format(E'CASE WHEN NOT (%strue) THEN ''keep: no key'''
        '\n       WHEN NOT (%s) THEN ''keep: swept before'''
        '\n       WHEN NOT (%s) THEN ''keep: too old''',
        _has_key, _not_before, young_enough);
    FOR _rule IN SELECT key AS name, value AS test FROM json_each_text(s.unless) LOOP
        allowed := allowed || format(E'\n       AND (%s\n) IS NOT TRUE', _rule.test);
        reasons := reasons || format(
            E'\n       WHEN (%s\n) THEN %L', _rule.test, 'keep: ' || _rule.name);
    END LOOP;
    due_now := format(E'%s%s\n       AND %s\n       AND %s\n       AND %s\n'
        '       AND %s\n       AND %s', _has_key, unpaid, on_time, young_enough,
        _not_before, allowed, format(
        '(SELECT true FROM order_sweep.failure order_sweep_f'
        ' WHERE order_sweep_f.sweep = %L AND order_sweep_f.order_key = %s'
        ' AND (order_sweep_f.quarantined OR order_sweep_f.next_try > now()))'
        ' IS NULL', s.name, key_json));

    -- Not SET clauses, which end with the function: the shop's triggers may
    -- look at them until the commit.
    SELECT coalesce(string_agg(format(E'    PERFORM set_config(%L, %L, true);\n',
                    j.key, j.value), '' ORDER BY j.n), '')
      INTO settings
      FROM json_each_text(s.settings) WITH ORDINALITY AS j(key, value, n);
    event := CASE WHEN s.event IS NULL THEN key_object ELSE
        format(E'coalesce(to_jsonb((%s\n)), ''null'')', s.event) END;
    RETURN NEXT;
END $$;
COMMENT ON FUNCTION order_sweep.clauses IS
    'the clauses that the functions of a definition are put together from; '
    'reasons is a CASE that wants its ELSE and END';
