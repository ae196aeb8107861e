-- Return the coupon and the points of an order with its cancel, exactly once:
-- all in one transaction, and the journal knows an order that was swept.
-- Assumes the two tables here. A coupon used elsewhere since is left alone.

CREATE TABLE shop.coupon (code text PRIMARY KEY, used_by bigint);
CREATE INDEX ON shop.coupon (used_by);
CREATE TABLE shop.points (
    order_id bigint PRIMARY KEY REFERENCES shop.orders,
    spent    integer NOT NULL,
    returned integer NOT NULL DEFAULT 0
);

SELECT order_sweep.define(
    sweep  => 'cancel_unpaid',
    orders => 'shop.orders',
    key    => '{id}',
    unpaid => $$o.status = 'unpaid'$$,
    since  => 'created_at',
    after  => '30 minutes',
    set    => $$status = 'cancelled'$$,
    each   => ARRAY[
        $$UPDATE shop.coupon SET used_by = NULL WHERE used_by = $1$$,
        $$UPDATE shop.points SET returned = returned + spent
           WHERE order_id = $1$$]);

CREATE INDEX ON shop.orders (created_at, id) WHERE status = 'unpaid';
