-- macrozheng/mall: what placing an order took is given back: locked stock, the
-- coupon, the points.
--
-- check | index | oms_order has no index on its clock

SELECT order_sweep.define(
    sweep  => 'close_unpaid',
    orders => 'oms_order',
    key    => '{id}',
    unpaid => $$o.status = 0$$,

    -- The same as oms_order_setting.normal_order_overtime. Where staff change
    -- it there, write deadline => 'create_time + (SELECT make_interval(mins =>
    -- normal_order_overtime) FROM oms_order_setting WHERE id = 1)' instead of
    -- since and after; no index can serve that.
    since  => 'create_time',
    after  => '30 minutes',
    zone   => 'UTC',

    unless => json_build_object(
        'deleted by the member', $$o.delete_status <> 0$$
    ),

    set    => $$status = 4,
                modify_time = now() AT TIME ZONE 'UTC'$$,

    each   => ARRAY[
        -- Placing an order raises lock_stock and leaves the stock. Never below
        -- what is locked: a counter that is too low already stays.
        $$UPDATE pms_sku_stock s
             SET lock_stock = s.lock_stock - line.quantity
            FROM (SELECT product_sku_id, sum(product_quantity) AS quantity
                    FROM oms_order_item
                   WHERE order_id = $1
                   GROUP BY product_sku_id) AS line
           WHERE s.id = line.product_sku_id
             AND s.lock_stock >= line.quantity$$,

        $$UPDATE sms_coupon_history
             SET use_status = 0, use_time = NULL, order_id = NULL
           WHERE order_id = $1
             AND use_status = 1$$,

        $$UPDATE ums_member m
             SET integration = m.integration + o.use_integration
            FROM oms_order o
           WHERE o.id = $1
             AND m.id = o.member_id
             AND o.use_integration IS NOT NULL$$,

        $$INSERT INTO oms_order_operate_history
              (order_id, operate_man, create_time, order_status, note)
          VALUES ($1, 'system', now() AT TIME ZONE 'UTC', 4, 'unpaid')$$
    ]
);
