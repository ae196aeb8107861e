-- The functions of a definition that only look.  Each builder returns one
-- function's text; nothing is created here.

CREATE OR REPLACE FUNCTION order_sweep.no_clock(s order_sweep.sweep)
RETURNS text LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT CASE WHEN order_sweep.bound_type(s.clock_type) = 'bigint'
           THEN format('%s IS NULL', c.clock)
           ELSE format('(%s IS NULL OR %1$s = ''-infinity'')', c.clock) END
      FROM order_sweep.clauses(s) c
$$;
COMMENT ON FUNCTION order_sweep.no_clock IS
    'SQL for: the clock says that the order is never due';

CREATE OR REPLACE FUNCTION order_sweep.build_due(s order_sweep.sweep)
RETURNS TABLE (name text, arguments text, returns text, options text,
               body text, remark text)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    c record;
BEGIN
    SELECT * INTO c FROM order_sweep.clauses(s);
    name := s.name || '_due';
    arguments := 'interval';
    returns := 'TABLE (order_key jsonb, since timestamptz, deadline timestamptz, state text)';
    options := 'STABLE ' || order_sweep.look_pins(s);
    body := format($body$
#variable_conflict use_column
DECLARE
    order_sweep_until timestamptz := %s;
%sBEGIN
%s    RETURN QUERY
    SELECT %s, %s, %s + %s,
           %s
       ELSE coalesce(
           (SELECT CASE WHEN order_sweep_f.quarantined THEN 'quarantined'
                        WHEN order_sweep_f.next_try > now() THEN 'back-off' END
              FROM order_sweep.failure order_sweep_f
             WHERE order_sweep_f.sweep = %L AND order_sweep_f.order_key = %s),
           'sweep') END
      FROM %s o
     WHERE %s
       AND %s
     ORDER BY %s, %s;
    -- Never due, but somebody should know of them.
    RETURN QUERY
    SELECT %s, NULL::timestamptz, NULL::timestamptz, 'keep: no clock'
      FROM %s o
     WHERE %s
       AND %s;
END $body$, order_sweep.until(s, '$1', true), c.declarations, c.settings,
        c.key_json, c.moment, c.moment, c.lead, c.reasons, s.name, c.key_json,
        s.orders, c.unpaid, c.on_time, c.clock, c.key_columns,
        c.key_json, s.orders, c.unpaid, order_sweep.no_clock(s));
    remark := 'every due row with what would happen to it, oldest first, then '
        'those without a clock; parameter: window (a shorter one too: this '
        'only looks)';
    RETURN NEXT;
END $$;
COMMENT ON FUNCTION order_sweep.build_due IS 'the text of <sweep>_due';

CREATE OR REPLACE FUNCTION order_sweep.build_next(s order_sweep.sweep)
RETURNS TABLE (name text, arguments text, returns text, options text,
               body text, remark text)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    c record;
    _deadline text;
