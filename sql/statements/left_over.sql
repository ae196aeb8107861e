-- A run found no more to sweep: what do others' locks keep from it?  $1: run
-- id.
SELECT order_sweep.left_over($1::bigint)
