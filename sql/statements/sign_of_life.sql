-- There was nothing to sweep, but a run looked.  $1: sweep.
SELECT order_sweep.sign_of_life($1::text)