BEGIN
    SELECT * INTO c FROM order_sweep.clauses(s);
    name := s.name || '_next';
    arguments := 'interval';
    -- Names that no column has: one that was renamed must not be found in them.
    returns := 'TABLE (order_sweep_due boolean, order_sweep_deadline timestamptz)';
    options := 'STABLE ' || order_sweep.look_pins(s) || order_sweep.index_pins();
    -- Under this window, which may be longer.  The far end of what a clock can
    -- hold has no deadline: it overflows.
    _deadline := format('CASE WHEN %s > order_sweep_to AND %s < %s '
                        'THEN %s + (now() - order_sweep_until) END',
        c.clock, c.clock, order_sweep.clock_bound(s.clock_type, s.zone, s.unit,
                                         'now() + interval ''1000 years'''),
        c.moment);
    body := format($body$
#variable_conflict use_column
DECLARE
    order_sweep_until timestamptz := %s;
%sBEGIN
%s    -- Mostly the oldest unpaid order is not due yet.  Then no other one is, its
    -- deadline is the next, and nothing else has to be looked at.  Only the
    -- clock is compared: it is what the order goes by.
    PERFORM set_config('enable_sort', 'off', true),
            set_config('enable_bitmapscan', 'off', true);
    SELECT %s <= order_sweep_to, %s INTO order_sweep_due, order_sweep_deadline
      FROM %s o
     WHERE %s AND %s AND %s
     ORDER BY %s LIMIT 1;
    IF order_sweep_due THEN
        PERFORM set_config('enable_sort', 'on', true),
                set_config('enable_bitmapscan', 'on', true);
%s        SELECT EXISTS (SELECT FROM %s o WHERE %s),
               (SELECT %s FROM %s o
                 WHERE %s AND %s > order_sweep_to
                 ORDER BY %s LIMIT 1)
          INTO order_sweep_due, order_sweep_deadline;
    END IF;
    order_sweep_due := coalesce(order_sweep_due, false);
    RETURN NEXT;
END $body$, order_sweep.until(s, '$1', false), c.declarations, c.settings,
        c.clock, _deadline, s.orders, c.unpaid,
        c.clock || CASE
            WHEN s.max_age IS NOT NULL THEN ' >= order_sweep_from'
            WHEN order_sweep.bound_type(s.clock_type) = 'bigint' THEN ' IS NOT NULL'
            ELSE ' > ''-infinity''' END,
        order_sweep.clock_is_typed(s.clock_type, c.clock), c.clock,
        order_sweep.by_index(s), s.orders, c.due_now, _deadline,
        s.orders, c.unpaid, c.clock, c.clock);
    remark := 'is anything to sweep now, and when is the next; parameter: window';
    RETURN NEXT;
END $$;
COMMENT ON FUNCTION order_sweep.build_next IS 'the text of <sweep>_next';

CREATE OR REPLACE FUNCTION order_sweep.build_backlog(s order_sweep.sweep)
RETURNS TABLE (name text, arguments text, returns text, options text,
               body text, remark text)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    c record;
BEGIN
    SELECT * INTO c FROM order_sweep.clauses(s);
    name := s.name || '_backlog';
    arguments := 'integer';
    returns := 'TABLE (order_sweep_orders bigint, order_sweep_overdue interval)';
    options := 'STABLE ' || order_sweep.look_pins(s) || order_sweep.index_pins();
    body := format($body$
#variable_conflict use_column
DECLARE
    order_sweep_until timestamptz := %s;
%sBEGIN
%s%s    SELECT count(*), order_sweep_until - min(order_sweep_row.order_sweep_moment)
      INTO order_sweep_orders, order_sweep_overdue
      FROM (SELECT %s AS order_sweep_moment
              FROM %s o WHERE %s
             ORDER BY %s LIMIT $1) order_sweep_row;
    RETURN NEXT;
END $body$, order_sweep.until(s, 'NULL::interval', false), c.declarations,
        c.settings, order_sweep.by_index(s), c.moment, s.orders, c.due_now,
        c.clock);
    remark := 'how many orders are to be swept now, and for how long the oldest '
        'of them has been; parameter: count no more than so many';
    RETURN NEXT;
END $$;
COMMENT ON FUNCTION order_sweep.build_backlog IS 'the text of <sweep>_backlog';

CREATE OR REPLACE FUNCTION order_sweep.build_fault(s order_sweep.sweep)
RETURNS TABLE (name text, arguments text, returns text, options text,
               body text, remark text)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    c record;
    _tries text;
