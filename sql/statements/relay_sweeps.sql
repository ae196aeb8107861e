-- The sweeps whose events are to be relayed.  $1: this one only; NULL: all.
SELECT s FROM order_sweep.publishing($1::text) s
