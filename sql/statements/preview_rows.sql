-- What a run would do: the orders to sweep before the others, oldest first.
-- $1: sweep; $2: window; $3: rows at most.
SELECT order_sweep.key_text(p.order_key),
       date_trunc('second', p.since), date_trunc('second', now() - p.since),
       date_trunc('second', p.deadline), p.state,
       p.order_key, p.since, p.deadline
  FROM order_sweep.preview($1::text, $2::interval) p
 ORDER BY p.state <> 'sweep', p.deadline, p.order_key
 LIMIT $3::integer
