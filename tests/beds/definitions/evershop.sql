-- EverShop: new orders that nobody paid.
--
-- check | index | "order" has no index on its clock

SELECT order_sweep.define(
    sweep  => 'cancel_unpaid',
    orders => '"order"',
    key    => '{order_id}',

    -- status sums up the other two, and may be late.
    unpaid => $$o.status = 'new'
            AND o.payment_status = 'pending'$$,
    since  => 'created_at',
    after  => '30 minutes',

    unless => json_build_object(
        'cash on delivery', $$o.payment_method = 'cod'$$,
        'on its way', $$o.shipment_status <> 'pending'$$
    ),

    set    => $$status = 'canceled',
                payment_status = 'canceled',
                shipment_status = 'canceled',
                updated_at = now()$$,

    each   => ARRAY[
        -- Lines of one product are summed: an UPDATE changes a row once,
        -- however many lines it is joined with. The shop's own trigger tells
        -- of the new stock.
        $$UPDATE product_inventory i
             SET qty = i.qty + line.qty
            FROM (SELECT product_id, sum(qty) AS qty
                    FROM order_item
                   WHERE order_item_order_id = $1
                   GROUP BY product_id) AS line
           WHERE i.product_inventory_product_id = line.product_id
             AND i.manage_stock$$,

        $$INSERT INTO order_activity (order_activity_order_id, comment)
          VALUES ($1, 'Order canceled (unpaid)')$$
    ]
);
