-- The cancel function of definition.sql without a guard: no setting is pinned,
-- nothing is locked first, no outcome told but that it was swept, nothing looked
-- at again.  What is left is the price of a transaction an order.

CREATE OR REPLACE FUNCTION order_sweep.cancel_unpaid_cancel(bigint, interval, bigint)
RETURNS text LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    UPDATE shop.orders
       SET status = 'cancelled', cancelled_at = now(),
           cancel_reason = 'payment_timeout'
     WHERE id = $1
       AND status = 'unpaid'
       AND created_at <= now() - interval '30 min';
    UPDATE shop.sku s
       SET stock = s.stock + i.qty
      FROM shop.order_items i
     WHERE i.order_id = $1
       AND s.id = i.sku_id;
    INSERT INTO shop.events (order_id, kind, payload)
    VALUES ($1, 'order.cancelled', jsonb_build_object('order_id', $1));
    RETURN 'swept';
END $$;
