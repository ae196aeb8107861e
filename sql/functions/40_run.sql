-- What a run calls.  SECURITY DEFINER: the role in the crontab has no rights
-- on any table, here or in the shop.

CREATE OR REPLACE FUNCTION order_sweep.schema_version()
RETURNS integer LANGUAGE sql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$ SELECT max(v.version) FROM order_sweep.version v $$;
COMMENT ON FUNCTION order_sweep.schema_version IS
    'the version of the schema, to compare with the program''s';

CREATE OR REPLACE FUNCTION order_sweep.own_function(sweep text, suffix text)
RETURNS text LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    _name text;
    _owner text;
BEGIN
    SELECT s.name || $2, s.owner INTO _name, _owner FROM order_sweep.sweep s
     WHERE s.name = $1;
    IF NOT FOUND THEN
        PERFORM order_sweep.known($1);
    END IF;
    IF EXISTS (SELECT FROM pg_proc p
                -- as oid: each look for an operator between two types takes a
                -- hundred look-ups in a new session
                WHERE p.pronamespace = 'order_sweep'::regnamespace::oid
                  AND p.proname = _name
                  AND NOT (p.prosecdef
                           AND pg_get_userbyid(p.proowner) = _owner)) THEN
        RAISE EXCEPTION USING
            ERRCODE = 'object_not_in_prerequisite_state',
            MESSAGE = format('function %I is not as define made it; see '
                             'order-sweep check', _name);
    END IF;
    RETURN format('order_sweep.%I', _name);
END $$;
COMMENT ON FUNCTION order_sweep.own_function IS
    'the name of a function of a sweep, to be called; refused unless it runs '
    'with the rights of the sweep''s owner: its owner could replace it by one '
    'that runs with those of its caller';

CREATE OR REPLACE FUNCTION order_sweep.say_retyped(
    s order_sweep.sweep, message text)
RETURNS text LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT coalesce((
        SELECT format('%s: the type of %s was %s and is %s',
                      CASE WHEN s.deadline IS NULL THEN 'since' ELSE 'deadline' END,
                      coalesce(s.deadline, s.since), s.clock_type, m[1])
          FROM regexp_match(message, 'order_sweep\.same_type\((.*), ') m
         WHERE m IS NOT NULL), message)
$$;
COMMENT ON FUNCTION order_sweep.say_retyped IS
    'the message that same_type parses no more, in words for people; any other '
    'as it is';

CREATE OR REPLACE FUNCTION order_sweep.blame(
    sweep text, state text, message text)
RETURNS text LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    _argument text;
BEGIN
    -- A value that some fragment cannot take (class 22), or two where it can
    -- take one (class 21): which fragment?
    IF state ~ '^2[12]' THEN
        EXECUTE format('SELECT %s()', order_sweep.own_function(sweep, '_fault'))
           INTO _argument;
    ELSIF state = '42883' THEN
        RETURN (SELECT order_sweep.say_retyped(s, message)
                  FROM order_sweep.sweep s WHERE s.name = blame.sweep);
    END IF;
    RETURN concat_ws(': ', _argument, message);
EXCEPTION WHEN query_canceled OR OTHERS THEN
    RETURN message;
END $$;
COMMENT ON FUNCTION order_sweep.blame IS
    'the message of a look that failed, after the name of the argument whose '
    'SQL raises it, or the one that says whose type changed';

CREATE OR REPLACE FUNCTION order_sweep.probe(sweep text, "window" interval)
RETURNS TABLE (
    id integer, name text, paused boolean, takes_window boolean,
    shorter boolean, due boolean,
    next_deadline timestamptz, silent_s bigint, error_state text,
    error_message text)
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    _time_is_over boolean := false;
BEGIN
    FOR id, name, paused, takes_window, shorter, silent_s IN
        SELECT s.id, s.name, s.paused, s.deadline IS NULL,
               coalesce(probe."window" < s.after, false),
               -- no join, which the planner would have to weigh
               floor(extract(epoch FROM now() - (
                   SELECT l.seen_at FROM order_sweep.life l
                    WHERE l.sweep_id = s.id)))::bigint
          FROM order_sweep.sweep s
         WHERE probe.sweep IS NULL OR s.name = probe.sweep
    LOOP
        due := NULL;
        next_deadline := NULL;
        error_state := NULL;
        error_message := NULL;
        -- The limit of the statement ends one look; those behind it would have
        -- none.
        IF _time_is_over THEN
            error_state := '57014';
        ELSIF NOT paused THEN
            -- One definition that a migration of the shop broke must not
            -- hide the others.
            BEGIN
                EXECUTE format('SELECT order_sweep_due, order_sweep_deadline '
                               'FROM %s($1)', order_sweep.own_function(name, '_next'))
                   INTO due, next_deadline USING probe."window";
            EXCEPTION WHEN query_canceled OR OTHERS THEN
                GET STACKED DIAGNOSTICS
                    error_state = RETURNED_SQLSTATE,
                    error_message = MESSAGE_TEXT;
                _time_is_over := error_state = '57014';
            END;
        END IF;
        RETURN NEXT;
    END LOOP;
