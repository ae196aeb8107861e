-- What must hold once the :swept oldest of :due due orders were swept:
--
--     psql -X -d bench -v swept=N -v due=N -v total=N -f verify.sql
--
-- Prints nothing when all holds, else a line for each thing that does not.

\set ON_ERROR_STOP on
\set QUIET on
\pset format unaligned
\pset tuples_only on

SET search_path = shop;

WITH broken (what, detail) AS (

    SELECT 'order of another state', format('order %s is %s', id, status)
      FROM orders
     WHERE CASE
           WHEN id <= :swept THEN status = 'cancelled'
               AND cancel_reason = 'payment_timeout'
               AND cancelled_at IS NOT NULL
           ELSE status = CASE WHEN id <= :due THEN 'unpaid' ELSE 'paid' END
               AND cancel_reason IS NULL
               AND cancelled_at IS NULL
           END IS NOT TRUE

    UNION ALL
    SELECT 'number of orders', count(*)::text
      FROM orders
    HAVING count(*) <> :total

    UNION ALL
    SELECT 'number of lines', count(*)::text
      FROM order_items
    HAVING count(*) <> 2 * :due

    UNION ALL
    SELECT 'wrong stock',
           format('SKU %s has %s, not 1000 + %s', s.id, s.stock,
                  coalesce(back.qty, 0))
      FROM sku s
      LEFT JOIN (SELECT sku_id, sum(qty) AS qty
                   FROM order_items
                  WHERE order_id <= :swept
                  GROUP BY sku_id) AS back ON back.sku_id = s.id
     WHERE s.stock <> 1000 + coalesce(back.qty, 0)

    -- An event an order swept, whichever table it is in.
    UNION ALL
    SELECT 'not one event',
           format('order %s has %s', coalesce(id, min(event.order_id)),
                  count(event.*))
      FROM generate_series(1, :swept) AS id
      FULL JOIN (SELECT order_id, payload
                   FROM events
                  UNION ALL
                 SELECT (order_key ->> 0)::bigint, payload
                   FROM order_sweep.journal) AS event
             ON event.order_id = id
            AND event.payload = jsonb_build_object('order_id', id)
     GROUP BY id
    HAVING id IS NULL OR count(event.*) <> 1
)
SELECT format('%s: %s%s', what, min(detail),
              CASE WHEN count(*) > 1
                   THEN format(' (and %s more)', count(*) - 1) END)
  FROM broken
 GROUP BY what
 ORDER BY what;
