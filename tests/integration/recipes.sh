#!/bin/bash
# The recipes of sql/recipes, each with orders of the kinds that it speaks of;
# then with each of its essential clauses changed, which must show.
#
#     recipe NAME SED... <<TABLE    sweeps the orders of the table; each SED
#                                   changes a clause
#
# The columns of a table: what the order is and the state wanted in the end;
# age, delivered and expired are how long ago (negative: in the future), payment
# is the state of its payment, of which amount and paid tell how much and how
# long ago. Else they are columns of shop.orders. Empty is the default.
set -euo pipefail

# shellcheck source=tests/support/shop.sh
. "$ORDER_SWEEP_SOURCE/tests/support/shop.sh"
# Debian's psql is a script that looks for the real one: go there at once.
# shellcheck source=tests/support/cluster.sh
. "$support/cluster.sh"
PATH=$(cluster_bindir):$PATH
recipes=$ORDER_SWEEP_SQL/recipes
table=$ORDER_SWEEP_TMP/table
rows=$ORDER_SWEEP_TMP/rows
export PGOPTIONS=--client-min-messages=warning
mutations=0

new_db recipe
run 0 migrate

# load NAME [SED]: the shop, the recipe as sed leaves it, the orders of $table.
load()
{
    local columns
    sed -E "${2:-}" "$recipes/$1.sql" >"$ORDER_SWEEP_TMP/recipe.sql"
    sed -E 's/^ +//; s/ *\| */|/g; s/ +$//' "$table" >"$rows"
    columns=$(head -n 1 "$rows" | tr '|' ,)
    cat >"$ORDER_SWEEP_TMP/clear.sql" <<'SQL'
DROP SCHEMA IF EXISTS shop CASCADE;
DROP TABLE IF EXISTS given, before CASCADE;
SELECT order_sweep.undefine(name) FROM order_sweep.sweep;
TRUNCATE order_sweep.journal, order_sweep.failure, order_sweep.run;
SQL
    cat >"$ORDER_SWEEP_TMP/orders.sql" <<SQL
CREATE TABLE given (id bigint, what text, wanted text, age interval,
    method text, total numeric, status text, delivered interval,
    reminded_at timestamptz, tenant_id int, expired interval, parent_id bigint,
    payment text, amount numeric, paid interval, coupon text, points int);
\\copy given ($columns) FROM '$rows' (FORMAT csv, HEADER, DELIMITER '|')
INSERT INTO shop.orders
SELECT r.* FROM given g, jsonb_populate_record(NULL::shop.orders,
    jsonb_build_object('method', 'card', 'total', 10, 'status', 'unpaid',
        'created_at', now() - age, 'delivered_at', now() - delivered,
        'expires_at', now() - expired)
    || jsonb_strip_nulls(to_jsonb(g))) r;
INSERT INTO shop.payment (order_id, state, amount, created_at)
SELECT id, payment, coalesce(amount, 10), now() - coalesce(paid, '0')
  FROM given WHERE payment IS NOT NULL;
CREATE TABLE before AS TABLE shop.orders;
SQL
    if [[ $1 = 09* ]]; then
        cat >>"$ORDER_SWEEP_TMP/orders.sql" <<'SQL'
INSERT INTO shop.coupon SELECT coupon, id FROM given WHERE coupon IS NOT NULL;
INSERT INTO shop.points SELECT id, points FROM given WHERE points IS NOT NULL;
SQL
    fi
    sql -o /dev/null -f "$ORDER_SWEEP_TMP/clear.sql" -f "$recipes/shop.sql" \
        -f "$ORDER_SWEEP_TMP/recipe.sql" -f "$ORDER_SWEEP_TMP/orders.sql"
}

# So many runs at once, without the lock, and one more; a line for each thing
# that goes wrong.
sweep()
{
    local n runs=() listed swept
    "$ORDER_SWEEP_BIN" --dry-run --format json >"$out" || echo "dry run: $?"
    listed=$(tail -n 1 "$out" | sed -n 's/.*"sweep":\([0-9]*\)[,}].*/\1/p')
    swept=$(sql -c 'SELECT count(*) FROM order_sweep.journal')
    for ((n = 1; n <= $1; n++)); do
        "$ORDER_SWEEP_BIN" --no-lock >"$out.$n" 2>&1 &
        runs[n]=$!
    done
    for ((n = 1; n <= $1; n++)); do
        wait "${runs[n]}" || echo "run: $? $(cat "$out.$n")"
    done
    "$ORDER_SWEEP_BIN" 2>&1 || echo "last run: $?"
    swept=$(sql -c "SELECT count(*) - $swept FROM order_sweep.journal")
    if [ "${listed:-0}" != "$swept" ]; then
        echo "dry run: ${listed:-0}, swept: $swept"
    fi
}

