-- How many orders a run would sweep, for its progress line.  $1: sweep; $2:
-- window.
SELECT count(*) FROM order_sweep.preview($1::text, $2::interval)
 WHERE state = 'sweep'
