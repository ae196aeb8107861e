-- What order-sweep check has prepared and explained, and how its plans are read.

CREATE OR REPLACE FUNCTION order_sweep.check_parts(s order_sweep.sweep)
RETURNS TABLE (argument text, parameters text[], given text[], statement text)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    c record;
    _bound text := order_sweep.bound_type(s.clock_type);
BEGIN
    SELECT * INTO c FROM order_sweep.clauses(s);
    RETURN QUERY
    SELECT 'key', s.key_types, NULL::text[],
           format('SELECT FROM %s o WHERE %s', s.orders, c.key_where)
    UNION ALL
    SELECT 'set', '{}', NULL,
           format(E'UPDATE %s o SET %s\nWHERE false', s.orders, s.set)
    UNION ALL
    SELECT format('each[%s]', n), s.key_types, NULL, t
      FROM unnest(s.each) WITH ORDINALITY AS u(t, n);

    -- A line break ends a trailing comment; || is NULL where the argument is.
    RETURN QUERY
    SELECT v.argument, '{}'::text[], NULL::text[],
           format('SELECT FROM %s o WHERE %s', s.orders, v.test)
      FROM (VALUES
        ('unpaid', c.unpaid),
        -- for its plan: the tables in which payments may be
        ('look, rules', c.unpaid || ' AND ' || c.allowed),
        (CASE WHEN s.deadline IS NULL THEN 'since' ELSE 'deadline' END,
         format('%s < NULL::%s', c.clock, s.clock_type)),
        ('event', 'pg_catalog.to_jsonb((' || s.event || E'\n)) IS NOT NULL'),
        ('paid', '(' || s.paid || E'\n)')) AS v(argument, test)
     WHERE v.test IS NOT NULL
    UNION ALL
    SELECT format('unless "%s"', key), '{}'::text[], NULL,
           format(E'SELECT FROM %s o WHERE (%s\n)', s.orders, value)
      FROM json_each_text(s.unless);

    -- The first is for its plan: what the rules cost would hide which index
    -- serves it.  The second is all of it.
    parameters := ARRAY[_bound, _bound, 'timestamptz', 'timestamptz'];
    -- Bounds that leave out no partition of orders.
    given := CASE WHEN _bound = 'bigint'
                  THEN '{9223372036854775807,-9223372036854775808'
                  ELSE '{infinity,-infinity' END || ',infinity,-infinity}';
    FOR argument, statement IN
        VALUES ('look', format('%s AND %s AND %s', c.unpaid, c.on_time,
                               c.young_enough)),
               ('look, whole', c.due_now)
    LOOP
        statement := format('SELECT FROM %s o WHERE %s ORDER BY %s, %s LIMIT 500',
                            s.orders, statement, c.clock, c.key_columns);
        statement := replace(replace(replace(replace(statement,
            'order_sweep_to', '$1'), 'order_sweep_from', '$2'),
            'order_sweep_until', '$3'), 'order_sweep_oldest', '$4');
        RETURN NEXT;
    END LOOP;
END $$;
COMMENT ON FUNCTION order_sweep.check_parts IS
    'the statements that a definition lives on, one an argument, and the look '
    'for due orders, whose $1 is the bound that the clock is compared with; '
    'given: the parameters to explain it with';

CREATE OR REPLACE FUNCTION order_sweep.check_texts()
RETURNS TABLE (sweep text, argument text, path text, role text,
               row_security text, settings json, parameters text,
               statement text, explain text)
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
SET standard_conforming_strings = on
AS $$
    SELECT s.name, p.argument, s.search_path,
           s.owner, -- the role that the functions run as
           -- As in the functions; but of policies that are not wanted
           -- check_table tells once, and not each statement.
           CASE WHEN order_sweep.is_bound(order_sweep.relation(s.orders), s.owner)
                THEN 'on' ELSE 'off' END,
           coalesce(s.settings, '{}'),
           coalesce((SELECT string_agg(to_regtype(t)::oid::text, ',' ORDER BY n)
                       FROM unnest(p.parameters) WITH ORDINALITY AS u(t, n)), ''),
           p.statement,
           'EXPLAIN (VERBOSE, FORMAT JSON) EXECUTE order_sweep_checked'
           || coalesce((SELECT '(' || string_agg(quote_nullable(v), ', ' ORDER BY n)
                               || ')'
                          FROM unnest(p.parameters, p.given)
                               WITH ORDINALITY AS u(t, v, n)), '')
      FROM order_sweep.sweep s, order_sweep.check_parts(s) p
     -- else it is told by check_types, check, check_owner, check_settings_of,
     -- check_rights
     WHERE order_sweep.relation(s.orders) IS NOT NULL
       AND order_sweep.owner_exists(s)
       AND order_sweep.may_look_as(s.owner)
       AND NOT EXISTS (SELECT FROM order_sweep.check_rights(s))
       AND order_sweep.refused_setting(s.settings) IS NULL
     ORDER BY s.name
$$;
COMMENT ON FUNCTION order_sweep.check_texts IS
    'the parts of all definitions, each to be prepared under its path, role '
    'and settings with parameters of these types, under the name '
    '"order_sweep_checked", and explained: what fails was broken since it was '
    'defined';

CREATE OR REPLACE FUNCTION order_sweep.plan_nodes(plan json)
RETURNS TABLE (node json)
LANGUAGE sql IMMUTABLE
SET search_path = pg_catalog, pg_temp
AS $$
    WITH RECURSIVE n(node) AS (
        SELECT plan->0->'Plan'
        UNION ALL
        SELECT c.value FROM n, json_array_elements(n.node->'Plans') c
    )
    SELECT node FROM n
$$;
COMMENT ON FUNCTION order_sweep.plan_nodes IS 'the nodes of a plan, outermost first';

CREATE OR REPLACE FUNCTION order_sweep.node_relation(node json)
RETURNS regclass LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT order_sweep.relation(format('%I.%I', node->>'Schema',
                                       node->>'Relation Name'))
     WHERE node->>'Relation Name' IS NOT NULL
$$;
COMMENT ON FUNCTION order_sweep.node_relation IS
    'the relation that a node of a plan reads or writes, NULL if none';
