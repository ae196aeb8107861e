-- The command hung before these were told one by one.  $1: sweep; $2: what
-- claim_events gave; $3: their numbers.
SELECT order_sweep.postpone_events($1::text, $2::jsonb, $3::integer[])
