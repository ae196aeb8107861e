-- How many orders would meet which end, and the oldest of all.  $1: sweep;
-- $2: window.
SELECT p.state, count(*), min(p.since), min(p.deadline),
       (array_agg(p.order_key ORDER BY p.deadline, p.order_key))[1]
  FROM order_sweep.preview($1::text, $2::interval, NULL) p
 GROUP BY p.state
 ORDER BY p.state <> 'sweep', p.state
