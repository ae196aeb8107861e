-- How order-sweep cancels an order of the bench: what setbased.sql does, but
-- that the journal takes the place of the table events.  With -v rule=yes all
-- orders are kept by a rule.

SELECT order_sweep.define(
    sweep  => 'cancel_unpaid',
    orders => 'shop.orders',
    key    => '{id}',
    unpaid => $$o.status = 'unpaid'$$,
    since  => 'created_at',
    after  => '30 minutes',
    set    => $$status = 'cancelled', cancelled_at = now(),
                cancel_reason = 'payment_timeout'$$,
    each   => ARRAY[
        -- An order has a SKU once, by the primary key: nothing to sum.
        $$UPDATE shop.sku s
             SET stock = s.stock + i.qty
            FROM shop.order_items i
           WHERE i.order_id = $1
             AND s.id = i.sku_id$$],
    event  => $$jsonb_build_object('order_id', o.id)$$
\if :{?rule}
    , unless => '{"on hold": "o.buyer_id >= 0"}'
\endif
);
