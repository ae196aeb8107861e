-- Sylius: four states that move together, stock on hold, coupons.
--
-- check | index | sylius_order has no index on its clock

SELECT order_sweep.define(
    sweep  => 'cancel_unpaid',
    orders => 'sylius_order',
    key    => '{id}',
    unpaid => $$o.state = 'new'
            AND o.checkout_state = 'completed'
            AND o.payment_state = 'awaiting_payment'$$,
    since  => 'checkout_completed_at',
    after  => '30 minutes',
    zone   => 'UTC',

    set    => $$state = 'cancelled',
                payment_state = 'cancelled',
                shipping_state = 'cancelled',
                updated_at = now() AT TIME ZONE 'UTC'$$,

    each   => ARRAY[
        $$UPDATE sylius_payment
             SET state = 'cancelled', updated_at = now() AT TIME ZONE 'UTC'
           WHERE order_id = $1
             AND state IN ('new', 'processing', 'authorized')$$,

        $$UPDATE sylius_shipment
             SET state = 'cancelled', updated_at = now() AT TIME ZONE 'UTC'
           WHERE order_id = $1
             AND state = 'ready'$$,

        -- version is Doctrine's optimistic lock: raised, so that a request
        -- that read the old row notices. A hold that is gone already stays 0.
        $$UPDATE sylius_product_variant v
             SET on_hold = v.on_hold - line.quantity,
                 version = v.version + 1
            FROM (SELECT variant_id, sum(quantity) AS quantity
                    FROM sylius_order_item
                   WHERE order_id = $1
                   GROUP BY variant_id) AS line
           WHERE v.id = line.variant_id
             AND v.tracked
             AND v.on_hold >= line.quantity$$,

        $$UPDATE sylius_promotion p
             SET used = p.used - 1
            FROM sylius_promotion_order l
           WHERE l.order_id = $1
             AND p.id = l.promotion_id$$,

        $$UPDATE sylius_promotion_coupon c
             SET used = c.used - 1
            FROM sylius_order o
           WHERE o.id = $1
             AND c.id = o.promotion_coupon_id
             AND c.reusable_from_cancelled_orders$$
    ]
);
