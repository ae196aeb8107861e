-- The due orders by what would happen to them and by how long they are overdue;
-- the oldest of those to sweep stands in each row.  $1: sweep; $2: where the
-- classes of length begin, in ms.
WITH p AS MATERIALIZED (
    SELECT order_key, state,
           extract(epoch FROM now() - deadline) * 1000 AS overdue
      FROM order_sweep.preview($1::text, NULL)
), oldest AS (
    SELECT order_key, overdue FROM p WHERE state = 'sweep'
     ORDER BY overdue DESC, order_key LIMIT 1
)
SELECT p.state, width_bucket(p.overdue, $2::numeric[]), count(*),
       (SELECT order_sweep.key_text(order_key) FROM oldest),
       (SELECT order_key FROM oldest), (SELECT overdue::bigint FROM oldest)
  FROM p
 GROUP BY 1, 2
 ORDER BY 1, 2
