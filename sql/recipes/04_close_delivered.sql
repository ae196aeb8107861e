-- Close an order 7 days after it was delivered. Assumes shop.orders with a
-- column delivered_at; an order without that time is never due.

SELECT order_sweep.define(
    sweep  => 'close_delivered',
    orders => 'shop.orders',
    key    => '{id}',
    unpaid => $$o.status = 'delivered'$$,
    since  => 'delivered_at',
    after  => '7 days',
    set    => $$status = 'closed'$$);

CREATE INDEX ON shop.orders (delivered_at, id) WHERE status = 'delivered';
