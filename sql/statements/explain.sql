-- Why an order was swept, or was not.  $1: sweep; $2..: its key as a JSON array
-- of texts.
SELECT what, value FROM order_sweep.explain($1::text, $2::json)