# outcome NAME RUNS: what became of the orders, and what must not be.
outcome()
{
    local effects=''
    sweep "$2"
    if [[ $1 = 09* ]]; then
        # Opened again, and the first one uses points and a coupon anew.
        sql -f - <<'SQL'
UPDATE shop.orders SET status = 'unpaid' WHERE id IN (
    SELECT id FROM given WHERE what LIKE 'opened again%');
UPDATE shop.coupon SET used_by = 3 WHERE code = 'c';
UPDATE shop.points SET spent = spent + 2 WHERE order_id = 3;
UPDATE shop.coupon SET used_by = 2 WHERE code = 'd';
SQL
        sweep "$2"
        effects=", (SELECT 'points ' || p.returned || '/' || p.spent
                      FROM shop.points p WHERE p.order_id = id),
            (SELECT string_agg(c.code, ' ' ORDER BY c.code)
               FROM shop.coupon c WHERE c.used_by = id)"
    fi
    sql -f - <<SQL
CREATE VIEW changed AS
SELECT o.id, o.parent_id, to_jsonb(o) AS after, to_jsonb(b) AS before,
       (o.status, o.reminded_at IS NULL)
       <> (b.status, b.reminded_at IS NULL) AS swept
  FROM shop.orders o JOIN before b USING (id);
SELECT concat_ws(' | ', id, what, concat_ws(' ', status,
           CASE WHEN reminded_at IS NOT NULL THEN 'reminded' END$effects))
  FROM (SELECT o.*, what FROM shop.orders o JOIN given USING (id)) t
 ORDER BY id;
SELECT 'changed otherwise: ' || id FROM changed
 WHERE CASE WHEN swept
            THEN after - 'status' - 'reminded_at'
                 <> before - 'status' - 'reminded_at'
            ELSE after <> before END;
SELECT 'journal: ' || id FROM changed
 WHERE parent_id IS NULL AND swept <> EXISTS (
    SELECT FROM order_sweep.journal j WHERE j.order_key->>0 = id::text);
SELECT 'payment: ' || coalesce(p.order_id, g.id)
  FROM (SELECT * FROM given WHERE payment IS NOT NULL) g
  FULL JOIN shop.payment p ON p.order_id = g.id
 WHERE (p.state, p.amount) IS DISTINCT FROM (payment, coalesce(g.amount, 10));
SQL
}

recipe()
{
    local name=$1 code=0 wanted findings
    shift
    cat >"$table"
    load "$name"
    wanted=$(sql -c "SELECT concat_ws(' | ', id, what, wanted) FROM given
        ORDER BY id")
    findings=$("$ORDER_SWEEP_BIN" check --format json) || code=$?
    is "$name: check ends with 0 or 1" 1 "$((code < 2))"
    is "$name: check" '' "$(grep -v '"level":"ok"' <<<"$findings" |
        grep -e '"level":"fail"' -e '"item":"index"' || :)"
    is "$name" "$wanted" "$(outcome "$name" 4)"
    for mutation; do
        mutations=$((mutations + 1))
        load "$name" "$mutation"
        if cmp -s "$recipes/$name.sql" "$ORDER_SWEEP_TMP/recipe.sql"; then
            die "$name has nothing to change by $mutation"
        fi
        if [ "$(outcome "$name" 1)" = "$wanted" ]; then
            die "$name is the same with $mutation"
        fi
    done
}

recipe 01_payment_method "s/WHEN 'card'/WHEN 'cash'/" \
    "s/'15 minutes'/'30 minutes'/" "s/(o\.status = )'unpaid'/\1'paid'/" \
    <<'TABLE'
id | what              | wanted    | method | age    | status
 1 | card, in time     | unpaid    | card   | 29 min |
 2 | card, overdue     | cancelled | card   | 31 min |
 3 | wallet, in time   | unpaid    | wallet | 14 min |
 4 | wallet, overdue   | cancelled | wallet | 16 min |
 5 | cash, never       | unpaid    | cash   | 9 d    |
 6 | paid              | paid      | card   | 31 min | paid
TABLE

recipe 02_bank_transfer "s/ \+ interval '2 days'//" "s/'5 days'/'9 days'/" \
    "s/'30 minutes'/'7 days'/" <<'TABLE'
id | what                    | wanted    | method   | age       | status
 1 | card, in time           | unpaid    | card     | 29 min    |
 2 | card, overdue           | cancelled | card     | 31 min    |
 3 | transfer, in time       | unpaid    | transfer | 4 d       |
 4 | transfer, grace         | unpaid    | transfer | 5 d 1 h   |
 5 | transfer, end of grace  | unpaid    | transfer | 6 d 23 h  |
 6 | transfer, overdue       | cancelled | transfer | 7 d 1 min |
 7 | transfer, paid          | paid      | transfer | 8 d       | paid
TABLE

