-- How a sweep is: for people, and for monitoring.

CREATE OR REPLACE FUNCTION order_sweep.situation(
    s order_sweep.sweep, most integer,
    OUT orders bigint, OUT overdue interval, OUT deadline timestamptz,
    OUT look_failed boolean, OUT backoff bigint, OUT next_try timestamptz,
    OUT quarantined bigint)
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_variable
BEGIN
    look_failed := false;
    -- A look that fails, or takes too long, must not hide the books.
    BEGIN
        EXECUTE format('SELECT order_sweep_deadline FROM %s(NULL)',
                       order_sweep.own_function(s.name, '_next'))
           INTO deadline;
        EXECUTE format('SELECT order_sweep_orders, order_sweep_overdue '
                       'FROM %s($1)', order_sweep.own_function(s.name, '_backlog'))
           INTO orders, overdue USING most;
    EXCEPTION WHEN query_canceled OR OTHERS THEN
        look_failed := true;
    END;
    SELECT count(*), min(f.next_try) INTO backoff, next_try
      FROM (SELECT x.next_try FROM order_sweep.failure x
             WHERE x.sweep = s.name AND NOT x.quarantined AND x.next_try > now()
             LIMIT most) f;
    SELECT count(*) INTO quarantined
      FROM (SELECT FROM order_sweep.failure x
             WHERE x.sweep = s.name AND x.quarantined LIMIT most) f;
END $$;
COMMENT ON FUNCTION order_sweep.situation IS
    'what is due of a sweep, and what failed, none of it counted beyond most';

CREATE OR REPLACE FUNCTION order_sweep.status(sweep text)
RETURNS TABLE (
    after interval, grace interval, clock text, paused boolean,
    orders bigint, overdue interval, next_deadline timestamptz,
    backoff bigint, next_try timestamptz, quarantined bigint,
    success timestamptz,
    run_ended timestamptz, run_stopped text, run_time interval,
    swept bigint, failed bigint, unknown bigint,
    late_p50 interval, late_p99 interval, late_max interval)
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
DECLARE
    s order_sweep.sweep;
BEGIN
    SELECT * INTO s FROM order_sweep.sweep d
     WHERE d.id = order_sweep.known(status.sweep);
    RETURN QUERY
    SELECT s.after, s.grace, coalesce(s.since, s.deadline), s.paused,
           t.orders, t.overdue, t.deadline, t.backoff, t.next_try,
           t.quarantined, l.success_at,
           r.ended_at, r.stopped, r.ended_at - r.started_at,
           r.swept, r.failed, r.unknown, r.late_p50, r.late_p99, r.late_max
      FROM order_sweep.situation(s, 100000) t
      LEFT JOIN (SELECT * FROM order_sweep.run x
                  WHERE x.sweep = s.name AND x.ended_at IS NOT NULL
                  ORDER BY x.id DESC LIMIT 1) r ON true
      LEFT JOIN order_sweep.life l ON l.sweep_id = s.id;
END $$;
COMMENT ON FUNCTION order_sweep.status IS
    'how a sweep is: its window (after is NULL where clock is each order''s own '
    'deadline), its backlog (counted to 100000), its failures, '
    'its last success and its last run that had work';
