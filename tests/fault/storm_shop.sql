-- What the shop of the storm (storm.sh) has beyond the sample shop.

CREATE SCHEMA storm;

-- What the actors of storm.c did, in their own words; loaded when all is over.
CREATE TABLE storm.action (
    actor    integer NOT NULL,
    step     bigint NOT NULL,
    action   text NOT NULL,
    order_id bigint,
    number   bigint,
    result   text NOT NULL,
    at       double precision NOT NULL
);

-- A row for each report of a run, or one for a run without; report is NULL
-- then. status: the exit code, or the signal that ended it, below zero.
CREATE TABLE storm.run (
    actor      integer NOT NULL,
    step       bigint NOT NULL,
    pooled     boolean NOT NULL,
    durability text NOT NULL,
    hard_ms    bigint NOT NULL,
    fate       text NOT NULL,
    met        boolean NOT NULL,
    stopped_ms bigint NOT NULL,
    status     integer NOT NULL,
    took_ms    bigint NOT NULL,
    report     jsonb,
    at         double precision NOT NULL
);

CREATE TABLE storm.restart (
    mode text NOT NULL
);

-- An order that the admin has cancelled has the status 4: not the sweep's.
ALTER TABLE shop.orders
    DROP CONSTRAINT orders_order_status_check,
    ADD CONSTRAINT orders_order_status_check
        CHECK (order_status IN (1, 2, 3, 4));

-- The first goods are scarce.
INSERT INTO shop.goods (id, name, price, offered, stock)
SELECT id, 'Goods ' || id, 9.90, n, n
  FROM generate_series(1, 30) id,
       LATERAL (SELECT CASE id WHEN 1 THEN 100 ELSE 10000000 END AS n) t;

-- Some orders take longer to close, so that more comes between the list that a
-- run has read and the order.
CREATE FUNCTION storm.be_slow() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_sleep(0.015);
    RETURN NEW;
END $$;
CREATE TRIGGER slow BEFORE UPDATE ON shop.orders FOR EACH ROW
    WHEN (NEW.order_status = 3 AND NEW.id % 8 = 0)
    EXECUTE FUNCTION storm.be_slow();

-- One to three lines; the third has the goods of the first.
CREATE FUNCTION storm.place(number bigint, age integer DEFAULT 0)
RETURNS bigint LANGUAGE sql AS $$
    SELECT shop.place_order(
        number,
        (SELECT jsonb_agg(jsonb_build_object(
                    'goods_id', 1 + (number + line % 2 * 7) % 30,
                    'quantity', 1 + (number / 30 + line) % 3))
           FROM generate_series(1, 1 + number / 90 % 3) line),
        floor(extract(epoch FROM now()))::bigint - age)
$$;

-- The same goods for the same buyer: refused unless the first order is over.
CREATE FUNCTION storm.place_again(id bigint)
RETURNS bigint LANGUAGE sql AS $$
    SELECT shop.place_order(o.buyer_id, l.lines)
      FROM shop.orders o,
           LATERAL (SELECT jsonb_agg(jsonb_build_object(
                               'goods_id', l.goods_id,
                               'quantity', l.quantity)) AS lines
                      FROM shop.order_line l WHERE l.order_id = o.id) l
     WHERE o.id = $1
$$;

-- 20 to 119 orders at once that are due already, as after an outage of cron.
CREATE SEQUENCE storm.buyer MINVALUE 1000000;
CREATE FUNCTION storm.burst(number bigint)
RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    _newest bigint;
BEGIN
    PERFORM FROM shop.goods g ORDER BY g.id FOR NO KEY UPDATE;
    WITH placed AS (
        INSERT INTO shop.orders (buyer_id, created)
        SELECT nextval('storm.buyer'),
               floor(extract(epoch FROM now()))::bigint - 60
          FROM generate_series(1, 20 + number % 100)
        RETURNING id, buyer_id
    ), line AS (
        INSERT INTO shop.order_line (order_id, line, goods_id, quantity)
        SELECT id, line, 2 + (id + line * 5) % 29, 1 + id % 3
          FROM placed, generate_series(1, 1 + id % 2) line
        RETURNING order_id, goods_id, quantity
    ), marked AS (
        INSERT INTO shop.buyer_mark (buyer_id, goods_id)
        SELECT p.buyer_id, l.goods_id
          FROM placed p JOIN line l ON l.order_id = p.id
    ), taken AS (
        UPDATE shop.goods g SET stock = g.stock - l.quantity
          FROM (SELECT goods_id, sum(quantity) AS quantity
                  FROM line GROUP BY goods_id) l
         WHERE g.id = l.goods_id
    )
    SELECT max(id) INTO _newest FROM placed;
    RETURN _newest;
