-- Grace for bank transfers: the buyer is told 5 days, and the order is kept for
-- 2 more, since money sent on the last day arrives later. It stands in the
-- deadline of this method; the argument grace would hold for all of them.
-- Assumes shop.orders with a column method.

SELECT order_sweep.define(
    sweep    => 'cancel_unpaid',
    orders   => 'shop.orders',
    key      => '{id}',
    unpaid   => $$o.status = 'unpaid'$$,
    deadline => $$o.created_at AT TIME ZONE 'UTC' + CASE o.method
                    WHEN 'transfer' THEN interval '5 days' + interval '2 days'
                    ELSE interval '30 minutes'
                END$$,
    zone     => 'UTC',
    set      => $$status = 'cancelled'$$);

CREATE INDEX ON shop.orders (((created_at AT TIME ZONE 'UTC') + CASE method
        WHEN 'transfer' THEN interval '5 days' + interval '2 days'
        ELSE interval '30 minutes'
    END), id) WHERE status = 'unpaid';