recipe 03_remind "s/'20 minutes'/'5 minutes'/" "s/'1 day'/'3 days'/" \
    's/ AND (o\.)?reminded_at IS NULL//' <<'TABLE'
id | what              | wanted          | age    | status | reminded_at
 1 | young             | unpaid          | 19 min |        |
 2 | to be reminded    | unpaid reminded | 21 min |        |
 3 | reminded by hand  | unpaid reminded | 21 min |        | 2020-01-01
 4 | paid              | paid            | 21 min | paid   |
 5 | of last week      | unpaid          | 2 d    |        |
TABLE

recipe 04_close_delivered "s/'7 days'/'5 days'/" \
    "s/'delivered_at'/'created_at'/" <<'TABLE'
id | what                     | wanted    | age | status    | delivered
 1 | delivered 8 days ago     | closed    | 9 d | delivered | 8 d
 2 | delivered 6 days ago     | delivered | 9 d | delivered | 6 d
 3 | when delivered? unknown  | delivered | 9 d | delivered |
 4 | sent back                | returned  | 9 d | returned  | 8 d
TABLE

recipe 05_split_order \
    's/ AND (o\.)?parent_id IS NULL//' \
    's/shop.part_paid\(o.id\)/false/' \
    "s/, 'cancelled'\)/)/" \
    "s/c.status NOT IN .*/false/" \
    's/c\.id AND p\.state/-1 AND p.state/' \
    "s/ AND p\.state <> 'failed'\)\)\)/)))/" \
    "s/'paid', .*EXISTS/'paid', \$\$false AND EXISTS/" \
    's/(UPDATE .* SET status =) .*/\1 status/' <<'TABLE'
id | what                 | wanted    | age    | parent_id | status    | payment
10 | split                | cancelled | 31 min |           |           |
11 | part                 | cancelled | 31 min | 10        |           |
12 | part, payment failed | cancelled | 31 min | 10        |           | failed
20 | split                | unpaid    | 31 min |           |           |
21 | part                 | unpaid    | 31 min | 20        |           |
22 | part, being paid     | unpaid    | 31 min | 20        |           | pending
30 | split                | unpaid    | 31 min |           |           |
31 | part                 | unpaid    | 31 min | 30        |           |
32 | part, paid           | paid      | 31 min | 30        | paid      |
40 | split                | cancelled | 31 min |           |           |
41 | part                 | cancelled | 31 min | 40        |           |
42 | part, cancelled      | cancelled | 31 min | 40        | cancelled |
50 | split, being paid    | unpaid    | 31 min |           |           | pending
51 | part                 | unpaid    | 31 min | 50        |           |
60 | split, in time       | unpaid    | 29 min |           |           |
61 | part, overdue        | unpaid    | 31 min | 60        |           |
70 | not split            | cancelled | 31 min |           |           |
TABLE

recipe 06_tenants "s/'expires_at'/'created_at'/" <<'TABLE'
id | what                        | wanted    | age    | tenant_id | expired
 1 | 15 minutes, overdue         | cancelled | 16 min | 1         | 1 min
 2 | 15 minutes, in time         | unpaid    | 14 min | 1         | -1 min
 3 | 2 days, overdue             | cancelled | 50 h   | 2         | 2 h
 4 | 2 days, in time             | unpaid    | 46 h   | 2         | -2 h
 5 | of a tenant without window  | unpaid    | 50 h   | 3         |
TABLE

recipe 07_payment_in_flight "s/'1 hour'/'1 day'/" "s/'received'/'none'/" \
    "s/'pending'/'none'/" <<'TABLE'
id | what                     | wanted    | age    | payment  | paid
 1 | in time                  | unpaid    | 29 min |          |
 2 | overdue                  | cancelled | 31 min |          |
 3 | payment in flight        | unpaid    | 3 h    | pending  | 59 min
 4 | payment stuck            | cancelled | 3 h    | pending  | 61 min
 5 | payment received         | unpaid    | 3 h    | received | 2 h
 6 | payment failed           | cancelled | 3 h    | failed   | 2 min
TABLE

recipe 08_partly_paid 's/o.total = 0/false/' "s/'received'/'none'/" \
    "s/p.state = 'received'/true/" 's/p.amount > 0/true/' <<'TABLE'
id | what                 | wanted    | age    | total | payment  | amount
 1 | in time              | unpaid    | 29 min | 10    |          |
 2 | nothing paid         | cancelled | 31 min | 10    |          |
 3 | partly paid          | unpaid    | 31 min | 10    | received | 0.01
 4 | paid in full         | unpaid    | 31 min | 10    | received | 10
 5 | a payment of nothing | cancelled | 31 min | 10    | received | 0
 6 | payment failed       | cancelled | 31 min | 10    | failed   | 10
 7 | nothing to pay       | unpaid    | 31 min | 0     |          |
TABLE

