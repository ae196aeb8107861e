-- A split order, closed as a whole or not at all. Assumes that the parts are
-- rows of shop.orders with a parent_id, one level deep, and that each can be
-- paid by itself; a part that was cancelled alone does not keep the others.
--
-- unless is looked at before the parts are locked, so each looks again. With a
-- part paid meanwhile it raises an error that undoes all of it and counts as
-- locked, not as failed: the next run finds the order kept.

CREATE FUNCTION shop.part_paid(parent bigint) RETURNS boolean
LANGUAGE sql STABLE AS $$
    SELECT EXISTS (SELECT FROM shop.orders c
        WHERE c.parent_id = parent
          AND (c.status NOT IN ('unpaid', 'cancelled')
               OR EXISTS (SELECT FROM shop.payment p
                   WHERE p.order_id = c.id AND p.state <> 'failed')))
$$;

CREATE FUNCTION shop.try_later() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    RAISE serialization_failure USING MESSAGE = 'a part was paid meanwhile';
END $$;

SELECT order_sweep.define(
    sweep  => 'cancel_unpaid',
    orders => 'shop.orders',
    key    => '{id}',
    unpaid => $$o.status = 'unpaid' AND o.parent_id IS NULL$$,
    since  => 'created_at',
    after  => '30 minutes',
    unless => json_build_object(
        'paid', $$EXISTS (SELECT FROM shop.payment p
            WHERE p.order_id = o.id AND p.state <> 'failed')$$,
        'part paid', $$shop.part_paid(o.id)$$),
    set    => $$status = 'cancelled'$$,
    each   => ARRAY[
        -- FOR UPDATE waits for a payment in flight; the look is a statement of
        -- its own, so that it sees what was committed until then.
        $$SELECT c.id FROM shop.orders c WHERE c.parent_id = $1
           ORDER BY c.id FOR UPDATE$$,
        $$SELECT shop.try_later() WHERE shop.part_paid($1)$$,
        $$UPDATE shop.orders SET status = 'cancelled'
           WHERE parent_id = $1 AND status = 'unpaid'$$]);

CREATE INDEX ON shop.orders (created_at, id)
    WHERE status = 'unpaid' AND parent_id IS NULL;
