#!/bin/bash
# What shops ask of a sweep, in one definition: several states, a window for each
# way of payment, orders to leave alone, payments that failed, stock that was
# never taken; each order is swept or kept for the reason that is told.
set -euo pipefail

# shellcheck source=tests/support/db.sh
. "$ORDER_SWEEP_SOURCE/tests/support/db.sh"
# shellcheck source=tests/support/steps.sh
. "$ORDER_SWEEP_SOURCE/tests/support/steps.sh"

new_shop rules
change "SELECT FROM order_sweep.undefine('cancel_unpaid')"
sql -f - <<'SQL' >/dev/null
CREATE TABLE shop.sale (id int PRIMARY KEY, what text, state text DEFAULT 'pending',
    created_at timestamptz DEFAULT now() - interval '3 days', placed_at timestamptz,
    updated_at timestamptz DEFAULT now(), method text DEFAULT 'card',
    source text DEFAULT 'web', total numeric DEFAULT 40, paid numeric DEFAULT 0,
    paid_at timestamptz, deleted_at timestamptz, extended_until timestamptz,
    kind text DEFAULT 'order', stock_taken boolean DEFAULT true,
    coupon_id int, reason text);
CREATE TABLE shop.attempt (sale_id int REFERENCES shop.sale, state text,
    at timestamptz DEFAULT now());
CREATE TABLE shop.item (sku text PRIMARY KEY, name text, on_hand int);
CREATE TABLE shop.line (sale_id int REFERENCES shop.sale, sku text, pieces int);
CREATE TABLE shop.coupon (id int PRIMARY KEY, used int);
CREATE INDEX ON shop.sale (placed_at, id);
INSERT INTO shop.item VALUES ('a', 'Old name', 10), ('b', 'B', 5);
INSERT INTO shop.coupon VALUES (1, 1);

-- The window of each way of payment, NULL: never.
CREATE TABLE shop.window (method text PRIMARY KEY, length interval);
INSERT INTO shop.window VALUES ('card', '30 min'), ('bank', '10 days'),
    ('cod', NULL), ('other', '30 min');
CREATE FUNCTION shop.deadline(placed timestamptz, method text)
RETURNS timestamptz LANGUAGE sql STABLE AS $$
    SELECT CASE WHEN w.length IS NULL THEN 'infinity' ELSE placed + w.length END
      FROM shop.window w
     WHERE w.method = coalesce((SELECT k.method FROM shop.window k
                                 WHERE k.method = $2), 'other')
$$;
SELECT order_sweep.define(
    sweep => 'sale', orders => 'shop.sale', key => '{id}',
    unpaid => $$o.state IN ('pending', 'awaiting_x')$$,
    deadline => 'shop.deadline(o.placed_at, o.method)',
    unless => $${
        "paid evidence": "o.paid_at IS NOT NULL",
        "partially paid": "o.paid > 0",
        "free": "o.total = 0",
        "by hand": "o.source = 'admin'",
        "deleted": "o.deleted_at IS NOT NULL",
        "fee": "o.kind = 'fee'",
        "extended": "o.extended_until > now() AND o.placed_at > now() - interval '1 hour'",
        "payment running": "EXISTS (SELECT FROM shop.attempt a WHERE a.sale_id = o.id AND a.state = 'running' AND a.at > now() - interval '1 hour')"}$$,
    set => $$state = 'cancelled', updated_at = now(), reason = 'payment_timeout'$$,
    each => ARRAY[
        $$UPDATE shop.item i SET on_hand = i.on_hand + l.pieces
            FROM (SELECT sku, sum(pieces) AS pieces FROM shop.line
                   WHERE sale_id = $1 GROUP BY sku) l
           WHERE i.sku = l.sku AND EXISTS (SELECT FROM shop.sale s
                   WHERE s.id = $1 AND s.stock_taken)$$,
        $$UPDATE shop.coupon c SET used = c.used - 1 FROM shop.sale s
           WHERE s.id = $1 AND c.id = s.coupon_id$$],
    event => $$jsonb_build_object('reason', o.reason, 'new', o.state,
        'amount', o.total)$$);
SQL

# sale ID COLUMNS VALUES: an order 31 minutes old but for these.
sale()
{
    change "INSERT INTO shop.sale (id, placed_at, $2)
        VALUES ($1, now() - interval '31 minutes', $3)"
}
sale 1 what "'the state that is asked for'"
sale 2 'what, state' "'another one', 'awaiting_x'"
sale 3 'what, state' "'a state nobody listed', 'review'"
sale 4 'what, state' "'refunded', 'refunded'"
sale 5 'what, method' "'bank transfer', 'bank'"
sale 6 'what, method' "'cash on delivery', 'cod'"
sale 7 'what, method' "'a way of payment nobody listed', 'x'"
sale 8 'what, source' "'placed by the shop', 'admin'"
sale 9 'what, deleted_at' "'deleted', now()"
sale 10 'what, paid' "'partly paid', 10"
sale 11 'what, total' "'free', 0"
sale 12 'what, kind' "'a fee', 'fee'"
sale 13 'what, paid_at' "'paid, but the state is not', now()"
sale 14 'what, extended_until' "'extended', now() + interval '5 minutes'"
sale 15 'what' "'payments that failed'"
sale 16 'what' "'a payment that runs'"
sale 17 'what' "'a payment that hangs'"
sale 18 'what, stock_taken' "'stock never taken', false"
sale 19 'what, coupon_id' "'a coupon', 1"
sale 20 'what, coupon_id' "'a coupon that is gone', 99"
sale 21 'what, coupon_id' "'coupon zero', 0"
change "INSERT INTO shop.sale (id, what, placed_at) VALUES
    (22, 'a cart of last week, placed now', now()),
    (23, 'placed in the future', now() + interval '10 minutes'),
    (24, 'no clock', NULL),
    (25, 'extended for longer than allowed', now() - interval '2 hours');
    UPDATE shop.sale SET extended_until = now() + interval '1 day' WHERE id = 25;
    INSERT INTO shop.sale (id, what, placed_at, method) VALUES
    (26, 'bank transfer after its ten days', now() - interval '11 days', 'bank')"