recipe 09_coupons_points 's/= spent/= returned + spent/' \
    's/returned = spent/spent = spent/' 's/again +=> true/again => false/' \
    's/used_by = NULL/used_by = used_by/' \
    's/ WHERE used_by = .1//' 's/ WHERE order_id = .1//' \
    <<'TABLE'
id | what                    | wanted                | age    | coupon | points
 1 | overdue                 | cancelled points 7/7  | 31 min | a      | 7
 2 | in time                 | unpaid points 0/3 b d | 29 min | b      | 3
 3 | opened again, used anew | cancelled points 7/7  | 31 min | c      | 5
 4 | opened again            | cancelled points 4/4  | 31 min | d      | 4
 5 | overdue, without either | cancelled             | 31 min |        |
TABLE

# --- A part is paid while its whole is closed ---------------------------------

# Waits for the run: its exit code, and how many it swept, found locked, failed.
ended()
{
    local code=0
    wait "$pid" || code=$?
    cp "${started[$pid]}.out" "$out"
    printf '%s: %s: ' "$code" "$(reported swept locked failed)"
}

# The next run, and all orders.
next()
{
    "$ORDER_SWEEP_BIN" 2>&1 || echo "next run: $?"
    sql -c "SELECT string_agg(status, ' ' ORDER BY id) FROM shop.orders"
}

# The part is paid when the whole was found unpaid, and is about to be updated.
after_look()
{
    gate_orders
    close_gate 1
    start --format json
    wait_at_gate
    sql -c "$1"
    open_gates
    ended
    next
}

pay="INSERT INTO shop.payment (order_id, state, amount)
     VALUES (2, 'pending', 1)"

# A payment of the part is open before the run.
pay_slowly()
{
    mkfifo "$ORDER_SWEEP_TMP/payer"
    sql <"$ORDER_SWEEP_TMP/payer" &
    payer=$!
    exec 8>"$ORDER_SWEEP_TMP/payer"
    rm "$ORDER_SWEEP_TMP/payer"
    printf 'BEGIN;\n%s;\n' "$pay" >&8
    wait_until "EXISTS (SELECT FROM pg_stat_activity
        WHERE datname = current_database() AND state = 'idle in transaction'
          AND query LIKE 'INSERT%')"
}

pay_at_last()
{
    # To an end of its own: the run, too, has the descriptor open.
    printf 'COMMIT;\n\\q\n' >&8
    exec 8>&-
    wait "$payer"
}

# It stays open beyond what a cancel waits.
beside_payment()
{
    pay_slowly
    start --format json
    ended
    pay_at_last
    next
}

# It ends while the cancel, without its limit, waits for it.
until_payment()
{
    sql -c 'ALTER FUNCTION order_sweep.cancel_unpaid_cancel(
        bigint, interval, bigint) RESET lock_timeout'
    pay_slowly
    start --format json
    wait_until "EXISTS (SELECT FROM pg_stat_activity
        WHERE datname = current_database() AND wait_event_type = 'Lock'
          AND application_name LIKE 'order-sweep%')"
    pay_at_last
    ended
    next
}

# whole WANTED HARM SED FUNCTION [ARGUMENT]: what becomes of it, and what if SED
# changes the recipe.
whole()
{
    local wanted=$1 harm=$2 sed=$3
    shift 3
    load 05_split_order
    is "$*" "$wanted" "$("$@")"
    mutations=$((mutations + 1))
    load 05_split_order "$sed"
    is "$* with $sed" "$harm" "$("$@")"
}

cat >"$table" <<'TABLE'
id | what     | wanted | age    | parent_id
 1 | split    |        | 31 min |
 2 | its part |        | 31 min | 1
 3 | its part |        | 31 min | 1
TABLE
kept='0: 0 1 0: unpaid unpaid unpaid'
closed='0: 1 0 0: cancelled cancelled cancelled'
look='.*try_later\(\) WHERE.*'
whole "$kept" "$closed" "/$look/d" after_look "$pay"
whole "$kept" '1: 0 0 1: unpaid unpaid unpaid' \
    's/serialization_failure/EXCEPTION/' after_look "$pay"
whole '0: 0 1 0: unpaid paid unpaid' '0: 1 0 0: cancelled paid cancelled' \
    "/$look/d" after_look "UPDATE shop.orders SET status = 'paid' WHERE id = 2"
whole "$kept" "$closed" '/ORDER BY c.id/s/ FOR UPDATE//' beside_payment
whole "$kept" "$closed" '/ORDER BY c.id/s/ FOR/& NO KEY/' beside_payment
# The look before the lock.
whole "$kept" "$closed" "/$look/d; s/^ +.{2}SELECT c.id/\
\$\$SELECT shop.try_later() WHERE shop.part_paid(\$1)\$\$,&/" until_payment

echo "$mutations mutations"
