-- A window for each payment method, and methods that are never swept.
-- Assumes shop.orders with a column method. Change the methods and windows; a
-- method that is not listed has no deadline (NULL), so it is never due.
-- AT TIME ZONE 'UTC' lets the deadline stand in an index.

SELECT order_sweep.define(
    sweep    => 'cancel_unpaid',
    orders   => 'shop.orders',
    key      => '{id}',
    unpaid   => $$o.status = 'unpaid'$$,
    deadline => $$o.created_at AT TIME ZONE 'UTC' + CASE o.method
                    WHEN 'card' THEN interval '30 minutes'
                    WHEN 'wallet' THEN interval '15 minutes'
                END$$,
    zone     => 'UTC',
    set      => $$status = 'cancelled'$$);

CREATE INDEX ON shop.orders (((created_at AT TIME ZONE 'UTC') + CASE method
        WHEN 'card' THEN interval '30 minutes'
        WHEN 'wallet' THEN interval '15 minutes'
    END), id) WHERE status = 'unpaid';
