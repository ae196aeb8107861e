-- Events out: which rows of the journal a relay feeds to its command, and what
-- became of them.  A relay calls claim, take and book in turn, a batch at a
-- time; what order each has is in lib/relay.c.

CREATE OR REPLACE FUNCTION order_sweep.publish(
    sweep text, line text DEFAULT NULL, since timestamptz DEFAULT NULL)
RETURNS void LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
SET standard_conforming_strings = on
AS $$
#variable_conflict use_variable
DECLARE
    s order_sweep.sweep;
    _role text := current_setting('role');
BEGIN
    SELECT * INTO s FROM order_sweep.sweep d
     WHERE d.id = order_sweep.known(publish.sweep);
    IF NOT pg_has_role(s.owner, 'MEMBER') THEN
        PERFORM order_sweep.refuse('sweep',
            format('%s belongs to role %I', s.name, s.owner),
            'Call publish as that role.');
    END IF;
    -- As define does: what that role may not see or create is found now.
    PERFORM set_config('role', s.owner, true);
    IF line IS NOT NULL THEN
        PERFORM order_sweep.check_line(s.search_path, line);
    END IF;
    UPDATE order_sweep.sweep d
       SET line = publish.line,
           publish_since = coalesce(since, d.publish_since, now())
     WHERE d.id = s.id
    RETURNING d.* INTO s;
    PERFORM pg_advisory_xact_lock(order_sweep.lock_class(), s.id);
    PERFORM order_sweep.generate(s);
    PERFORM set_config('role', _role, true);
END $$;
COMMENT ON FUNCTION order_sweep.publish IS
    'what a sweep does is an event for order-sweep relay, from now on or since '
    'another moment; line: its text, an expression over the event e, without '
    'it a JSON object';

CREATE OR REPLACE FUNCTION order_sweep.unpublish(sweep text)
RETURNS void LANGUAGE sql
SET search_path = pg_catalog, pg_temp
AS $$
    UPDATE order_sweep.sweep s SET publish_since = NULL
     WHERE s.id = order_sweep.known(sweep)
$$;
COMMENT ON FUNCTION order_sweep.unpublish IS
    'what a sweep does is no event any more; what was not relayed yet never is';

CREATE OR REPLACE FUNCTION order_sweep.publishing(sweep text)
RETURNS SETOF text LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF publishing.sweep IS NOT NULL AND NOT EXISTS (
        SELECT FROM order_sweep.sweep s
         WHERE s.id = order_sweep.known(publishing.sweep)
           AND s.publish_since IS NOT NULL) THEN
        PERFORM order_sweep.refuse('sweep',
            format('what %s does is no event', publishing.sweep),
            format('SELECT order_sweep.publish(%L) makes it one.',
                   publishing.sweep));
    END IF;
    RETURN QUERY
    SELECT s.name FROM order_sweep.sweep s
     WHERE s.publish_since IS NOT NULL
       AND (publishing.sweep IS NULL OR s.name = publishing.sweep)
     ORDER BY s.name;
END $$;
COMMENT ON FUNCTION order_sweep.publishing IS
    'the sweeps that a relay works on: this one, or all whose events are '
    'published';

CREATE OR REPLACE FUNCTION order_sweep.claim_events(
    sweep text, batch integer,
    OUT ids jsonb, OUT events integer, OUT retried boolean)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off
SET enable_bitmapscan = off
SET enable_sort = off
SET jit = off
AS $$
#variable_conflict use_column
DECLARE
    _since timestamptz;
    _keys jsonb[];
    _ordinals int[];
    _places tid[];
