-- What order-sweep check says of the work that waits: a look that fails, a
-- backlog and its reason, orders that fail, a journal that is kept in vain,
-- events that wait.

CREATE OR REPLACE FUNCTION order_sweep.can_look(s order_sweep.sweep)
RETURNS boolean LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    -- What is told already would fail here too.
    SELECT NOT (s.settings IS NULL
                AND order_sweep.is_bound(order_sweep.relation(s.orders), s.owner))
           AND NOT EXISTS (SELECT FROM order_sweep.check_functions(s) f
                            WHERE f.level <> 'ok')
$$;
COMMENT ON FUNCTION order_sweep.can_look IS
    'may the functions of a definition be called';

CREATE OR REPLACE FUNCTION order_sweep.why_waiting(
    s order_sweep.sweep, due_since timestamptz,
    OUT why text, OUT mend text)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    _run order_sweep.run;
    _failed bigint;
BEGIN
    IF s.paused THEN
        why := 'The sweep is paused.';
        mend := format('SELECT order_sweep.resume(%L);', s.name);
        RETURN;
    END IF;
    -- The last one that had its time: one that began just now may be at work.
    SELECT * INTO _run FROM order_sweep.run r
     WHERE r.sweep = s.name
       AND (r.ended_at IS NOT NULL OR r.started_at < now() - interval '5 minutes')
     ORDER BY r.id DESC LIMIT 1;
    IF _run.id IS NULL OR _run.started_at < due_since THEN
        why := 'No run has come since it was due, or none came so far as to '
               'begin: the last ' || coalesce('began at ' || date_trunc(
               'second', _run.started_at), 'is not known') || '.';
        mend := 'See that cron starts order-sweep, and what it says: '
                'SELECT * FROM order_sweep.run ORDER BY id DESC LIMIT 10;';
        RETURN;
    END IF;
    SELECT count(*) INTO _failed FROM order_sweep.run r
     WHERE r.sweep = s.name AND r.id <= _run.id AND r.id > coalesce((
               SELECT max(g.id) FROM order_sweep.run g
                WHERE g.sweep = s.name AND g.id <= _run.id
                  AND g.stopped NOT IN ('failures', 'broken', 'lost')), 0);
    IF _failed > 0 THEN
        -- The books keep no message of a run.
        why := format('Runs come and fail: the last %s, the latest at %s on %s, '
                      '%s.', _failed, date_trunc('second', _run.started_at),
            _run.host, CASE _run.stopped
                WHEN 'failures' THEN 'as too many orders in a row failed'
                WHEN 'broken' THEN 'as the look for due orders failed'
                WHEN 'lost' THEN 'as it lost a connection'
                ELSE 'whose end is not known: it lost its connection, was '
                     'killed, or hangs' END);
        mend := format('See what it says: order-sweep -v --sweep=%s, as the role '
                       'in the crontab.', s.name);
    ELSIF _run.rest AND _run.stopped <> 'done' THEN
        why := format('Runs come, but do not keep up: the last one (%s) swept '
                      '%s and left a rest.', _run.stopped, _run.swept);
        mend := 'Give it more time (--time-limit, --max-orders), or see what '
                'takes so long: triggers, other sessions'' locks, an index that '
                'each needs.';
    ELSE
        why := format('Runs come and pass it by: the last one, at %s, swept %s '
                      'and found no more; another session may hold its row.',
                      date_trunc('second', _run.started_at), _run.swept);
        mend := 'SELECT pid, usename, state, xact_start, query FROM '
                'pg_stat_activity WHERE xact_start < now() - interval '
                '''1 minute'';';
    END IF;
END $$;
COMMENT ON FUNCTION order_sweep.why_waiting IS
    'why an order that has been due for long is not swept, by the rows of the '
    'runs: none came, they fail, they do not keep up, or they pass it by';

CREATE OR REPLACE FUNCTION order_sweep.check_look(s order_sweep.sweep)
RETURNS TABLE (level text, item text, what text, why text, mend text)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    _key jsonb;
    _due timestamptz;
    _patience interval := greatest(coalesce(s.after, '0') + s.grace,
                                   interval '10 minutes');
    _state text;
BEGIN
    IF NOT order_sweep.can_look(s) THEN
        RETURN;
    END IF;
    BEGIN
        SELECT p.error_state,
               order_sweep.blame(s.name, p.error_state, p.error_message)
          INTO _state, what FROM order_sweep.probe(s.name, NULL) p;
        IF _state IS NULL THEN
            SELECT p.order_key, p.deadline INTO _key, _due
              FROM order_sweep.preview(s.name, NULL) p WHERE p.state = 'sweep'
             ORDER BY p.deadline LIMIT 1;
        END IF;
    EXCEPTION
        -- A look of its own that takes too long is told by probe.
        WHEN query_canceled THEN
            level := 'warn';
            item := 'backlog';
            what := 'the due orders were not listed: ' || SQLERRM;
            why := 'So many are due, kept or not, that this takes too long; '
                   'whether one of them waits is not known.';
            mend := format('SELECT min(deadline) FROM order_sweep.preview(%L, '
                           'NULL) WHERE state = ''sweep'';', s.name);
            RETURN NEXT;
            RETURN;
        WHEN OTHERS THEN
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
    ELSIF _due < now() - _patience THEN
        level := 'warn';
        item := 'backlog';
        what := format('the oldest order to sweep, %s, is overdue for %s', _key,
                       date_trunc('second', now() - _due));
        SELECT w.why, w.mend INTO why, mend FROM order_sweep.why_waiting(s, _due) w;
        RETURN NEXT;
    END IF;
END $$;
COMMENT ON FUNCTION order_sweep.check_look IS
    'an overdue backlog, or a look that fails although its statement fits';

CREATE OR REPLACE FUNCTION order_sweep.failing(s order_sweep.sweep, most integer)
RETURNS SETOF order_sweep.failure
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    _failure order_sweep.failure;
BEGIN
    -- The books do not know of an order that was paid since, or deleted; that
    -- is asked of each by its key, and so of the last ones only.  One that met
    -- another's lock once or twice has no fault.
    FOR _failure IN
        SELECT f.* FROM order_sweep.failure f
         WHERE f.sweep = s.name AND (f.attempts > 0 OR f.postponed > 2)
         ORDER BY f.failed_at DESC LIMIT most
    LOOP
        BEGIN
            IF EXISTS (
                SELECT FROM order_sweep.explain(s.name, _failure.order_key::json) e
                 WHERE e.what = 'verdict'
                   AND e.value ~ '^(the next run sweeps it|not swept: '
                                 '(quarantined|back-off|the sweep is paused))')
            THEN
                RETURN NEXT _failure;
            END IF;
        EXCEPTION WHEN OTHERS THEN
            NULL; -- the key of an earlier definition: no order has it now
        END;
    END LOOP;
END $$;
COMMENT ON FUNCTION order_sweep.failing IS
    'the orders that failed when they were last tried, of the last so many, '
    'and still are to be swept';

CREATE OR REPLACE FUNCTION order_sweep.check_failures(s order_sweep.sweep)
RETURNS TABLE (level text, item text, what text, why text, mend text)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    _most int := 200;
    _more boolean := (SELECT count(*) > _most FROM order_sweep.failure r
                       WHERE r.sweep = s.name);
    f record;
BEGIN
    IF NOT EXISTS (SELECT FROM order_sweep.failure r WHERE r.sweep = s.name)
       OR NOT order_sweep.can_look(s) THEN
        RETURN;
    END IF;
    FOR f IN
        SELECT o.quarantined, count(*) AS orders,
               (array_agg(o.order_key ORDER BY o.failed_at))[1] AS key,
               (array_agg(o.sqlstate || ': ' || o.message
                          ORDER BY o.failed_at))[1] AS said
          FROM order_sweep.failing(s, _most) o
         GROUP BY o.quarantined ORDER BY o.quarantined DESC
    LOOP
        level := 'warn';
        what := format('%s orders: %s%s; the oldest is %s: %s',
            CASE WHEN f.quarantined THEN 'quarantined' ELSE 'failing' END,
            CASE WHEN _more THEN 'at least ' ELSE '' END, f.orders,
            f.key, f.said);
        IF f.quarantined THEN
            item := 'quarantine';
            why := 'After ten attempts an order is tried no more, and stays '
                   'unpaid.  Mend what it says; then the DELETE has it tried '
                   'again.';
            mend := format('DELETE FROM order_sweep.failure WHERE sweep = %L '
                           'AND quarantined;', s.name);
        ELSE
            item := 'failures';
            why := 'They are tried again, after longer and longer pauses; what '
                   'fails ten times is quarantined.';
            mend := format('SELECT * FROM order_sweep.failure WHERE sweep = %L '
                           'ORDER BY failed_at;', s.name);
        END IF;
        RETURN NEXT;
    END LOOP;
END $$;
COMMENT ON FUNCTION order_sweep.check_failures IS
    'orders that fail, or failed so often that they are tried no more';

CREATE OR REPLACE FUNCTION order_sweep.check_retention(s order_sweep.sweep)
RETURNS TABLE (level text, item text, what text, why text, mend text)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    _old bigint;
    _published bigint;
BEGIN
    SELECT count(*), count(j.published_at) INTO _old, _published
      FROM (SELECT f.swept_at, f.published_at FROM order_sweep.journal f
             WHERE s.keep_journal IS NOT NULL AND f.sweep = s.name
             ORDER BY f.order_key, f.ordinal LIMIT 1000) j
     WHERE j.swept_at < now() - s.keep_journal;
    IF _old > 0 AND _published = 0 THEN
        level := 'warn';
        item := 'retention';
        what := format('the journal grows: of %s old rows looked at none was '
                       'published', _old);
        why := 'A row goes only after its event was published.';
        mend := format('Let whoever publishes the events write published_at, '
                       'or SELECT order_sweep.retain(%L, runs => %s);', s.name,
                       s.keep_runs);
        RETURN NEXT;
    END IF;
END $$;
COMMENT ON FUNCTION order_sweep.check_retention IS
    'a journal that is to be kept for a time, but of which nothing goes';

CREATE OR REPLACE FUNCTION order_sweep.check_events(s order_sweep.sweep)
RETURNS TABLE (level text, item text, what text, why text, mend text)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    e record;
BEGIN
    SELECT * INTO e FROM order_sweep.events(s.name, 100000);
    level := 'warn';
    item := 'events';
    IF e.events > e.backoff + e.parked AND e.age > interval '10 minutes' THEN
        what := format('%s events wait, the oldest since %s', e.events,
                       date_trunc('second', now() - e.age));
        why := 'Nobody is told of them: no relay runs, or its command takes '
               'nothing.';
        mend := format('See what order-sweep relay says; where no events are '
                       'wanted, SELECT order_sweep.unpublish(%L);', s.name);
        RETURN NEXT;
    END IF;
    IF e.parked > 0 THEN
        what := format('%s parked: the command of the relay refused each of '
                       'them ten times', e.parked);
        why := 'They are told no more, and those that come after them of the '
               'same order wait.';
        mend := format('order-sweep retry --sweep %s, once the command takes '
                       'them.', s.name);
        RETURN NEXT;
    END IF;
END $$;
COMMENT ON FUNCTION order_sweep.check_events IS
    'events that nobody is told of';
