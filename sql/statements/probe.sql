-- One row a sweep, or one row without a name if there is none.  $1: name of
-- the sweep (NULL: all); $2: window (NULL: as defined).
SELECT v.version, pg_backend_pid(), current_setting('transaction_isolation'),
       p.id, p.name, p.paused, p.takes_window, p.shorter, p.due,
       date_trunc('second', p.next_deadline), p.silent_s, p.error_state,
       p.error_message
  FROM order_sweep.schema_version() AS v(version)
  LEFT JOIN order_sweep.probe($1::text, $2::interval) AS p ON true
