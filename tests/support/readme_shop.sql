-- Tables such as README speaks of.
CREATE SCHEMA shop;
CREATE TABLE shop.orders (id bigint PRIMARY KEY, status text NOT NULL,
    created_at timestamptz NOT NULL, cancelled_at timestamptz);
CREATE TABLE shop.sku (id bigint PRIMARY KEY, stock int NOT NULL);
CREATE TABLE shop.order_line (order_id bigint REFERENCES shop.orders,
    sku_id bigint REFERENCES shop.sku, quantity int);
CREATE TABLE shop.payment (id bigint PRIMARY KEY,
    order_id bigint REFERENCES shop.orders, state text);
