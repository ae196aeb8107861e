#!/bin/bash
# Each outcome of a cancel function, on the sample shop, in one session: what is
# said, and what is changed. Outcomes that take two sessions: test_races.c.
set -euo pipefail

# shellcheck source=tests/support/db.sh
. "$ORDER_SWEEP_SOURCE/tests/support/db.sh"
# shellcheck source=tests/support/steps.sh
. "$ORDER_SWEEP_SOURCE/tests/support/steps.sh"

new_shop outcomes

# unchanged OUTCOME ORDER [WINDOW]: cancel says so, and changes nothing.
unchanged()
{
    local before
    before=$(fingerprint)
    is "cancel of order ${*:2}" "$(cancel "${@:2}")" "$1"
    is "cancel of order ${*:2} ($1) changes nothing" "$(fingerprint)" "$before"
}

# --- swept -------------------------------------------------------------------

order=$(place '31 minutes' '[{"goods_id": 1, "quantity": 2},
    {"goods_id": 2, "quantity": 1}, {"goods_id": 1, "quantity": 3}]')
# The same buyer's order of other goods, and another buyer's of the same, stay.
change "SELECT shop.place_order(buyer_id, '[{\"goods_id\": 3, \"quantity\": 7}]')
          FROM shop.orders WHERE id = $order" >/dev/null
place '1 minute' '[{"goods_id": 1, "quantity": 4}]' >/dev/null
is 'stock before' "$(ask 'SELECT string_agg(stock::text, $$ $$ ORDER BY id)
    FROM shop.goods WHERE id <= 3')" '991 999 993'
is 'cancel' "$(cancel "$order" NULL 77)" swept
is 'order row' "$(ask "SELECT order_status, paid_at IS NULL,
    closed_at BETWEEN now() - interval '1 minute' AND now()
    FROM shop.orders WHERE id = $order")" '3|t|t'
is 'stock: two lines of one goods are summed' "$(ask 'SELECT
    string_agg(stock::text, $$ $$ ORDER BY id) FROM shop.goods WHERE id <= 3')" \
    '996 1000 993'
is 'marks' "$(ask "SELECT string_agg(m.goods_id::text, ' ' ORDER BY 1)
    FROM shop.buyer_mark m JOIN shop.orders o USING (buyer_id)
    WHERE o.id = $order")" '3'
is 'marks of others' "$(ask 'SELECT count(*) FROM shop.buyer_mark')" 2
is 'journal row' "$(ask "SELECT sweep, order_key, ordinal, run_id,
    swept_at = (SELECT closed_at FROM shop.orders WHERE id = $order),
    published_at IS NULL FROM order_sweep.journal")" \
    "cancel_unpaid|[$order]|1|77|t|t"
is 'payload' "$(ask "SELECT payload - 'buyer_id' FROM order_sweep.journal")" \
    "{\"goods\": [{\"goods_id\": 1, \"quantity\": 5}, {\"goods_id\": 2, \
\"quantity\": 1}], \"reason\": \"payment_timeout\", \"order_id\": $order}"
is 'payload: buyer' "$(ask "SELECT payload -> 'buyer_id' = to_jsonb(buyer_id)
    FROM order_sweep.journal, shop.orders WHERE id = $order")" t
is 'the buyer may order again' "$(ask "SELECT shop.place_order(buyer_id,
    '[{\"goods_id\": 1, \"quantity\": 1}]') > 0 FROM shop.orders
    WHERE id = $order")" t
is 'payment after the sweep is refused' "$(raised "SELECT shop.pay_order($order, 1)")" \
    "P0001: order $order is not open for payment: refund"
invariants 'after a sweep'
unchanged changed "$order"

# --- kept --------------------------------------------------------------------

order=$(place '31 minutes')
change "INSERT INTO shop.payment (order_id, amount) VALUES ($order, 1)"
unchanged 'kept: payment received' "$order"
is 'due says so too' "$(ask "SELECT state FROM
    order_sweep.cancel_unpaid_due(NULL) WHERE order_key = '[$order]'")" \
    'keep: payment received'
