-- Medusa 2: pending orders without a payment. Goods are held by rows, which
-- are freed, and by the sum of these rows.
--
-- check | index | "order" has no index on its clock

SELECT order_sweep.define(
    sweep  => 'cancel_unpaid',
    orders => '"order"',
    key    => '{id}',
    unpaid => $$o.status = 'pending'
            AND o.deleted_at IS NULL
            AND NOT o.is_draft_order$$,
    since  => 'created_at',
    after  => '30 minutes',

    -- Payments are two joins away, and no foreign key leads there: paying has
    -- to touch the order's row too, or a payment in flight is not seen.
    unless => json_build_object(
        'payment authorised or captured',
            $$EXISTS (SELECT FROM order_payment_collection l
                        JOIN payment_collection c
                          ON c.id = l.payment_collection_id
                       WHERE l.order_id = o.id
                         AND l.deleted_at IS NULL
                         AND c.deleted_at IS NULL
                         AND (c.status NOT IN ('not_paid', 'awaiting', 'canceled')
                              OR c.captured_amount > 0))$$
    ),

    -- version numbers the edits of an order; it is no lock and stays.
    set    => $$status = 'canceled',
                canceled_at = now(),
                updated_at = now()$$,

    each   => ARRAY[
        $$WITH gone AS (
              UPDATE reservation_item r
                 SET deleted_at = now()
                FROM order_item i
               WHERE i.order_id = $1
                 AND r.line_item_id = i.item_id
                 AND r.deleted_at IS NULL
              RETURNING r.inventory_item_id, r.location_id, r.quantity
          )
          UPDATE inventory_level v
             SET reserved_quantity = v.reserved_quantity - back.quantity,
                 updated_at = now()
            FROM (SELECT inventory_item_id, location_id,
                         sum(quantity) AS quantity
                    FROM gone
                   GROUP BY inventory_item_id, location_id) AS back
           WHERE v.inventory_item_id = back.inventory_item_id
             AND v.location_id = back.location_id
             AND v.deleted_at IS NULL$$,

        $$UPDATE payment p
             SET canceled_at = now()
            FROM order_payment_collection l
           WHERE l.order_id = $1
             AND p.payment_collection_id = l.payment_collection_id
             AND p.canceled_at IS NULL$$
    ]
);
