-- What a run would do, oldest first.  $1: sweep; $2: window; $3: rows at most.
SELECT (SELECT string_agg(e, ', ' ORDER BY n)
          FROM jsonb_array_elements_text(p.order_key)
               WITH ORDINALITY AS k(e, n)),
       p.order_key, p.since, date_trunc('second', now() - p.since),
       p.deadline, p.state
  FROM order_sweep.preview($1::text, $2::interval, $3::integer) p