change "SELECT FROM shop.pay_order($order, 1)"

order=$(place '30 days 31 minutes')
unchanged 'kept: too old' "$order"
change "SELECT FROM shop.pay_order($order, 1)"
# The bound counts from the deadline on.
order=$(place '30 days 29 minutes')
is 'cancel just within max_age' "$(cancel "$order")" swept

# --- The batch ----------------------------------------------------------------

# Oldest first and by key, page by page behind the last row, no more than asked
# for; without those that are kept, paid, young or closed.
late=$(place '40 minutes')
twin1=$(place '50 minutes')
twin2=$(place '50 minutes')
oldest=$(place '60 minutes')
change "UPDATE shop.orders SET created = (SELECT created FROM shop.orders
    WHERE id = $twin1) WHERE id = $twin2"
old=$(place '31 days')
kept=$(place '45 minutes')
change "INSERT INTO shop.payment (order_id, amount) VALUES ($kept, 1)"
# Paid as the status alone says.
change "UPDATE shop.orders SET order_status = 2
    WHERE id = $(place '46 minutes')"
# batch CURSOR LIMIT: the keys; CURSOR is an order.
batch()
{
    ask "SELECT string_agg(k1::text, ' ' ORDER BY number)
           FROM order_sweep.cancel_unpaid_batch(NULL, (SELECT created
                    FROM shop.orders WHERE id = $1), $1, $2)
                WITH ORDINALITY AS b (since, k1, late_ms, number)"
}
is 'first page' "$(batch 0 2)" "$oldest $twin1"
is 'second page' "$(batch "$twin1" 2)" "$twin2 $late"
is 'third page' "$(batch "$late" 2)" ''
is 'all in one page' "$(batch 0 10)" "$oldest $twin1 $twin2 $late"
is 'newest' "$(ask "SELECT string_agg(k1::text, ' ' ORDER BY number)
    FROM order_sweep.cancel_unpaid_newest(NULL, 3)
         WITH ORDINALITY AS b (since, k1, late_ms, number)")" "$late $twin2 $twin1"
is 'due, with those that are kept' "$(ask "SELECT string_agg(order_key || state,
    ' ' ORDER BY deadline, order_key)
    FROM order_sweep.cancel_unpaid_due(NULL)")" "[$old]keep: too old \
[$oldest]sweep [$twin1]sweep [$twin2]sweep [$kept]keep: payment received \
[$late]sweep"
change "SELECT shop.pay_order(id, 1) FROM shop.orders
    WHERE id IN ($late, $twin1, $twin2, $oldest, $old, $kept)"
is 'paid' "$(batch 0 10)" ''

# --- changed, gone -----------------------------------------------------------

order=$(place '31 minutes')
change "SELECT FROM shop.pay_order($order, 1)"
unchanged changed "$order"
order=$(place '1 second')
unchanged changed "$order"
order=$(place '-1 hour')
unchanged changed "$order"
order=$(place '31 minutes')
change "ALTER TABLE shop.orders ALTER order_status DROP NOT NULL;
        UPDATE shop.orders SET order_status = NULL WHERE id = $order"
unchanged changed "$order"
change "UPDATE shop.orders SET order_status = 1 WHERE id = $order;
        ALTER TABLE shop.orders ALTER created DROP NOT NULL;
        UPDATE shop.orders SET created = NULL WHERE id = $order"
unchanged changed "$order"
change "UPDATE shop.orders SET created = extract(epoch FROM now())
         WHERE id = $order"
unchanged gone 999999999
unchanged gone NULL

# --- The deadline, to the second --------------------------------------------

is 'one second before, and at the deadline' "$(sql -f - <<'SQL'
BEGIN;
SELECT shop.place_order(nextval('shop.buyer'), '[{"goods_id": 4, "quantity": 1}]',
    floor(extract(epoch FROM now()))::bigint - 1799) AS young \gset