END $$;
COMMENT ON FUNCTION order_sweep.probe IS
    'for each sweep (or the one named): does it take a window, is this one '
    'shorter than the defined one, is anything due under it, when '
    'is the next deadline, how long ago was the last sign of life, and the '
    'error if its look failed: one without a message was not looked at, for the '
    'look before it was cancelled; writes nothing';

CREATE OR REPLACE FUNCTION order_sweep.calls_of(sweep text)
RETURNS TABLE (batch_call text, newest_call text, cancel_call text,
               fail_call text, keys integer)
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    FOR batch_call, newest_call, cancel_call, fail_call, keys IN
        SELECT s.batch_call, s.newest_call, s.cancel_call, s.fail_call,
               cardinality(s.key)
          FROM order_sweep.sweep s WHERE s.name = $1 AND NOT s.paused
    LOOP
        PERFORM order_sweep.own_function($1, x)
           FROM unnest('{_batch,_newest,_cancel,_fail}'::text[]) x;
        RETURN NEXT;
    END LOOP;
END $$;
COMMENT ON FUNCTION order_sweep.calls_of IS
    'the statements that a run of this sweep prepares; no row if it was '
    'paused or undefined meanwhile';

CREATE OR REPLACE FUNCTION order_sweep.preview(sweep text, "window" interval)
RETURNS TABLE (order_key jsonb, since timestamptz, deadline timestamptz,
               state text)
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    _state text;
    _message text;
BEGIN
    RETURN QUERY EXECUTE format(
        'SELECT order_key, since, deadline, state FROM %s($1)',
        order_sweep.own_function(sweep, '_due')) USING "window";
EXCEPTION WHEN data_exception OR cardinality_violation THEN
    GET STACKED DIAGNOSTICS
        _state = RETURNED_SQLSTATE, _message = MESSAGE_TEXT;
    RAISE EXCEPTION USING
        ERRCODE = _state, MESSAGE = order_sweep.blame(sweep, _state, _message);
END $$;
COMMENT ON FUNCTION order_sweep.preview IS
    'the due rows of a sweep, oldest first, with what a run would do: sweep, '
    'keep: rule, back-off or quarantined';

CREATE OR REPLACE FUNCTION order_sweep.key_text(order_key jsonb)
RETURNS text LANGUAGE sql IMMUTABLE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT string_agg(e, ', ' ORDER BY n)
      FROM jsonb_array_elements_text(order_key) WITH ORDINALITY AS k(e, n)
$$;
COMMENT ON FUNCTION order_sweep.key_text IS
    'an order''s key for people';

CREATE OR REPLACE FUNCTION order_sweep.key_values(
    s order_sweep.sweep, key json)
RETURNS text LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF json_array_length(key) <> cardinality(s.key) THEN
        PERFORM order_sweep.refuse('key',
            format('the key of %s is %s', s.name, array_to_string(s.key, ', ')),
            'Give a value for each.');
    END IF;
    RETURN (SELECT string_agg(format('($1->>%s)::%s', n - 1, t), ', ' ORDER BY n)
              FROM unnest(s.key_types) WITH ORDINALITY AS u(t, n));
END $$;
COMMENT ON FUNCTION order_sweep.key_values IS
    'the SQL that makes the columns of a key of $1, this array of texts; '
    'refused unless it has a text for each';

CREATE OR REPLACE FUNCTION order_sweep.explain(sweep text, key json)
RETURNS TABLE (what text, value text)
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    s order_sweep.sweep;
BEGIN
    SELECT * INTO s FROM order_sweep.sweep d
     WHERE d.id = order_sweep.known(explain.sweep);
    FOR what, value IN
        EXECUTE format('SELECT * FROM %s(%s)',
                       order_sweep.own_function(s.name, '_explain'),
                       order_sweep.key_values(s, explain.key))
          USING explain.key
    LOOP
        IF value LIKE 'error: %' THEN
            value := 'error: ' || order_sweep.say_retyped(s, substr(value, 8));
        END IF;
        RETURN NEXT;
    END LOOP;
END $$;
COMMENT ON FUNCTION order_sweep.explain IS
    'why one order of a sweep was swept, or is not; key: a JSON array of texts';

