-- Fills the sample shop, the same way each time:
--
--     psql -d shop -v orders=10000 -v goods=50 -f data.sql
--
-- Of ten orders, five are unpaid and overdue, one is paid, two are unpaid and
-- young, two were closed in earlier days. What place_order and pay_order
-- would have done one by one is done here in bulk: stock is taken and buyers
-- are marked for the unpaid and paid orders, and for no others. A shop with
-- orders in it is refused (their numbers are taken), and left as it is.

\set ON_ERROR_STOP on
\if :{?orders}
\else
    \set orders 10000
\endif
-- Not fewer than 4: a buyer has two orders, which must not share goods.
\if :{?goods}
\else
    \set goods 50
\endif

BEGIN;

-- n numbers the orders from 0. The kind moves on by three with every ten and
-- by one with every hundred, so that all goods meet all kinds.
CREATE TEMPORARY TABLE plan ON COMMIT DROP AS
SELECT n,
       (n + n / 10 * 3 + n / 100) % 10 AS kind,
       floor(extract(epoch FROM now()))::bigint AS now
  FROM generate_series(0, :orders - 1) AS n;

-- kind 0 to 4: unpaid for 31 minutes to a day; 5: paid within 20 minutes;
-- 6 and 7: unpaid for 1 to 21 minutes; 8 and 9: closed on earlier days.
INSERT INTO shop.orders
       (id, buyer_id, created, order_status, paid_at, closed_at)
SELECT n + 1, 1 + n / 2, created,
       CASE WHEN kind = 5 THEN 2 WHEN kind >= 8 THEN 3 ELSE 1 END,
       CASE WHEN kind = 5 THEN to_timestamp(created + n % 1200) END,
       CASE WHEN kind >= 8 THEN to_timestamp(created + 1860) END
  FROM (SELECT n, kind,
               now - CASE WHEN kind <= 4 THEN 1860 + n * 37 % 84000
                          WHEN kind = 5  THEN 1260 + n * 37 % 84000
                          WHEN kind <= 7 THEN 60 + n * 37 % 1200
                          ELSE 100000 + n * 37 % 200000
                     END AS created
          FROM plan) AS placed;
SELECT setval(pg_get_serial_sequence('shop.orders', 'id'), :orders) AS last_id
\gset

-- By turns: one line; lines of two goods; two lines of the same goods; three
-- lines of two goods.
INSERT INTO shop.order_line (order_id, line, goods_id, quantity)
SELECT n + 1, line, 1 + (n + step) % :goods, 1 + (n + line) % 3
  FROM plan
  JOIN (VALUES (0, 1, 0),
               (1, 1, 0), (1, 2, :goods / 2),
               (2, 1, 0), (2, 2, 0),
               (3, 1, 0), (3, 2, :goods / 2), (3, 3, 0)
       ) AS shape (turn, line, step) ON turn = n / 10 % 4;

INSERT INTO shop.buyer_mark (buyer_id, goods_id)
SELECT DISTINCT o.buyer_id, l.goods_id
  FROM shop.orders o
  JOIN shop.order_line l ON l.order_id = o.id
 WHERE o.order_status IN (1, 2);

-- Every fifth is sold out, of the others 20 pieces are left.
INSERT INTO shop.goods (id, name, price, offered, stock)
SELECT id, 'Goods ' || id, 9.90 + id,
       coalesce(taken.quantity, 0) + free, free
  FROM generate_series(1, :goods) AS id
 CROSS JOIN LATERAL (SELECT CASE WHEN id % 5 = 0 THEN 0 ELSE 20 END) AS f (free)
  LEFT JOIN (SELECT l.goods_id, sum(l.quantity) AS quantity
               FROM shop.orders o
               JOIN shop.order_line l ON l.order_id = o.id
              WHERE o.order_status IN (1, 2)
              GROUP BY l.goods_id) AS taken ON taken.goods_id = id;

INSERT INTO shop.payment (order_id, amount, paid_at)
SELECT o.id, sum(l.quantity * g.price), o.paid_at
  FROM shop.orders o
  JOIN shop.order_line l ON l.order_id = o.id
  JOIN shop.goods g ON g.id = l.goods_id
 WHERE o.order_status = 2
 GROUP BY o.id
 ORDER BY o.id;

ANALYZE shop.goods, shop.orders, shop.order_line, shop.buyer_mark,
        shop.payment;

COMMIT;
