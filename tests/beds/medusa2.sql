-- Medusa v2: test bed.  Names and types follow medusajs/medusa
--   packages/modules/order/src/migrations/Migration20240219102530.ts,
--   packages/modules/inventory/src/migrations/Migration20240307132720.ts and 20240719123015.ts,
--   packages/modules/payment/src/migrations/Migration20240225134525.ts,
--   packages/modules/link-modules/src/definitions/order-payment-collection.ts,
--   packages/core/core-flows/src/order/workflows/cancel-order.ts.
-- The SQL and every row are our own.
-- Shows: reserved word as table name, text (ULID) id, enum status, payment
-- state two joins away, soft delete on orders and on reservations, a version
-- column that numbers order edits (not a lock: leave it), numeric stock.

CREATE TYPE order_status_enum AS ENUM ('pending', 'completed', 'draft', 'archived', 'canceled', 'requires_action');

CREATE TABLE "order" (
    id             text PRIMARY KEY,
    display_id     serial,
    version        integer NOT NULL DEFAULT 1,
    status         order_status_enum NOT NULL DEFAULT 'pending',
    is_draft_order boolean NOT NULL DEFAULT false,
    currency_code  text NOT NULL,
    metadata       jsonb,
    created_at     timestamptz NOT NULL DEFAULT now(),
    updated_at     timestamptz NOT NULL DEFAULT now(),
    deleted_at     timestamptz,
    canceled_at    timestamptz
);
CREATE INDEX "IDX_order_is_draft_order" ON "order" (is_draft_order) WHERE deleted_at IS NULL;

CREATE TABLE order_item (
    id       text PRIMARY KEY,
    order_id text NOT NULL REFERENCES "order" ON UPDATE CASCADE ON DELETE CASCADE,
    version  integer NOT NULL,
    item_id  text NOT NULL,
    quantity numeric NOT NULL
);
CREATE TABLE payment_collection (
    id              text PRIMARY KEY,
    amount          numeric NOT NULL,
    captured_amount numeric,
    status          text NOT NULL DEFAULT 'not_paid'
        CHECK (status IN ('not_paid', 'awaiting', 'authorized', 'partially_authorized', 'canceled')),
    deleted_at      timestamptz
);
CREATE TABLE order_payment_collection (
    id                    varchar(255) NOT NULL,
    order_id              varchar(255) NOT NULL,
    payment_collection_id varchar(255) NOT NULL,
    deleted_at            timestamptz,
    PRIMARY KEY (order_id, payment_collection_id)
);
CREATE TABLE payment (
    id                    text PRIMARY KEY,
    payment_collection_id text NOT NULL,
    captured_at           timestamptz,
    canceled_at           timestamptz,
    deleted_at            timestamptz
);
CREATE TABLE inventory_item (id text PRIMARY KEY, sku text, deleted_at timestamptz);
CREATE TABLE inventory_level (
    id                text PRIMARY KEY,
    inventory_item_id text NOT NULL REFERENCES inventory_item,
    location_id       text NOT NULL,
    stocked_quantity  numeric NOT NULL DEFAULT 0,
    reserved_quantity numeric NOT NULL DEFAULT 0,
    updated_at        timestamptz NOT NULL DEFAULT now(),
    deleted_at        timestamptz
);
CREATE UNIQUE INDEX "IDX_inventory_level_item_location" ON inventory_level (inventory_item_id, location_id)
    WHERE deleted_at IS NULL;
CREATE TABLE reservation_item (
    id                text PRIMARY KEY,
    line_item_id      text,
    location_id       text NOT NULL,
    inventory_item_id text NOT NULL REFERENCES inventory_item,
    quantity          numeric NOT NULL,
    deleted_at        timestamptz
);

INSERT INTO "order" (id, status, is_draft_order, currency_code, created_at, updated_at, deleted_at)
SELECT 'order_01H000000000000000000000' || n, st::order_status_enum, d, 'eur', now() - age, now() - age,
       CASE WHEN gone THEN now() END
