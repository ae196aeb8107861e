-- A look failed: which argument of define raises?  $1: sweep; $2: SQLSTATE;
-- $3: message, which is returned after the argument's name.
SELECT order_sweep.blame($1::pg_catalog.text, $2::pg_catalog.text, $3::pg_catalog.text)
