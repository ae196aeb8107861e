-- Saleor: unconfirmed orders. Each channel has its own window, or none.

SELECT order_sweep.define(
    sweep  => 'expire_orders',
    orders => 'order_order',
    key    => '{id}',
    unpaid => $$o.status = 'unconfirmed'$$,

    -- The shortest window of all channels: an index serves it. Two rules keep
    -- the orders of channels that wait longer.
    since  => 'created_at',
    after  => '30 minutes',

    unless => json_build_object(
        'has a payment',
            $$EXISTS (SELECT FROM payment_payment p WHERE p.order_id = o.id)$$,
        'channel never expires',
            $$NOT EXISTS (SELECT FROM channel_channel c
                           WHERE c.id = o.channel_id
                             AND c.expire_orders_after > 0)$$,
        'channel waits longer',
            $$o.created_at > now() - (
                 SELECT make_interval(mins => c.expire_orders_after)
                   FROM channel_channel c WHERE c.id = o.channel_id)$$
    ),

    set    => $$status = 'expired',
                expired_at = now(),
                updated_at = now()$$,

    each   => ARRAY[
        -- Allocations are emptied, and their sum in the stock follows; joined
        -- with itself, the UPDATE can return what was there before.
        $$WITH freed AS (
              UPDATE warehouse_allocation a
                 SET quantity_allocated = 0
                FROM order_orderline l, warehouse_allocation old
               WHERE l.order_id = $1
                 AND a.order_line_id = l.id
                 AND old.id = a.id
                 AND a.quantity_allocated > 0
              RETURNING a.stock_id, old.quantity_allocated AS quantity
          )
          UPDATE warehouse_stock s
             SET quantity_allocated = s.quantity_allocated - back.quantity
            FROM (SELECT stock_id, sum(quantity) AS quantity
                    FROM freed
                   GROUP BY stock_id) AS back
           WHERE s.id = back.stock_id$$,

        $$UPDATE discount_vouchercode v
             SET used = greatest(v.used - 1, 0)
            FROM order_order o
           WHERE o.id = $1
             AND v.code = o.voucher_code$$,

        $$INSERT INTO order_orderevent (date, type, order_id)
          VALUES (now(), 'expired', $1)$$
    ]
);