SELECT shop.place_order(nextval('shop.buyer'), '[{"goods_id": 4, "quantity": 1}]',
    floor(extract(epoch FROM now()))::bigint - 1800) AS due \gset
SELECT order_sweep.cancel_unpaid_cancel(:young, NULL, 0),
       order_sweep.cancel_unpaid_cancel(:due, NULL, 0);
SELECT FROM shop.pay_order(:young, 1);
COMMIT;
SQL
)" 'changed|swept'

# --- The window of a call ----------------------------------------------------

young=$(place '29 minutes')
for window in "'0'" "'1 second'" "'-1 hour'" "'-100 years'" "'29 minutes'" \
    "'-1 month'" NULL; do
    unchanged changed "$young" "$window"
    is "batch under the window $window" "$(ask "SELECT count(*) FROM
        order_sweep.cancel_unpaid_batch($window, NULL, NULL, 10)")" 0
done
order=$(place '31 minutes')
unchanged changed "$order" "'32 minutes'"
unchanged changed "$order" "'1 month'"
is 'batch under a longer window' "$(ask "SELECT count(*) FROM
    order_sweep.cancel_unpaid_batch('32 minutes', NULL, NULL, 10)")" 0
# next_is WINDOW ORDER LENGTH: that order's deadline is the next one.
next_is()
{
    is "next deadline under the window $1" "$(ask "SELECT order_sweep_deadline
            = to_timestamp(o.created) + interval '$3'
        FROM order_sweep.cancel_unpaid_next($1), shop.orders o
        WHERE o.id = $2")" t
}
next_is NULL "$young" '30 minutes'
next_is "'1 second'" "$young" '30 minutes'
next_is "'2 hours'" "$order" '2 hours'
next_is "'90 days'" "$order" '90 days'
is 'the defined window' "$(cancel "$order" "'30 minutes'")" swept
for window in "'0'" "'-1 hour'" NULL; do
    is "cancel under the window $window" "$(cancel "$(place '31 minutes')" \
        "$window")" swept
done
invariants 'after windows'

# --- Swept before ------------------------------------------------------------

# The shop opens an order again: the batch passes it, and were it not for the
# batch, the journal's key would refuse it.
change "UPDATE shop.orders SET order_status = 1, closed_at = NULL
         WHERE id = $order;
        UPDATE shop.goods SET stock = stock - 1 WHERE id = 1;
        INSERT INTO shop.buyer_mark SELECT buyer_id, 1 FROM shop.orders
         WHERE id = $order"
is 'due says so' "$(ask "SELECT state FROM
    order_sweep.cancel_unpaid_due(NULL) WHERE order_key = '[$order]'")" \
    'keep: swept before'
is 'batch of an order swept before' "$(ask "SELECT count(*) FROM
    order_sweep.cancel_unpaid_batch(NULL, NULL, NULL, 10)")" 0
is 'newest of an order swept before' "$(ask "SELECT count(*) FROM
    order_sweep.cancel_unpaid_newest(NULL, 10)")" 0
is 'nothing is due' "$(ask "SELECT order_sweep_due FROM
    order_sweep.cancel_unpaid_next(NULL)")" f
unchanged '23505: duplicate key value violates unique constraint "journal_pkey"' \
    "$order"
change "UPDATE shop.orders SET order_status = 3, closed_at = now()
         WHERE id = $order;
        UPDATE shop.goods SET stock = stock + 1 WHERE id = 1;
        DELETE FROM shop.buyer_mark m USING shop.orders o
         WHERE o.id = $order AND m.buyer_id = o.buyer_id"
invariants 'after an order was opened again'

# --- The shop gets in the way ------------------------------------------------

order=$(place '31 minutes')
sql -f - <<'SQL'
CREATE FUNCTION shop.swallow() RETURNS trigger LANGUAGE plpgsql AS
$$BEGIN RETURN NULL; END$$;
CREATE FUNCTION shop.undo() RETURNS trigger LANGUAGE plpgsql AS
$$BEGIN NEW.order_status := OLD.order_status; RETURN NEW; END$$;
SQL
change 'CREATE TRIGGER t BEFORE UPDATE ON shop.orders
    FOR EACH ROW EXECUTE FUNCTION shop.swallow()'
