-- From a definition's row to the functions that a run calls.

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
        WHEN 'timestamp with time zone' THEN clock
        WHEN 'timestamp without time zone' THEN
            format('(%s AT TIME ZONE %L)', clock, zone)
        WHEN 'date' THEN
            format('((%s + 1)::timestamp AT TIME ZONE %L)', clock, zone)
        -- kept within what a timestamptz can hold: one wild integer must not
        -- stop the listing
        ELSE format('to_timestamp(least(greatest(%s, -2e11::float8), '
                    '9e12::float8)%s)', clock,
                    CASE unit WHEN 'ms' THEN ' / 1000' ELSE '' END)
    END
$$;
COMMENT ON FUNCTION order_sweep.clock_moment IS
    'SQL for the moment that a clock value of the orders table means';

CREATE OR REPLACE FUNCTION order_sweep.clauses(s order_sweep.sweep)
RETURNS TABLE (
    key_columns text, key_where text, key_json text, key_object text,
    key_output text, clock text, moment text, lead text, naive boolean,
    unpaid text, on_time text, young_enough text, not_before text,
    allowed text, ready text, state text, event text, declarations text,
    settings text)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
SET IntervalStyle = postgres
AS $$
DECLARE
    _bare text;
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

    _bare := coalesce(s.deadline, s.since);
    clock := '(' || _bare || E'\n)';
    moment := order_sweep.clock_moment(s.clock_type, s.zone, s.unit, clock);
    lead := format('%L::interval', coalesce(s.after, '0') + s.grace);
    naive := s.zone IS NOT NULL;
    unpaid := '(' || s.unpaid || E'\n)';

    -- order_sweep_until: rows whose clock stands at it or before are due.  The
    -- window of a call can only lengthen the defined one: moments are
    -- compared, since intervals do not compare exactly.
    declarations := format(
        E'    order_sweep_to %s := %s;\n',
        CASE WHEN s.clock_type LIKE '%int%' THEN 'bigint' ELSE s.clock_type END,
        order_sweep.clock_bound(s.clock_type, s.zone, s.unit, 'order_sweep_until'));
    on_time := format('%s <= order_sweep_to', clock);
    IF s.clock_type NOT LIKE '%int%' THEN
        on_time := on_time || format(E'\n       AND %s > ''-infinity''', clock);
    END IF;
    -- A clock without zone: the first bound serves the index, the second
    -- decides; the first alone is an hour early on an autumn night.
    IF naive THEN
        on_time := on_time
            || format(E'\n       AND %s <= order_sweep_until', moment);
    END IF;

    IF s.max_age IS NULL THEN
        young_enough := 'true';
    ELSE
        declarations := declarations || format(
            E'    order_sweep_oldest timestamptz := order_sweep_until - %L::interval;\n'
            '    order_sweep_from %s := %s;\n',
            s.max_age,
            CASE WHEN s.clock_type LIKE '%int%' THEN 'bigint' ELSE s.clock_type END,
            order_sweep.clock_bound(s.clock_type, s.zone, s.unit,
                CASE WHEN naive THEN 'order_sweep_oldest - interval ''24 hours'''
                     ELSE 'order_sweep_oldest' END));
        young_enough := format('%s >= order_sweep_from', clock);
        IF naive THEN
            young_enough := young_enough
                || format(' AND %s >= order_sweep_oldest', moment);
        END IF;
    END IF;

    -- The sub-selects name nothing without its table, and the fragments stand
    -- outside of them: a fragment's bare column can only be the orders table's.
    -- They are sub-selects, not joins: a join could read the whole journal or
    -- failure table for each batch.
    not_before := CASE WHEN s.again THEN 'true' ELSE format(
        '(SELECT true FROM order_sweep.journal order_sweep_j'
        ' WHERE order_sweep_j.sweep = %L AND order_sweep_j.order_key = %s'
        ' LIMIT 1) IS NULL', s.name, key_json) END;
    allowed := 'true';
    state := 'CASE';
    IF NOT s.again THEN
        state := state || format(
            E'\n       WHEN NOT (%s) THEN ''keep: swept before''', not_before);
    END IF;
    IF s.max_age IS NOT NULL THEN
        state := state || format(
            E'\n       WHEN NOT (%s) THEN ''keep: too old''', young_enough);
    END IF;
    FOR _rule IN SELECT key AS name, value AS test FROM json_each_text(s.unless) LOOP
        allowed := allowed || format(E'\n       AND (%s\n) IS NOT TRUE', _rule.test);
        state := state || format(
            E'\n       WHEN (%s\n) THEN %L', _rule.test, 'keep: ' || _rule.name);
    END LOOP;
    state := state || E'\n       ELSE ''sweep'' END';
    ready := format(
        '(SELECT true FROM order_sweep.failure order_sweep_f'
        ' WHERE order_sweep_f.sweep = %L AND order_sweep_f.order_key = %s'
        ' AND (order_sweep_f.quarantined OR order_sweep_f.next_try > now()))'
        ' IS NULL', s.name, key_json);
    -- Not SET clauses, which end with the function: the shop's triggers may
    -- look at them until the commit.
    SELECT coalesce(string_agg(format(E'    PERFORM set_config(%L, %L, true);\n',
                    key, value), '' ORDER BY n), '')
      INTO settings
      FROM json_each_text(s.settings) WITH ORDINALITY AS j(key, value, n);
    event := CASE WHEN s.event IS NULL THEN key_object ELSE
        format(E'coalesce(to_jsonb((%s\n)), ''null'')', s.event) END;
    RETURN NEXT;
