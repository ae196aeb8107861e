-- How long the books are kept.

CREATE OR REPLACE FUNCTION order_sweep.retain(
    sweep text, journal interval DEFAULT NULL, runs integer DEFAULT 1000)
RETURNS void LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    _id int := order_sweep.known(sweep);
BEGIN
    journal := order_sweep.exact('journal', journal);
    IF journal < '1 day' THEN
        PERFORM order_sweep.refuse('journal', 'is less than a day',
            'Write days, for example ''90 days''; a number without a unit '
            'means seconds.');
    ELSIF (runs BETWEEN 100 AND 100000) IS NOT TRUE THEN
        PERFORM order_sweep.refuse('runs',
            format('"%s" is out of range', runs),
            'Write a number from 100 to 100000.');
    END IF;
    UPDATE order_sweep.sweep s SET keep_journal = journal, keep_runs = runs
     WHERE s.id = _id;
END $$;
COMMENT ON FUNCTION order_sweep.retain IS
    'how long a sweep''s journal rows are kept that nothing needs any more '
    '(NULL: for ever), and how many of its last runs';

CREATE OR REPLACE FUNCTION order_sweep.prune(run_id bigint)
RETURNS bigint LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
-- By the primary key, whatever the planner knows of the journal.
SET enable_seqscan = off
SET enable_bitmapscan = off
SET enable_sort = off
SET jit = off
SET lock_timeout = '200ms'
AS $$
#variable_conflict use_column
DECLARE
    _page int := 100;
    _start jsonb := '[]'; -- before the key of any order
    _until timestamptz := clock_timestamp() + interval '200 ms';
    _id int;
    _sweep text;
    _before timestamptz;
    _rows bigint;
    _key jsonb;
    _ordinal int;
    _keys jsonb[];
    _ordinals int[];
    _old_keys jsonb[];
    _old_rows tid[];
    _gone jsonb[];
    _n bigint;
    _pruned bigint := 0;
BEGIN
    -- More than a run adds, so that it comes round.
    SELECT s.id, s.name, now() - s.keep_journal, 1000 + 2 * r.swept
      INTO _id, _sweep, _before, _rows
      FROM order_sweep.run r JOIN order_sweep.sweep s ON s.name = r.sweep
     WHERE r.id = $1 AND s.keep_journal IS NOT NULL;
    IF NOT FOUND THEN
        RETURN 0;
    END IF;
    IF NOT pg_try_advisory_xact_lock(order_sweep.lock_class() - 1, _id) THEN
        RETURN 0; -- another run is at it
    END IF;
    -- What is gone is looked at behind the lock, which takes a snapshot for each.
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RETURN 0;
    END IF;
    -- Nothing to wait for a disk for.
    PERFORM set_config('synchronous_commit', 'off', true);
    SELECT p.order_key, p.ordinal INTO _key, _ordinal
      FROM order_sweep.pruned p WHERE p.sweep_id = _id;
    IF NOT FOUND THEN
        _key := _start;
        _ordinal := 0;
    END IF;
    LOOP
        -- Rows that stay are passed, so that they hide none behind them.
        SELECT array_agg(p.order_key), array_agg(p.ordinal)
          INTO _keys, _ordinals
          FROM (SELECT j.order_key, j.ordinal FROM order_sweep.journal j
                 WHERE j.sweep = _sweep
                   AND ROW(j.order_key, j.ordinal) > ROW(_key, _ordinal)
                 ORDER BY j.order_key, j.ordinal LIMIT _page) p;
        -- Lock, then look.  Each by its key: a join could begin with the
        -- journal.
        SELECT array_agg(o.order_key), array_agg(o.ctid)
          INTO _old_keys, _old_rows
          FROM unnest(_keys, _ordinals) AS u(order_key, ordinal)
         CROSS JOIN LATERAL (
               SELECT j.order_key, j.ctid FROM order_sweep.journal j
                WHERE j.sweep = _sweep AND j.order_key = u.order_key
                  AND j.ordinal = u.ordinal
                  AND j.swept_at < _before
                  AND j.published_at < _before
                  FOR UPDATE SKIP LOCKED) o;
        IF _old_keys IS NOT NULL THEN
            EXECUTE format('SELECT array_agg(g) FROM %s($1) g',
                           order_sweep.own_function(_sweep, '_gone'))
               INTO _gone USING _old_keys;
            -- The newest row of an order makes it swept before, or gives the
            -- next one its ordinal, as long as there is the order.
            DELETE FROM order_sweep.journal j
             WHERE j.ctid = ANY (_old_rows)
               AND (j.order_key = ANY (_gone)
                    OR EXISTS (SELECT FROM order_sweep.journal n
                                WHERE n.sweep = j.sweep
                                  AND n.order_key = j.order_key
                                  AND n.ordinal > j.ordinal));
            GET DIAGNOSTICS _n = ROW_COUNT;
            _pruned := _pruned + _n;
        END IF;
        IF coalesce(cardinality(_keys), 0) < _page THEN
            _key := _start;
            _ordinal := 0;
            EXIT;
        END IF;
        _key := _keys[_page];
        _ordinal := _ordinals[_page];
        _rows := _rows - _page;
        EXIT WHEN _rows <= 0 OR clock_timestamp() >= _until;
    END LOOP;
    INSERT INTO order_sweep.pruned (sweep_id, order_key, ordinal)
    VALUES (_id, _key, _ordinal)
    ON CONFLICT ON CONSTRAINT pruned_pkey DO UPDATE
       SET order_key = excluded.order_key, ordinal = excluded.ordinal;
    RETURN _pruned;
END $$;
COMMENT ON FUNCTION order_sweep.prune IS
    'after a run, by what retain said: look through the next rows of its '
    'sweep''s journal, and delete those that are old, whose event was '
    'published long ago, and which a newer row of the order replaces or whose '
    'order is gone; returns how many';
