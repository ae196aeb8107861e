-- Bagisto: orders that were placed and never paid.
--
-- check | index | orders has no index on its clock

SELECT order_sweep.define(
    sweep  => 'cancel_unpaid',
    orders => 'orders',
    key    => '{id}',
    unpaid => $$o.status IN ('pending', 'pending_payment')$$,

    -- Laravel keeps its times without a zone, in the zone of the application
    -- (app.timezone).
    since  => 'created_at',
    after  => '30 minutes',
    zone   => 'UTC',

    unless => json_build_object(
        'cash on delivery',
            $$EXISTS (SELECT FROM order_payment p
                       WHERE p.order_id = o.id AND p.method = 'cashondelivery')$$,
        'invoiced', $$o.grand_total_invoiced > 0$$
    ),

    set    => $$status = 'canceled',
                updated_at = now() AT TIME ZONE 'UTC'$$,

    each   => ARRAY[
        -- Ordered goods are counted for each product and channel, beside the
        -- inventory, which they leave when they are shipped. Lines with
        -- children hold no goods themselves: the children do.
        $$WITH back AS (
              SELECT i.product_id, o.channel_id,
                     sum(i.qty_ordered - i.qty_shipped - i.qty_canceled) AS qty
                FROM order_items i
                JOIN orders o ON o.id = i.order_id
                JOIN products p ON p.id = i.product_id AND p.manage_stock
               WHERE i.order_id = $1
                 AND NOT EXISTS (SELECT FROM order_items child
                                  WHERE child.parent_id = i.id)
               GROUP BY i.product_id, o.channel_id
          )
          UPDATE product_ordered_inventories r
             SET qty = greatest(r.qty - back.qty, 0)
            FROM back
           WHERE r.product_id = back.product_id
             AND r.channel_id = back.channel_id$$,

        -- After that, for it counts what was not cancelled before.
        $$UPDATE order_items
             SET qty_canceled = qty_ordered - qty_shipped - qty_refunded,
                 updated_at = now() AT TIME ZONE 'UTC'
           WHERE order_id = $1$$
    ]
);
