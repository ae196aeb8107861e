-- These were not told.  $1: sweep; $2: what claim_events gave; $3: their numbers.
SELECT order_sweep.release_events($1::text, $2::jsonb, $3::integer[])
