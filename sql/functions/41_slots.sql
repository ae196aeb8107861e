-- The locks of the runs: who works on a sweep, and who is next.
--
-- The sweep's own lock is held while orders are swept: by one run alone, or
-- shared by those with slots.  A slot is held by a run for as long as it works
-- on its share of the orders, or lingers.  Slots of different numbers do not
-- know each other: runs with --slots 2 beside such with --slots 3 see to all
-- orders, each party by itself, and nothing is left out.

CREATE OR REPLACE FUNCTION order_sweep.take_slot(
    sweep_id integer, slots integer, patience interval, in_transaction boolean,
    holder text)
RETURNS integer LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    _class int := order_sweep.lock_class() + 16 * (slots - 1);
    _slot int;
    _taken boolean := false;
BEGIN
    FOR n IN 1..slots LOOP
        _slot := n;
        _taken := CASE WHEN in_transaction
                       THEN pg_try_advisory_xact_lock(_class + n, sweep_id)
                       ELSE pg_try_advisory_lock(_class + n, sweep_id) END;
        EXIT WHEN _taken;
    END LOOP;
    IF NOT _taken AND patience > '0' THEN
        -- Those who wait spread over the slots.
        _slot := 1 + pg_backend_pid() % slots;
        PERFORM set_config('lock_timeout',
                           ceil(1000 * extract(epoch FROM patience))::text, true);
        BEGIN
            IF in_transaction THEN
                PERFORM pg_advisory_xact_lock(_class + _slot, sweep_id);
            ELSE
                PERFORM pg_advisory_lock(_class + _slot, sweep_id);
            END IF;
            _taken := true;
        EXCEPTION WHEN lock_not_available THEN
            -- caught here: the server's log need not tell of it
            _taken := false;
        END;
    END IF;
    IF NOT _taken THEN
        RETURN NULL;
    END IF;
    PERFORM set_config('application_name',
                       format('order-sweep %s since %s', holder,
                              to_char(clock_timestamp() AT TIME ZONE 'UTC',
                                      'YYYY-MM-DD"T"HH24:MI:SS"Z"')),
                       in_transaction);
    RETURN _slot;
END $$;
COMMENT ON FUNCTION order_sweep.take_slot IS
    'take one of the slots of a sweep, for the session or the transaction, and '
    'write its holder into application_name; none free: wait for one so long; '
    'NULL if none was to be had';

CREATE OR REPLACE FUNCTION order_sweep.last_runs()
RETURNS TABLE (sweep_id integer, host text, pid integer,
               started_at timestamptz, ended_at timestamptz)
LANGUAGE sql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT s.id, r.host, r.pid, r.started_at, r.ended_at
      FROM order_sweep.sweep s CROSS JOIN LATERAL (
          SELECT * FROM order_sweep.run x
           WHERE x.sweep = s.name ORDER BY x.id DESC LIMIT 1) r
$$;
COMMENT ON FUNCTION order_sweep.last_runs IS
    'the last run of each sweep that had work';