END $$;
COMMENT ON FUNCTION order_sweep.clauses IS
    'the clauses that the functions of a definition are put together from';

CREATE OR REPLACE FUNCTION order_sweep.build(s order_sweep.sweep)
RETURNS TABLE (name text, arguments text, returns text, options text,
               body text, remark text)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
SET IntervalStyle = postgres
AS $$
#variable_conflict use_column
DECLARE
    c record;
    _pins text;
    _index_pins text;
    _types text := array_to_string(s.key_types, ', ');
    _keys int := cardinality(s.key);
    _table text;
    _cursor text;
    _due_now text;
    _look text;
    _shorter text;
    _longer text;
    _each text := '';
    _pick text;
    _ordinal text := '';
    _ordinal_value text := '';
BEGIN
    SELECT * INTO c FROM order_sweep.clauses(s);

    -- What the caller may have set must not change what the text means.
    _pins := format(
        E'SECURITY DEFINER\n SET search_path = %s\n'
        ' SET standard_conforming_strings = on\n'
        ' SET transform_null_equals = off\n'
        ' SET TimeZone = ''UTC''\n'
        ' SET DateStyle = ''ISO, MDY''\n'
        ' SET lock_timeout = ''200ms''\n'
        ' SET row_security = %s', s.search_path,
        -- Hidden rows raise instead of being passed in silence; whoever names
        -- settings says that the policies are wanted.
        CASE WHEN s.settings IS NULL THEN 'off' ELSE 'on' END);
    IF EXISTS (SELECT FROM unnest(s.key_types) t WHERE t NOT IN
               ('smallint', 'integer', 'bigint', 'numeric', 'text',
                'character varying', 'bpchar', 'uuid')) THEN
        _pins := _pins || E'\n SET bytea_output = hex\n'
            ' SET IntervalStyle = postgres\n SET extra_float_digits = 1';
    END IF;
    -- A table that was never analysed would otherwise be sorted whole for
    -- each batch.  What the planner can only do by a way that is off looks
    -- so dear to it that it would compile the plan: no jit.
    _index_pins := E'\n SET enable_seqscan = off\n SET enable_bitmapscan = off'
        '\n SET enable_sort = off\n SET jit = off';

    -- The window as exact seconds: a day is 24 hours here too.
    _shorter := format('now() - coalesce(make_interval(secs => '
        'extract(epoch FROM $1)::float8) + %L::interval, %s)', s.grace, c.lead);
    _longer := format('least(now() - %s, now() - make_interval(secs => '
        'extract(epoch FROM $1)::float8) - %L::interval)', c.lead, s.grace);
    IF s.deadline IS NOT NULL THEN
        _shorter := format('now() - %s', c.lead);
        _longer := _shorter;
    END IF;

    _table := 'TABLE (since ' || s.clock_type || (
        SELECT string_agg(format(', k%s %s', n, t), '' ORDER BY n)
          FROM unnest(s.key_types) WITH ORDINALITY AS u(t, n)) || ')';
    _due_now := format(E'%s\n       AND %s\n       AND %s\n       AND %s\n'
        '       AND %s\n       AND %s', c.unpaid, c.on_time, c.young_enough,
        c.not_before, c.allowed, c.ready);
    _look := format(E'SELECT (%s)::%s, %s\n      FROM %s o\n     WHERE %s',
        c.clock, s.clock_type, c.key_output, s.orders, _due_now);
    SELECT string_agg('$' || n, ', ' ORDER BY n) INTO _cursor
      FROM generate_series(2, 2 + _keys) n;

    name := s.name || '_due';
    arguments := 'interval';
    returns := 'TABLE (order_key jsonb, since timestamptz, deadline timestamptz, state text)';
    options := 'STABLE ' || _pins;
    body := format($body$
#variable_conflict use_column
DECLARE
    order_sweep_until timestamptz := %s;
%sBEGIN
%s    RETURN QUERY
    SELECT %s, %s, %s + %s,
           CASE (%s) WHEN 'sweep' THEN coalesce(
               (SELECT CASE WHEN order_sweep_f.quarantined THEN 'quarantined'
                            WHEN order_sweep_f.next_try > now() THEN 'back-off' END
                  FROM order_sweep.failure order_sweep_f
                 WHERE order_sweep_f.sweep = %L AND order_sweep_f.order_key = %s),
               'sweep')
           ELSE (%s) END
      FROM %s o
     WHERE %s
       AND %s
     ORDER BY %s, %s;
    -- Never due, but somebody should know of them.
    RETURN QUERY
    SELECT %s, NULL::timestamptz, NULL::timestamptz, 'keep: no clock'
      FROM %s o
     WHERE %s
       AND %s IS NULL;
END $body$, _shorter, c.declarations, c.settings, c.key_json, c.moment, c.moment, c.lead,
        c.state, s.name, c.key_json, c.state, s.orders, c.unpaid, c.on_time,
        c.clock, c.key_columns, c.key_json, s.orders, c.unpaid, c.clock);
    remark := 'every due row with what would happen to it, oldest first, then '
        'those without a clock; parameter: window (a shorter one too: this '
        'only looks)';
    RETURN NEXT;

    name := s.name || '_next';
    arguments := 'interval';
    returns := 'TABLE (due boolean, next_deadline timestamptz)';
    options := 'STABLE ' || _pins || _index_pins;
    body := format($body$
#variable_conflict use_column
DECLARE
    order_sweep_until timestamptz := %s;
%sBEGIN
%s    RETURN QUERY
    SELECT EXISTS (SELECT FROM %s o WHERE %s),
           (SELECT %s + %s FROM %s o
             WHERE %s AND %s > order_sweep_to
             ORDER BY %s LIMIT 1);
END $body$, _longer, c.declarations, c.settings, s.orders, _due_now, c.moment, c.lead,
        s.orders, c.unpaid, c.clock, c.clock);
    remark := 'is anything to sweep now, and when is the next; parameter: window';
    RETURN NEXT;

    name := s.name || '_batch';
    arguments := format('interval, %s, %s, integer', s.clock_type, _types);
    returns := _table;
    options := 'VOLATILE ' || _pins || _index_pins;
    -- The first page is a statement of its own: "cursor IS NULL OR …" would
    -- keep the row comparison out of the index condition.
    body := format($body$
#variable_conflict use_column
DECLARE
    order_sweep_until timestamptz := %s;
%sBEGIN
%s    IF $2 IS NULL THEN
        RETURN QUERY
        %s
         ORDER BY %s, %s
         LIMIT $%s FOR UPDATE OF o SKIP LOCKED;
    ELSE
        RETURN QUERY
        %s
           AND ROW(%s, %s) > ROW(%s)
         ORDER BY %s, %s
         LIMIT $%s FOR UPDATE OF o SKIP LOCKED;
    END IF;
END $body$, _longer, c.declarations, c.settings, _look, c.clock, c.key_columns, _keys + 3,
        _look, c.clock, c.key_columns, _cursor, c.clock, c.key_columns, _keys + 3);
    remark := 'rows to sweep behind a cursor, oldest first, past rows that '
        'others hold; parameters: window, cursor (clock and key), limit';
    RETURN NEXT;

    name := s.name || '_newest';
    arguments := 'interval, integer';
    SELECT string_agg(format('o.%I DESC', k), ', ' ORDER BY n) INTO _pick
      FROM unnest(s.key) WITH ORDINALITY AS t(k, n);
    body := format($body$
#variable_conflict use_column
DECLARE
    order_sweep_until timestamptz := %s;
%sBEGIN
%s    RETURN QUERY
    %s
     ORDER BY %s DESC, %s
     LIMIT $2 FOR UPDATE OF o SKIP LOCKED;
END $body$, _longer, c.declarations, c.settings, _look, c.clock, _pick);
    remark := 'rows to sweep, newest first: tells a fault of the shop from '
        'faults of single orders; parameters: window, limit';
    RETURN NEXT;

    SELECT coalesce(string_agg(CASE WHEN s.each_rows[n]
               THEN format(E'    FOR order_sweep_row IN %s\n    LOOP END LOOP;\n', t)
               ELSE format(E'    %s\n    ;\n', t) END, '' ORDER BY n), '')
      INTO _each FROM unnest(s.each) WITH ORDINALITY AS u(t, n);
    IF s.again THEN
        _ordinal := ' ordinal,';
        _ordinal_value := format(
            ' (SELECT coalesce(max(j.ordinal), 0) + 1 FROM order_sweep.journal j'
            ' WHERE j.sweep = %L AND j.order_key = order_sweep_key),', s.name);
    END IF;
    name := s.name || '_cancel';
    arguments := format('%s, interval, bigint', _types);
    returns := 'text';
    options := 'VOLATILE ' || _pins;
    body := format($body$
#variable_conflict use_column
DECLARE
    order_sweep_until timestamptz := %s;
%s    order_sweep_state text;
    order_sweep_stays boolean;
    order_sweep_key jsonb;
    order_sweep_payload jsonb;
    order_sweep_row record;
BEGIN
    -- A snapshot older than the lock would not see a payment before it.
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION USING ERRCODE = 'OS001',
            MESSAGE = 'the transaction must be read committed';
    END IF;
%s
    -- Lock: FOR UPDATE, since only that waits for a payment being inserted
    -- through a foreign key.
    PERFORM FROM %s o WHERE %s FOR UPDATE OF o SKIP LOCKED;
    IF NOT FOUND THEN
        IF EXISTS (SELECT FROM %s o WHERE %s) THEN
            RETURN 'locked';
        END IF;
        RETURN 'gone';
    END IF;

    -- Then look, in a statement of its own: it sees all that was committed
    -- before the lock.
    UPDATE %s o
       SET %s
     WHERE %s
       AND %s
       AND %s
       AND %s
       AND %s
    RETURNING %s IS TRUE, %s, %s
      INTO order_sweep_stays, order_sweep_key, order_sweep_payload;
    IF NOT FOUND THEN
        SELECT CASE WHEN %s
                     AND %s
                    THEN %s
                    ELSE 'changed' END
          INTO order_sweep_state FROM %s o WHERE %s;
        IF order_sweep_state = 'sweep' THEN
            RAISE EXCEPTION USING ERRCODE = 'OS002',
                MESSAGE = 'the update of the order changed no row',
                HINT = 'Look for a trigger or rule that swallows it.';
        END IF;
        RETURN replace(order_sweep_state, 'keep: ', 'kept: ');
    END IF;
    IF order_sweep_stays THEN
        RAISE EXCEPTION USING ERRCODE = 'OS003',
            MESSAGE = 'the order is unpaid as before after the update',
            HINT = 'Let set end what unpaid asks for, or look for a trigger '
                   'that undoes it.';
    END IF;

%s
    -- The primary key refuses a second sweep of an order; the batch has passed
    -- such orders, so that no look for them is needed here.
    INSERT INTO order_sweep.journal (sweep, order_key,%s run_id, payload)
    VALUES (%L, order_sweep_key,%s $%s, order_sweep_payload);

    -- The shop's deferred triggers run here, with the owner's rights.
    SET CONSTRAINTS ALL IMMEDIATE;
    RETURN 'swept';
END $body$, replace(_longer, '$1', '$' || _keys + 1), c.declarations,
        c.settings, s.orders, c.key_where, s.orders, c.key_where,
        s.orders, s.set || E'\n', c.key_where, c.unpaid, c.on_time,
        c.young_enough, c.allowed,
        c.unpaid, c.key_json, c.event,
        c.unpaid, c.on_time, c.state, s.orders, c.key_where,
        _each, _ordinal, s.name, _ordinal_value, _keys + 2);
    remark := 'cancel one order if it is unpaid, due and kept by no rule: '
        'swept, kept: rule, locked, changed or gone; parameters: key, window, '
        'run id';
    RETURN NEXT;

    IF s.paid IS NOT NULL THEN
        name := s.name || '_late';
        arguments := '';
        returns := 'TABLE (order_key jsonb, swept_at timestamptz)';
        options := 'STABLE ' || _pins;
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
    END IF;
