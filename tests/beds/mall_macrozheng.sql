-- macrozheng/mall (MySQL upstream; types translated): test bed.  Names follow
--   document/sql/mall.sql, mall-portal/src/main/resources/dao/PortalOrderDao.xml,
--   mall-portal/src/main/java/com/macro/mall/portal/service/impl/OmsPortalOrderServiceImpl.java.
-- The SQL and every row are our own.
-- Shows: no foreign keys, nearly everything nullable, status and creation date
-- both nullable, soft delete as integer, stock with a lock counter (cancel
-- lowers the lock, not the stock), a lock counter already too low, coupon and
-- member points to give back, window kept in a settings table.

CREATE TABLE oms_order_setting (id bigint PRIMARY KEY, normal_order_overtime integer);
CREATE TABLE oms_order (
    id              bigserial PRIMARY KEY,
    member_id       bigint NOT NULL,
    coupon_id       bigint,
    order_sn        varchar(64),
    create_time     timestamp(0),
    pay_type        integer,
    status          integer,           -- 0 unpaid, 1 undelivered, 2 delivered, 3 done, 4 closed, 5 invalid
    order_type      integer,           -- 0 normal, 1 flash sale
    use_integration integer,
    delete_status   integer NOT NULL DEFAULT 0,
    payment_time    timestamp(0),
    modify_time     timestamp(0)
);
CREATE TABLE oms_order_item (id bigserial PRIMARY KEY, order_id bigint, product_sku_id bigint, product_quantity integer);
CREATE TABLE pms_sku_stock (id bigint PRIMARY KEY, sku_code varchar(64) NOT NULL, stock integer DEFAULT 0, lock_stock integer DEFAULT 0);
CREATE TABLE sms_coupon_history (id bigserial PRIMARY KEY, coupon_id bigint, member_id bigint, use_status integer, use_time timestamp(0), order_id bigint);
CREATE TABLE ums_member (id bigint PRIMARY KEY, integration integer);
CREATE TABLE oms_order_operate_history (id bigserial PRIMARY KEY, order_id bigint, operate_man varchar(100), create_time timestamp(0), order_status integer, note varchar(500));

INSERT INTO oms_order_setting VALUES (1, 30);
INSERT INTO ums_member VALUES (9, 1000);
INSERT INTO oms_order (id, member_id, coupon_id, order_sn, create_time, pay_type, status, order_type, use_integration, delete_status)
SELECT id, 9, CASE id WHEN 1 THEN 30 END, '2025' || id, cn - age, 0, st, 0, pts, del
FROM (VALUES
    (1, interval '2 hours',    0,    100,  0),  -- due, coupon and points
    (2, interval '30 minutes', 0,    NULL, 0),  -- boundary
    (3, interval '20 minutes', 0,    NULL, 0),  -- not yet
    (4, interval '2 hours',    1,    50,   0),  -- paid
    (5, interval '2 hours',    4,    NULL, 0),  -- closed
    (6, NULL,                  0,    NULL, 0),  -- NULL date
    (7, interval '2 hours',    NULL, NULL, 0),  -- NULL status
    (8, interval '2 hours',    0,    NULL, 1),  -- deleted by the member
    (9, interval '2 hours',    0,    0,    0),  -- due, sku row no longer exists
    (10,interval '2 hours',    0,    NULL, 0)   -- due, lock counter lower than the line
) AS t(id, age, st, pts, del), (SELECT date_trunc('second', now() AT TIME ZONE 'UTC') AS cn) z;
INSERT INTO oms_order_item (order_id, product_sku_id, product_quantity)
SELECT id, CASE id WHEN 9 THEN 999 WHEN 10 THEN 8 ELSE 7 END, 3 FROM oms_order;
INSERT INTO pms_sku_stock VALUES (7, 'A', 100, 18), (8, 'B', 100, 1);
INSERT INTO sms_coupon_history (coupon_id, member_id, use_status, use_time, order_id) VALUES (30, 9, 1, now() AT TIME ZONE 'UTC', 1), (30, 9, 1, now() AT TIME ZONE 'UTC', 77);

-- cancelled | o.status = 4
-- expect cancelled | 1, 2, 9, 10
-- expect stock | sku 7: stock 100, lock_stock 18 -> 12; sku 8: lock_stock stays 1 (guard); member 1000 -> 1100; one coupon freed
-- note | upstream's bulk release has no guard (its own sample data holds lock_stock -24) and gives back any used coupon
-- note | of the same kind; matching on order_id, as here, is what the row offers.
-- verify | SELECT 'sku', id, stock, lock_stock FROM pms_sku_stock WHERE (id, stock, lock_stock) NOT IN ((7, 100, 12), (8, 100, 1));
-- verify | SELECT 'member', integration FROM ums_member WHERE integration <> 1100;
-- verify | SELECT 'coupons', count(*) FROM sms_coupon_history WHERE use_status = 1 HAVING count(*) <> 1;
-- verify | SELECT 'history', count(*) FROM oms_order_operate_history WHERE order_status = 4 HAVING count(*) <> 4;
-- verify | SELECT 'set', id FROM oms_order WHERE status = 4 AND id <> 5 AND modify_time IS NULL;
