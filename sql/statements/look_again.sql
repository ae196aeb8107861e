-- The look of a run that lingers, whose session is set: as the first look, and
-- how many ms it is until the next deadline.  $1: name of the sweep (NULL:
-- all); $2: window (NULL: as defined).
SELECT v.version, pg_backend_pid(), current_setting('transaction_isolation'),
       p.id, p.name, p.paused, p.takes_window, p.shorter, p.due,
       to_char(p.next_deadline AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS"+00"'),
       p.silent_s, p.error_state, p.error_message,
       -- it may have come while this was looked for
       CASE WHEN p.next_deadline IS NOT NULL
            THEN greatest(0, ceil(1000 * extract(
                     epoch FROM p.next_deadline - clock_timestamp())))::bigint END
  FROM order_sweep.schema_version() AS v(version)
  LEFT JOIN order_sweep.probe($1::text, $2::interval) AS p ON true
