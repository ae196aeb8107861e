-- The physical limit: one statement, one transaction, the same effects.

SET search_path = shop;

WITH c AS (
    UPDATE orders
       SET status = 'cancelled', cancelled_at = now(),
           cancel_reason = 'payment_timeout'
     WHERE id IN (SELECT id
                    FROM orders
                   WHERE status = 'unpaid'
                     AND created_at < now() - interval '30 min'
                   ORDER BY created_at, id
                     FOR UPDATE SKIP LOCKED)
    RETURNING id
), r AS (
    SELECT sku_id, sum(qty) AS q
      FROM order_items
      JOIN c ON c.id = order_id
     GROUP BY 1
), s AS (
    UPDATE sku
       SET stock = stock + r.q
      FROM r
     WHERE sku.id = r.sku_id
)
INSERT INTO events (order_id, kind, payload)
SELECT id, 'order.cancelled', jsonb_build_object('order_id', id)
  FROM c;