BEGIN
    SELECT * INTO c FROM order_sweep.clauses(s);
    -- Each fragment over the whole table: what raises is named.
    SELECT string_agg(format(E'    BEGIN\n        PERFORM count((%s\n)) FROM %s o;\n'
        '    EXCEPTION WHEN OTHERS THEN\n        RETURN %L;\n    END;\n',
        f.text, s.orders, f.argument), '' ORDER BY f.n)
      INTO _tries
      FROM (SELECT 1 AS n, 'unpaid' AS argument, s.unpaid AS text
            UNION ALL
            SELECT 2, CASE WHEN s.deadline IS NULL THEN 'since' ELSE 'deadline' END,
                   c.moment
            UNION ALL
            SELECT 2 + j.n, format('unless "%s"', j.key), j.value
              FROM json_each_text(s.unless) WITH ORDINALITY AS j(key, value, n)) f;
    name := s.name || '_fault';
    arguments := '';
    returns := 'text';
    options := 'STABLE ' || order_sweep.look_pins(s);
    body := format($body$
#variable_conflict use_column
BEGIN
%s%s    RETURN NULL;
END $body$, c.settings, _tries);
    remark := 'the argument of define whose SQL raises on some row, NULL if '
        'none does; reads the whole table';
    RETURN NEXT;
END $$;
COMMENT ON FUNCTION order_sweep.build_fault IS 'the text of <sweep>_fault';

CREATE OR REPLACE FUNCTION order_sweep.build_clock(s order_sweep.sweep)
RETURNS TABLE (name text, arguments text, returns text, options text,
               body text, remark text)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    c record;
BEGIN
    SELECT * INTO c FROM order_sweep.clauses(s);
    name := s.name || '_clock';
    arguments := '';
    returns := 'regtype';
    options := 'STABLE ' || order_sweep.look_pins(s);
    body := format($body$
#variable_conflict use_column
BEGIN
    RETURN pg_typeof((SELECT %s FROM %s o LIMIT 0));
END $body$, c.clock, s.orders);
    remark := 'the type that the clock has now; reads no row';
    RETURN NEXT;
END $$;
COMMENT ON FUNCTION order_sweep.build_clock IS 'the text of <sweep>_clock';

CREATE OR REPLACE FUNCTION order_sweep.build_part(
    s order_sweep.sweep, what text, expression text, key_where text)
RETURNS text LANGUAGE sql IMMUTABLE
SET search_path = pg_catalog, pg_temp
AS $$
    -- A block of its own: a part that raises must not hide the others.
    SELECT format(
        E'    order_sweep_what := %L;\n    BEGIN\n'
        '        SELECT coalesce((%s\n)::text, ''NULL'') INTO order_sweep_value\n'
        '          FROM %s o WHERE %s;\n'
        '    EXCEPTION WHEN OTHERS THEN\n'
        '        order_sweep_value := ''error: '' || SQLERRM;\n'
        '    END;\n    RETURN NEXT;\n', what, expression, s.orders, key_where)
$$;
COMMENT ON FUNCTION order_sweep.build_part IS
    'one part of <sweep>_explain: the value of an expression on the order';

CREATE OR REPLACE FUNCTION order_sweep.build_explain(s order_sweep.sweep)
RETURNS TABLE (name text, arguments text, returns text, options text,
               body text, remark text)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    c record;
    _parts text;
