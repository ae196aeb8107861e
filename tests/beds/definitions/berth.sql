-- Helsinki berth reservations: offers whose due date has passed.
--
-- check | index | payments_order has no index on its clock
-- no mutation | zone | the due dates of the bed lie days away

SELECT order_sweep.define(
    sweep    => 'expire_offers',
    orders   => 'payments_order',
    key      => '{id}',
    unpaid   => $$o.status = 'offered'$$,

    -- A date of its own in each row, instead of a window. The whole day still
    -- counts, until midnight in this zone. Orders without one never expire.
    deadline => 'due_date',
    zone     => 'UTC',

    unless   => json_build_object(
        'no lease', $$o._lease_object_id IS NULL$$
    ),

    set      => $$status = 'expired',
                  modified_at = now()$$,

    each     => ARRAY[
        -- What is reserved is reached by a generic foreign key: content type 1
        -- is a berth lease.
        $$UPDATE leases_berthlease l
             SET status = 'expired'
            FROM payments_order o
           WHERE o.id = $1
             AND o._lease_content_type_id = 1
             AND l.id = o._lease_object_id
             AND l.status = 'offered'$$,

        $$INSERT INTO payments_orderlogentry
              (order_id, from_status, to_status, comment, created_at)
          VALUES ($1, 'offered', 'expired', 'unpaid', now())$$
    ]
);
