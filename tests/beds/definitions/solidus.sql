-- Solidus (and Spree up to 4): completed orders with a balance due. Stock moves
-- by a movement row beside the counter.

SELECT order_sweep.define(
    sweep  => 'cancel_unpaid',
    orders => 'spree_orders',
    key    => '{id}',
    unpaid => $$o.state = 'complete'
            AND o.payment_state = 'balance_due'$$,

    -- From when the order was placed, not from when its cart was begun. Rails
    -- keeps UTC in columns without a zone.
    since  => 'completed_at',
    after  => '30 minutes',
    zone   => 'UTC',

    unless => json_build_object(
        'shipped',
            $$o.shipment_state NOT IN ('pending', 'backorder', 'ready')$$,
        'payment under way',
            $$EXISTS (SELECT FROM spree_payments p
                       WHERE p.order_id = o.id
                         AND p.state IN ('processing', 'pending', 'completed'))$$
    ),

    set    => $$state = 'canceled',
                payment_state = 'void',
                shipment_state = 'canceled',
                canceled_at = now() AT TIME ZONE 'UTC',
                updated_at = now() AT TIME ZONE 'UTC'$$,

    each   => ARRAY[
        -- Units come back to the stock item that is not deleted; only those
        -- that were on hand have a movement.
        $$WITH back AS (
              SELECT si.id AS item, s.id AS shipment, count(*) AS units,
                     count(*) FILTER (WHERE iu.state = 'on_hand') AS on_hand
                FROM spree_shipments s
                JOIN spree_inventory_units iu
                  ON iu.shipment_id = s.id
                 AND iu.state IN ('on_hand', 'backordered')
                JOIN spree_stock_items si
                  ON si.variant_id = iu.variant_id
                 AND si.stock_location_id = s.stock_location_id
                 AND si.deleted_at IS NULL
               WHERE s.order_id = $1
               GROUP BY si.id, s.id
          ), movement AS (
              INSERT INTO spree_stock_movements
                  (stock_item_id, quantity, originator_type, originator_id,
                   created_at)
              SELECT item, on_hand, 'Spree::Shipment', shipment,
                     now() AT TIME ZONE 'UTC'
                FROM back
               WHERE on_hand > 0
          )
          UPDATE spree_stock_items si
             SET count_on_hand = si.count_on_hand + item.units
            FROM (SELECT item AS id, sum(units) AS units
                    FROM back
                   GROUP BY item) AS item
           WHERE si.id = item.id$$,

        $$UPDATE spree_shipments
             SET state = 'canceled'
           WHERE order_id = $1$$
    ]
);