BEGIN
    SELECT s.publish_since INTO _since FROM order_sweep.sweep s
     WHERE s.id = order_sweep.known(claim_events.sweep);
    -- Those that no relay has taken before go first, and by themselves: what
    -- has failed must not hold them up.  One that another relay has locked is
    -- passed, and so is one with an older event of its order before it.
    SELECT array_agg(c.order_key), array_agg(c.ordinal), array_agg(c.ctid)
      INTO _keys, _ordinals, _places
      FROM (SELECT j.order_key, j.ordinal, j.ctid FROM order_sweep.journal j
             WHERE j.sweep = claim_events.sweep AND j.published_at IS NULL
               AND j.swept_at >= _since
               AND (SELECT true FROM order_sweep.delivery d
                     WHERE d.sweep = j.sweep AND d.order_key = j.order_key
                       AND d.ordinal = j.ordinal) IS NULL
               AND (j.ordinal = 1 OR NOT order_sweep.has_older(j, _since))
             ORDER BY j.swept_at, j.order_key, j.ordinal LIMIT batch
               FOR UPDATE OF j SKIP LOCKED) c;
    retried := _keys IS NULL;
    IF retried THEN
        SELECT array_agg(c.order_key), array_agg(c.ordinal), array_agg(c.ctid)
          INTO _keys, _ordinals, _places
          FROM (SELECT j.order_key, j.ordinal, j.ctid
                  FROM order_sweep.delivery d
                  JOIN order_sweep.journal j
                    ON j.sweep = d.sweep AND j.order_key = d.order_key
                   AND j.ordinal = d.ordinal
                 WHERE d.sweep = claim_events.sweep AND NOT d.parked
                   AND d.next_try <= now()
                   AND j.published_at IS NULL AND j.swept_at >= _since
                   AND (j.ordinal = 1 OR NOT order_sweep.has_older(j, _since))
                 ORDER BY j.swept_at, j.order_key, j.ordinal LIMIT batch
                   FOR UPDATE OF j SKIP LOCKED) c;
    END IF;
    -- Flushed before anything of it is told: so is all that was read here,
    -- which a sweep may have committed without.
    PERFORM set_config('synchronous_commit', 'on', true);
    INSERT INTO order_sweep.delivery AS d (
        sweep, order_key, ordinal, attempts, next_try)
    SELECT claim_events.sweep, u.order_key, u.ordinal, 1,
           now() + interval '5 seconds' -- should this relay die
      FROM unnest(_keys, _ordinals) AS u(order_key, ordinal)
    ON CONFLICT ON CONSTRAINT delivery_pkey DO UPDATE
       SET attempts = d.attempts + 1, next_try = excluded.next_try;
    SELECT jsonb_agg(jsonb_build_array(u.order_key, u.ordinal, u.place)), count(*)
      INTO ids, events
      FROM unnest(_keys, _ordinals, _places) AS u(order_key, ordinal, place);
END $$;
COMMENT ON FUNCTION order_sweep.claim_events IS
    'the next events of a sweep that are to be published, at most so many, and '
    'how many, and whether a relay took them before; one is added to their '
    'attempts';

CREATE OR REPLACE FUNCTION order_sweep.has_older(
    j order_sweep.journal, since timestamptz)
RETURNS boolean LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off
SET enable_sort = off
AS $$
    -- The one before it tells of all, and is found by the primary key: were it
    -- asked for as unpublished, another index would look as good.
    SELECT coalesce((
        SELECT o.published_at IS NULL AND o.swept_at >= since
          FROM order_sweep.journal o
         WHERE o.sweep = j.sweep AND o.order_key = j.order_key
           AND o.ordinal < j.ordinal
         ORDER BY o.ordinal DESC LIMIT 1), false)
$$;
COMMENT ON FUNCTION order_sweep.has_older IS
    'does an older event of the same order wait to be published';

CREATE OR REPLACE FUNCTION order_sweep.take_events(sweep text, ids jsonb)
RETURNS TABLE (n integer, line text, problem text)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off
SET enable_bitmapscan = off
SET jit = off
AS $$
#variable_conflict use_column
DECLARE
    _numbers int[];
    _events order_sweep.event[];
    _lines text[];
    _name text;