END $$;

-- For the first actions to be about something.
SELECT storm.burst(99);

CREATE FUNCTION storm.edit(id bigint, number bigint)
RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    _line record;
    _more integer;
BEGIN
    PERFORM FROM shop.orders o
      WHERE o.id = $1 AND o.order_status = 1 FOR UPDATE;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    SELECT * INTO STRICT _line FROM shop.order_line l
     WHERE l.order_id = $1 ORDER BY l.line LIMIT 1;
    _more := 1 + number % 4 - _line.quantity;
    UPDATE shop.goods g SET stock = g.stock - _more
     WHERE g.id = _line.goods_id AND g.stock >= _more;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    UPDATE shop.order_line l SET quantity = l.quantity + _more
     WHERE l.order_id = $1 AND l.line = _line.line;
    RETURN true;
END $$;

-- As the sweep does it: lock, then look, then the goods by their numbers.
CREATE FUNCTION storm.cancel_by_hand(id bigint)
RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    _buyer bigint;
BEGIN
    PERFORM FROM shop.orders o WHERE o.id = $1 FOR UPDATE;
    UPDATE shop.orders o SET order_status = 4, closed_at = now()
     WHERE o.id = $1 AND o.order_status = 1
       AND NOT EXISTS (SELECT FROM shop.payment p WHERE p.order_id = $1)
    RETURNING o.buyer_id INTO _buyer;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    PERFORM FROM shop.goods g
      WHERE g.id IN (SELECT l.goods_id FROM shop.order_line l
                      WHERE l.order_id = $1)
      ORDER BY g.id FOR NO KEY UPDATE;
    UPDATE shop.goods g SET stock = g.stock + l.quantity
      FROM (SELECT l.goods_id, sum(l.quantity) AS quantity
              FROM shop.order_line l WHERE l.order_id = $1
             GROUP BY l.goods_id) l
     WHERE g.id = l.goods_id;
    DELETE FROM shop.buyer_mark m USING shop.order_line l
     WHERE l.order_id = $1 AND m.buyer_id = _buyer AND m.goods_id = l.goods_id;
    RETURN true;
END $$;

-- The shop's own job: an order with a payment that was booked is paid.
CREATE FUNCTION storm.settle()
RETURNS boolean LANGUAGE sql AS $$
    UPDATE shop.orders o SET order_status = 2, paid_at = clock_timestamp()
     WHERE o.order_status = 1
       AND EXISTS (SELECT FROM shop.payment p WHERE p.order_id = o.id);
    SELECT true
$$;

CREATE FUNCTION storm.restock()
RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    UPDATE shop.goods SET offered = offered + 50, stock = stock + 50
     WHERE stock < 20;
    RETURN FOUND;
END $$;

-- What of invariants.sql is cheap to see on the way, in one snapshot.
CREATE FUNCTION storm.broken_of_late(newest bigint)
RETURNS TABLE (broken text) LANGUAGE sql STABLE AS $$
    WITH late AS (
        SELECT o.*, j.swept_at,
               (SELECT min(p.paid_at) FROM shop.payment p
                 WHERE p.order_id = o.id) AS payment_at
          FROM shop.orders o
          LEFT JOIN order_sweep.journal j
            ON j.sweep = 'cancel_unpaid'
           AND j.order_key = jsonb_build_array(o.id)
         WHERE o.id > newest - 3000
    )
    SELECT format('order %s, status %s: %s', id, order_status, why)
      FROM late, LATERAL (VALUES
          ('closed, without journal', order_status = 3 AND swept_at IS NULL),
          ('swept, but not closed', order_status <> 3 AND swept_at IS NOT NULL),
          ('closed, though paid', order_status = 3 AND (paid_at IS NOT NULL
                                      OR payment_at <= swept_at)),
          ('cancelled by hand, though paid',
           order_status = 4 AND (paid_at IS NOT NULL OR payment_at IS NOT NULL))
      ) AS rule (why, holds)
     WHERE holds
$$;
