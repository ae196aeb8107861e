-- One row a sweep, or one row without a name if there is none.  $1: name of
-- the sweep (NULL: all); $2: window (NULL: as defined).  The session is not set
-- yet: nothing here may depend on its search_path or its zone.
SELECT v.version, pg_catalog.pg_backend_pid(),
       pg_catalog.current_setting('transaction_isolation'),
       p.id, p.name, p.paused, p.takes_window, p.shorter, p.due,
       pg_catalog.to_char(pg_catalog.timezone('UTC', p.next_deadline),
                          'YYYY-MM-DD HH24:MI:SS"+00"'),
       p.silent_s, p.error_state, p.error_message
  FROM order_sweep.schema_version() AS v(version)
  LEFT JOIN order_sweep.probe($1::pg_catalog.text, $2::pg_catalog.interval) AS p
    ON true
