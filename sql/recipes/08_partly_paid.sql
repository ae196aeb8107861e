-- Orders that are partly paid, or cost nothing, are kept for people to look
-- at. Assumes shop.orders with a total, shop.payment with state and amount.

SELECT order_sweep.define(
    sweep  => 'cancel_unpaid',
    orders => 'shop.orders',
    key    => '{id}',
    unpaid => $$o.status = 'unpaid'$$,
    since  => 'created_at',
    after  => '30 minutes',
    unless => json_build_object(
        'nothing to pay', $$o.total = 0$$,
        'partly paid', $$EXISTS (SELECT FROM shop.payment p
            WHERE p.order_id = o.id AND p.state = 'received'
              AND p.amount > 0)$$),
    set    => $$status = 'cancelled'$$);

CREATE INDEX ON shop.orders (created_at, id) WHERE status = 'unpaid';
