-- The functions of a definition that find orders and cancel one.

CREATE OR REPLACE FUNCTION order_sweep.look(s order_sweep.sweep)
RETURNS text LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    -- How late: as the row is read, not as its statement began.
    SELECT format(E'SELECT (%s)::%s, %s,\n'
        '               floor(1000 * date_part(''epoch'', order_sweep_until - %s\n'
        '                   + (clock_timestamp() - now())))::bigint\n'
        '          FROM %s o\n         WHERE %s',
                  c.clock, s.clock_type, c.key_output, c.moment, s.orders,
                  c.due_now)
      FROM order_sweep.clauses(s) c
$$;
COMMENT ON FUNCTION order_sweep.look IS
    'SQL for the rows to sweep: clock, key and how many ms they are late, '
    'without order and limit';

CREATE OR REPLACE FUNCTION order_sweep.look_type(s order_sweep.sweep)
RETURNS text LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT format('TABLE (since %s, %s, late_ms bigint)', s.clock_type,
                  string_agg(format('k%s %s', n, t), ', ' ORDER BY n))
      FROM unnest(s.key_types) WITH ORDINALITY AS u(t, n)
$$;
COMMENT ON FUNCTION order_sweep.look_type IS 'the type of such a row';

CREATE OR REPLACE FUNCTION order_sweep.build_batch(s order_sweep.sweep)
RETURNS TABLE (name text, arguments text, returns text, options text,
               body text, remark text)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    c record;
    _keys int := cardinality(s.key);
    _look text;
    _cursor text;
BEGIN
    SELECT * INTO c FROM order_sweep.clauses(s);
    -- A part of the rows for each of several runs at once, the same for all.
    _look := order_sweep.look(s) || format(
        E'\n           AND ($%1$s = 1 OR'
        ' (hashtext(concat_ws('','', %2$s)) & 2147483647) %% $%1$s = $%3$s - 1)',
        _keys + 5, c.key_columns, _keys + 4);
    SELECT string_agg('$' || n, ', ' ORDER BY n) INTO _cursor
      FROM generate_series(2, 2 + _keys) n;
    name := s.name || '_batch';
    arguments := format('interval, %s, %s, integer, integer DEFAULT 1, '
                        'integer DEFAULT 1', s.clock_type,
                        array_to_string(s.key_types, ', '));
    returns := order_sweep.look_type(s);
    options := 'VOLATILE ' || order_sweep.look_pins(s) || order_sweep.index_pins();
    -- The first page is a statement of its own: "cursor IS NULL OR ..." would
    -- keep the row comparison out of the index condition.
    body := format($body$
#variable_conflict use_column
DECLARE
    order_sweep_until timestamptz := %s;
%sBEGIN
    -- Its locks end with its transaction: nothing to wait for a disk for.
    PERFORM set_config('synchronous_commit', 'off', true);
%s%s    IF $2 IS NULL THEN
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
END $body$, order_sweep.until(s, '$1', false), c.declarations,
        order_sweep.by_index(s), c.settings,
        _look, c.clock, c.key_columns, _keys + 3,
        _look, c.clock, c.key_columns, _cursor, c.clock, c.key_columns, _keys + 3);
    remark := 'rows to sweep behind a cursor, oldest first, past rows that '
        'others hold; parameters: window, cursor (clock and key), limit, '
        'share, of so many shares';
    RETURN NEXT;
END $$;
COMMENT ON FUNCTION order_sweep.build_batch IS 'the text of <sweep>_batch';

CREATE OR REPLACE FUNCTION order_sweep.build_newest(s order_sweep.sweep)
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
    name := s.name || '_newest';
    arguments := 'interval, integer';
    returns := order_sweep.look_type(s);
    options := 'VOLATILE ' || order_sweep.look_pins(s) || order_sweep.index_pins();
    body := format($body$
#variable_conflict use_column
DECLARE
    order_sweep_until timestamptz := %s;
%sBEGIN
    PERFORM set_config('synchronous_commit', 'off', true);
%s%s    RETURN QUERY
        %s
         ORDER BY %s DESC, %s
         LIMIT $2 FOR UPDATE OF o SKIP LOCKED;
END $body$, order_sweep.until(s, '$1', false), c.declarations,
        order_sweep.by_index(s), c.settings, order_sweep.look(s), c.clock,
        (SELECT string_agg(format('o.%I DESC', k), ', ' ORDER BY n)
           FROM unnest(s.key) WITH ORDINALITY AS t(k, n)));
    remark := 'rows to sweep, newest first: tells a fault of the shop from '
        'faults of single orders; parameters: window, limit';
    RETURN NEXT;
END $$;
COMMENT ON FUNCTION order_sweep.build_newest IS 'the text of <sweep>_newest';

CREATE OR REPLACE FUNCTION order_sweep.build_cancel(s order_sweep.sweep)
RETURNS TABLE (name text, arguments text, returns text, options text,
               body text, remark text)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    c record;
    _keys int := cardinality(s.key);
    _each text;
    _ordinal text := '';
    _ordinal_value text := '';
