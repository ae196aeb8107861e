-- EverShop: test bed.  Names and types follow evershopcommerce/evershop
--   packages/evershop/src/modules/checkout/migration/Version-1.0.0.js and 1.0.2.js,
--   packages/evershop/src/modules/catalog/migration/Version-1.0.2.js and 1.0.4.js,
--   packages/evershop/src/modules/oms/services/cancelOrder.ts, oms/bootstrap.ts.
-- The SQL and every row are our own.
-- Shows: reserved word as table name, serial key plus a public uuid, nullable
-- creation date, three status columns (status is a roll-up of the other two),
-- a database trigger that takes stock on insert and one that queues an event on
-- every stock update (the sweep's restock fires it), products without stock
-- management, upper-case constraint names.

CREATE TABLE "order" (
    order_id        int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    uuid            uuid NOT NULL DEFAULT gen_random_uuid(),
    order_number    varchar NOT NULL,
    status          varchar NOT NULL,          -- new, processing, completed, canceled
    payment_method  varchar,
    payment_status  varchar,                   -- pending, paid, canceled
    shipment_status varchar,                   -- pending, shipped, delivered, canceled, partially_*
    grand_total     numeric(12,4) NOT NULL,
    created_at      timestamptz DEFAULT CURRENT_TIMESTAMP,
    updated_at      timestamptz DEFAULT CURRENT_TIMESTAMP,
    CONSTRAINT "ORDER_UUID_UNIQUE" UNIQUE (uuid),
    CONSTRAINT "ORDER_NUMBER_UNIQUE" UNIQUE (order_number)
);
CREATE TABLE product (product_id int PRIMARY KEY, sku varchar NOT NULL);
CREATE TABLE product_inventory (
    product_inventory_id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    product_inventory_product_id int NOT NULL UNIQUE REFERENCES product ON DELETE CASCADE,
    qty int NOT NULL DEFAULT 0, manage_stock boolean NOT NULL DEFAULT false, stock_availability boolean NOT NULL DEFAULT false
);
CREATE TABLE order_item (
    order_item_id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    order_item_order_id int NOT NULL REFERENCES "order" ON DELETE CASCADE,
    product_id int NOT NULL, qty int NOT NULL
);
CREATE TABLE order_activity (
    order_activity_id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    order_activity_order_id int NOT NULL REFERENCES "order" ON DELETE CASCADE,
    comment text NOT NULL, customer_notified boolean NOT NULL DEFAULT false
);
CREATE TABLE event (event_id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name varchar NOT NULL, data json);

CREATE FUNCTION take_stock() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE product_inventory SET qty = qty - NEW.qty WHERE product_inventory_product_id = NEW.product_id AND manage_stock;
    RETURN NEW;
END $$;
CREATE TRIGGER "TRIGGER_AFTER_INSERT_ORDER_ITEM" AFTER INSERT ON order_item FOR EACH ROW EXECUTE FUNCTION take_stock();
CREATE FUNCTION stock_event() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO event (name, data) VALUES ('inventory_updated', json_build_object('old', row_to_json(OLD), 'new', row_to_json(NEW)));
    RETURN NEW;
END $$;
CREATE TRIGGER "ADD_INVENTORY_UPDATED_EVENT_TRIGGER" AFTER UPDATE ON product_inventory FOR EACH ROW EXECUTE FUNCTION stock_event();

INSERT INTO product VALUES (7, 'MUG'), (8, 'EBOOK');
INSERT INTO product_inventory (product_inventory_product_id, qty, manage_stock) VALUES (7, 100, true), (8, 0, false);
INSERT INTO "order" (order_number, status, payment_method, payment_status, shipment_status, grand_total, created_at, updated_at)
SELECT '1000' || n, st, pm, ps, sh, 15, now() - age, now() - age
FROM (VALUES
    (1, 'new',        'stripe', 'pending',  'pending',           interval '2 hours'),     -- due
    (2, 'new',        'stripe', 'pending',  'pending',           interval '30 minutes'),  -- boundary
    (3, 'new',        'stripe', 'pending',  'pending',           interval '20 minutes'),  -- not yet
    (4, 'processing', 'stripe', 'paid',     'pending',           interval '2 hours'),     -- paid
    (5, 'canceled',   'stripe', 'canceled', 'canceled',          interval '2 hours'),     -- cancelled
    (6, 'new',        'stripe', 'pending',  'pending',           NULL),                   -- NULL date
    (7, 'new',        'cod',    'pending',  'pending',           interval '2 hours'),     -- cash on delivery: unpaid by design
    (8, 'processing', 'stripe', 'pending',  'partially_shipped', interval '2 hours'),     -- part of it has left
    (9, 'new',        'stripe', 'paid',     'pending',           interval '2 hours'),     -- paid, the roll-up is late
    (10,'new',        'stripe', 'pending',  'partially_shipped', interval '2 hours')      -- part of it has left, the roll-up is late
) AS t(n, st, pm, ps, sh, age) ORDER BY n;
INSERT INTO order_item (order_item_order_id, product_id, qty) SELECT order_id, 7, 2 FROM "order" WHERE status <> 'canceled' AND order_id <= 8;
INSERT INTO order_item (order_item_order_id, product_id, qty) VALUES (1, 8, 1), (1, 7, 1);
DELETE FROM event;

-- cancelled | o.status = 'canceled'
-- expect cancelled | 1, 2
-- expect stock | product 7: 85 after load -> 90 (3 + 2); product 8 unmanaged stays 0; two rows in event (one per stock update)
-- note | two lines of one product in order 1: a join update without the GROUP BY would give back only one of them.
-- verify | SELECT 'stock', product_inventory_product_id, qty FROM product_inventory WHERE (product_inventory_product_id, qty) NOT IN ((7, 90), (8, 0));
-- verify | SELECT 'events', count(*) FROM event HAVING count(*) <> 2;
-- verify | SELECT 'activity', count(*) FROM order_activity HAVING count(*) <> 2;
-- verify | SELECT 'set', order_id FROM "order" WHERE status = 'canceled' AND order_id <> 5 AND ((payment_status, shipment_status) <> ('canceled', 'canceled') OR updated_at <= created_at);
