-- Solidus (and Spree up to 4): test bed.  Names and types follow solidusio/solidus
--   core/db/migrate/20160101010000_solidus_one_four.rb,
--   core/db/migrate/20170319191942_remove_order_id_from_inventory_units.rb,
--   core/app/models/spree/order.rb, shipment.rb, stock_location.rb, stock_movement.rb.
-- The SQL and every row are our own.
-- Shows: integer id, three state columns, timestamp without time zone in UTC
-- (Rails), all of it nullable, no foreign keys, stock moved by an append-only
-- movement row plus a counter, soft-deleted stock item, application mutex table.

CREATE TABLE spree_orders (
    id             serial PRIMARY KEY,
    number         varchar(32),
    state          varchar,
    payment_state  varchar,
    shipment_state varchar,
    total          numeric(10,2) NOT NULL DEFAULT 0,
    payment_total  numeric(10,2) DEFAULT 0,
    completed_at   timestamp,
    canceled_at    timestamp,
    canceler_id    integer,
    created_at     timestamp(6),
    updated_at     timestamp(6)
);
CREATE INDEX index_spree_orders_on_completed_at ON spree_orders (completed_at);

CREATE TABLE spree_line_items (
    id         serial PRIMARY KEY,
    order_id   integer,
    variant_id integer,
    quantity   integer NOT NULL
);
CREATE TABLE spree_shipments (
    id                serial PRIMARY KEY,
    order_id          integer,
    stock_location_id integer,
    state             varchar,
    updated_at        timestamp(6)
);
CREATE TABLE spree_inventory_units (
    id           serial PRIMARY KEY,
    state        varchar,          -- on_hand, backordered, shipped, ...
    variant_id   integer,
    shipment_id  integer,
    line_item_id integer,
    pending      boolean DEFAULT true
);
CREATE TABLE spree_stock_items (
    id                serial PRIMARY KEY,
    stock_location_id integer,
    variant_id        integer,
    count_on_hand     integer NOT NULL DEFAULT 0,
    backorderable     boolean DEFAULT false,
    updated_at        timestamp(6),
    deleted_at        timestamp
);
CREATE UNIQUE INDEX stock_item_by_loc_and_var ON spree_stock_items (variant_id, stock_location_id)
    WHERE deleted_at IS NULL;
CREATE TABLE spree_stock_movements (
    id              serial PRIMARY KEY,
    stock_item_id   integer,
    quantity        integer DEFAULT 0,
    originator_type varchar,
    originator_id   integer,
    created_at      timestamp(6)
);
CREATE TABLE spree_payments (
    id       serial PRIMARY KEY,
    order_id integer,
    amount   numeric(10,2) NOT NULL DEFAULT 0,
    state    varchar              -- checkout, pending, processing, completed, failed, void
);
CREATE TABLE spree_order_mutexes (order_id integer NOT NULL UNIQUE, created_at timestamp(6));

INSERT INTO spree_orders (id, number, state, payment_state, shipment_state, total, completed_at, created_at, updated_at)
SELECT id, 'R' || lpad(id::text, 9, '0'), st, ps, ss, 30, u - age, u - coalesce(age, interval '3 hours'), u
FROM (VALUES
    (1,  interval '2 hours',    'complete', 'balance_due', 'pending'),   -- due
    (2,  interval '30 minutes', 'complete', 'balance_due', 'pending'),   -- boundary
    (3,  interval '20 minutes', 'complete', 'balance_due', 'pending'),   -- not yet
    (4,  interval '2 hours',    'complete', 'paid',        'ready'),     -- paid
    (5,  interval '2 hours',    'canceled', 'void',        'canceled'),  -- cancelled
    (6,  NULL,                  'payment',  NULL,          NULL),        -- never completed: a cart
    (7,  interval '2 hours',    'complete', 'balance_due', 'shipped'),   -- shipped on account
    (8,  interval '2 hours',    'complete', 'balance_due', 'backorder'), -- due, one unit backordered
    (9,  interval '2 hours',    'complete', 'balance_due', NULL),        -- due, no shipment
    (10, interval '2 hours',    'complete', 'balance_due', 'pending'),   -- a payment is being processed
    (11, interval '2 hours',    'complete', 'credit_owed', 'pending')    -- owes us nothing
) AS t(id, age, st, ps, ss), (SELECT now() AT TIME ZONE 'UTC' AS u) z;

INSERT INTO spree_line_items (id, order_id, variant_id, quantity)
SELECT id, id, 7, 2 FROM spree_orders;
INSERT INTO spree_shipments (id, order_id, stock_location_id, state)
SELECT id, id, 1, coalesce(shipment_state, 'pending') FROM spree_orders WHERE id NOT IN (6, 9);
INSERT INTO spree_inventory_units (state, variant_id, shipment_id, line_item_id, pending)
SELECT CASE WHEN s.id = 8 AND g = 2 THEN 'backordered' WHEN s.state = 'shipped' THEN 'shipped' ELSE 'on_hand' END,
       7, s.id, s.id, false
FROM spree_shipments s, generate_series(1, 2) g;
INSERT INTO spree_stock_items (id, stock_location_id, variant_id, count_on_hand, deleted_at) VALUES
    (1, 1, 7, 40, NULL),
    (2, 1, 7, 11, now() AT TIME ZONE 'UTC');            -- soft-deleted twin: must not move
INSERT INTO spree_payments (order_id, amount, state) VALUES
    (1, 30, 'checkout'), (4, 30, 'completed'), (10, 30, 'processing');

-- cancelled | o.state = 'canceled'
-- expect cancelled | 1, 2, 8, 9
-- expect stock | spree_stock_items 1: 40 -> 46 (two each for 1, 2, 8; none for 9); item 2 stays 11
-- expect stock | movements: three rows, +2 +2 +1 (the backordered unit gets no movement row)
-- verify | SELECT 'stock', id, count_on_hand FROM spree_stock_items WHERE (id, count_on_hand) NOT IN ((1, 46), (2, 11));
-- verify | SELECT 'moves', count(*), sum(quantity) FROM spree_stock_movements HAVING (count(*), sum(quantity)) IS DISTINCT FROM (3::bigint, 5::bigint);
-- verify | SELECT 'ship', count(*) FROM spree_shipments WHERE state = 'canceled' HAVING count(*) <> 4;
-- verify | SELECT 'set', id FROM spree_orders WHERE state = 'canceled' AND id <> 5 AND (canceled_at IS NULL OR payment_state <> 'void' OR shipment_state <> 'canceled' OR updated_at <> canceled_at);
