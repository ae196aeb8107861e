-- yudao (ruoyi-vue-pro): times without a zone in local time, one tenant of many.
--
-- check | index | trade_order has no index on its clock

SELECT order_sweep.define(
    sweep  => 'cancel_unpaid',
    orders => 'trade_order',
    key    => '{id}',

    -- A sweep for one tenant; another may want another window.
    unpaid => $$o.status = 0
            AND o.tenant_id = 1
            AND o.deleted = 0$$,

    -- Local time, as the JVM writes it: the zone of its host. Read as UTC,
    -- each order would be eight hours late.
    since  => 'create_time',
    after  => '30 minutes',
    zone   => 'Asia/Shanghai',

    -- The status follows the callback of the payment; these are faster.
    unless => json_build_object(
        'flagged as paid', $$o.pay_status$$,
        'payment succeeded',
            $$EXISTS (SELECT FROM pay_order p
                       WHERE p.id = o.pay_order_id AND p.status = 10)$$
    ),

    set    => $$status = 40,
                cancel_type = 10,
                cancel_time = now() AT TIME ZONE 'Asia/Shanghai',
                update_time = now() AT TIME ZONE 'Asia/Shanghai'$$,

    each   => ARRAY[
        -- Lines in after-sale were given back before.
        $$UPDATE product_sku s
             SET stock = s.stock + line.quantity,
                 sales_count = s.sales_count - line.quantity
            FROM (SELECT sku_id, sum(count) AS quantity
                    FROM trade_order_item
                   WHERE order_id = $1
                     AND deleted = 0
                     AND after_sale_status = 0
                   GROUP BY sku_id) AS line
           WHERE s.id = line.sku_id$$,

        $$UPDATE promotion_coupon
             SET status = 1, use_order_id = NULL, use_time = NULL
           WHERE use_order_id = $1
             AND status = 2$$,

        $$INSERT INTO trade_order_log
              (order_id, before_status, after_status, create_time)
          VALUES ($1, 0, 40, now() AT TIME ZONE 'Asia/Shanghai')$$
    ]
);
