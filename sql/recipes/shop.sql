-- The tables that the recipes assume. They stand for your own: load this only
-- to try a recipe, and write your own names into its definition.

CREATE SCHEMA shop;

CREATE TABLE shop.orders (
    id          bigint PRIMARY KEY,
    parent_id   bigint REFERENCES shop.orders,
    tenant_id   integer,
    method      text NOT NULL DEFAULT 'card',
    total       numeric(10,2) NOT NULL DEFAULT 10,
    status      text NOT NULL DEFAULT 'unpaid',
    created_at  timestamptz NOT NULL DEFAULT now(),
    delivered_at timestamptz,
    reminded_at timestamptz
);
CREATE INDEX ON shop.orders (parent_id);

CREATE TABLE shop.payment (
    id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    order_id   bigint NOT NULL REFERENCES shop.orders,
    state      text NOT NULL, -- pending, received, failed
    amount     numeric(10,2) NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX ON shop.payment (order_id);
