-- pretix: orders expire at a moment of their own, and some never.
--
-- check | index | pretixbase_order has no index on its clock

SELECT order_sweep.define(
    sweep    => 'expire_orders',
    orders   => 'pretixbase_order',
    key      => '{id}',
    unpaid   => $$o.status = 'n'$$,

    -- Instead of since and after: the moment stands in the row.
    deadline => 'expires',

    unless   => json_build_object(
        'waits for approval', $$o.require_approval$$,
        'valid while unpaid', $$o.valid_if_pending$$,
        'cancellation fee due',
            $$EXISTS (SELECT FROM pretixbase_orderfee f
                       WHERE f.order_id = o.id AND f.fee_type = 'cancellation')$$,
        'event without automatic expiry',
            $$EXISTS (SELECT FROM pretixbase_event_settingsstore s
                       WHERE s.object_id = o.event_id
                         AND s.key = 'payment_term_expire_automatically'
                         AND s.value = 'False')$$,
        'payment under way',
            $$EXISTS (SELECT FROM pretixbase_orderpayment p
                       WHERE p.order_id = o.id
                         AND p.state IN ('pending', 'confirmed'))$$
    ),

    set      => $$status = 'e',
                  last_modified = now()$$,

    -- Places are counted from the positions of live orders, so there is no
    -- counter to lower. The voucher stays used: it is given back when an order
    -- is cancelled, not when it expires.
    each     => ARRAY[
        $$UPDATE pretixbase_orderpayment
             SET state = 'canceled'
           WHERE order_id = $1
             AND state = 'created'$$,

        $$INSERT INTO pretixbase_logentry
              (object_id, datetime, action_type, data)
          VALUES ($1, now(), 'pretix.event.order.expired', '{}')$$
    ]
);
