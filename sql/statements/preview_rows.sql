-- What a run would do: the orders to sweep before the others, oldest first.
-- $1: sweep; $2: window; $3: rows at most.
SELECT order_sweep.key_text(p.order_key),
       date_trunc('second', p.since) AT TIME ZONE 'UTC',
       (extract(epoch FROM now() - p.since) * 1000)::bigint,
       date_trunc('second', p.deadline) AT TIME ZONE 'UTC', p.state,
       p.order_key, p.since, date_trunc('second', now() - p.since), p.deadline
  FROM order_sweep.preview($1::text, $2::interval) p
 ORDER BY p.state <> 'sweep', p.deadline, p.order_key
 LIMIT $3::integer
