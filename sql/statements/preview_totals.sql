-- How many orders would meet which end; the oldest of all stands in the row of
-- its own state.  $1: sweep; $2: window.
WITH p AS MATERIALIZED (
    SELECT * FROM order_sweep.preview($1::text, $2::interval)
), oldest AS (
    SELECT order_key, deadline, state FROM p ORDER BY deadline, order_key LIMIT 1
)
SELECT t.state, t.orders, o.deadline, o.order_key,
       order_sweep.key_text(o.order_key)
  FROM (SELECT state, count(*) AS orders FROM p GROUP BY state) t
  LEFT JOIN oldest o ON o.state = t.state
 ORDER BY t.state <> 'sweep', t.state
