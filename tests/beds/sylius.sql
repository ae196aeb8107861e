-- Sylius: test bed.  Names and types follow Sylius/Sylius
--   src/Sylius/Bundle/CoreBundle/Migrations/Version20160101084139.php (PostgreSQL),
--   src/Sylius/Bundle/CoreBundle/Resources/config/app/winzou_state_machine/sylius_order.yml,
--   src/Sylius/Bundle/CoreBundle/Doctrine/ORM/OrderRepository.php (findOrdersUnpaidSince),
--   src/Sylius/Component/Core/Inventory/Operator/OrderInventoryOperator.php,
--   src/Sylius/Component/Core/Updater/UnpaidOrdersStateUpdater.php.
-- The SQL and every row are our own.
-- Shows: four state columns that must move together, timestamp(0) without time
-- zone, id from a separate sequence without a default, on_hold counter with a
-- "tracked" flag and an optimistic-lock version, coupon and promotion counters,
-- a row whose on_hold would go negative.

CREATE SEQUENCE sylius_order_id_seq;
CREATE TABLE sylius_promotion (id int PRIMARY KEY, code varchar(255) NOT NULL UNIQUE, used int NOT NULL);
CREATE TABLE sylius_promotion_coupon (
    id int PRIMARY KEY, promotion_id int REFERENCES sylius_promotion, code varchar(255) NOT NULL UNIQUE,
    usage_limit int, used int NOT NULL, reusable_from_cancelled_orders boolean NOT NULL DEFAULT true
);
CREATE TABLE sylius_order (
    id                    int PRIMARY KEY,
    promotion_coupon_id   int REFERENCES sylius_promotion_coupon,
    number                varchar(255) UNIQUE,
    state                 varchar(255) NOT NULL,    -- cart, new, cancelled, fulfilled
    checkout_state        varchar(255) NOT NULL,    -- cart ... completed
    payment_state         varchar(255) NOT NULL,
    shipping_state        varchar(255) NOT NULL,
    checkout_completed_at timestamp(0),
    total                 int NOT NULL,
    currency_code         varchar(3) NOT NULL,
    created_at            timestamp(0) NOT NULL,
    updated_at            timestamp(0)
);
CREATE INDEX idx_sylius_order_state_updated ON sylius_order (state, updated_at);
CREATE TABLE sylius_promotion_order (
    order_id int NOT NULL REFERENCES sylius_order ON DELETE CASCADE,
    promotion_id int NOT NULL REFERENCES sylius_promotion, PRIMARY KEY (order_id, promotion_id)
);
CREATE TABLE sylius_product_variant (
    id int PRIMARY KEY, code varchar(255) NOT NULL UNIQUE, version int NOT NULL DEFAULT 1,
    on_hold int NOT NULL, on_hand int NOT NULL, tracked boolean NOT NULL
);
CREATE TABLE sylius_order_item (
    id int PRIMARY KEY, order_id int NOT NULL REFERENCES sylius_order ON DELETE CASCADE,
    variant_id int NOT NULL REFERENCES sylius_product_variant, quantity int NOT NULL, version int NOT NULL DEFAULT 1
);
CREATE TABLE sylius_payment (
    id int PRIMARY KEY, order_id int NOT NULL REFERENCES sylius_order ON DELETE CASCADE,
    state varchar(255) NOT NULL, amount int NOT NULL, updated_at timestamp(0)
);
CREATE TABLE sylius_shipment (
    id int PRIMARY KEY, order_id int NOT NULL REFERENCES sylius_order ON DELETE CASCADE,
    state varchar(255) NOT NULL, updated_at timestamp(0)
);

