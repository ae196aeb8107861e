-- Saleor: test bed.  Names and types follow saleor/saleor
--   saleor/order/models.py, saleor/warehouse/models.py, saleor/channel/models.py,
--   saleor/discount/models.py, saleor/payment/models.py, saleor/order/tasks.py.
-- The SQL and every row are our own.
-- Shows: uuid id, varchar status, timestamptz, per-channel window held in
-- another table, stock as allocation rows plus a cached sum, exclusion of
-- orders that have any payment row, event row, voucher counter.

CREATE SEQUENCE order_order_number_seq START 100;

CREATE TABLE channel_channel (
    id                  serial PRIMARY KEY,
    slug                varchar(255) NOT NULL UNIQUE,
    expire_orders_after integer                     -- minutes; NULL or 0 = never
);

CREATE TABLE order_order (
    id                   uuid PRIMARY KEY,
    number               integer NOT NULL UNIQUE DEFAULT nextval('order_order_number_seq'),
    created_at           timestamptz NOT NULL,
    updated_at           timestamptz NOT NULL,
    expired_at           timestamptz,
    status               varchar(32) NOT NULL,
    authorize_status     varchar(32) NOT NULL,
    charge_status        varchar(32) NOT NULL,
    channel_id           integer NOT NULL REFERENCES channel_channel DEFERRABLE INITIALLY DEFERRED,
    user_email           varchar(254) NOT NULL,
    voucher_code         varchar(255),
    total_gross_amount   numeric(20,3) NOT NULL,
    total_charged_amount numeric(20,3) NOT NULL
);
CREATE INDEX idx_order_created_at ON order_order (created_at);
CREATE INDEX order_status_idx ON order_order (status);

CREATE TABLE order_orderline (
    id         uuid PRIMARY KEY,
    order_id   uuid NOT NULL REFERENCES order_order DEFERRABLE INITIALLY DEFERRED,
    variant_id integer,
    quantity   integer NOT NULL CHECK (quantity >= 1)
);

CREATE TABLE warehouse_stock (
    id                 serial PRIMARY KEY,
    warehouse_id       uuid NOT NULL,
    product_variant_id integer NOT NULL,
    quantity           integer NOT NULL,
    quantity_allocated integer NOT NULL,
    UNIQUE (warehouse_id, product_variant_id)
);

CREATE TABLE warehouse_allocation (
    id                 serial PRIMARY KEY,
    order_line_id      uuid NOT NULL REFERENCES order_orderline DEFERRABLE INITIALLY DEFERRED,
    stock_id           integer NOT NULL REFERENCES warehouse_stock DEFERRABLE INITIALLY DEFERRED,
    quantity_allocated integer NOT NULL CHECK (quantity_allocated >= 0),
    UNIQUE (order_line_id, stock_id)
);

CREATE TABLE order_orderevent (
    id         serial PRIMARY KEY,
    date       timestamptz NOT NULL,
    type       varchar(255) NOT NULL,
    order_id   uuid NOT NULL REFERENCES order_order DEFERRABLE INITIALLY DEFERRED,
    parameters jsonb NOT NULL DEFAULT '{}'
);

CREATE TABLE payment_payment (
    id            serial PRIMARY KEY,
    order_id      uuid REFERENCES order_order DEFERRABLE INITIALLY DEFERRED,
    is_active     boolean NOT NULL,
    charge_status varchar(20) NOT NULL
);

CREATE TABLE discount_vouchercode (
    id   uuid PRIMARY KEY,
    code varchar(255) NOT NULL UNIQUE,
    used integer NOT NULL CHECK (used >= 0)
);

INSERT INTO channel_channel VALUES (1, 'web', 30), (2, 'wholesale', NULL), (3, 'slow', 1440);
INSERT INTO discount_vouchercode VALUES (gen_random_uuid(), 'SPRING', 3);

INSERT INTO order_order (id, created_at, updated_at, status, authorize_status, charge_status,
                         channel_id, user_email, voucher_code, total_gross_amount, total_charged_amount)
SELECT ('00000000-0000-4000-8000-0000000000' || n)::uuid, now() - age, now() - age, st, 'none',
       CASE WHEN paid > 0 THEN 'full' ELSE 'none' END, ch, '', v, 20, paid
FROM (VALUES
    ('01', interval '2 hours',             'unconfirmed', 1, 'SPRING',   0),  -- due
    ('02', interval '30 minutes',          'unconfirmed', 1, NULL,       0),  -- boundary
    ('03', interval '20 minutes',          'unconfirmed', 1, NULL,       0),  -- not yet
    ('04', interval '2 hours',             'unconfirmed', 1, NULL,       0),  -- has a payment row
    ('05', interval '2 hours',             'unfulfilled', 1, NULL,      20),  -- paid
    ('06', interval '2 hours',             'canceled',    1, NULL,       0),  -- cancelled
    ('07', interval '2 hours',             'unconfirmed', 2, NULL,       0),  -- channel never expires
    ('08', interval '2 hours',             'unconfirmed', 3, NULL,       0),  -- channel: one day
    ('09', interval '1 day 5 minutes',     'unconfirmed', 1, 'SPRING',   0),  -- due: a day old
    ('10', interval '-5 minutes',          'unconfirmed', 1, NULL,       0)   -- clock skew: future
) AS t(n, age, st, ch, v, paid);

INSERT INTO order_orderline
SELECT ('10000000-0000-4000-8000-0000000000' || right(id::text, 2))::uuid, id, 7, 2 FROM order_order;
INSERT INTO warehouse_stock VALUES (1, '20000000-0000-4000-8000-000000000001', 7, 100, 18);
INSERT INTO warehouse_allocation (order_line_id, stock_id, quantity_allocated)
SELECT l.id, 1, CASE o.status WHEN 'canceled' THEN 0 ELSE 2 END
FROM order_orderline l JOIN order_order o ON o.id = l.order_id;
INSERT INTO payment_payment (order_id, is_active, charge_status)
VALUES ('00000000-0000-4000-8000-000000000004', true, 'pending'),
       ('00000000-0000-4000-8000-000000000005', true, 'fully-charged');

-- cancelled | o.status = 'expired'
-- expect cancelled | 00000000-0000-4000-8000-000000000001, 00000000-0000-4000-8000-000000000002
-- expect cancelled | 00000000-0000-4000-8000-000000000009
-- expect stock | warehouse_stock 1: quantity 100 (never moves), quantity_allocated 18 -> 12
-- expect stock | voucher SPRING used 3 -> 1; three 'expired' events
-- note | order 09 is the trap: Saleor's own age formula counts a day as 24
-- note | minutes, so it sees this order as 29 minutes old and keeps it.
-- verify | SELECT 'stock', quantity, quantity_allocated FROM warehouse_stock WHERE (quantity, quantity_allocated) <> (100, 12);
-- verify | SELECT 'voucher', used FROM discount_vouchercode WHERE used <> 1;
-- verify | SELECT 'events', count(*) FROM order_orderevent WHERE type = 'expired' HAVING count(*) <> 3;
-- verify | SELECT 'set', id FROM order_order WHERE status = 'expired' AND (expired_at IS NULL OR updated_at <= created_at);