BEGIN
    -- The locks are the claim: they go with the transaction, however it ends.
    -- Each by its place, where another row may be by now.
    SELECT array_agg(t.n), array_agg(t.event) INTO _numbers, _events
      FROM (SELECT u.n::int AS n, l.event
              FROM jsonb_array_elements(ids) WITH ORDINALITY AS u(id, n)
             CROSS JOIN LATERAL (
                   SELECT ROW(order_sweep.event_id(j.sweep, j.order_key,
                                                   j.ordinal),
                              j.sweep, j.order_key, j.ordinal, j.swept_at,
                              j.payload)::order_sweep.event AS event
                     FROM order_sweep.journal j
                    WHERE j.ctid = (u.id->>2)::tid
                      AND j.sweep = take_events.sweep
                      AND j.order_key = u.id->0 AND j.ordinal = (u.id->>1)::int
                      AND j.published_at IS NULL
                      FOR UPDATE SKIP LOCKED) l
             ORDER BY u.n) t;
    IF _events IS NULL THEN
        RETURN;
    END IF;
    _name := order_sweep.own_function(sweep, '_lines');
    BEGIN
        EXECUTE format('SELECT array_agg(l) FROM %s($1) l', _name)
           INTO _lines USING _events;
    EXCEPTION WHEN OTHERS THEN
        _lines := NULL; -- one of them raises
    END;
    RETURN QUERY
    SELECT u.n, l.line,
           coalesce(l.problem, CASE WHEN strpos(l.line, E'\n') > 0
                                    THEN 'line: has a line break in it' END)
      FROM unnest(_numbers) WITH ORDINALITY AS u(n, i)
     CROSS JOIN LATERAL (
           SELECT _lines[u.i], NULL WHERE _lines IS NOT NULL
           UNION ALL
           SELECT t.line, t.problem
             FROM order_sweep.try_line(_name, _events[u.i]) t
            WHERE _lines IS NULL) AS l(line, problem)
     ORDER BY u.i;
END $$;
COMMENT ON FUNCTION order_sweep.take_events IS
    'lock these events for the transaction, and give the line of each: NULL '
    'for none, or one whose line cannot be made; those that another relay has, '
    'or that are published, are left out';

CREATE OR REPLACE FUNCTION order_sweep.try_line(
    function text, event order_sweep.event, OUT line text, OUT problem text)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    EXECUTE format('SELECT l FROM %s(ARRAY[$1]) l', function)
       INTO line USING event;
EXCEPTION WHEN OTHERS THEN
    problem := 'line: ' || SQLERRM;
END $$;
COMMENT ON FUNCTION order_sweep.try_line IS
    'the line of one event, or why it has none';

CREATE OR REPLACE FUNCTION order_sweep.events_of(ids jsonb, numbers integer[])
RETURNS TABLE (order_key jsonb, ordinal integer, place tid)
LANGUAGE sql IMMUTABLE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT u.id->0, (u.id->>1)::int, (u.id->>2)::tid
      FROM jsonb_array_elements(ids) WITH ORDINALITY AS u(id, n)
     WHERE u.n = ANY (numbers)
$$;
COMMENT ON FUNCTION order_sweep.events_of IS
    'those with these numbers of what claim_events gave';

CREATE OR REPLACE FUNCTION order_sweep.deliveries_of(
    sweep text, ids jsonb, numbers integer[])
RETURNS tid[] LANGUAGE sql VOLATILE
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off
SET jit = off
AS $$
    -- Each by its key, whatever the planner knows of the table: the lock keeps
    -- this from becoming a join.
    SELECT array_agg(l.ctid)
      FROM order_sweep.events_of(ids, numbers) e
     CROSS JOIN LATERAL (
           SELECT d.ctid FROM order_sweep.delivery d
            WHERE d.sweep = $1 AND d.order_key = e.order_key
              AND d.ordinal = e.ordinal
              FOR UPDATE) l
$$;
COMMENT ON FUNCTION order_sweep.deliveries_of IS
    'the places of these events'' rows of delivery, locked';

CREATE OR REPLACE FUNCTION order_sweep.publish_events(
    sweep text, ids jsonb, numbers integer[])
RETURNS void LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    _places tid[];
BEGIN
    -- A crash of the server may undo this: then they are told once more.
    PERFORM set_config('synchronous_commit', 'off', true);
    SELECT array_agg(e.place) INTO _places
      FROM order_sweep.events_of(ids, numbers) e;
    -- The locks of take_events keep them in their places.
    UPDATE order_sweep.journal j SET published_at = now()
     WHERE j.ctid = ANY (_places) AND j.sweep = publish_events.sweep
       AND j.published_at IS NULL;
    _places := order_sweep.deliveries_of(sweep, ids, numbers);
    DELETE FROM order_sweep.delivery d WHERE d.ctid = ANY (_places);
END $$;
COMMENT ON FUNCTION order_sweep.publish_events IS
    'book that these of the events that were taken in this transaction are '
    'published';

