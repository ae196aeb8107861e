-- Return the coupon and the points of an order with its cancel, in one
-- transaction. Assumes the two tables here.
--
-- Returned is what the order holds, not what it once held: a coupon used
-- elsewhere since is left alone, and an order that was opened and closed again
-- (again) returns only what it used anew. For that, spent grows with each use
-- and the buyer is charged spent - returned. Whoever opens an order again also
-- sets its created_at, or it is due at once.

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
        $$UPDATE shop.points SET returned = spent WHERE order_id = $1$$],
    again  => true);

CREATE INDEX ON shop.orders (created_at, id) WHERE status = 'unpaid';
