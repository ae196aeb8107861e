-- Casdoor: orders without a payment.
--
-- check | index | "order" has no index on its clock

SELECT order_sweep.define(
    sweep  => 'cancel_unpaid',

    -- A table whose name needs quotes, and a key of two columns: $1 and $2 in
    -- the statements of each.
    orders => '"order"',
    key    => '{owner,name}',
    unpaid => $$o.state = 'Created'$$,

    -- The time is a text with an offset. moment() reads it and makes a NULL,
    -- which is never due, of what is none; a cast would fail the whole look on
    -- one blank row.
    since  => 'order_sweep.moment(o.created_time)',
    after  => '30 minutes',

    unless => json_build_object(
        'paid',
            $$EXISTS (SELECT FROM payment p
                       WHERE p.owner = o.owner AND p.name = o.payment
                         AND p.state = 'Paid')$$
    ),

    set    => $$state = 'Canceled',
                message = 'Canceled: unpaid',
                update_time = to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')$$,

    each   => ARRAY[
        $$UPDATE payment p
             SET state = 'Canceled'
            FROM "order" o
           WHERE o.owner = $1
             AND o.name = $2
             AND p.owner = o.owner
             AND p.name = o.payment
             AND p.state = 'Created'$$
    ]
);
