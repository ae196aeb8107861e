-- The sweep's lock, alone in its SELECT, for the session.  $1: id of the sweep.
SELECT pg_try_advisory_lock(1869838192, $1::integer)