INSERT INTO sylius_promotion VALUES (1, 'summer', 5);
INSERT INTO sylius_promotion_coupon VALUES (1, 1, 'AGAIN', 10, 3, true), (2, 1, 'ONCE', 10, 2, false);
INSERT INTO sylius_order
SELECT id, coupon, '0000' || id, st, co, pay, ship, u - done, 5000, 'EUR', u - interval '4 hours', u - interval '1 hour'
FROM (VALUES
    (1, 1,    'new',       'completed', 'awaiting_payment', 'ready',     interval '2 hours'),     -- due
    (2, NULL, 'new',       'completed', 'awaiting_payment', 'ready',     interval '30 minutes'),  -- boundary
    (3, NULL, 'new',       'completed', 'awaiting_payment', 'ready',     interval '20 minutes'),  -- not yet
    (4, NULL, 'new',       'completed', 'paid',             'ready',     interval '2 hours'),     -- paid
    (5, NULL, 'cancelled', 'completed', 'cancelled',        'cancelled', interval '2 hours'),     -- cancelled
    (6, NULL, 'cart',      'cart',      'cart',             'cart',      NULL),                   -- cart, NULL date
    (7, NULL, 'new',       'completed', 'partially_paid',   'ready',     interval '2 hours'),     -- part paid
    (8, 2,    'new',       'completed', 'awaiting_payment', 'ready',     interval '2 hours'),     -- due, coupon not reusable
    (9, NULL, 'new',       'completed', 'awaiting_payment', 'ready',     interval '2 hours'),     -- due, but its hold is already gone
    (10,NULL, 'new',       'payment_selected', 'awaiting_payment', 'ready', interval '2 hours')   -- checkout was opened again
) AS t(id, coupon, st, co, pay, ship, done), (SELECT date_trunc('second', now() AT TIME ZONE 'UTC') AS u) z;  -- PHP truncates; a cast to timestamp(0) would round up
INSERT INTO sylius_promotion_order SELECT id, 1 FROM sylius_order WHERE id IN (1, 8, 3);
INSERT INTO sylius_product_variant VALUES (7, 'MUG', 4, 12, 100, true), (8, 'PDF', 1, 0, 0, false), (9, 'CAP', 1, 0, 10, true);
INSERT INTO sylius_order_item (id, order_id, variant_id, quantity)
SELECT id, id, CASE id WHEN 9 THEN 9 ELSE 7 END, 2 FROM sylius_order;
INSERT INTO sylius_order_item (id, order_id, variant_id, quantity) VALUES (101, 1, 8, 4), (102, 1, 7, 1);
INSERT INTO sylius_payment
SELECT id, id, CASE payment_state WHEN 'paid' THEN 'completed' WHEN 'cancelled' THEN 'cancelled' ELSE 'new' END, 5000, NULL FROM sylius_order;
INSERT INTO sylius_shipment SELECT id, id, CASE state WHEN 'cancelled' THEN 'cancelled' ELSE 'ready' END, NULL FROM sylius_order;

-- cancelled | o.state = 'cancelled'
-- expect cancelled | 1, 2, 8, 9
-- expect stock | variant 7: on_hold 12 -> 5 (3 + 2 + 2), version 4 -> 7, on_hand stays 100; variant 8 untracked: stays 0
-- expect stock | variant 9: on_hold 0 stays 0 here.  Sylius itself throws NotEnoughUnitsOnHold for order 9; its updater
-- expect stock | catches only state-machine errors, so that run ends there.  A per-order failure must be stepped over.
-- expect stock | promotion used 5 -> 3; coupon AGAIN 3 -> 2, ONCE stays 2
-- verify | SELECT 'variant', id, on_hold, version FROM sylius_product_variant WHERE (id, on_hold, version) NOT IN ((7, 5, 7), (8, 0, 1), (9, 0, 1));
-- verify | SELECT 'coupon', code, used FROM sylius_promotion_coupon WHERE (code, used) NOT IN (('AGAIN', 2), ('ONCE', 2));
-- verify | SELECT 'promotion', used FROM sylius_promotion WHERE used <> 3;
-- verify | SELECT 'states', id FROM sylius_order WHERE state = 'cancelled' AND (payment_state, shipping_state) <> ('cancelled', 'cancelled');
-- verify | SELECT 'set', id FROM sylius_order WHERE state = 'cancelled' AND id <> 5 AND updated_at <= now() AT TIME ZONE 'UTC' - interval '50 minutes';
-- verify | SELECT 'shipment', order_id FROM sylius_shipment s JOIN sylius_order o ON o.id = s.order_id WHERE (o.state = 'cancelled') <> (s.state = 'cancelled');
-- verify | SELECT 'payment', order_id FROM sylius_payment p JOIN sylius_order o ON o.id = p.order_id WHERE (o.state = 'cancelled') <> (p.state = 'cancelled');
