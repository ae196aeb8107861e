-- A Laravel shop: test bed.  Invented, not taken from a project; its shape is
-- that of Xboard (integer seconds) and dujiaoka (smallint status with 1 as
-- unpaid).
-- Shows: created as int unix seconds, order_status smallint 1 = unpaid, restock
-- through a SQL function per order, stock rows shared by orders in opposite order (deadlock
-- bait), a CHECK that a double restock would break.

CREATE TABLE goods (id int PRIMARY KEY, stock int NOT NULL, stock_max int NOT NULL, CHECK (stock BETWEEN 0 AND stock_max));
CREATE TABLE orders (
    id serial PRIMARY KEY, order_no varchar(32) NOT NULL UNIQUE, user_id int NOT NULL,
    order_status smallint NOT NULL DEFAULT 1,   -- 1 unpaid, 2 paid, 3 shipped, 4 done, 5 cancelled
    created int, updated int, cancelled int, is_delete smallint NOT NULL DEFAULT 0
);
CREATE INDEX orders_status_created ON orders (order_status, created);
CREATE TABLE order_goods (id serial PRIMARY KEY, order_id int NOT NULL, goods_id int NOT NULL, num int NOT NULL);

CREATE FUNCTION restock(o int) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT 1 FROM order_goods og LEFT JOIN goods g ON g.id = og.goods_id WHERE og.order_id = o AND g.id IS NULL) THEN
        RAISE EXCEPTION 'order % has unknown goods', o USING ERRCODE = 'P0001';
    END IF;
    UPDATE goods g SET stock = g.stock + t.n
    FROM (SELECT goods_id, sum(num) AS n FROM order_goods WHERE order_id = o GROUP BY 1 ORDER BY 1) t WHERE g.id = t.goods_id;
END $$;

INSERT INTO goods VALUES (7, 90, 100), (8, 95, 100);
INSERT INTO orders (id, order_no, user_id, order_status, created, updated, is_delete)
SELECT id, 'N' || id, 1, st, at, at, del
FROM (SELECT floor(extract(epoch FROM now()))::int AS n) z, LATERAL (VALUES
    (1, 1::smallint, n - 7200, 0::smallint),  -- due
    (2, 1, n - 1800, 0),                      -- boundary, to the second
    (3, 1, n - 1200, 0),                      -- not yet
    (4, 2, n - 7200, 0),                      -- paid
    (5, 5, n - 7200, 0),                      -- cancelled
    (6, 1, NULL,     0),                      -- NULL date
    (7, 1, n - 7200, 1),                      -- deleted
    (8, 1, n - 7000, 0),                      -- due, lines in the other order
    (9, 1, n + 600,  0),                      -- future
    (10,1, 0,        0),                      -- zero date
    (11,3, n - 7200, 0)                       -- shipped
) AS t(id, st, at, del);
INSERT INTO order_goods (order_id, goods_id, num) VALUES
    (1, 7, 2), (1, 8, 1), (2, 7, 3), (3, 7, 1), (4, 7, 1), (5, 7, 1), (6, 8, 1), (7, 8, 1), (8, 8, 2), (8, 7, 1), (9, 7, 1), (11, 7, 1);

-- cancelled | o.order_status = 5
-- expect cancelled | 1, 2, 8
-- expect stock | goods 7: 90 -> 96, goods 8: 95 -> 98
-- verify | SELECT 'goods', id, stock FROM goods WHERE (id, stock) NOT IN ((7, 96), (8, 98));
-- verify | SELECT 'set', id FROM orders WHERE order_status = 5 AND id <> 5 AND (cancelled IS NULL OR updated <= created);
