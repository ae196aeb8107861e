-- The next events of a sweep, and how many; its commit is flushed.  $1: sweep;
-- $2: so many at most.
SELECT c.ids, c.events, c.refused
  FROM order_sweep.claim_events($1::text, $2::integer) c
