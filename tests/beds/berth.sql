-- Helsinki berth reservations: test bed.  Names and types follow City-of-Helsinki/berth-reservations
--   payments/models.py (Order, OrderLogEntry, expire_too_old_unpaid_orders), payments/enums.py, utils/models.py.
-- The SQL and every row are our own.
-- Shows: the deadline is a DATE (the whole day still counts), nullable, uuid id,
-- status that fits nine characters ("paid_man"; a longer cancelled value would
-- be an error), status log row, the reserved thing is another table reached by
-- a generic foreign key (content type plus object id).

CREATE TABLE django_content_type (id serial PRIMARY KEY, app_label varchar(100) NOT NULL, model varchar(100) NOT NULL);
CREATE TABLE payments_order (
    id uuid PRIMARY KEY, created_at timestamptz NOT NULL, modified_at timestamptz NOT NULL, order_number varchar(64) NOT NULL UNIQUE, order_type varchar(30) NOT NULL,
    status varchar(9) NOT NULL,       -- drafted, offered, rejected, cancelled, expired, error, paid, paid_man, refunded
    price numeric(10,2) NOT NULL, due_date date, _lease_content_type_id integer REFERENCES django_content_type, _lease_object_id uuid
);
CREATE TABLE payments_orderlogentry (id uuid PRIMARY KEY DEFAULT gen_random_uuid(), order_id uuid NOT NULL REFERENCES payments_order, from_status varchar(9), to_status varchar(9) NOT NULL, comment text, created_at timestamptz NOT NULL);
CREATE TABLE leases_berthlease (id uuid PRIMARY KEY, status varchar(30) NOT NULL, berth_id uuid NOT NULL);  -- drafted, offered, refused, expired, paid, terminated

INSERT INTO django_content_type VALUES (1, 'leases', 'berthlease');
INSERT INTO payments_order
SELECT ('30000000-0000-4000-8000-00000000000' || n)::uuid, now() - interval '20 days', now() - interval '20 days', 'N' || n, 'lease_order', st, 300,
       current_date + d, CASE WHEN n <> 8 THEN 1 END, CASE WHEN n <> 8 THEN ('40000000-0000-4000-8000-00000000000' || n)::uuid END
FROM (VALUES
    (1, 'offered',   -8),    -- due
    (2, 'offered',   -2),    -- due: two days past
    (3, 'offered',    0),    -- today: the day still counts
    (4, 'paid',      -8),    -- paid
    (5, 'cancelled', -8),    -- cancelled
    (6, 'offered',   NULL),  -- NULL date
    (7, 'offered',    3),    -- not yet
    (8, 'offered',   -8),    -- lease missing: not a valid order, upstream skips it
    (9, 'drafted',   -8)     -- not offered yet
) AS t(n, st, d);
INSERT INTO leases_berthlease SELECT _lease_object_id, CASE status WHEN 'paid' THEN 'paid' WHEN 'cancelled' THEN 'refused' ELSE 'offered' END, gen_random_uuid() FROM payments_order WHERE _lease_object_id IS NOT NULL;

-- load in | UTC
-- note | current_date follows the session's time zone: loaded in the zone of the due dates.
-- cancelled | o.status = 'expired'
-- expect cancelled | 30000000-0000-4000-8000-000000000001, 30000000-0000-4000-8000-000000000002
-- expect stock | leases offered 6 -> 4 (two expired); two log rows
-- verify | SELECT 'lease', status, count(*) FROM leases_berthlease GROUP BY 2 HAVING (status, count(*)) NOT IN (('offered', 4::bigint), ('expired', 2::bigint), ('paid', 1::bigint), ('refused', 1::bigint));
-- verify | SELECT 'log', count(*) FROM payments_orderlogentry HAVING count(*) <> 2;
-- verify | SELECT 'set', id FROM payments_order WHERE status = 'expired' AND modified_at <= created_at;
