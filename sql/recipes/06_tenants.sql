-- A window for each tenant, one sweep for all: the shop writes the order's own
-- deadline, from the tenant's window, when the order is placed. A window looked
-- up in another table could be in no index, and a change of it would move
-- deadlines that buyers were told. Without a deadline an order is never due.

ALTER TABLE shop.orders ADD COLUMN expires_at timestamptz;

SELECT order_sweep.define(
    sweep    => 'cancel_unpaid',
    orders   => 'shop.orders',
    key      => '{id}',
    unpaid   => $$o.status = 'unpaid'$$,
    deadline => 'expires_at',
    set      => $$status = 'cancelled'$$);

CREATE INDEX ON shop.orders (expires_at, id) WHERE status = 'unpaid';
