-- What order-sweep check asks.  Nothing here writes; a finding is a level (ok,
-- warn, fail), the sweep it belongs to (NULL: all), what it is about, what was
-- found, why that matters, and how to mend it.

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
    SELECT v.argument, s.key_types, NULL::text[], v.statement
      FROM (VALUES
        ('key', format('SELECT FROM %s o WHERE %s', s.orders, c.key_where)),
        ('set', format(E'UPDATE %s o SET %s\nWHERE %s', s.orders, s.set,
                       c.key_where))) AS v(argument, statement)
    UNION ALL
    SELECT format('each[%s]', n), s.key_types, NULL, t
      FROM unnest(s.each) WITH ORDINALITY AS u(t, n);

    -- A line break ends a trailing comment; || is NULL where the argument is.
    RETURN QUERY
    SELECT v.argument, '{}'::text[], NULL::text[],
           format('SELECT FROM %s o WHERE %s', s.orders, v.test)
      FROM (VALUES
        ('unpaid', c.unpaid),
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

CREATE OR REPLACE FUNCTION order_sweep.may_look_as(owner text)
RETURNS boolean LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT EXISTS (SELECT FROM pg_roles r
                    WHERE r.rolname = owner AND pg_has_role(r.oid, 'MEMBER'))
$$;
COMMENT ON FUNCTION order_sweep.may_look_as IS
    'may the caller take on the rights of a definition''s owner';

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
           CASE WHEN order_sweep.is_bound(to_regclass(s.orders), s.owner)
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
     -- else it is told by check_types, check, check_owner, check_settings_of
     WHERE to_regclass(s.orders) IS NOT NULL AND order_sweep.owner_exists(s)
       AND order_sweep.may_look_as(s.owner)
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

CREATE OR REPLACE FUNCTION order_sweep.without_alias(fragment text)
RETURNS text LANGUAGE sql IMMUTABLE
SET search_path = pg_catalog, pg_temp
SET standard_conforming_strings = on
AS $$
    -- A name alone is given as the catalog has it.
    SELECT CASE WHEN bare ~ '^\w+$' THEN lower(bare) ELSE bare END
      FROM regexp_replace(fragment, '\mo\.', '', 'gi') bare
$$;
COMMENT ON FUNCTION order_sweep.without_alias IS
    'a fragment as it can stand in an index, where the row has no name';

CREATE OR REPLACE FUNCTION order_sweep.clock_is_column(s order_sweep.sweep)
RETURNS boolean LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT EXISTS (
        SELECT FROM pg_attribute a
         WHERE a.attrelid = to_regclass(s.orders) AND a.attnum > 0
           AND quote_ident(a.attname) = order_sweep.without_alias(
               coalesce(s.deadline, s.since)))
$$;
COMMENT ON FUNCTION order_sweep.clock_is_column IS
    'is the clock a column, and not an expression';

CREATE OR REPLACE FUNCTION order_sweep.index_for(s order_sweep.sweep)
RETURNS text LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    _kind "char" := (SELECT c.relkind FROM pg_class c
                      WHERE c.oid = to_regclass(s.orders));
    _clock text := order_sweep.without_alias(coalesce(s.deadline, s.since));
BEGIN
    IF _kind = 'v' THEN
        RETURN 'Create an index on the clock and the key of the table under '
               'the view.';
    END IF;
    -- A line break ends a trailing comment.
    IF NOT order_sweep.clock_is_column(s) THEN
        _clock := format('(%s%s)', _clock,
                         CASE WHEN _clock ~ '--' THEN E'\n' ELSE '' END);
    END IF;
    RETURN format('CREATE INDEX %sON %s (%s)%s;',
        CASE _kind WHEN 'p' THEN '' ELSE 'CONCURRENTLY ' END, s.orders,
        (SELECT concat_ws(', ', _clock,
                          string_agg(quote_ident(k), ', ' ORDER BY n))
           FROM unnest(s.key) WITH ORDINALITY AS u(k, n)
          WHERE quote_ident(k) <> _clock),
        -- a predicate over other tables cannot stand in an index
        CASE WHEN s.unpaid ~* '(^|[^"])\mselect\M' THEN ''
             ELSE ' WHERE ' || order_sweep.without_alias(s.unpaid)
                  || CASE WHEN s.unpaid ~ '--' THEN E'\n' ELSE '' END END);
END $$;
COMMENT ON FUNCTION order_sweep.index_for IS
    'the CREATE INDEX that serves the look for due orders';

CREATE OR REPLACE FUNCTION order_sweep.check_index(s order_sweep.sweep, plan json)
RETURNS TABLE (level text, item text, what text, why text, mend text)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    _names text;
    _sorted boolean;
BEGIN
    item := 'index';
    -- A rule's own plan hangs below as a sub-plan: what it sorts is little.
    WITH RECURSIVE n(node) AS (
        SELECT plan->0->'Plan'
        UNION ALL
        SELECT c.value FROM n, json_array_elements(n.node->'Plans') c
         WHERE c.value->'Subplan Name' IS NULL
    )
    SELECT string_agg(DISTINCT node->>'Index Name', ', ')
               FILTER (WHERE node->>'Index Cond' ~ '\$1\M'),
           coalesce(bool_or(node->>'Node Type' = 'Sort'), false)
      INTO _names, _sorted FROM n;
    IF _names IS NOT NULL AND NOT _sorted THEN
        level := 'ok';
        what := format('the look for due orders is served by %s', _names);
    ELSE
        level := 'fail';
        what := 'no index serves the look for due orders';
        why := 'Each run would read the whole table, or sort all due orders '
               'for each batch.';
        IF NOT order_sweep.clock_is_column(s) THEN
            level := 'warn';
            why := why || ' (Where PostgreSQL refuses the index because the '
                   'expression is not immutable, keep the moment in a column '
                   'of its own.)';
        END IF;
        mend := order_sweep.index_for(s);
    END IF;
    RETURN NEXT;
END $$;
COMMENT ON FUNCTION order_sweep.check_index IS
    'does the plan of the look, made with enable_seqscan off, hold the clock '
    'in an index condition; if not, the index that would';

CREATE OR REPLACE FUNCTION order_sweep.check_inserts(argument text, plan json)
RETURNS TABLE (level text, item text, what text, why text, mend text)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
BEGIN
    item := 'not null';
    -- What goes into an insert has an output for each column of the table, in
    -- their order; a column that the statement does not name, and that has no
    -- default, is a NULL there.  (MERGE does not show its rows, nor does a
    -- function that the statement calls.)
    FOR level, what, mend IN
        SELECT CASE WHEN EXISTS (
                        SELECT FROM pg_trigger t
                         WHERE t.tgrelid = r.relation AND NOT t.tgisinternal
                           AND t.tgenabled <> 'D' AND t.tgtype & 7 = 7)
                    THEN 'warn' ELSE 'fail' END,
               format('%s inserts into %s without %I, which is not null',
                      argument, r.relation, a.attname),
               format('Let %s write %I, or give the column a default.',
                      argument, a.attname)
          FROM order_sweep.plan_nodes(plan) n,
               LATERAL (SELECT to_regclass(format('%I.%I', n.node->>'Schema',
                            n.node->>'Relation Name')) AS relation) r,
               json_array_elements(n.node->'Plans') i,
               json_array_elements_text(i->'Output')
                   WITH ORDINALITY AS o(value, n)
          JOIN pg_attribute a ON a.attnum = o.n
         WHERE n.node->>'Node Type' = 'ModifyTable'
           AND n.node->>'Operation' = 'Insert'
           AND i->>'Parent Relationship' = 'Outer'
           AND o.value ~ '^NULL(::|$)'
           AND a.attrelid = r.relation AND a.attnotnull
           AND NOT a.attisdropped AND a.attgenerated = ''
         ORDER BY a.attnum
    LOOP
        why := 'Each order would fail' || CASE level WHEN 'warn' THEN
               ', unless a trigger of the table fills it in.' ELSE '.' END;
        RETURN NEXT;
    END LOOP;
END $$;
COMMENT ON FUNCTION order_sweep.check_inserts IS
    'columns that are not null and that an insert of each leaves out: the '
    'statement parses, and fails for every order';

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
    ELSIF argument LIKE 'each%' THEN
        RETURN QUERY SELECT * FROM order_sweep.check_inserts(argument, plan);
    ELSIF argument LIKE 'unless%' OR argument IN ('unpaid', 'paid') THEN
        RETURN QUERY SELECT * FROM order_sweep.check_payments(s, argument, plan);
    END IF;
    IF argument LIKE 'unless%' OR argument IN ('unpaid', 'paid') THEN
        RETURN QUERY SELECT * FROM order_sweep.check_hidden(s, argument, plan);
    END IF;
END $$;
COMMENT ON FUNCTION order_sweep.check_plan IS
    'what the plan of a part of a definition tells';

CREATE OR REPLACE FUNCTION order_sweep.check_functions(s order_sweep.sweep)
RETURNS TABLE (level text, item text, what text, why text, mend text)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    f record;
    p record;
    _drifted text[] := '{}';
    _foreign boolean := false;
BEGIN
    item := 'functions';
    level := 'fail';
    why := 'They were changed, dropped or made by another version.';
    FOR f IN SELECT b.*, ARRAY(
                 SELECT m[1] || '=' || btrim(m[2], '''')
                   FROM regexp_matches(b.options, '^ SET (\w+) = (.*)$', 'gn') m
                  ORDER BY 1) AS settings
               FROM order_sweep.build(s) b
    LOOP
        SELECT count(*) AS n, min(q.prosrc) AS body,
               bool_and(q.prosecdef) AS definer,
               min(pg_get_userbyid(q.proowner)::text) AS owner,
               min(q.oid::regprocedure::text) AS signature,
               min(q.provolatile::text) AS volatility,
               -- a strict one does nothing where a parameter is NULL
               bool_or(q.proisstrict OR l.lanname <> 'plpgsql') AS other,
               min(ARRAY(SELECT c FROM unnest(q.proconfig) c ORDER BY 1)) AS settings,
               bool_or(EXISTS (
                   SELECT FROM aclexplode(coalesce(q.proacl,
                               acldefault('f', q.proowner))) a
                    WHERE a.grantee = 0)) AS open
          INTO p FROM pg_proc q JOIN pg_language l ON l.oid = q.prolang
         WHERE q.pronamespace = 'order_sweep'::regnamespace AND q.proname = f.name;
        IF p.n <> 1 OR p.body <> f.body OR NOT p.definer OR p.open
           OR p.other
           -- by the types: char(n) has a name of its own as a parameter
           OR to_regprocedure(format('order_sweep.%I(%s)', f.name, f.arguments))
              IS NULL
           OR p.volatility <> lower(left(f.options, 1))
           OR p.settings IS DISTINCT FROM f.settings THEN
            _drifted := _drifted || f.name;
        ELSIF p.owner <> s.owner THEN
            -- migrate works as the owner of the definition: it could not
            -- replace this one
            _foreign := true;
            what := format('%s belongs to role %I, not to %I', f.name, p.owner,
                           s.owner);
            mend := format('ALTER FUNCTION %s OWNER TO %I;', p.signature, s.owner);
            RETURN NEXT;
        END IF;
    END LOOP;
    IF _drifted <> '{}' THEN
        what := format('%s: not what this version generates',
                       array_to_string(_drifted, ', '));
        mend := 'order-sweep migrate';
        RETURN NEXT;
    ELSIF NOT _foreign THEN
        level := 'ok';
        what := 'the functions are those this version generates';
        why := NULL;
        mend := NULL;
        RETURN NEXT;
    END IF;
END $$;
COMMENT ON FUNCTION order_sweep.check_functions IS
    'are the generated functions there, and as they would be generated now';

CREATE OR REPLACE FUNCTION order_sweep.clock_type(s order_sweep.sweep)
RETURNS text LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    _type regtype;
BEGIN
    EXECUTE format('SELECT %s()', order_sweep.own_function(s.name, '_clock'))
       INTO _type;
    RETURN format_type(order_sweep.base_type(_type), -1);
EXCEPTION WHEN OTHERS THEN
    RETURN NULL;
END $$;
COMMENT ON FUNCTION order_sweep.clock_type IS
    'the type that the clock of a definition has now, looked at as its owner; '
    'NULL: it does not parse';

CREATE OR REPLACE FUNCTION order_sweep.check_types(s order_sweep.sweep)
RETURNS TABLE (level text, item text, what text, why text, mend text)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    _orders regclass := to_regclass(s.orders);
    _types text[];
    _type text;
BEGIN
    item := 'types';
    level := 'fail';
    why := 'The functions were made for the types it had when it was defined.';
    mend := 'Call order_sweep.define anew.';
    IF _orders IS NULL THEN
        item := 'orders';
        what := format('there is no table %s', s.orders);
        why := 'It was dropped or renamed.';
        mend := format('Call order_sweep.define with its new name, or '
                       'order_sweep.undefine(%L).', s.name);
        RETURN NEXT;
        RETURN;
    END IF;
    SELECT array_agg(format_type(order_sweep.base_type(a.atttypid), -1)
                     ORDER BY k.n)
      INTO _types
      FROM unnest(s.key) WITH ORDINALITY AS k(name, n)
      LEFT JOIN pg_attribute a ON a.attrelid = _orders AND a.attname = k.name
                              AND a.attnum > 0 AND NOT a.attisdropped;
    IF _types IS DISTINCT FROM s.key_types AND array_position(_types, NULL) IS NULL
    THEN
        what := format('key: the type was %s and is %s',
            array_to_string(s.key_types, ', '), array_to_string(_types, ', '));
        RETURN NEXT;
    END IF;
    _type := order_sweep.clock_type(s);
    IF _type <> s.clock_type THEN
        what := format('%s: the type was %s and is %s',
            CASE WHEN s.deadline IS NULL THEN 'since' ELSE 'deadline' END,
            s.clock_type, _type);
        RETURN NEXT;
    END IF;
END $$;
COMMENT ON FUNCTION order_sweep.check_types IS
    'have table, key and clock the types that the functions were made for';

CREATE OR REPLACE FUNCTION order_sweep.relations(orders regclass)
RETURNS regclass[] LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    WITH RECURSIVE r(relation) AS (
        SELECT orders::oid
        UNION
        SELECT n.relation FROM r, LATERAL (
            SELECT h.inhrelid AS relation FROM pg_inherits h
             WHERE h.inhparent = r.relation
            UNION ALL
            -- what the query of a view depends on
            SELECT c.oid
              FROM pg_rewrite v
              JOIN pg_depend d ON d.classid = 'pg_rewrite'::regclass
                              AND d.objid = v.oid
                              AND d.refclassid = 'pg_class'::regclass
              JOIN pg_class c ON c.oid = d.refobjid AND c.relkind IN ('r', 'p', 'v')
             WHERE v.ev_class = r.relation AND v.ev_type = '1') n
    )
    SELECT array_agg(r.relation::regclass) FROM r
$$;
COMMENT ON FUNCTION order_sweep.relations IS
    'the relations that hold the rows of orders: itself, its partitions and, '
    'of a view, what it reads from (tables that it only looks into, too)';

CREATE OR REPLACE FUNCTION order_sweep.as_pattern(name name)
RETURNS text LANGUAGE sql IMMUTABLE
SET search_path = pg_catalog, pg_temp
SET standard_conforming_strings = on
AS $$ SELECT regexp_replace(quote_ident(name), '\W', '\\\&', 'g') $$;
COMMENT ON FUNCTION order_sweep.as_pattern IS
    'a name, as SQL has it, in a regular expression';

CREATE OR REPLACE FUNCTION order_sweep.writes(assignments text, "column" name)
RETURNS boolean LANGUAGE sql IMMUTABLE
SET search_path = pg_catalog, pg_temp
SET standard_conforming_strings = on
AS $$
    -- c = ..., or (..., c, ...) = ...
    SELECT assignments ~* format(
        '(^|,)\s*(%s|\(([^()=]*,)?\s*%1$s\s*(,[^()=]*)?\))\s*=',
        order_sweep.as_pattern("column"))
$$;
COMMENT ON FUNCTION order_sweep.writes IS 'does a set write this column';

CREATE OR REPLACE FUNCTION order_sweep.may_undo(
    s order_sweep.sweep, relation regclass, body text)
RETURNS boolean LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
SET standard_conforming_strings = on
AS $$
    WITH b(text) AS (
        SELECT regexp_replace(regexp_replace(body, '/[*].*?[*]/', ' ', 'g'),
                              '--[^\n]*', ' ', 'g')
    ), assigns(start) AS (
        -- Where a statement begins: elsewhere = compares.
        VALUES ('(^|;|>>|\m(begin|then|else|loop)\M)\s*new')
    )
    SELECT b.text ~* '\mreturn\s+(null|old)\M'
           OR b.text ~* (assigns.start || '\s*:?=\s*old\M')
           OR EXISTS (
               SELECT FROM pg_attribute a
                WHERE a.attrelid = relation AND a.attnum > 0
                  AND order_sweep.writes(s.set, a.attname)
                  AND s.unpaid ~* ('(^|\W)' || order_sweep.as_pattern(a.attname)
                                   || '($|\W)')
                  AND b.text ~* (assigns.start || '\.'
                                 || order_sweep.as_pattern(a.attname) || '\s*:?='))
      FROM b, assigns
$$;
COMMENT ON FUNCTION order_sweep.may_undo IS
    'does the body of a trigger in PL/pgSQL pass over the update, give the old '
    'row back, or write into a column that set writes and unpaid asks for';

CREATE OR REPLACE FUNCTION order_sweep.check_table(s order_sweep.sweep)
RETURNS TABLE (level text, item text, what text, why text, mend text)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    _orders regclass := to_regclass(s.orders);
    _all regclass[] := order_sweep.relations(_orders);
BEGIN
    level := 'fail';
    FOR what, mend IN
        SELECT format('index %s is invalid', i.indexrelid::regclass),
               CASE c.relkind
                   WHEN 'I' THEN 'ALTER INDEX ... ATTACH PARTITION an index of '
                                 'each partition.'
                   ELSE format('REINDEX INDEX CONCURRENTLY %s;',
                               i.indexrelid::regclass) END
          FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
         WHERE i.indrelid = ANY (_all) AND NOT i.indisvalid LOOP
        item := 'invalid index';
        why := 'CREATE INDEX CONCURRENTLY failed half-way; nothing uses it.';
        RETURN NEXT;
    END LOOP;
    IF s.settings IS NULL AND order_sweep.is_bound(_orders, s.owner) THEN
        item := 'row security';
        what := format('the policies of %s hide rows from role %I', s.orders, s.owner);
        why := 'Every call raises rather than pass hidden orders in silence.';
        mend := 'Call define with settings, if the policies are wanted, or with '
                'a run_as that they do not bind.';
        RETURN NEXT;
    END IF;
    level := 'warn';
    FOR what IN
        SELECT format('trigger %I of %s may swallow or undo the update',
                      t.tgname, t.tgrelid::regclass)
          FROM pg_trigger t
          JOIN pg_proc p ON p.oid = t.tgfoid
          JOIN pg_language l ON l.oid = p.prolang
         WHERE t.tgrelid = ANY (_all) AND NOT t.tgisinternal
           AND t.tgparentid = 0 AND t.tgenabled <> 'D'
           -- for each row (1), before (2) or instead (64), of an update (16)
           AND t.tgtype & 17 = 17 AND t.tgtype & 66 <> 0
           AND (l.lanname <> 'plpgsql'
                OR order_sweep.may_undo(s, t.tgrelid, p.prosrc))
        UNION ALL
        SELECT format('rule %I of %s acts instead of the update', r.rulename,
                      r.ev_class::regclass)
          FROM pg_rewrite r
         WHERE r.ev_class = ANY (_all) AND r.ev_type = '2' AND r.is_instead
    LOOP
        item := 'trigger';
        why := 'What swallows the update, or sets the status back, makes each '
               'order fail.';
        mend := 'See that it lets the update of set pass.';
        RETURN NEXT;
    END LOOP;
    FOR what IN
        SELECT format('%s is partitioned by %I, which set changes',
                      p.partrelid::regclass, a.attname)
          FROM pg_partitioned_table p
          JOIN pg_attribute a ON a.attrelid = p.partrelid
                             AND a.attnum = ANY (p.partattrs::int2[])
         WHERE p.partrelid = ANY (_all)
           AND order_sweep.writes(s.set, a.attname) LOOP
        item := 'partition key';
        why := 'Each cancel moves its row to another partition: a delete and an '
               'insert, which a payment in flight through a foreign key meets '
               'as an error.';
        mend := 'Partition by a column that does not change.';
        RETURN NEXT;
    END LOOP;
END $$;
COMMENT ON FUNCTION order_sweep.check_table IS
    'what there is about the orders table that makes a run fail or lie';

CREATE OR REPLACE FUNCTION order_sweep.check_payments(
    s order_sweep.sweep, argument text, plan json)
RETURNS TABLE (level text, item text, what text, why text, mend text)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    _orders regclass[] := order_sweep.relations(to_regclass(s.orders));
    _deferred boolean;
BEGIN
    FOR what, _deferred IN
        SELECT DISTINCT format(CASE WHEN d.deferred
                   THEN '%s looks into %s, whose foreign key to %s is deferred'
                   ELSE '%s looks into %s, which no foreign key ties to %s' END,
                   argument, r.relation, s.orders), d.deferred
          FROM (SELECT to_regclass(format('%I.%I', node->>'Schema',
                                          node->>'Relation Name')) AS relation
                  FROM order_sweep.plan_nodes(plan)
                 WHERE node->>'Relation Name' IS NOT NULL) r,
               -- checked at the commit: no lock on the order until then
               LATERAL (SELECT EXISTS (SELECT FROM pg_constraint k
                                        WHERE k.contype = 'f' AND k.condeferred
                                          AND k.conrelid = r.relation
                                          AND k.confrelid = ANY (_orders))
                       ) d (deferred)
         WHERE r.relation <> ALL (_orders)
           AND NOT EXISTS (SELECT FROM pg_constraint k
                            WHERE k.contype = 'f'
                              -- a table that orders refer to holds no payments
                              AND (k.confrelid = r.relation
                                   AND k.conrelid = ANY (_orders)
                                   OR NOT k.condeferred
                                   AND k.conrelid = r.relation
                                   AND k.confrelid = ANY (_orders))) LOOP
        level := 'warn';
        item := 'foreign key';
        why := 'A payment being inserted there is seen only if its transaction '
               'also locks or changes the order''s row.';
        mend := CASE WHEN _deferred THEN 'Make it INITIALLY IMMEDIATE'
                     ELSE 'Add a foreign key to the orders table' END
                || ', or let paying update the order''s row under the condition '
                   'that it is unpaid.';
        RETURN NEXT;
    END LOOP;
END $$;
COMMENT ON FUNCTION order_sweep.check_payments IS
    'tables that a rule looks into and that no foreign key ties to the orders at '
    'once: the shop''s half of the payment contract';

CREATE OR REPLACE FUNCTION order_sweep.check_hidden(
    s order_sweep.sweep, argument text, plan json)
RETURNS TABLE (level text, item text, what text, why text, mend text)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
BEGIN
    IF s.settings IS NULL THEN
        RETURN; -- row security is off: hidden rows raise
    END IF;
    FOR what IN
        SELECT DISTINCT format('%s looks into %s, whose policies bind role %I',
                               argument, r.relation, s.owner)
          FROM (SELECT to_regclass(format('%I.%I', node->>'Schema',
                                          node->>'Relation Name')) AS relation
                  FROM order_sweep.plan_nodes(plan)
                 WHERE node->>'Relation Name' IS NOT NULL) r
         -- of partitions the policies of the whole count
         WHERE coalesce(pg_partition_root(r.relation), r.relation)
               <> to_regclass(s.orders)
           AND order_sweep.is_bound(r.relation, s.owner) LOOP
        level := 'warn';
        item := 'row security';
        why := 'A payment that they hide does not keep its order.';
        mend := 'See that with settings the policies show all that the rule '
                'must see.';
        RETURN NEXT;
    END LOOP;
END $$;
COMMENT ON FUNCTION order_sweep.check_hidden IS
    'tables that a rule looks into, where policies may hide rows from it: those '
    'of the orders table are wanted, and row security is one switch for all';

CREATE OR REPLACE FUNCTION order_sweep.check_window(s order_sweep.sweep)
RETURNS TABLE (level text, item text, what text, why text, mend text)
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT 'warn', 'window',
           format('the window of %s is shorter than cron''s minute', w.length),
           'An order is late by up to a minute, more than its window.',
           'Lengthen after, or expect it.'
      FROM (SELECT s.after + s.grace AS length) w
     WHERE w.length < interval '1 minute'
$$;
COMMENT ON FUNCTION order_sweep.check_window IS
    'a window shorter than cron''s minute';

CREATE OR REPLACE FUNCTION order_sweep.check_look(s order_sweep.sweep)
RETURNS TABLE (level text, item text, what text, why text, mend text)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    _oldest interval;
    _patience interval := greatest(coalesce(s.after, '0') + s.grace,
                                   interval '10 minutes');
    _state text;
BEGIN
    -- What is told already would fail here too.
    IF (s.settings IS NULL
        AND order_sweep.is_bound(to_regclass(s.orders), s.owner))
       OR EXISTS (SELECT FROM order_sweep.check_functions(s) f
                   WHERE f.level <> 'ok') THEN
        RETURN;
    END IF;
    BEGIN
        SELECT p.error_state, p.error_message INTO _state, what
          FROM order_sweep.probe(s.name, NULL) p;
        IF _state IS NULL THEN
            SELECT now() - min(p.deadline) INTO _oldest
              FROM order_sweep.preview(s.name, NULL) p WHERE p.state = 'sweep';
        END IF;
    EXCEPTION WHEN OTHERS THEN
        _state := SQLSTATE;
        what := SQLERRM;
    END;
    IF _state IS NOT NULL THEN
        level := 'fail';
        item := 'look';
        why := 'The look for due orders fails, for all of them.';
        mend := CASE
            WHEN _state LIKE '22%' THEN
                'Guard a cast in since, unpaid or unless by CASE WHEN ... THEN '
                '... END, or use order_sweep.moment(text).'
            ELSE 'See that since, unpaid and unless raise for no order, and '
                 'take no long time.' END;
        RETURN NEXT;
    ELSIF _oldest > _patience THEN
        level := 'warn';
        item := 'backlog';
        what := format('the oldest order to sweep is overdue for %s',
                       date_trunc('second', _oldest));
        why := CASE WHEN s.paused THEN 'The sweep is paused.'
                    ELSE 'No run has come, or none came so far.' END;
        mend := CASE WHEN s.paused
            THEN format('SELECT order_sweep.resume(%L);', s.name)
            ELSE 'See that cron starts order-sweep, and what it says: '
                 'SELECT * FROM order_sweep.run ORDER BY id DESC LIMIT 10;' END;
        RETURN NEXT;
    END IF;
END $$;
COMMENT ON FUNCTION order_sweep.check_look IS
    'an overdue backlog, or a look that fails although its statement fits';

CREATE OR REPLACE FUNCTION order_sweep.check_server(patience interval)
RETURNS TABLE (level text, item text, what text, why text, mend text)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    level := 'fail';
    IF pg_is_in_recovery() THEN
        item := 'standby';
        what := 'this server is a standby';
        why := 'A run needs a server that takes writes.';
        mend := 'Name the primary, or all hosts: --host a,b.';
        RETURN NEXT;
    END IF;
    FOR what, mend IN
        SELECT format('table %s is unlogged', c.oid::regclass),
               format('ALTER TABLE %s SET LOGGED;', c.oid::regclass)
          FROM pg_class c
         WHERE c.relnamespace = 'order_sweep'::regnamespace
           AND c.relkind = 'r' AND c.relpersistence = 'u' ORDER BY 1 LOOP
        item := 'unlogged';
        why := 'A crash empties it, and with it what keeps an order from being '
               'swept twice.';
        RETURN NEXT;
    END LOOP;
    level := 'warn';
    FOR what, mend IN
        SELECT format('default_transaction_isolation is %s%s', x.value,
                   coalesce(' for role ' || quote_ident(r.rolname), '')),
               format('ALTER %s RESET default_transaction_isolation;',
                   CASE WHEN r.rolname IS NULL
                        THEN format('DATABASE %I', current_database())
                        ELSE format('ROLE %I', r.rolname)
                             || CASE d.setdatabase WHEN 0 THEN ''
                                ELSE format(' IN DATABASE %I', current_database())
                                END END)
          FROM pg_db_role_setting d
          LEFT JOIN pg_roles r ON r.oid = d.setrole,
               LATERAL (SELECT substr(c, 31) AS value FROM unnest(d.setconfig) c
                         WHERE c LIKE 'default_transaction_isolation=%') x
         WHERE d.setdatabase IN (0, (SELECT oid FROM pg_database
                                      WHERE datname = current_database()))
           AND x.value <> 'read committed'
           -- of those who sweep
           AND (d.setrole = 0 OR has_function_privilege(d.setrole,
                    'order_sweep.begin_run(text, text, integer, interval)',
                    'EXECUTE'))
        UNION ALL
        -- what this session would have without its own setting, and without
        -- one of its role or of the database
        SELECT format('default_transaction_isolation is %s', f.reset_val),
               'ALTER SYSTEM RESET default_transaction_isolation;'
          FROM pg_settings f
         WHERE f.name = 'default_transaction_isolation'
           AND f.reset_val <> 'read committed'
           AND NOT EXISTS (
               SELECT FROM pg_db_role_setting d, unnest(d.setconfig) c
                WHERE c LIKE 'default_transaction_isolation=%'
                  AND (d.setdatabase = 0 OR d.setdatabase = (
                           SELECT oid FROM pg_database
                            WHERE datname = current_database()))
                  AND (d.setrole = 0 OR pg_get_userbyid(d.setrole) = session_user))
    LOOP
        item := 'isolation';
        why := 'A run sets it back to read committed for itself; what else '
               'calls the functions is refused.';
        RETURN NEXT;
    END LOOP;
    FOR what, mend IN
        SELECT format('session %s (%s) has held back vacuum for %s', a.pid,
                   coalesce(nullif(a.application_name, ''), a.backend_type),
                   date_trunc('second', now() - a.xact_start)),
               format('SELECT pg_terminate_backend(%s);', a.pid)
          FROM pg_stat_activity a
         WHERE (a.backend_xmin IS NOT NULL OR a.backend_xid IS NOT NULL)
           AND a.pid <> pg_backend_pid() AND now() - a.xact_start > patience
           AND coalesce(a.datname = current_database(), true)
           -- a VACUUM holds back no other
           AND NOT EXISTS (SELECT FROM pg_stat_progress_vacuum v
                            WHERE v.pid = a.pid)
        UNION ALL
        -- Of sessions of others only this much is shown to everybody.
        SELECT format('session %s (%s) holds back vacuum for more than 10000 '
                      'transactions, and role %I cannot see since when',
                   a.pid, coalesce(nullif(a.application_name, ''),
                                   quote_ident(a.usename)), current_user),
               format('GRANT pg_monitor TO %I;', current_user)
          FROM pg_stat_activity a
         WHERE greatest(age(a.backend_xmin), age(a.backend_xid)) > 10000
           AND a.datname = current_database() AND a.usesysid IS NOT NULL
           AND NOT pg_has_role(a.usesysid, 'USAGE')
           AND NOT pg_has_role('pg_read_all_stats', 'USAGE')
           AND NOT EXISTS (SELECT FROM pg_stat_progress_vacuum v
                            WHERE v.pid = a.pid)
        UNION ALL
        SELECT format('prepared transaction %L has held back vacuum for %s',
                   p.gid, date_trunc('second', now() - p.prepared)),
               format('ROLLBACK PREPARED %L;', p.gid)
          FROM pg_prepared_xacts p
         WHERE now() - p.prepared > patience AND p.database = current_database()
        UNION ALL
        SELECT format('replication slot %I holds back vacuum', r.slot_name),
               format('SELECT pg_drop_replication_slot(%L);', r.slot_name)
          FROM pg_replication_slots r
         WHERE NOT r.active AND (r.xmin IS NOT NULL OR r.catalog_xmin IS NOT NULL)
           AND coalesce(r.database = current_database(), true)
    LOOP
        item := 'vacuum';
        why := 'Rows of swept orders pile up before the next due one, and each '
               'look walks past them.';
        RETURN NEXT;
    END LOOP;
END $$;
COMMENT ON FUNCTION order_sweep.check_server IS
    'standby, unlogged tables, isolation, and who has held back vacuum for '
    'longer than patience, or for long while the caller may not see since when';

CREATE OR REPLACE FUNCTION order_sweep.check_role(role text)
RETURNS TABLE (level text, item text, what text, why text, mend text)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    _missing record;
    _found boolean := false;
BEGIN
    IF role IS NULL THEN
        RETURN;
    END IF;
    item := 'grants';
    level := 'fail';
    IF NOT EXISTS (SELECT FROM pg_roles r WHERE r.rolname = role) THEN
        what := format('there is no role "%s"', role);
        why := 'It is the one that --role names.';
        mend := format('CREATE ROLE %I LOGIN; SELECT order_sweep.grant_to(%L);',
                       role, quote_ident(role));
        RETURN NEXT;
        RETURN;
    END IF;
    why := 'A run under this role would be refused.';
    FOR _missing IN
        SELECT 1 AS n, 'CONNECT on database ' || quote_ident(current_database()) AS x,
               format('GRANT CONNECT ON DATABASE %I TO %I;', current_database(),
                      role) AS mend
         WHERE NOT has_database_privilege(role, current_database(), 'CONNECT')
        UNION ALL
        SELECT 2, 'USAGE on schema order_sweep', NULL
         WHERE NOT has_schema_privilege(role, 'order_sweep', 'USAGE')
        UNION ALL
        SELECT 3, 'EXECUTE on ' || p.oid::regprocedure, NULL FROM pg_proc p
         WHERE p.pronamespace = 'order_sweep'::regnamespace
           AND (p.proname = ANY (order_sweep.run_functions())
                OR EXISTS (SELECT FROM order_sweep.sweep d,
                                  unnest(order_sweep.run_suffixes()) x
                            WHERE p.proname = d.name || x))
           AND NOT has_function_privilege(role, p.oid, 'EXECUTE')
         ORDER BY 1, 2
    LOOP
        _found := true;
        what := format('role %s has no %s', role, _missing.x);
        mend := coalesce(_missing.mend, format('SELECT order_sweep.grant_to(%L);',
                                               quote_ident(role)));
        RETURN NEXT;
    END LOOP;
    IF NOT _found THEN
        level := 'ok';
        what := format('role %s may run every sweep', role);
        why := NULL;
        mend := NULL;
        RETURN NEXT;
    END IF;
END $$;
COMMENT ON FUNCTION order_sweep.check_role IS
    'the rights that a role lacks for a run, each named';

CREATE OR REPLACE FUNCTION order_sweep.check_owner(s order_sweep.sweep)
RETURNS TABLE (level text, item text, what text, why text, mend text)
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT 'fail', 'owner',
           format('cannot look as role %I: role %I is no member of it', s.owner,
                  current_user),
           'Its SQL is looked at with its rights; here it was left out.',
           format('GRANT %I TO %I;', s.owner, current_user)
     WHERE NOT order_sweep.may_look_as(s.owner)
    UNION ALL
    (SELECT 'fail', 'books', format('role %I has no %s', s.owner, n.right),
           'The sweep''s functions keep the books with the rights of their owner.',
           format('SELECT order_sweep.grant_define_to(%L);', quote_ident(s.owner))
      FROM (SELECT 1 AS n, 'USAGE on schema order_sweep' AS "right",
                   has_schema_privilege(s.owner, 'order_sweep', 'USAGE') AS held
            UNION ALL
            SELECT 2, format('%s on order_sweep.%s', p, t),
                   has_table_privilege(s.owner, 'order_sweep.' || t, p)
              FROM (VALUES ('journal', 'SELECT'), ('journal', 'INSERT'),
                           ('failure', 'SELECT')) v(t, p)
            UNION ALL
            SELECT 3, 'EXECUTE on ' || f,
                   has_function_privilege(s.owner, f, 'EXECUTE')
              FROM (SELECT 'order_sweep.record_failure(text,jsonb,text,text,'
                           'boolean)'::regprocedure AS f) v) n
     WHERE NOT n.held
     ORDER BY n.n, 3)
$$;
COMMENT ON FUNCTION order_sweep.check_owner IS
    'may the caller look as the owner of a definition, and which rights on the '
    'books does this one lack';

CREATE OR REPLACE FUNCTION order_sweep.check_settings_of(s order_sweep.sweep)
RETURNS TABLE (level text, item text, what text, why text, mend text)
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT 'fail', 'settings', r.said,
           'Every function of the sweep sets them first, and so fails.',
           'Call order_sweep.define anew, with names and values that SET takes.'
      FROM order_sweep.refused_setting(s.settings) AS r(said)
     WHERE r.said IS NOT NULL
$$;
COMMENT ON FUNCTION order_sweep.check_settings_of IS
    'settings of a definition that the server takes no longer';

CREATE OR REPLACE FUNCTION order_sweep.check_search_path(s order_sweep.sweep)
RETURNS TABLE (level text, item text, what text, why text, mend text)
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT 'fail', 'search path',
           format('%s may create in schema %I', o.grantee, o.schema),
           'An operator or function put there would run in the definition''s '
           'place, with its owner''s rights.',
           format('REVOKE CREATE ON SCHEMA %I FROM %s;', o.schema, o.grantee)
      FROM order_sweep.open_schemas(s.path, s.owner) o
$$;
COMMENT ON FUNCTION order_sweep.check_search_path IS
    'schemas of a definition''s path in which others than its owner may create';

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
      FROM order_sweep.check_server(patience) c;
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
            UNION ALL SELECT * FROM order_sweep.check_settings_of(s)
            UNION ALL SELECT * FROM order_sweep.check_search_path(s)
            UNION ALL SELECT * FROM order_sweep.check_types(s)
            UNION ALL SELECT * FROM order_sweep.check_table(s)
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
