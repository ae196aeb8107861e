-- pretix: test bed.  Names and types follow pretix/pretix
--   src/pretix/base/models/orders.py, src/pretix/base/services/orders.py
--   (expire_orders, mark_order_expired, _cancel_order).
-- The SQL and every row are our own.
-- Shows: bigint id, one-letter status, a per-order deadline instead of created
-- plus a window, boolean columns that exempt an order, a setting in a key/value
-- table per event (tenant), stock that is computed from positions (nothing to
-- give back but the voucher counter), an append-only log.

CREATE TABLE pretixbase_event (id bigserial PRIMARY KEY, slug varchar(50) NOT NULL);
CREATE TABLE pretixbase_event_settingsstore (
    id bigserial PRIMARY KEY, object_id bigint NOT NULL REFERENCES pretixbase_event, key varchar(255) NOT NULL, value text NOT NULL
);
CREATE TABLE pretixbase_order (
    id                bigserial PRIMARY KEY,
    code              varchar(16) NOT NULL,
    status            varchar(3) NOT NULL,           -- n pending, p paid, e expired, c cancelled
    event_id          bigint NOT NULL REFERENCES pretixbase_event DEFERRABLE INITIALLY DEFERRED,
    testmode          boolean NOT NULL,
    require_approval  boolean NOT NULL,
    valid_if_pending  boolean NOT NULL,
    datetime          timestamptz NOT NULL,
    expires           timestamptz NOT NULL,
    cancellation_date timestamptz,
    total             numeric(13,2) NOT NULL,
    last_modified     timestamptz NOT NULL
);
CREATE INDEX pretixbase_order_status ON pretixbase_order (status);
CREATE INDEX pretixbase_order_modified ON pretixbase_order (last_modified, id);
CREATE TABLE pretixbase_voucher (
    id bigserial PRIMARY KEY, code varchar(255) NOT NULL, max_usages integer NOT NULL CHECK (max_usages >= 0),
    redeemed integer NOT NULL CHECK (redeemed >= 0)
);
CREATE TABLE pretixbase_orderposition (
    id bigserial PRIMARY KEY, order_id bigint NOT NULL REFERENCES pretixbase_order, item_id bigint NOT NULL,
    voucher_id bigint REFERENCES pretixbase_voucher, canceled boolean NOT NULL
);
CREATE TABLE pretixbase_orderpayment (
    id bigserial PRIMARY KEY, order_id bigint NOT NULL REFERENCES pretixbase_order,
    state varchar(190) NOT NULL, amount numeric(13,2) NOT NULL  -- created, pending, confirmed, canceled, failed, refunded
);
CREATE TABLE pretixbase_orderfee (
    id bigserial PRIMARY KEY, order_id bigint NOT NULL REFERENCES pretixbase_order, fee_type varchar(100) NOT NULL, value numeric(13,2) NOT NULL
);
CREATE TABLE pretixbase_logentry (
    id bigserial PRIMARY KEY, object_id bigint NOT NULL, datetime timestamptz NOT NULL, action_type varchar(255) NOT NULL, data text NOT NULL
);

INSERT INTO pretixbase_event VALUES (1, 'conf'), (2, 'manual');
INSERT INTO pretixbase_event_settingsstore (object_id, key, value) VALUES (2, 'payment_term_expire_automatically', 'False');
INSERT INTO pretixbase_voucher VALUES (1, 'HALF', 5, 3);
INSERT INTO pretixbase_order (id, code, status, event_id, testmode, require_approval, valid_if_pending, datetime, expires, total, last_modified)
SELECT id, 'A' || id, st, ev, false, appr, vip, now() - interval '14 days', now() + ex, 20, now() - interval '14 days'
FROM (VALUES
    (1, 'n', 1, false, false, interval '-2 hours'),     -- due
    (2, 'n', 1, false, false, interval '0'),            -- boundary: expires at the load's now()
    (3, 'n', 1, false, false, interval '20 minutes'),   -- not yet, though the order is two weeks old
    (4, 'p', 1, false, false, interval '-2 hours'),     -- paid
    (5, 'c', 1, false, false, interval '-2 hours'),     -- cancelled
    (6, 'e', 1, false, false, interval '-2 hours'),     -- already expired
    (7, 'n', 1, true,  false, interval '-2 hours'),     -- waits for the organiser's approval
    (8, 'n', 1, false, true,  interval '-2 hours'),     -- counts as valid while unpaid
    (9, 'n', 2, false, false, interval '-2 hours'),     -- event with automatic expiry off
    (10,'n', 1, false, false, interval '-2 hours'),     -- pending balance is a cancellation fee
    (11,'n', 1, false, false, interval '-2 hours'),     -- due; its payment attempt failed
    (12,'n', 1, false, false, interval '-2 hours')      -- a bank transfer is on its way
) AS t(id, st, ev, appr, vip, ex);
INSERT INTO pretixbase_orderposition (order_id, item_id, voucher_id, canceled)
SELECT id, 7, CASE WHEN id IN (1, 3, 4) THEN 1 END, status = 'c' FROM pretixbase_order;
INSERT INTO pretixbase_orderpayment (order_id, state, amount) VALUES (1, 'created', 20), (4, 'confirmed', 20), (11, 'failed', 20), (12, 'pending', 20);
INSERT INTO pretixbase_orderfee (order_id, fee_type, value) VALUES (10, 'cancellation', 5), (1, 'shipping', 2);

-- cancelled | o.status = 'e'
-- expect cancelled | 1, 2, 11
-- expect stock | positions held (status n or p, not cancelled, no counter anywhere): 10 -> 7
-- expect stock | voucher HALF stays 3: pretix lowers it on cancel ('c'), not on expiry ('e')
-- verify | SELECT 'held', count(*) FROM pretixbase_orderposition p JOIN pretixbase_order o ON o.id = p.order_id WHERE o.status IN ('n', 'p') AND NOT p.canceled HAVING count(*) <> 7;
-- verify | SELECT 'voucher', redeemed FROM pretixbase_voucher WHERE redeemed <> 3;
-- verify | SELECT 'log', count(*) FROM pretixbase_logentry HAVING count(*) <> 3;
-- verify | SELECT 'payment', order_id, state FROM pretixbase_orderpayment WHERE (order_id, state) NOT IN ((1, 'canceled'), (4, 'confirmed'), (11, 'failed'), (12, 'pending'));
-- verify | SELECT 'set', id FROM pretixbase_order WHERE status = 'e' AND id <> 6 AND last_modified <= datetime;
