-- What the catalogs tell.  $1: role that is to run the sweeps, or NULL.
SELECT level, sweep, item, what, why, mend
  FROM order_sweep.check($1::text)
