-- The sweep's lock, alone in its SELECT, for the transaction.  $1: id of the
-- sweep.
SELECT pg_try_advisory_xact_lock(1869838192, $1::integer)
