-- A window for each payment method, and methods that are never swept.
-- Assumes shop.orders with a column method. Change the methods and windows; a
-- method that is not listed has no deadline (NULL), so it is never due.

SELECT order_sweep.define(
    sweep    => 'cancel_unpaid',
    orders   => 'shop.orders',
    key      => '{id}',
    unpaid   => $$o.status = 'unpaid'$$,
    deadline => $$o.created_at + CASE o.method
                    WHEN 'card' THEN interval '30 minutes'
                    WHEN 'wallet' THEN interval '15 minutes'
                END$$,
    set      => $$status = 'cancelled'$$);

-- timestamptz + interval is not immutable, so the deadline itself cannot be
-- indexed: the index keeps a run to the unpaid orders.
CREATE INDEX ON shop.orders (id) WHERE status = 'unpaid';