CREATE OR REPLACE FUNCTION order_sweep.readable(bytes bytea)
RETURNS text LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN convert_from(bytes, 'UTF8');
EXCEPTION WHEN data_exception THEN -- or the database's encoding lacks a character
    RETURN encode(bytes, 'escape');
END $$;
COMMENT ON FUNCTION order_sweep.readable IS
    'what a command wrote, as text whatever it is';

CREATE OR REPLACE FUNCTION order_sweep.refuse_event(
    sweep text, ids jsonb, number integer, message bytea,
    OUT parked boolean, OUT order_key text)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    _places tid[] := order_sweep.deliveries_of(sweep, ids, ARRAY[number]);
BEGIN
    UPDATE order_sweep.delivery d
       -- 1, 2, 4 ... minutes, at most an hour
       SET next_try = now() + least(
               interval '1 minute' * 2 ^ least(d.attempts - 1, 10),
               interval '1 hour'),
           parked = d.attempts >= 10,
           message = order_sweep.readable(refuse_event.message),
           failed_at = now()
     WHERE d.ctid = ANY (_places)
    RETURNING d.parked, order_sweep.key_text(d.order_key)
      INTO parked, order_key;
END $$;
COMMENT ON FUNCTION order_sweep.refuse_event IS
    'book that the command refused this event, and why: it is tried again '
    'later, or no more (parked)';

CREATE OR REPLACE FUNCTION order_sweep.release_events(
    sweep text, ids jsonb, numbers integer[])
RETURNS void LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    _places tid[] := order_sweep.deliveries_of(sweep, ids, numbers);
BEGIN
    DELETE FROM order_sweep.delivery d
     WHERE d.ctid = ANY (_places) AND d.attempts = 1;
    UPDATE order_sweep.delivery d
       SET attempts = d.attempts - 1, next_try = now()
     WHERE d.ctid = ANY (_places);
END $$;
COMMENT ON FUNCTION order_sweep.release_events IS
    'take the attempt back: these were not told, or it is not for them that '
    'the command refused them';

CREATE OR REPLACE FUNCTION order_sweep.postpone_events(
    sweep text, ids jsonb, numbers integer[])
RETURNS void LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    _places tid[] := order_sweep.deliveries_of(sweep, ids, numbers);
BEGIN
    UPDATE order_sweep.delivery d SET attempts = d.attempts - 1
     WHERE d.ctid = ANY (_places);
END $$;
COMMENT ON FUNCTION order_sweep.postpone_events IS
    'take the attempt back, and let others go first: the command hung, and one '
    'of these may be why';

CREATE OR REPLACE FUNCTION order_sweep.events(sweep text, most integer)
RETURNS TABLE (events bigint, age interval, backoff bigint, parked bigint)
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off
SET enable_bitmapscan = off
SET jit = off
AS $$
#variable_conflict use_column
DECLARE
    _since timestamptz;
BEGIN
    SELECT s.publish_since INTO _since FROM order_sweep.sweep s
     WHERE s.id = order_sweep.known(events.sweep);
    IF _since IS NULL THEN
        RETURN QUERY SELECT NULL::bigint, NULL::interval, NULL::bigint, NULL::bigint;
        RETURN;
    END IF;
    RETURN QUERY
    SELECT w.events, w.age, d.backoff, d.parked
      FROM (SELECT count(*) AS events,
                   coalesce(greatest(now() - min(x.swept_at), '0'), '0') AS age
              FROM (SELECT j.swept_at FROM order_sweep.journal j
                     WHERE j.sweep = events.sweep AND j.published_at IS NULL
                       AND j.swept_at >= _since
                     ORDER BY j.swept_at LIMIT most) x) w,
           (SELECT count(*) FILTER (WHERE NOT x.parked AND x.message IS NOT NULL
                                          AND x.next_try > now()) AS backoff,
                   count(*) FILTER (WHERE x.parked) AS parked
              FROM order_sweep.delivery x WHERE x.sweep = events.sweep) d;
END $$;
COMMENT ON FUNCTION order_sweep.events IS
    'how many events of a sweep are to be published (counted to most), how old '
    'the oldest is, how many were refused and wait, and how many are parked; '
    'NULLs where publish was not called';
