-- The Laravel shop of laravel.sql with an order whose restock raises: it must
-- stay unpaid, its goods untouched, and not stop the others.

\ir laravel.sql
INSERT INTO order_goods (order_id, goods_id, num) VALUES (8, 999, 1);

-- definition | laravel
-- cancelled | o.order_status = 5
-- expect cancelled | 1, 2
-- expect failed | 8
-- expect stock | goods 7: 90 -> 95, goods 8: 95 -> 96
-- verify | SELECT 'goods', id, stock FROM goods WHERE (id, stock) NOT IN ((7, 95), (8, 96));
-- verify | SELECT 'set', id FROM orders WHERE order_status = 5 AND id <> 5 AND (cancelled IS NULL OR updated <= created);
