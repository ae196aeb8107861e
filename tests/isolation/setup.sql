-- What every spec finds beside the sample shop: words for its setup, a gate to
-- hold a session at, and the views that its check steps print.

CREATE PROCEDURE testing.open_shop() LANGUAGE sql AS $$
    -- Quicker than TRUNCATE, for a handful of rows.
    DELETE FROM order_sweep.journal;
    DELETE FROM shop.payment;
    DELETE FROM shop.buyer_mark;
    DELETE FROM shop.order_line;
    DELETE FROM shop.orders;
    DELETE FROM shop.goods;
    SELECT setval(pg_get_serial_sequence('shop.orders', 'id'), 1, false);
    INSERT INTO shop.goods (id, name, price, offered, stock)
    VALUES (1, 'Goods 1', 10, 9, 9), (2, 'Goods 2', 10, 9, 9);
$$;
COMMENT ON PROCEDURE testing.open_shop IS
    'an empty shop with nine pieces of goods 1 and of goods 2';

CREATE PROCEDURE testing.place(age interval, VARIADIC goods integer[])
LANGUAGE sql AS $$
    SELECT shop.place_order(
               (SELECT count(*) + 1 FROM shop.orders),
               (SELECT jsonb_agg(jsonb_build_object('goods_id', g,
                                                    'quantity', 1) ORDER BY n)
                  FROM unnest(goods) WITH ORDINALITY AS line (g, n)),
               floor(extract(epoch FROM now() - age))::bigint);
$$;
COMMENT ON PROCEDURE testing.place IS
    'one more order, the first is order 1: a piece of each of the goods, in '
    'lines of this order';

CREATE FUNCTION shop.gate(number integer) RETURNS boolean LANGUAGE plpgsql
SET lock_timeout = 0 AS $$
BEGIN
    PERFORM pg_advisory_xact_lock_shared(number);
    RETURN true;
END $$;
COMMENT ON FUNCTION shop.gate IS
    'a gate, closed while somebody holds this advisory lock: waits there, '
    'however long; who is through stays so until the end of the transaction';

CREATE VIEW testing.orders AS
SELECT o.id, (ARRAY['unpaid', 'paid', 'closed'])[o.order_status] AS status,
       (SELECT count(*) FROM shop.payment p WHERE p.order_id = o.id) AS payments,
       (SELECT coalesce(string_agg('run ' || j.run_id, ', '
                                   ORDER BY j.run_id), 'no')
          FROM order_sweep.journal j
         WHERE j.order_key = jsonb_build_array(o.id)) AS journal
  FROM shop.orders o
 ORDER BY o.id;
COMMENT ON VIEW testing.orders IS 'the orders, and by which runs they were swept';

CREATE VIEW testing.goods AS
SELECT g.id, g.offered, g.stock,
       (SELECT coalesce(sum(l.quantity), 0)
          FROM shop.order_line l JOIN shop.orders o ON o.id = l.order_id
         WHERE l.goods_id = g.id AND o.order_status < 3) AS ordered
  FROM shop.goods g
 ORDER BY g.id;
COMMENT ON VIEW testing.goods IS
    'stock, and the pieces in unpaid and paid orders: together what was offered';