BEGIN
    SELECT * INTO c FROM order_sweep.clauses(s);
    SELECT string_agg(order_sweep.build_part(s, f.what, f.text, c.key_where), ''
                      ORDER BY f.n)
      INTO _parts
      FROM (SELECT 1::numeric AS n, 'unpaid: ' || s.unpaid AS what, s.unpaid AS text
            UNION ALL
            SELECT 2, coalesce('since: ' || s.since, 'deadline: ' || s.deadline),
                   c.moment
            UNION ALL SELECT 3, 'due from', format('%s + %s', c.moment, c.lead)
            UNION ALL SELECT 4, 'due', format('coalesce(%s, false)', c.on_time)
            UNION ALL SELECT 5, 'too old', format('NOT (%s)', c.young_enough)
            UNION ALL
            SELECT 5 + j.n, format('unless "%s": %s', j.key, j.value), j.value
              FROM json_each_text(s.unless) WITH ORDINALITY AS j(key, value, n)) f;
    name := s.name || '_explain';
    arguments := array_to_string(s.key_types, ', ');
    returns := 'TABLE (order_sweep_what text, order_sweep_value text)';
    options := 'STABLE ' || order_sweep.look_pins(s);
    body := format($body$
#variable_conflict use_column
DECLARE
    order_sweep_until timestamptz := %s;
%s    order_sweep_key jsonb;
    order_sweep_state text;
    order_sweep_row record;
BEGIN
%s    SELECT %s INTO order_sweep_key FROM %s o WHERE %s;
    IF NOT FOUND THEN
        order_sweep_key := jsonb_build_array(%s);
        order_sweep_state := 'there is no such order';
    ELSE
%s        BEGIN
            SELECT CASE WHEN (%s) IS NOT TRUE THEN 'not swept: not unpaid'
                        WHEN %s THEN 'not swept: no clock'
                        WHEN %s THEN 'not swept: never due'
                        WHEN NOT (%s) THEN 'not swept: not due yet'
                        ELSE (%s
                              ELSE 'sweep' END) END
              INTO order_sweep_state FROM %s o WHERE %s;
        EXCEPTION WHEN OTHERS THEN
            order_sweep_state := 'error: ' || SQLERRM;
        END;
    END IF;
    FOR order_sweep_row IN
        SELECT j.swept_at, j.run_id, j.payload FROM order_sweep.journal j
         WHERE j.sweep = %L AND j.order_key = order_sweep_key ORDER BY j.ordinal
    LOOP
        order_sweep_what := 'swept';
        order_sweep_value := order_sweep_row.swept_at
            || ' by run ' || order_sweep_row.run_id
            || ', event ' || order_sweep_row.payload;
        RETURN NEXT;
        -- The last of them, where it may be swept again.
        IF order_sweep_state ~ '^(not swept: not unpaid|swept by run)' THEN
            order_sweep_state := 'swept by run ' || order_sweep_row.run_id;
        END IF;
    END LOOP;
    FOR order_sweep_row IN
        SELECT f.* FROM order_sweep.failure f
         WHERE f.sweep = %L AND f.order_key = order_sweep_key
    LOOP
        order_sweep_what := 'last failure';
        order_sweep_value := order_sweep_row.sqlstate
            || ': ' || order_sweep_row.message
            || ' (' || order_sweep_row.attempts || ' attempt'
            || CASE order_sweep_row.attempts WHEN 1 THEN '' ELSE 's' END
            || ', the last at ' || order_sweep_row.failed_at || ')';
        RETURN NEXT;
        IF order_sweep_state = 'sweep' AND order_sweep_row.quarantined THEN
            order_sweep_state := 'not swept: quarantined';
        ELSIF order_sweep_state = 'sweep' AND order_sweep_row.next_try > now() THEN
            order_sweep_state := 'not swept: back-off until '
                                 || order_sweep_row.next_try;
        END IF;
    END LOOP;
    IF order_sweep_state = 'sweep'
       AND EXISTS (SELECT FROM order_sweep.sweep d WHERE d.name = %L AND d.paused) THEN
        order_sweep_state := 'not swept: the sweep is paused';
    END IF;
    order_sweep_what := 'verdict';
    order_sweep_value := CASE
        WHEN order_sweep_state = 'sweep' THEN 'the next run sweeps it'
        ELSE replace(order_sweep_state, 'keep: ', 'kept: ') END;
    RETURN NEXT;
END $body$, order_sweep.until(s, 'NULL::interval', false), c.declarations,
        c.settings, c.key_json, s.orders, c.key_where,
        (SELECT string_agg('$' || n, ', ' ORDER BY n)
           FROM generate_series(1, cardinality(s.key)) n),
        _parts, c.unpaid, order_sweep.no_clock(s),
        CASE WHEN s.clock_type LIKE '%int%' THEN 'false'
             ELSE format('NOT isfinite(%s)', c.clock) END,
        c.on_time, c.reasons, s.orders, c.key_where, s.name, s.name, s.name);
    remark := 'why one order was swept, or is not: each part of the definition '
        'with its value, the journal, the last failure, a verdict; '
        'parameters: key';
    RETURN NEXT;
