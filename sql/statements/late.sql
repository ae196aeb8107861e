-- Orders that were paid after all.  $1: sweep.
SELECT (SELECT string_agg(e, ', ' ORDER BY n)
          FROM jsonb_array_elements_text(r.order_key)
               WITH ORDINALITY AS k(e, n)),
       r.order_key, date_trunc('second', r.swept_at)
  FROM order_sweep.late($1::text) r
