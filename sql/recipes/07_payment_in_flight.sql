-- A payment in flight keeps its order, but for an hour at most: one that is
-- stuck for longer does not. Assumes shop.payment with state and created_at.

SELECT order_sweep.define(
    sweep  => 'cancel_unpaid',
    orders => 'shop.orders',
    key    => '{id}',
    unpaid => $$o.status = 'unpaid'$$,
    since  => 'created_at',
    after  => '30 minutes',
    unless => json_build_object(
        'payment received', $$EXISTS (SELECT FROM shop.payment p
            WHERE p.order_id = o.id AND p.state = 'received')$$,
        'payment in flight', $$EXISTS (SELECT FROM shop.payment p
            WHERE p.order_id = o.id AND p.state = 'pending'
              AND p.created_at > now() - interval '1 hour')$$),
    set    => $$status = 'cancelled'$$);

CREATE INDEX ON shop.orders (created_at, id) WHERE status = 'unpaid';