CREATE OR REPLACE FUNCTION order_sweep.begin_run(
    sweep text, host text, pid integer, "window" interval)
RETURNS bigint LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    _id bigint;
BEGIN
    INSERT INTO order_sweep.run (sweep, host, pid, "window")
    VALUES ($1, $2, $3, $4) RETURNING id INTO _id;
    -- So that who finds the lock taken knows that its holder is new.
    UPDATE order_sweep.life l SET seen_at = now()
      FROM order_sweep.sweep s WHERE s.name = $1 AND l.sweep_id = s.id;
    RETURN _id;
END $$;
COMMENT ON FUNCTION order_sweep.begin_run IS
    'open the row of a run that has work, book a sign of life, and return the '
    'row''s id';

CREATE OR REPLACE FUNCTION order_sweep.record_failure(
    sweep text, order_key jsonb, sqlstate text, message text, counts boolean)
RETURNS boolean LANGUAGE sql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
    INSERT INTO order_sweep.failure AS f (
        sweep, order_key, attempts, postponed, next_try, quarantined,
        sqlstate, message, failed_at)
    VALUES ($1, $2, $5::int, 1 - $5::int, now() + interval '1 minute', false,
            $3, $4, now())
    ON CONFLICT ON CONSTRAINT failure_pkey DO UPDATE SET
        attempts = f.attempts + excluded.attempts,
        postponed = CASE WHEN $5 THEN 0 ELSE f.postponed + 1 END,
        -- 1, 2, 4 ... minutes; at most an hour for failures, ten minutes for
        -- locks held by others
        next_try = now() + CASE
            WHEN $5 THEN least(interval '1 minute' * 2 ^ least(f.attempts, 10),
                               interval '1 hour')
            ELSE least(interval '1 minute' * 2 ^ least(f.postponed, 10),
                       interval '10 minutes') END,
        quarantined = f.attempts + excluded.attempts >= 10,
        sqlstate = excluded.sqlstate,
        message = excluded.message,
        failed_at = excluded.failed_at
    RETURNING f.quarantined
$$;
COMMENT ON FUNCTION order_sweep.record_failure IS
    'book an order that failed, with the time of its next try; counts false: '
    'a lock or deadlock, which is no attempt; true if it is quarantined now, at '
    'the tenth attempt';

CREATE OR REPLACE FUNCTION order_sweep.finish_run(
    run_id bigint, stopped text, rest boolean, late_p50 interval,
    late_p99 interval, late_max interval, swept bigint, kept bigint,
    locked bigint, changed bigint, gone bigint, failed bigint, unknown bigint)
RETURNS boolean LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    _sweep text;
BEGIN
    -- The orders' commits may be asynchronous; this one writes and is not,
    -- so that its flush makes all of them durable.
    IF (SELECT s.reset_val FROM pg_settings s
         WHERE s.name = 'synchronous_commit') = 'off' THEN
        PERFORM set_config('synchronous_commit', 'on', true);
    ELSE
        PERFORM set_config('synchronous_commit', s.reset_val, true)
           FROM pg_settings s WHERE s.name = 'synchronous_commit';
    END IF;
    UPDATE order_sweep.run r
       SET ended_at = clock_timestamp(), stopped = $2, rest = $3,
           late_p50 = $4, late_p99 = $5, late_max = $6, swept = $7, kept = $8,
           locked = $9, changed = $10, gone = $11, failed = $12, unknown = $13
     WHERE r.id = $1 AND r.ended_at IS NULL
    RETURNING r.sweep INTO _sweep;
    -- Who writes nothing flushes nothing.
    IF _sweep IS NULL THEN
        RAISE EXCEPTION USING
            ERRCODE = 'object_not_in_prerequisite_state',
            MESSAGE = format('the row of run %s is closed or gone', $1);
    END IF;
    UPDATE order_sweep.life l
       SET seen_at = now(),
           -- not one in which nothing but failures came of the orders
           success_at = CASE WHEN $2 IN ('done', 'max orders', 'time limit')
                              AND ($7 > 0 OR $12 = 0)
                             THEN clock_timestamp() ELSE l.success_at END
      FROM order_sweep.sweep s WHERE s.name = _sweep AND l.sweep_id = s.id;
    -- What the row adds to stays when it is deleted.  In one order, for others
    -- may close theirs.
    INSERT INTO order_sweep.total AS t (sweep, what, word, number)
    SELECT _sweep, x.what, x.word, x.number
      FROM (VALUES ('orders', 'swept', $7), ('orders', 'kept', $8),
                   ('orders', 'locked', $9), ('orders', 'changed', $10),
                   ('orders', 'gone', $11), ('orders', 'failed', $12),
                   ('orders', 'unknown', $13),
                   ('runs', CASE WHEN $2 = ANY (order_sweep.total_words('runs'))
                                 THEN $2 ELSE 'other' END, 1))
               AS x(what, word, number)
     WHERE x.number > 0
     ORDER BY x.what, x.word
    ON CONFLICT ON CONSTRAINT total_pkey DO UPDATE
       SET number = t.number + excluded.number;
    -- A part at a time, where fewer are to be kept than before.
    DELETE FROM order_sweep.run r
     WHERE r.id IN (
        SELECT o.id FROM order_sweep.run o WHERE o.sweep = _sweep
         ORDER BY o.id DESC LIMIT 1000 OFFSET coalesce((
            SELECT s.keep_runs FROM order_sweep.sweep s
             WHERE s.name = _sweep), 1000));
    -- Failures that are over: the order was swept since, or is due no more
    -- (it would have been tried again within the hour).  Another run may have
    -- begun to sweep it before the failure here: where an order is swept once
    -- only, the times do not matter.
    DELETE FROM order_sweep.failure f
     USING order_sweep.sweep s
     WHERE f.sweep = _sweep AND s.name = _sweep AND NOT f.quarantined
       AND (f.next_try < now() - interval '1 day'
            OR EXISTS (SELECT FROM order_sweep.journal j
                        WHERE j.sweep = f.sweep AND j.order_key = f.order_key
                          AND (NOT s.again OR j.swept_at > f.failed_at)));
    RETURN EXISTS (SELECT FROM order_sweep.sweep s
                    WHERE s.name = _sweep AND s.keep_journal IS NOT NULL);
