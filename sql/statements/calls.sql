-- The statements that a run of a sweep prepares.  $1: name of the sweep.
SELECT batch_call, newest_call, cancel_call, fail_call, keys
  FROM order_sweep.calls_of($1::text)
