-- Lock these events, and make their lines.  $1: sweep; $2: what claim_events gave.
SELECT t.n, t.line, t.problem
  FROM order_sweep.take_events($1::text, $2::jsonb) t
