-- yudao / ruoyi-vue-pro mall: test bed.  Names and types follow YunaiV/ruoyi-vue-pro
--   yudao-module-mall/yudao-module-trade/.../dal/dataobject/order/TradeOrderDO.java,
--   yudao-module-mall/yudao-module-trade/src/test/resources/sql/create_tables.sql,
--   .../enums/order/TradeOrderStatusEnum.java, .../service/order/TradeOrderUpdateServiceImpl.java,
--   .../dal/mysql/sku/ProductSkuMapper.java, sql/tools/convertor.py (type map for PostgreSQL:
--   bigint int8, tinyint int2, bit bool, datetime timestamp, deleted int2).
-- The SQL and every row are our own.
-- Shows: int8 id from a sequence, integer status in tens, a paid flag beside it,
-- timestamp without time zone in LOCAL time (the JVM's, here Shanghai), soft
-- delete as int2, tenant column, cancel type and time to fill, stock taken at
-- order time and a sales counter to take back, the payment order as the last
-- word (callback late).

CREATE SEQUENCE trade_order_seq START 2000;
CREATE TABLE trade_order (
    id            int8 PRIMARY KEY DEFAULT nextval('trade_order_seq'),
    no            varchar(32) NOT NULL,
    type          int4 NOT NULL DEFAULT 0,
    user_id       int8 NOT NULL,
    status        int4 NOT NULL DEFAULT 0,     -- 0 unpaid, 10 undelivered, 20 delivered, 30 completed, 40 canceled
    product_count int4 NOT NULL,
    cancel_time   timestamp,
    cancel_type   int4,                        -- 10 pay timeout, 20 refund, 30 member
    pay_order_id  int8,
    pay_status    bool NOT NULL DEFAULT false,
    pay_time      timestamp,
    refund_status int4 NOT NULL DEFAULT 0,
    coupon_id     int8,
    use_point     int4 NOT NULL DEFAULT 0,
    creator       varchar(64) DEFAULT '',
    create_time   timestamp NOT NULL DEFAULT CURRENT_TIMESTAMP,
    updater       varchar(64) DEFAULT '',
    update_time   timestamp NOT NULL DEFAULT CURRENT_TIMESTAMP,
    deleted       int2 NOT NULL DEFAULT 0,
    tenant_id     int8 NOT NULL DEFAULT 0
);
CREATE TABLE trade_order_item (
    id int8 PRIMARY KEY, order_id int8 NOT NULL, sku_id int8 NOT NULL, count int4 NOT NULL,
    after_sale_status int4 NOT NULL DEFAULT 0, deleted int2 NOT NULL DEFAULT 0, tenant_id int8 NOT NULL DEFAULT 0
);
CREATE TABLE product_sku (
    id int8 PRIMARY KEY, spu_id int8 NOT NULL, stock int4, sales_count int4, deleted int2 NOT NULL DEFAULT 0, tenant_id int8 NOT NULL DEFAULT 0
);
CREATE TABLE pay_order (id int8 PRIMARY KEY, merchant_order_id varchar(64) NOT NULL, status int2 NOT NULL, deleted int2 NOT NULL DEFAULT 0);  -- 0 waiting, 10 success, 30 closed
CREATE TABLE promotion_coupon (id int8 PRIMARY KEY, status int2 NOT NULL, use_order_id int8, use_time timestamp);  -- 1 unused, 2 used
CREATE TABLE trade_order_log (id serial PRIMARY KEY, order_id int8 NOT NULL, before_status int4, after_status int4, create_time timestamp NOT NULL);

INSERT INTO trade_order (id, no, user_id, status, product_count, pay_order_id, pay_status, coupon_id, create_time, update_time, deleted, tenant_id)
SELECT id, 'o' || id, 9, st, 2, id, paid, CASE id WHEN 1 THEN 1 END, cn - age, cn - age, del, ten
FROM (VALUES
    (1,  0, false, interval '2 hours',    0, 1),  -- due, with a coupon
    (2,  0, false, interval '30 minutes', 0, 1),  -- boundary
    (3,  0, false, interval '20 minutes', 0, 1),  -- not yet
    (4, 10, true,  interval '2 hours',    0, 1),  -- paid
    (5, 40, false, interval '2 hours',    0, 1),  -- cancelled
    (6,  0, false, interval '2 hours',    1, 1),  -- soft-deleted
    (7,  0, false, interval '2 hours',    0, 2),  -- other tenant
    (8,  0, false, interval '2 hours',    0, 1),  -- payment order says success, callback is late
    (9,  0, true,  interval '2 hours',    0, 1),  -- flag paid, status not moved yet
    (10, 0, false, interval '3 hours',    0, 1)   -- due, one line went to after-sale and is restocked already
) AS t(id, st, paid, age, del, ten), (SELECT now() AT TIME ZONE 'Asia/Shanghai' AS cn) z;
INSERT INTO trade_order_item (id, order_id, sku_id, count, tenant_id) SELECT id, id, 7, 2, tenant_id FROM trade_order;
INSERT INTO trade_order_item (id, order_id, sku_id, count, after_sale_status, tenant_id) VALUES (110, 10, 7, 5, 20, 1);
INSERT INTO trade_order_item (id, order_id, sku_id, count, deleted, tenant_id) VALUES (111, 1, 7, 9, 1, 1);
INSERT INTO product_sku VALUES (7, 70, 50, 30, 0, 1);
INSERT INTO pay_order SELECT id, id, CASE WHEN id IN (4, 8) THEN 10 ELSE 0 END, 0 FROM trade_order;
INSERT INTO promotion_coupon VALUES (1, 2, 1, now() AT TIME ZONE 'Asia/Shanghai');

-- cancelled | o.status = 40
-- expect cancelled | 1, 2, 10
-- expect stock | sku 7: stock 50 -> 56, sales_count 30 -> 24; coupon 1 unused again
-- note | read as UTC these times lie eight hours ahead, so a sweeper with the wrong zone cancels nothing for eight hours.
-- verify | SELECT 'sku', stock, sales_count FROM product_sku WHERE (stock, sales_count) <> (56, 24);
-- verify | SELECT 'coupon', status FROM promotion_coupon WHERE status <> 1;
-- verify | SELECT 'log', count(*) FROM trade_order_log HAVING count(*) <> 3;
-- verify | SELECT 'set', id FROM trade_order WHERE status = 40 AND id <> 5 AND (cancel_type IS DISTINCT FROM 10 OR cancel_time IS NULL OR update_time <= create_time);