END $$;
COMMENT ON FUNCTION order_sweep.finish_run IS
    'close the row of a run; its synchronous commit is what success waits for; '
    'true if prune is to be called for it, too';

CREATE OR REPLACE FUNCTION order_sweep.left_over(run_id bigint)
RETURNS text LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    _run order_sweep.run;
    _after interval;
    _since timestamptz;
    _due boolean;
    _locked bigint;
BEGIN
    SELECT * INTO _run FROM order_sweep.run r WHERE r.id = $1;
    SELECT coalesce(_run."window", s.after, '0') INTO _after
      FROM order_sweep.sweep s WHERE s.name = _run.sweep;
    IF NOT FOUND THEN
        RETURN NULL;
    END IF;
    -- What another run is about to sweep, or a payment is at work on, is held
    -- for moments: not for so long that a run passed it by five minutes ago.
    SELECT max(r.started_at) INTO _since FROM order_sweep.run r
     WHERE r.sweep = _run.sweep AND r.stopped = 'done'
       AND r.started_at < now() - interval '5 minutes';
    IF _since IS NOT NULL THEN
        EXECUTE format('SELECT order_sweep_due FROM %s($1)',
                       order_sweep.own_function(_run.sweep, '_next'))
           INTO _due USING _after + (now() - _since);
    END IF;
    IF _due THEN
        RETURN format('orders are passed by since %s, for another session holds '
                      'their rows', date_trunc('second', _since));
    END IF;
    SELECT count(*) INTO _locked FROM order_sweep.failure f
     WHERE f.sweep = _run.sweep AND f.failed_at >= _run.started_at
       AND f.postponed > 3; -- 1, 2, 4 minutes
    IF _locked > 0 THEN
        RETURN format('orders that met the locks of other sessions four times '
                      'or more: %s', _locked);
    END IF;
    RETURN NULL;
END $$;
COMMENT ON FUNCTION order_sweep.left_over IS
    'what this run, which found no more to sweep, has left all the same, and '
    'for long, since other sessions hold it; NULL: nothing';

CREATE OR REPLACE FUNCTION order_sweep.sign_of_life(sweep text)
RETURNS void LANGUAGE sql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
    UPDATE order_sweep.life l SET seen_at = now(), success_at = now()
      FROM order_sweep.sweep s WHERE s.name = $1 AND l.sweep_id = s.id
$$;
COMMENT ON FUNCTION order_sweep.sign_of_life IS
    'book that a run looked after this sweep and found nothing to sweep';

CREATE OR REPLACE FUNCTION order_sweep.event_id(
    sweep text, order_key jsonb, ordinal integer)
RETURNS uuid LANGUAGE sql IMMUTABLE
SET search_path = pg_catalog, pg_temp
AS $$ SELECT md5(format('%s %s %s', $1, $3, $2))::uuid $$;
COMMENT ON FUNCTION order_sweep.event_id IS
    'the id of a journal row''s event: the same again if a crash of the server '
    'undid the sweep and a later run repeats it';
