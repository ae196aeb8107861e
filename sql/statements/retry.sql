-- Have failed orders tried again, as if they had not failed.  $1: sweep; $2: key
-- as a JSON array of texts, NULL: all.
SELECT order_sweep.key_text(r.order_key),
       r.order_key, r.attempts, r.quarantined, r.sqlstate, r.message,
       date_trunc('second', r.failed_at)
  FROM order_sweep.retry($1::text, $2::json) r
