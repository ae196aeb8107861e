-- This one was refused: is it parked, and its key.  $1: sweep; $2: what claim_events
-- gave; $3: its number; $4: why, in
-- UTF-8 or in none.
SELECT r.parked, r.order_key
  FROM order_sweep.refuse_event($1::text, $2::jsonb, $3::integer, $4::bytea) r
