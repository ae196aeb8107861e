-- Casdoor orders: test bed.  Names and types follow casdoor/casdoor
--   object/order.go, object/order_pay.go (CancelOrder), object/payment.go, object/product.go,
--   util/time.go (GetCurrentTime: RFC 3339 with the server's offset), pp/provider.go.
-- The SQL and every row are our own.
-- Shows: reserved word as table name, composite text key (owner, name),
-- creation date as TEXT with an offset (string order is not time order), blank
-- and unreadable dates, columns named "user" and "order", lines as JSON text.

CREATE TABLE "order" (
    owner varchar(100) NOT NULL, name varchar(100) NOT NULL, created_time varchar(100), update_time varchar(100), display_name varchar(100),
    products varchar(1000), product_infos text, "user" varchar(100), payment varchar(100), price double precision, currency varchar(100),
    state varchar(100), message varchar(2000), PRIMARY KEY (owner, name)
);
CREATE TABLE payment (owner varchar(100) NOT NULL, name varchar(100) NOT NULL, "order" varchar(100), state varchar(100), PRIMARY KEY (owner, name));  -- Created, Paid, Canceled, Timeout, Error
CREATE TABLE product (owner varchar(100) NOT NULL, name varchar(100) NOT NULL, quantity integer, sold integer, PRIMARY KEY (owner, name));

-- text of a moment as a server at the given offset would write it
CREATE FUNCTION rfc3339(t timestamptz, off interval, suffix text) RETURNS text LANGUAGE sql STABLE AS $$
    SELECT to_char((t AT TIME ZONE 'UTC') + off, 'YYYY-MM-DD"T"HH24:MI:SS') || suffix $$;

INSERT INTO "order" (owner, name, created_time, products, product_infos, "user", payment, price, state)
SELECT ow, nm, CASE k WHEN 'z' THEN rfc3339(now() - age, interval '0', 'Z') WHEN 'e' THEN rfc3339(now() - age, interval '8 hours', '+08:00')
                      WHEN 'w' THEN rfc3339(now() - age, interval '-5 hours', '-05:00') WHEN 'b' THEN '' END,
       '["mug"]', '[{"name":"mug","quantity":2}]', 'u1', 'pay_' || nm, 10, st
FROM (VALUES
    ('org', 'o1', 'z', interval '2 hours',    'Created'),   -- due
    ('org', 'o2', 'e', interval '30 minutes', 'Created'),   -- boundary, +08:00: as a string it sorts after now in UTC
    ('org', 'o3', 'w', interval '20 minutes', 'Created'),   -- not yet, -05:00: as a string it looks five hours old
    ('org', 'o4', 'z', interval '2 hours',    'Paid'),      -- paid
    ('org', 'o5', 'z', interval '2 hours',    'Canceled'),  -- cancelled
    ('org', 'o6', 'n', NULL::interval,        'Created'),   -- NULL date
    ('org', 'o7', 'b', interval '2 hours',    'Created'),   -- blank date
    ('alt', 'o1', 'z', interval '2 hours',    'Created'),   -- due: same name, other owner
    ('org', 'o8', 'z', interval '2 hours',    'Created')    -- its payment is paid, order not moved yet
) AS t(ow, nm, k, age, st);
INSERT INTO payment SELECT owner, payment, name, CASE name WHEN 'o4' THEN 'Paid' WHEN 'o8' THEN 'Paid' ELSE 'Created' END FROM "order";
INSERT INTO product VALUES ('org', 'mug', 50, 12), ('alt', 'mug', 50, 4);

-- cancelled | o.state = 'Canceled'
-- expect cancelled | org/o1, org/o2, alt/o1
-- expect stock | product rows unchanged (upstream lowers quantity on payment): org 50, alt 50
-- note | a plain created_time::timestamptz fails the whole query on order o7; order_sweep.moment() makes it a NULL.
-- verify | SELECT 'product', owner, quantity FROM product WHERE quantity <> 50;
-- verify | SELECT 'payment', owner, name FROM payment WHERE state = 'Canceled' AND (owner, "order") NOT IN (('org', 'o1'), ('org', 'o2'), ('alt', 'o1'));
-- verify | SELECT 'set', owner, name FROM "order" WHERE state = 'Canceled' AND name <> 'o5' AND (message IS NULL OR update_time IS NULL);
-- verify | SELECT 'payments', count(*) FROM payment WHERE state = 'Canceled' HAVING count(*) <> 3;