change "INSERT INTO shop.attempt VALUES (15, 'failed'), (15, 'cancelled'),
    (15, 'expired'), (16, 'failed'), (16, 'running');
    INSERT INTO shop.attempt VALUES (17, 'running', now() - interval '61 minutes')"
change "INSERT INTO shop.line VALUES (1, 'a', 2), (1, 'a', 3), (2, 'b', 1),
    (18, 'a', 100), (5, 'a', 7), (7, 'gone', 1)"
change "UPDATE shop.item SET name = 'New name' WHERE sku = 'a'"

is 'what the dry run says' "$(ask "SELECT string_agg(concat(
        order_key->>0, ' ', state), ', ' ORDER BY (order_key->>0)::int)
    FROM order_sweep.sale_due(NULL)")" "1 sweep, 2 sweep, 7 sweep, 8 keep: by hand, \
9 keep: deleted, 10 keep: partially paid, 11 keep: free, 12 keep: fee, \
13 keep: paid evidence, 14 keep: extended, 15 sweep, 16 keep: payment running, \
17 sweep, 18 sweep, 19 sweep, 20 sweep, 21 sweep, 24 keep: no clock, 25 sweep, \
26 sweep"
runs 0 --format=json
is 'counts' "$(printf '%s' "$out" | grep -o '"swept":[0-9]*,"kept":[0-9]*')" \
    '"swept":11,"kept":0'
is 'swept' "$(ask "SELECT string_agg(id::text, ' ' ORDER BY id) FROM shop.sale
    WHERE state = 'cancelled'")" '1 2 7 15 17 18 19 20 21 25 26'
is 'stock: summed by its key, and only what was taken' "$(ask "SELECT
    string_agg(sku || on_hand, ' ' ORDER BY sku) FROM shop.item")" 'a15 b6'
is 'the coupon, once' "$(ask 'SELECT used FROM shop.coupon')" 0
is 'reason, state and amount are told' "$(ask "SELECT payload FROM
    order_sweep.journal WHERE order_key = '[1]'")" \
    '{"new": "cancelled", "amount": 40, "reason": "payment_timeout"}'
change "UPDATE shop.sale SET state = 'pending' WHERE id = 1"
runs 0
is 'another tool has put it back: no stock comes twice' "$(ask "SELECT state,
    (SELECT on_hand FROM shop.item WHERE sku = 'a') FROM shop.sale
    WHERE id = 1")" 'pending|15'

# A shorter window counts for old orders too, from the next run on; something
# that touches the rows all the time changes nothing.
change "UPDATE shop.window SET length = '29 minutes' WHERE method = 'card'"
change "INSERT INTO shop.sale (id, placed_at) VALUES (30, now() - interval '29 minutes'),
    (31, now() - interval '28 minutes'); UPDATE shop.sale SET updated_at = now()"
runs 0
is 'a window that was changed' "$(ask "SELECT string_agg(state, ' ' ORDER BY id)
    FROM shop.sale WHERE id > 29")" 'cancelled pending'

updates="SELECT n_tup_upd FROM pg_stat_xact_user_tables WHERE relname = 'sale'"
before=$(ask "BEGIN; UPDATE shop.window SET length = '28 minutes'
    WHERE method = 'card'; $updates")
is 'one update an order' "$(ask "SELECT order_sweep.sale_cancel(31, NULL, 0);
    $updates; ROLLBACK" | paste -s -d ' ')" "swept $((before + 1))"
# No row is ever deleted.
is 'all rows are still there' "$(ask 'SELECT count(*) FROM shop.sale')" 28

# An order that wants to give back what is not there fails alone.
change "ALTER TABLE shop.item ADD CHECK (on_hand <= 20)"
change "INSERT INTO shop.sale (id, placed_at) VALUES (40, now() - interval '31 min'),
    (41, now() - interval '31 min')"
change "INSERT INTO shop.line VALUES (40, 'a', 100), (41, 'a', 5)"
runs 1
is 'one fails, the other is swept' "$(ask "SELECT string_agg(state, ' ' ORDER BY id),
    (SELECT on_hand FROM shop.item WHERE sku = 'a')
    FROM shop.sale WHERE id >= 40")" 'pending cancelled|20'
finish
