-- How a sweep is, by its books and by a look at what is due.  Lengths of time
-- are milliseconds; a moment that this server's clock has not reached is
-- now.  $1: sweep.
SELECT (extract(epoch FROM s.after) * 1000)::bigint,
       (extract(epoch FROM s.grace) * 1000)::bigint, s.clock, s.paused,
       s.orders, (extract(epoch FROM s.overdue) * 1000)::bigint,
       date_trunc('second', s.next_deadline),
       (extract(epoch FROM s.next_deadline - now()) * 1000)::bigint,
       s.backoff,
       (extract(epoch FROM s.next_try - now()) * 1000)::bigint,
       s.quarantined, date_trunc('second', s.success),
       CASE WHEN s.success IS NOT NULL THEN greatest(0,
           extract(epoch FROM now() - s.success) * 1000)::bigint END,
       date_trunc('second', s.run_ended),
       CASE WHEN s.run_ended IS NOT NULL THEN greatest(0,
           extract(epoch FROM now() - s.run_ended) * 1000)::bigint END,
       s.run_stopped, (extract(epoch FROM s.run_time) * 1000)::bigint,
       s.swept, s.failed, s.unknown,
       (extract(epoch FROM s.late_p50) * 1000)::bigint,
       (extract(epoch FROM s.late_p99) * 1000)::bigint,
       (extract(epoch FROM s.late_max) * 1000)::bigint,
       e.events, (extract(epoch FROM e.age) * 1000)::bigint, e.backoff, e.parked
  FROM order_sweep.status($1::text) s, order_sweep.events($1::text, 100000) e
