-- The books of a run are closed: what of its sweep's journal does nothing need
-- any more?  $1: run id.
SELECT order_sweep.prune($1::bigint)