FROM (VALUES
    ('01', interval '2 hours',    'pending',  false, false),   -- due
    ('02', interval '30 minutes', 'pending',  false, false),   -- boundary
    ('03', interval '20 minutes', 'pending',  false, false),   -- not yet
    ('04', interval '2 hours',    'pending',  false, false),   -- captured in full
    ('05', interval '2 hours',    'canceled', false, false),   -- cancelled
    ('06', interval '2 hours',    'pending',  false, true),    -- soft-deleted
    ('07', interval '2 hours',    'draft',    true,  false),   -- draft
    ('08', interval '2 hours',    'pending',  false, false),   -- authorised, not captured
    ('09', interval '2 hours',    'pending',  false, false),   -- no payment collection at all: due
    ('10', interval '2 hours',    'pending',  false, false),   -- one of two payments captured
    ('11', interval '2 hours',    'pending',  true,  false)    -- draft by the flag alone
) AS t(n, age, st, d, gone);

INSERT INTO order_item
SELECT 'orditem_' || id, id, 1, 'ordli_' || right(id, 2), 1.5 FROM "order";
INSERT INTO payment_collection
SELECT 'pay_col_' || right(id, 2), 10,
       CASE right(id, 2) WHEN '04' THEN 10 WHEN '10' THEN 5 END,
       CASE right(id, 2) WHEN '04' THEN 'authorized' WHEN '08' THEN 'authorized' WHEN '10' THEN 'partially_authorized' ELSE 'not_paid' END, NULL
FROM "order" WHERE right(id, 2) <> '09';
INSERT INTO order_payment_collection
SELECT 'ordpay_' || right(id, 2), id, 'pay_col_' || right(id, 2), NULL FROM "order" WHERE right(id, 2) <> '09';
INSERT INTO payment VALUES
    ('pay_01', 'pay_col_01', NULL, NULL, NULL),    -- begun, never authorised
    ('pay_04', 'pay_col_04', now(), NULL, NULL), ('pay_08', 'pay_col_08', NULL, NULL, NULL),
    ('pay_10a', 'pay_col_10', now(), NULL, NULL), ('pay_10b', 'pay_col_10', NULL, NULL, NULL);
INSERT INTO inventory_item VALUES ('iitem_1', 'MUG', NULL);
INSERT INTO inventory_level (id, inventory_item_id, location_id, stocked_quantity, reserved_quantity)
VALUES ('ilev_1', 'iitem_1', 'sloc_1', 50, 12);
INSERT INTO reservation_item
SELECT 'resitem_' || right(id, 2), 'ordli_' || right(id, 2), 'sloc_1', 'iitem_1', 1.5,
       CASE WHEN status = 'canceled' THEN now() END
FROM "order" WHERE NOT is_draft_order;

-- cancelled | o.status = 'canceled'
-- expect cancelled | order_01H00000000000000000000001, order_01H00000000000000000000002, order_01H00000000000000000000009
-- expect stock | stocked_quantity stays 50; reserved_quantity 12 -> 7.5 (three times 1.5); three reservations soft-deleted
-- verify | SELECT 'level', stocked_quantity, reserved_quantity FROM inventory_level WHERE (stocked_quantity, reserved_quantity) <> (50, 7.5);
-- verify | SELECT 'live reservations', count(*) FROM reservation_item WHERE deleted_at IS NULL HAVING count(*) <> 5;
-- verify | SELECT 'version', id FROM "order" WHERE version <> 1;
-- verify | SELECT 'set', id FROM "order" WHERE status = 'canceled' AND right(id, 2) <> '05' AND (canceled_at IS NULL OR updated_at <= created_at);
-- verify | SELECT 'payment', id FROM payment WHERE (canceled_at IS NOT NULL) <> (id = 'pay_01');