END $$;
COMMENT ON FUNCTION order_sweep.build IS
    'the text of each function of a definition, without creating it';

CREATE OR REPLACE FUNCTION order_sweep.generate(s order_sweep.sweep)
RETURNS void LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
SET check_function_bodies = on
SET standard_conforming_strings = on
SET client_min_messages = warning
AS $$
DECLARE
    f record;
    _grantee record;
    _kept oid[];
BEGIN
    FOR f IN SELECT * FROM order_sweep.build(s) LOOP
        -- DROP and CREATE, since a changed key or clock changes the
        -- signature; the grants given before are given again.
        SELECT coalesce(array_agg(DISTINCT a.grantee), '{}') INTO _kept
          FROM pg_proc p, aclexplode(p.proacl) a
         WHERE p.pronamespace = 'order_sweep'::regnamespace
           AND p.proname = f.name
           AND a.grantee <> p.proowner AND a.grantee <> 0;
        PERFORM order_sweep.drop_function(f.name);
        EXECUTE format('CREATE FUNCTION order_sweep.%I(%s) RETURNS %s '
            'LANGUAGE plpgsql %s AS %L',
            f.name, f.arguments, f.returns, f.options, f.body);
        EXECUTE format('REVOKE ALL ON FUNCTION order_sweep.%I(%s) FROM PUBLIC',
            f.name, f.arguments);
        EXECUTE format('COMMENT ON FUNCTION order_sweep.%I(%s) IS %L',
            f.name, f.arguments, f.remark);
        FOR _grantee IN
            SELECT quote_ident(r.rolname) AS role FROM pg_roles r
             WHERE (r.oid = ANY (_kept)
                    OR r.oid IN (SELECT * FROM order_sweep.grantees(f.name)))
               AND r.rolname <> s.owner
        LOOP
            EXECUTE format('GRANT EXECUTE ON FUNCTION order_sweep.%I(%s) TO %s',
                f.name, f.arguments, _grantee.role);
        END LOOP;
    END LOOP;
    IF s.paid IS NULL THEN
        PERFORM order_sweep.drop_function(s.name || '_late');
    END IF;
END $$;
COMMENT ON FUNCTION order_sweep.generate IS
    'create the functions of a definition anew, as the current role, with the '
    'grants they had';

CREATE OR REPLACE FUNCTION order_sweep.drop_function(name text)
RETURNS void LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    _signature text;
BEGIN
    FOR _signature IN
        SELECT p.oid::regprocedure::text FROM pg_proc p
         WHERE p.pronamespace = 'order_sweep'::regnamespace
           AND p.proname = drop_function.name
    LOOP
        EXECUTE 'DROP FUNCTION ' || _signature;
    END LOOP;
END $$;
COMMENT ON FUNCTION order_sweep.drop_function IS
    'drop the functions of this name in the schema, whatever their parameters';
