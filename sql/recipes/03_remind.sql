-- Remind the buyer once, 20 minutes after the order: a sweep that does not
-- cancel. Assumes shop.orders with a column reminded_at. What sends the mail
-- reads order_sweep.journal, where an order has one row of this sweep.

SELECT order_sweep.define(
    sweep  => 'remind_unpaid',
    orders => 'shop.orders',
    key    => '{id}',
    unpaid => $$o.status = 'unpaid' AND o.reminded_at IS NULL$$,
    since  => 'created_at',
    after  => '20 minutes',
    max_age => '1 day',
    set    => $$reminded_at = now()$$);

CREATE INDEX ON shop.orders (created_at, id)
    WHERE status = 'unpaid' AND reminded_at IS NULL;
