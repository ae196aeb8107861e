-- Bagisto (Laravel): test bed.  Names and types follow bagisto/bagisto
--   packages/Webkul/Sales/src/Database/Migrations/2018_09_27_113154_create_orders_table.php,
--   .../2018_09_27_113207_create_order_items_table.php,
--   packages/Webkul/Product/src/Database/Migrations/2018_12_26_165327_create_product_ordered_inventories_table.php,
--   packages/Webkul/Sales/src/Repositories/OrderRepository.php (cancel), OrderItemRepository.php,
--   packages/Webkul/Sales/src/Models/Order.php.  Laravel's types on PostgreSQL.
-- The SQL and every row are our own.
-- Shows: nullable varchar status with two unpaid values, nullable timestamp(0)
-- in the application's zone, cancelled quantity per line, stock as "ordered"
-- counters per product and channel next to the real inventory, parent and child
-- lines (only the child holds stock), foreign keys ON DELETE SET NULL.

CREATE TABLE channels (id serial PRIMARY KEY, code varchar(255) NOT NULL);
CREATE TABLE products (id serial PRIMARY KEY, sku varchar(255) NOT NULL, manage_stock boolean NOT NULL DEFAULT true);
CREATE TABLE orders (
    id           serial PRIMARY KEY,
    increment_id varchar(255) NOT NULL UNIQUE,
    status       varchar(255),          -- pending, pending_payment, processing, completed, canceled, closed, fraud
    channel_id   integer REFERENCES channels ON DELETE SET NULL,
    grand_total  numeric(12,4) DEFAULT 0,
    grand_total_invoiced numeric(12,4) DEFAULT 0,
    created_at   timestamp(0),
    updated_at   timestamp(0)
);
CREATE TABLE order_payment (id serial PRIMARY KEY, order_id integer REFERENCES orders ON DELETE CASCADE, method varchar(255) NOT NULL);
CREATE TABLE order_items (
    id serial PRIMARY KEY, order_id integer REFERENCES orders ON DELETE CASCADE, parent_id integer REFERENCES order_items ON DELETE CASCADE,
    product_id integer, type varchar(255),
    qty_ordered integer DEFAULT 0, qty_shipped integer DEFAULT 0, qty_invoiced integer DEFAULT 0, qty_canceled integer DEFAULT 0, qty_refunded integer DEFAULT 0,
    updated_at timestamp(0)
);
CREATE TABLE product_inventories (id serial PRIMARY KEY, product_id integer NOT NULL REFERENCES products, qty integer NOT NULL DEFAULT 0);
CREATE TABLE product_ordered_inventories (
    id serial PRIMARY KEY, qty integer NOT NULL DEFAULT 0, product_id integer NOT NULL REFERENCES products, channel_id integer NOT NULL REFERENCES channels,
    UNIQUE (product_id, channel_id)
);

INSERT INTO channels (code) VALUES ('default'), ('b2b');
INSERT INTO products (id, sku, manage_stock) VALUES (7, 'SHIRT-M', true), (8, 'SHIRT', true), (9, 'DOWNLOAD', false);
INSERT INTO orders (id, increment_id, status, channel_id, grand_total, created_at, updated_at)
SELECT id, '#' || id, st, ch, 30, u - age, u - age
FROM (VALUES
    (1, 'pending_payment', 1, interval '2 hours'),     -- due
    (2, 'pending_payment', 1, interval '30 minutes'),  -- boundary
    (3, 'pending_payment', 1, interval '20 minutes'),  -- not yet
    (4, 'processing',      1, interval '2 hours'),     -- paid
    (5, 'canceled',        1, interval '2 hours'),     -- cancelled
    (6, 'pending_payment', 1, NULL),                   -- NULL date
    (7, NULL,              1, interval '2 hours'),     -- NULL status
    (8, 'pending',         1, interval '2 hours'),     -- due (second value), configurable product
    (9, 'pending',         1, interval '2 hours'),     -- cash on delivery: unpaid by design
    (10,'pending_payment', 2, interval '2 hours'),     -- due, other channel
    (11,'pending_payment', 1, interval '2 hours')      -- part of it is invoiced, the status was not moved
) AS t(id, st, ch, age), (SELECT date_trunc('second', now() AT TIME ZONE 'UTC') AS u) z;
UPDATE orders SET grand_total_invoiced = 10 WHERE id = 11;
INSERT INTO order_payment (order_id, method) SELECT id, CASE id WHEN 9 THEN 'cashondelivery' ELSE 'paypal_standard' END FROM orders;
INSERT INTO order_items (id, order_id, product_id, type, qty_ordered) SELECT id, id, 7, 'simple', 2 FROM orders WHERE id NOT IN (8, 11);
INSERT INTO order_items (id, order_id, parent_id, product_id, type, qty_ordered) VALUES (80, 8, NULL, 8, 'configurable', 3), (81, 8, 80, 7, 'simple', 3), (82, 8, NULL, 9, 'downloadable', 1);
UPDATE order_items SET qty_canceled = qty_ordered WHERE order_id = 5;
UPDATE order_items SET qty_canceled = 1 WHERE order_id = 2;         -- one of two cancelled by hand already
INSERT INTO product_inventories (product_id, qty) VALUES (7, 100);
INSERT INTO product_ordered_inventories (qty, product_id, channel_id) VALUES (16, 7, 1), (2, 7, 2);

-- cancelled | o.status = 'canceled'
-- expect cancelled | 1, 2, 8, 10
-- expect stock | product_inventories 7 stays 100; ordered: channel 1 16 -> 10 (2 + 1 + 3), channel 2 2 -> 0
-- verify | SELECT 'real', qty FROM product_inventories WHERE qty <> 100;
-- verify | SELECT 'ordered', channel_id, qty FROM product_ordered_inventories WHERE (channel_id, qty) NOT IN ((1, 10), (2, 0));
-- verify | SELECT 'lines', i.id FROM order_items i JOIN orders o ON o.id = i.order_id WHERE o.status = 'canceled' AND i.qty_canceled <> i.qty_ordered;
-- verify | SELECT 'set', id FROM orders WHERE status = 'canceled' AND id <> 5 AND updated_at <= created_at;
