-- A shop that keeps unix seconds and has its own function for giving back.

SELECT order_sweep.define(
    sweep   => 'cancel_unpaid',
    orders  => 'orders',
    key     => '{id}',
    unpaid  => $$o.order_status = 1$$,

    -- Seconds since 1970.
    since   => 'created',
    unit    => 's',
    after   => '30 minutes',

    -- The script that this replaces closed what was older. A created of 0 is
    -- no order of 1970, it is a mistake: it is kept as too old, and shown.
    max_age => '1 day',

    unless  => json_build_object(
        'deleted', $$o.is_delete <> 0$$
    ),

    set     => $$order_status = 5,
                 cancelled = floor(extract(epoch FROM now()))::int,
                 updated = floor(extract(epoch FROM now()))::int$$,

    -- The function raises for goods that it does not know: that order then
    -- stays as it was, is reported and tried again, and stops no other.
    each    => ARRAY[$$SELECT restock($1)$$]
);
