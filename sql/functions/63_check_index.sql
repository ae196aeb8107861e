-- What order-sweep check says of the index that the look for due orders walks.

CREATE OR REPLACE FUNCTION order_sweep.clock_column(s order_sweep.sweep)
RETURNS name LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT a.attname FROM pg_attribute a
     WHERE a.attrelid = order_sweep.relation(s.orders) AND a.attnum > 0
       AND a.attname = order_sweep.name_of(
           order_sweep.without_alias(coalesce(s.deadline, s.since)))
$$;
COMMENT ON FUNCTION order_sweep.clock_column IS
    'the column that the clock is; NULL: it is an expression';

-- VOLATILE, as functions that EXPLAIN must be; it writes nothing.
CREATE OR REPLACE FUNCTION order_sweep.may_index(
    s order_sweep.sweep, condition text, path text)
RETURNS boolean LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
SET standard_conforming_strings = on
SET transform_null_equals = off
SET constraint_exclusion = on
AS $$
DECLARE
    _may boolean := false;
    _plan json;
BEGIN
    -- The planner sees that a condition and its contrary exclude each other,
    -- but only where all in it is immutable, and no sub-select: where it may
    -- stand in an index.  The row has no name here, as it has none there.
    PERFORM set_config('search_path', path, true),
            set_config('role', s.owner, true);
    -- A loop takes one statement and no more, whatever the text holds.
    FOR _plan IN EXECUTE format(
        'EXPLAIN (FORMAT JSON) SELECT FROM %s WHERE (%s) AND (%2$s) IS NOT TRUE',
        s.orders, condition)
    LOOP
        _may := _plan->0->'Plan'->>'One-Time Filter' = 'false';
    END LOOP;
    -- Raised only to be the former role again.
    RAISE EXCEPTION USING ERRCODE = 'OS000';
EXCEPTION
    WHEN SQLSTATE 'OS000' THEN
        RETURN coalesce(_may, false);
    WHEN OTHERS THEN
        RETURN false; -- the name of the row is left in it, say
END $$;
COMMENT ON FUNCTION order_sweep.may_index IS
    'would PostgreSQL take this condition, without the alias and under this '
    'search path, for the predicate of an index on the orders table';

CREATE OR REPLACE FUNCTION order_sweep.index_for(s order_sweep.sweep)
RETURNS text LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    _column name := order_sweep.clock_column(s);
    _clock text := coalesce(quote_ident(_column),
        order_sweep.without_alias(coalesce(s.deadline, s.since)));
    _key text := (SELECT string_agg(quote_ident(k), ', ' ORDER BY n)
                    FROM unnest(s.key) WITH ORDINALITY AS u(k, n)
                   WHERE k IS DISTINCT FROM _column);
    _clocked text := format('(%s) IS NULL', _clock);
    _parts text[];
BEGIN
    IF NOT order_sweep.may_index(s, _clocked, s.search_path) THEN
        RETURN format('%s cannot stand in an index (it is not immutable, or '
                      'has a sub-select): keep the moment in a column of its '
                      'own, with an index on it and %s.',
                      CASE WHEN s.deadline IS NULL THEN 'since' ELSE 'deadline' END,
                      _key);
    END IF;
    -- What is left out makes the index larger, and it serves all the same.
    SELECT array_agg(p.part ORDER BY p.n) INTO _parts
      FROM (SELECT n, order_sweep.without_alias(u.part) AS part
              FROM order_sweep.and_parts(s.unpaid) WITH ORDINALITY AS u(part, n)) p
     WHERE order_sweep.may_index(s, p.part, s.search_path);
    RETURN format('%sCREATE INDEX %sON %s (%s)%s;',
        -- where a name says nothing in a new session of whoever checks
        (SELECT format('SET search_path = %s; ', s.search_path)
           FROM pg_settings f, unnest(_clocked || _parts) AS p(part)
          WHERE f.name = 'search_path'
            AND NOT order_sweep.may_index(s, p.part, f.reset_val) LIMIT 1),
        (SELECT CASE c.relkind WHEN 'p' THEN '' ELSE 'CONCURRENTLY ' END
           FROM pg_class c WHERE c.oid = order_sweep.relation(s.orders)),
        s.orders,
        concat_ws(', ', CASE WHEN _column IS NULL THEN '(' || _clock || ')'
                             ELSE _clock END, _key),
        ' WHERE ' || array_to_string(_parts, ' AND '));