unchanged 'OS002: the update of the order changed no row' "$order"
change 'DROP TRIGGER t ON shop.orders;
    CREATE TRIGGER t BEFORE UPDATE ON shop.orders
    FOR EACH ROW EXECUTE FUNCTION shop.undo()'
unchanged 'OS003: the order is unpaid as before after the update' "$order"
change 'DROP TRIGGER t ON shop.orders'
# A rule swallows it too.
change 'CREATE RULE r AS ON UPDATE TO shop.orders DO INSTEAD NOTHING'
is 'cancel against a rule' "$(cancel "$order" | sed 's/:.*//')" 0A000
change 'DROP RULE r ON shop.orders'

# Goods whose row is gone: the order fails whole, its other goods too.
lines='[{"goods_id": 5, "quantity": 2}, {"goods_id": 9, "quantity": 3}]'
poor=$(place '31 minutes' "$lines")
change 'DELETE FROM shop.goods WHERE id = 9'
unchanged 'P0001: cannot return 3 of goods 9: not found' "$poor"
# An each that violates a constraint: the order stays whole, its status too.
change 'ALTER TABLE shop.goods ADD CONSTRAINT brim CHECK (stock < 1)
    NOT VALID'
unchanged '23514: new row for relation "goods" violates check constraint "brim"' \
    "$order"
change "ALTER TABLE shop.goods DROP CONSTRAINT brim;
        INSERT INTO shop.goods VALUES (9, 'Goods 9', 10, 1000, 997)"
is 'cancel with the goods back' "$(cancel "$poor")" swept
is 'cancel after the trigger' "$(cancel "$order")" swept
invariants 'after triggers'

# --- The caller's transaction ------------------------------------------------

order=$(place '31 minutes')
before=$(fingerprint)
for level in 'repeatable read' serializable; do
    is "cancel in $level" "$(raised "BEGIN ISOLATION LEVEL $level;
        SELECT order_sweep.cancel_unpaid_cancel($order, NULL, 0)")" \
        'OS001: the transaction must be read committed'
done
is 'after both' "$(fingerprint)" "$before"

# Rolled back by the caller: nothing of it stays.
change "BEGIN; SELECT FROM order_sweep.cancel_unpaid_cancel($order, NULL, 0);
        ROLLBACK"
is 'after a rollback' "$(fingerprint)" "$before"

# A deferred trigger of the shop runs inside, with the owner's rights: at the
# commit it would run with the caller's, who has none.
role=osw_outcomes_$$
new_role "$role"
sql -v role="$role" -f - <<'SQL'
CREATE TABLE shop.witness (order_id bigint, by_whom text);
CREATE FUNCTION shop.witness() RETURNS trigger LANGUAGE plpgsql AS
$$BEGIN
    INSERT INTO shop.witness VALUES (NEW.id, current_user);
    RETURN NULL;
END$$;
CREATE CONSTRAINT TRIGGER witness AFTER UPDATE ON shop.orders
    DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW EXECUTE FUNCTION shop.witness();
SELECT order_sweep.grant_to(:'role');
SQL
is 'cancel with a deferred trigger' "$(sql -c "SET ROLE $role;
    SELECT order_sweep.cancel_unpaid_cancel($order, NULL, 0);" 2>&1)" swept
is 'who ran the deferred trigger' "$(ask "SELECT order_id, by_whom =
    current_user FROM shop.witness")" "$order|t"
# One that refuses, refuses the order and not the commit.
order=$(place '31 minutes')
change "CREATE OR REPLACE FUNCTION shop.witness() RETURNS trigger
    LANGUAGE plpgsql AS \$\$BEGIN RAISE 'not this one'; END\$\$"
unchanged 'P0001: not this one' "$order"
change "DROP TRIGGER witness ON shop.orders;
        DROP OWNED BY $role"
is 'without it' "$(cancel "$order")" swept
invariants 'at the end'
finish
