-- The sweep's lock, alone in its SELECT.  $1: id of the sweep.
SELECT pg_try_advisory_lock(1869838192, $1::integer)
