-- Orders that were paid after all.  $1: sweep.
SELECT order_sweep.key_text(r.order_key),
       r.order_key, date_trunc('second', r.swept_at)
  FROM order_sweep.late($1::text) r
