-- How the flash sale closes its unpaid orders. Copy this for your own shop:
--
--     psql -d shop -f definition.sql
--
-- Calling define again with the same name replaces the definition; what was
-- swept, what failed and who may sweep is kept. Quote SQL with $$ … $$: then
-- nothing in it has to be doubled.

SELECT order_sweep.define(
    sweep  => 'cancel_unpaid',

    -- The table and its key. In the SQL below, o is the row of the order.
    orders => 'shop.orders',
    key    => '{id}',

    -- Which orders wait for payment. The same text as in the index
    -- orders_unpaid: so a sweep reads that index and nothing else.
    unpaid => $$o.order_status = 1$$,

    -- And how long they may wait: 30 minutes, counted from unix seconds.
    since  => 'created',
    after  => '30 minutes',

    -- Orders to leave alone although they are unpaid and overdue, each rule
    -- with the name that reports show. Money may arrive before the status says
    -- so; an order with a payment is a matter for people.
    unless => $$ {
        "payment received":
            "EXISTS (SELECT FROM shop.payment p WHERE p.order_id = o.id)"
    } $$,

    -- What closing an order changes in its own row ...
    set    => $$order_status = 3, closed_at = now()$$,

    -- ... and elsewhere, in the same transaction; $1 is the order's id.
    each   => ARRAY[
        -- Lock the goods in the order of their numbers, as place_order takes
        -- them: an UPDATE alone takes them in any order, and two writers that
        -- hold what the other wants next end in a deadlock.
        $$SELECT g.id
            FROM shop.goods g
           WHERE g.id IN (SELECT l.goods_id
                            FROM shop.order_line l
                           WHERE l.order_id = $1)
           ORDER BY g.id
             FOR NO KEY UPDATE$$,

        -- Return the stock. Lines of the same goods are summed first: an
        -- UPDATE changes a row once, however many lines it is joined with.
        -- Goods that took nothing back (their row is gone) make this order
        -- fail: it stays as it was, the run goes on without it and reports it.
        -- Closing it all the same would lose its pieces without a word, and
        -- nothing is urgent about an order for goods that no one sells.
        $$WITH line AS (
              SELECT l.goods_id, sum(l.quantity) AS quantity
                FROM shop.order_line l
               WHERE l.order_id = $1
               GROUP BY l.goods_id
          ), returned AS (
              UPDATE shop.goods g
                 SET stock = g.stock + line.quantity
                FROM line
               WHERE g.id = line.goods_id
              RETURNING g.id
          )
          SELECT shop.refuse(format('cannot return %s of goods %s: not found',
                                    line.quantity, line.goods_id))
            FROM line
           WHERE line.goods_id NOT IN (SELECT id FROM returned)$$,

        -- The buyer may order these goods again.
        $$DELETE FROM shop.buyer_mark m
           USING shop.orders closed, shop.order_line l
           WHERE closed.id = $1
             AND l.order_id = closed.id
             AND m.buyer_id = closed.buyer_id
             AND m.goods_id = l.goods_id$$
    ],

    -- What the journal tells the storefront, which puts the goods back on
    -- sale: how many pieces came back. Not the new stock: the next buyer may
    -- have changed it by the time this is read.
    event  => $$jsonb_build_object(
        'order_id', o.id,
        'buyer_id', o.buyer_id,
        'reason', 'payment_timeout',
        'goods', (SELECT jsonb_agg(jsonb_build_object(
                             'goods_id', line.goods_id,
                             'quantity', line.quantity)
                         ORDER BY line.goods_id)
                    FROM (SELECT l.goods_id, sum(l.quantity) AS quantity
                            FROM shop.order_line l
                           WHERE l.order_id = o.id
                           GROUP BY l.goods_id) AS line))$$,

    -- How to see that money came in after all, for the list of late payments.
    -- pay_order refuses it; a payment booked past pay_order shows up there.
    paid   => $$EXISTS (SELECT FROM shop.payment p WHERE p.order_id = o.id)$$
);