END $$;
COMMENT ON FUNCTION order_sweep.index_for IS
    'the CREATE INDEX that serves the look for due orders of a table';

CREATE OR REPLACE FUNCTION order_sweep.index_under_view(
    s order_sweep.sweep, plan json)
RETURNS text LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    -- Which columns of the table they are is not looked for: the view may
    -- show them under other names, or compute them.
    SELECT format('Create an index on %s, under the view, on the columns that '
                  'the view shows as %s.',
        (SELECT string_agg(DISTINCT CASE WHEN p.root = ANY (v.below)
                               THEN p.root ELSE r.relation END::text, ' or ')
           FROM (SELECT order_sweep.node_relation(node) AS relation
                   FROM order_sweep.plan_nodes(plan)) r,
                pg_partition_root(r.relation) AS p(root),
                order_sweep.relations(order_sweep.relation(s.orders)) AS v(below)
          WHERE r.relation = ANY (v.below)),
        concat_ws(', ', order_sweep.without_alias(coalesce(s.deadline, s.since)),
                  (SELECT string_agg(quote_ident(k), ', ' ORDER BY n)
                     FROM unnest(s.key) WITH ORDINALITY AS u(k, n)
                    WHERE k IS DISTINCT FROM order_sweep.clock_column(s))))
$$;
COMMENT ON FUNCTION order_sweep.index_under_view IS
    'where the index for a view must be, by the tables that the look reads';

CREATE OR REPLACE FUNCTION order_sweep.young_indexes(orders regclass)
RETURNS text LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT string_agg(i.indexrelid::regclass::text, ', ')
      FROM pg_index i
     WHERE (i.indrelid = orders
            OR i.indrelid IN (SELECT t.relid FROM pg_partition_tree(orders) t))
       AND i.indisvalid AND i.indcheckxmin
       AND age(i.xmin) <= age(pg_snapshot_xmin(pg_current_snapshot())::xid)
$$;
COMMENT ON FUNCTION order_sweep.young_indexes IS
    'the indexes that the planner passes by for now: made from rows that were '
    'updated in place, they say nothing to transactions older than they are';

CREATE OR REPLACE FUNCTION order_sweep.check_index(s order_sweep.sweep, plan json)
RETURNS TABLE (level text, item text, what text, why text, mend text)
LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    _names text;
    _sorted boolean;
    _young text;
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
        RETURN NEXT;
        RETURN;
    END IF;
    _young := order_sweep.young_indexes(order_sweep.relation(s.orders));
    IF _young IS NOT NULL THEN
        level := 'warn';
        what := format('no index serves the look for due orders yet: %s cannot be '
                       'used', _young);
        why := 'It was made just after updates of the table, and serves once all '
               'transactions that are older than it have ended.';
        mend := 'SELECT pid, usename, state, xact_start, query FROM '
                'pg_stat_activity WHERE xact_start IS NOT NULL ORDER BY '
                'xact_start;';
        RETURN NEXT;
        RETURN;
    END IF;
    level := CASE WHEN order_sweep.clock_column(s) IS NULL THEN 'warn'
                  ELSE 'fail' END;
    what := 'no index serves the look for due orders';
    why := 'Each run would read the whole table, or sort all due orders for '
           'each batch.';
    IF EXISTS (SELECT FROM pg_class c WHERE c.relkind = 'v'
                  AND c.oid = order_sweep.relation(s.orders)) THEN
        mend := order_sweep.index_under_view(s, plan);
    ELSE
        mend := order_sweep.index_for(s);
    END IF;
    RETURN NEXT;
END $$;
COMMENT ON FUNCTION order_sweep.check_index IS
    'does the plan of the look, made with enable_seqscan off, hold the clock '
    'in an index condition; if not, the index that would';