END $$;
COMMENT ON FUNCTION order_sweep.build_explain IS 'the text of <sweep>_explain';

CREATE OR REPLACE FUNCTION order_sweep.build_late(s order_sweep.sweep)
RETURNS TABLE (name text, arguments text, returns text, options text,
               body text, remark text)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    c record;
BEGIN
    IF s.paid IS NULL THEN
        RETURN;
    END IF;
    SELECT * INTO c FROM order_sweep.clauses(s);
    name := s.name || '_late';
    arguments := '';
    returns := 'TABLE (order_key jsonb, swept_at timestamptz)';
    options := 'STABLE ' || order_sweep.look_pins(s);
    body := format($body$
#variable_conflict use_column
BEGIN
%s    RETURN QUERY
    SELECT order_sweep_j.order_key, max(order_sweep_j.swept_at)
      FROM order_sweep.journal order_sweep_j
     WHERE order_sweep_j.sweep = %L
       AND EXISTS (SELECT FROM %s o WHERE %s AND (%s
))
     GROUP BY 1 ORDER BY 2, 1;
END $body$, c.settings, s.name, s.orders, (
        SELECT string_agg(format('o.%I = (order_sweep_j.order_key->>%s)::%s',
                   k, n - 1, s.key_types[n]), ' AND ' ORDER BY n)
          FROM unnest(s.key) WITH ORDINALITY AS t(k, n)), s.paid);
    remark := 'orders with evidence of payment after they were swept';
    RETURN NEXT;
END $$;
COMMENT ON FUNCTION order_sweep.build_late IS
    'the text of <sweep>_late, where the definition says paid';

CREATE OR REPLACE FUNCTION order_sweep.build_gone(s order_sweep.sweep)
RETURNS TABLE (name text, arguments text, returns text, options text,
               body text, remark text)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    _key_where text;
    _declare text;
    _read text;
    _key text;
BEGIN
    -- The rows that settings hide are not gone: this look raises.
    s.settings := NULL;
    SELECT string_agg(format('o.%I = order_sweep_k%s', k, n),
                      ' AND ' ORDER BY n),
           string_agg(format(E'    order_sweep_k%s %s;\n', n, t), ''
                      ORDER BY n),
           string_agg(format(
               E'            order_sweep_k%s := (order_sweep_key->>%s)::%s;\n',
               n, n - 1, t), '' ORDER BY n),
           string_agg('order_sweep_k' || n, ', ' ORDER BY n)
      INTO _key_where, _declare, _read, _key
      FROM unnest(s.key, s.key_types) WITH ORDINALITY AS u(k, t, n);
    name := s.name || '_gone';
    arguments := 'jsonb[]';
    returns := 'SETOF jsonb';
    -- Lock first, and look then: one snapshot from before the lock would see
    -- an empty table where another session has just written it anew.
    options := 'VOLATILE ' || order_sweep.look_pins(s)
        || order_sweep.index_pins();
    body := format($body$
#variable_conflict use_column
DECLARE
    order_sweep_key jsonb;
%sBEGIN
    -- What a view shows no more it may show again.
    IF (SELECT c.relkind FROM pg_class c
         WHERE c.oid = %L::regclass) NOT IN ('r', 'p') THEN
        RETURN;
    END IF;
    FOREACH order_sweep_key IN ARRAY $1 LOOP
        BEGIN
%s        EXCEPTION WHEN data_exception THEN
            CONTINUE;
        END;
        -- The key of an earlier definition says nothing of the orders of this
        -- one.
        IF jsonb_build_array(%s) = order_sweep_key
           AND NOT EXISTS (SELECT FROM %s o WHERE %s) THEN
            RETURN NEXT order_sweep_key;
        END IF;
    END LOOP;
END $body$, _declare, s.orders, _read, _key, s.orders, _key_where);
    remark := 'those of these keys that no order has any more; of a view: none';
    RETURN NEXT;
END $$;
COMMENT ON FUNCTION order_sweep.build_gone IS 'the text of <sweep>_gone';
