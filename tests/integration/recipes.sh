#!/bin/bash
# The recipes of sql/recipes, each on the shop that they assume, with orders of
# each kind; then with its essential clause changed, which must show.
set -euo pipefail

# shellcheck source=tests/support/db.sh
. "$ORDER_SWEEP_SOURCE/tests/support/db.sh"
trap drop_dbs EXIT
export PGOPTIONS=--client-min-messages=warning
recipes=$ORDER_SWEEP_SOURCE/sql/recipes
failures=0

# is WHAT GOT WANTED
is()
{
    if [ "$2" != "$3" ]; then
        printf '%s: got %s, wanted %s\n' "$1" "$2" "$3" >&2
        failures=$((failures + 1))
    fi
}

# load RECIPE [SED]: the shop, the recipe as sed leaves it, and the orders.
load()
{
    new_db recipe
    "$ORDER_SWEEP_BIN" migrate
    sql -f "$recipes/shop.sql"
    sed -e "${2:-}" "$recipes/$1.sql" | sql -f - >/dev/null
    sql -f - <<'SQL'
INSERT INTO shop.orders (id, method, total, status, created_at, delivered_at)
SELECT id, method, total, status, now() - age::interval,
       now() - delivered::interval
  FROM (VALUES
    (1, 'card', 10, 'unpaid',    '31 min', NULL),    -- partly paid
    (2, 'card', 10, 'unpaid',    '10 min', NULL),    -- not yet due
    (3, 'cash', 10, 'unpaid',    '31 min', NULL),    -- never, by its method
    (4, 'card',  0, 'unpaid',    '31 min', NULL),    -- nothing to pay
    (5, 'card', 10, 'unpaid',    '3 h',    NULL),    -- payment in flight
    (6, 'card', 10, 'unpaid',    '3 h',    NULL),    -- payment stuck
    (7, 'card', 10, 'delivered', '9 d',    '8 d'),
    (8, 'card', 10, 'delivered', '9 d',    '6 d'),
    (9, 'card', 10, 'paid',      '3 h',    NULL))
       AS v (id, method, total, status, age, delivered);
INSERT INTO shop.payment (order_id, state, amount, created_at) VALUES
    (1, 'received', 4, now()),
    (5, 'pending', 10, now()),
    (6, 'pending', 10, now() - interval '2 h');
SQL
    case $1 in
    06*) sql -c "UPDATE shop.orders SET expires_at = created_at
        + CASE id WHEN 6 THEN interval '1 day' ELSE '30 min' END" ;;
    09*) sql -c "INSERT INTO shop.coupon VALUES ('due', 5), ('not due', 2);
        INSERT INTO shop.points VALUES (5, 7), (2, 3)" ;;
    esac
}

# What four runs at once, without the lock, and one more did.
sweep()
{
    local n runs=()
    for n in 1 2 3 4; do
        "$ORDER_SWEEP_BIN" --no-lock >/dev/null &
        runs[n]=$!
    done
    for n in 1 2 3 4; do
        wait "${runs[n]}" || is 'exit code of a run' $? 0
    done
    "$ORDER_SWEEP_BIN" >/dev/null
    sql -c "SELECT string_agg(order_key->>0, ' '
        ORDER BY order_key->>0) FROM order_sweep.journal"
}

# recipe NAME SWEPT SED: sweeps these orders, and others when changed by sed.
recipe()
{
    local code=0 findings swept
    load "$1"
    findings=$("$ORDER_SWEEP_BIN" check --format json) || code=$?
    is "$1: check" "$(grep -c -e '"level":"fail"' -e '"item":"index"' \
        <<<"$(grep -v '"level":"ok"' <<<"$findings")" || :)" 0
    is "$1: code of check, 0 or 1" $((code < 2)) 1
    swept=$(sweep)
    is "$1" "$swept" "$2"
    if [[ $1 = 09* ]]; then
        is "$1: coupons" "$(sql -c "SELECT string_agg(code, ' ')
            FROM shop.coupon WHERE used_by IS NULL")" due
        is "$1: points" "$(sql -c 'SELECT sum(returned) FROM shop.points')" 7
    fi
    drop_dbs
    load "$1" "$3"
    if [[ $1 = 09* ]]; then
        sweep >/dev/null
        swept=$(sql -c 'SELECT sum(returned) FROM shop.points')
        is "$1 with $3" "$swept" 0
    else
        is "$1 with $3 shows" "$([ "$(sweep)" = "$2" ] || echo yes)" yes
    fi
    drop_dbs
}

recipe 01_payment_method '1 4 5 6' "s/WHEN 'card'/WHEN 'cash'/"
recipe 03_remind '1 3 4 5 6' "s/'20 minutes'/'5 minutes'/"
recipe 04_close_delivered '7' "s/'7 days'/'5 days'/"
recipe 06_tenants '1 3 4 5' "s/=> 'expires_at'/=> 'created_at'/"
recipe 07_payment_in_flight '3 4 6' "s/'1 hour'/'1 day'/"
recipe 08_partly_paid '3 5 6' 's/o.total = 0/false/'
recipe 09_coupons_points '1 3 4 5 6' 's/returned + spent/returned/'

exit $((failures > 0))
