-- Open the run's row.  $1: sweep; $2: host; $3: pid; $4: window.
SELECT order_sweep.begin_run($1::text, $2::text, $3::integer, $4::interval)
