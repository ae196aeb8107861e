-- The shop of the bench: :due unpaid, overdue orders, two lines each, among
-- :total orders, which but for these are paid; 1000 SKUs.
--
--     psql -X -d bench -v due=40000 -v total=400000 -f shop.sql

\set ON_ERROR_STOP on

CREATE SCHEMA shop;
SET search_path = shop;

CREATE TABLE sku (
    id    bigint PRIMARY KEY,
    stock int NOT NULL CHECK (stock >= 0)
) WITH (fillfactor = 50);

CREATE TABLE orders (
    id            bigint PRIMARY KEY,
    buyer_id      bigint NOT NULL,
    status        text NOT NULL DEFAULT 'unpaid',
    created_at    timestamptz NOT NULL DEFAULT now(),
    cancelled_at  timestamptz,
    cancel_reason text
) WITH (fillfactor = 80);

CREATE TABLE order_items (
    order_id bigint NOT NULL REFERENCES orders,
    sku_id   bigint NOT NULL REFERENCES sku,
    qty      int NOT NULL,
    PRIMARY KEY (order_id, sku_id)
);

CREATE TABLE events (
    id       bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    order_id bigint NOT NULL,
    kind     text NOT NULL,
    payload  jsonb,
    at       timestamptz NOT NULL DEFAULT now()
);

INSERT INTO sku SELECT g, 1000 FROM generate_series(1, 1000) g;

-- By id they are by age as well: the due ones are 1 to :due.
INSERT INTO orders
SELECT g, g % 5000, CASE WHEN g <= :due THEN 'unpaid' ELSE 'paid' END,
       now() - interval '2 hours' + g * interval '1 ms'
  FROM generate_series(1, :total) g;

INSERT INTO order_items
SELECT o.id, 1 + (o.id * 7 + k * 13) % 1000, 1
  FROM orders o, generate_series(1, 2) k
 WHERE o.id <= :due;

CREATE INDEX orders_unpaid ON orders (created_at, id)
 WHERE status = 'unpaid';