BEGIN
    SELECT * INTO c FROM order_sweep.clauses(s);
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
    arguments := format('%s, interval, bigint', array_to_string(s.key_types, ', '));
    returns := 'text';
    options := 'VOLATILE ' || order_sweep.pins(s);
    body := format($body$
#variable_conflict use_column
DECLARE
    order_sweep_until timestamptz := %s;
%s    order_sweep_state text;
    order_sweep_same boolean;
    order_sweep_key jsonb;
    order_sweep_payload jsonb;
    order_sweep_row record;
BEGIN
    -- A snapshot older than the lock would not see a payment before it.
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION USING ERRCODE = 'OS001',
            MESSAGE = 'the transaction must be read committed';
    END IF;
    -- Names of zones must mean what they did when it was defined.
    IF current_setting('timezone_abbreviations') <> 'Default' THEN
        RAISE EXCEPTION USING ERRCODE = 'OS005',
            MESSAGE = 'timezone_abbreviations must be Default';
    END IF;
    -- A name that lost its table would be looked for in pg_temp at last: what
    -- somebody else put there must not answer for it.
    IF pg_my_temp_schema() <> 0 THEN
        IF EXISTS (SELECT FROM pg_class c
                    WHERE c.relnamespace = pg_my_temp_schema()
                      AND pg_get_userbyid(c.relowner) <> current_user)
           OR EXISTS (SELECT FROM pg_type t
                       WHERE t.typnamespace = pg_my_temp_schema()
                         AND pg_get_userbyid(t.typowner) <> current_user) THEN
            RAISE EXCEPTION USING ERRCODE = 'OS007',
                MESSAGE = 'the session has temporary objects of another role',
                HINT = 'Call it in a session without them.';
        END IF;
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
    RETURNING %s, %s, %s
      INTO order_sweep_same, order_sweep_key, order_sweep_payload;
    IF NOT FOUND THEN
        SELECT CASE WHEN %s
                     AND %s
                    THEN (%s
                          ELSE 'sweep' END)
                    ELSE 'changed' END
          INTO order_sweep_state FROM %s o WHERE %s;
        IF order_sweep_state = 'sweep' THEN
            RAISE EXCEPTION USING ERRCODE = 'OS002',
                MESSAGE = 'the update of the order changed no row',
                HINT = 'Look for a trigger or rule that swallows it.';
        END IF;
        RETURN replace(order_sweep_state, 'keep: ', 'kept: ');
    END IF;
    IF NOT order_sweep_same THEN
        RAISE EXCEPTION USING ERRCODE = 'OS004',
            MESSAGE = 'the update changed the key of the order',
            HINT = 'Take the key out of set, or look for a trigger that does it.';
    END IF;

%s
    -- The primary key refuses a second sweep of an order; the batch has passed
    -- such orders, so that no look for them is needed here.
    INSERT INTO order_sweep.journal (sweep, order_key,%s run_id, payload)
    VALUES (%L, order_sweep_key,%s $%s, order_sweep_payload);
    IF NOT FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'OS006',
            MESSAGE = 'the journal took no row',
            HINT = 'Look for a trigger or rule on order_sweep.journal.';
    END IF;

    -- The shop's deferred triggers run here, with the owner's rights.
    SET CONSTRAINTS ALL IMMEDIATE;

    -- After all of the shop's triggers: what is unpaid still could be paid,
    -- and its goods be sold twice.
    IF EXISTS (SELECT FROM %s o WHERE %s AND %s) THEN
        RAISE EXCEPTION USING ERRCODE = 'OS003',
            MESSAGE = 'the order is unpaid as before after the update',
            HINT = 'Let set end what unpaid asks for, or look for a trigger '
                   'or an each that undoes it.';
    END IF;
    RETURN 'swept';
END $body$, order_sweep.until(s, '$' || _keys + 1, false), c.declarations,
        c.settings, s.orders, c.key_where, s.orders, c.key_where,
        s.orders, s.set || E'\n', c.key_where, c.unpaid, c.on_time,
        c.young_enough, c.allowed,
        c.key_where, c.key_json, c.event,
        c.unpaid, c.on_time, c.reasons, s.orders, c.key_where,
        _each, _ordinal, s.name, _ordinal_value, _keys + 2,
        s.orders, c.key_where, c.unpaid);
    remark := 'cancel one order if it is unpaid, due and kept by no rule: '
        'swept, kept: rule, locked, changed or gone; parameters: key, window, '
        'run id';
    RETURN NEXT;
END $$;
COMMENT ON FUNCTION order_sweep.build_cancel IS 'the text of <sweep>_cancel';

CREATE OR REPLACE FUNCTION order_sweep.build_fail(s order_sweep.sweep)
RETURNS TABLE (name text, arguments text, returns text, options text,
               body text, remark text)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    c record;
    _keys int := cardinality(s.key);
BEGIN
    SELECT * INTO c FROM order_sweep.clauses(s);
    name := s.name || '_fail';
    arguments := format('%s, text, text, boolean',
                        array_to_string(s.key_types, ', '));
    returns := 'boolean';
    options := 'VOLATILE ' || order_sweep.look_pins(s);
    -- Only an order that is unpaid and due can have failed: the caller is not
    -- believed more than that.
    body := format($body$
#variable_conflict use_column
DECLARE
    order_sweep_until timestamptz := %s;
%s    order_sweep_key jsonb;
BEGIN
%s    SELECT %s INTO order_sweep_key FROM %s o
     WHERE %s AND %s AND %s;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    RETURN order_sweep.record_failure(%L, order_sweep_key, $%s, $%s, $%s);
END $body$, order_sweep.until(s, 'NULL::interval', false), c.declarations,
        c.settings, c.key_json, s.orders, c.key_where, c.unpaid, c.on_time,
        s.name, _keys + 1, _keys + 2, _keys + 3);
    remark := 'book a failed try of an order that is due; true if it is '
        'quarantined now; parameters: key, SQLSTATE, message, does it count '
        'as an attempt';
    RETURN NEXT;
END $$;
COMMENT ON FUNCTION order_sweep.build_fail IS 'the text of <sweep>_fail';
