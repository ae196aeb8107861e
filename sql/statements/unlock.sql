-- Give the sweep's lock back.  $1: id of the sweep.
SELECT pg_advisory_unlock(1869838192, $1::integer)
