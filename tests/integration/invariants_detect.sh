#!/bin/bash
# Proves tests/support/invariants.sql: breaks each invariant by itself, in a
# swept shop, and sees the one line that tells of it; and sees that what is
# allowed breaks none. Each case is rolled back.
set -euo pipefail

root=$(cd "$(dirname "$0")/../.." && pwd)
# shellcheck source=tests/support/db.sh
. "$root/tests/support/db.sh"
invariants=$root/tests/support/invariants.sql

failures=0
fail()
{
    echo "invariants_detect: $*" >&2
    failures=$((failures + 1))
}

# Compare what the invariants said with the start of the one line expected, or
# with nothing.
proven=()
expect()
{
    if [ -z "$1" ]; then
        [ -z "$said" ] || fail "said of a sound shop ($2): $said"
    elif [[ $said != "$1: "* || $said == *$'\n'* ]]; then
        fail "expected \"$1: ...\", got: ${said:-nothing}"
    fi
    proven+=("$1")
}

# What the invariants say after the SQL on standard input.
ask_after()
{
    said=$({
        echo 'BEGIN;'
        cat
        echo "\\i $invariants"
        echo 'ROLLBACK;'
    } | sql -f - 2>&1) || said="error: $said"
}

breaks()
{
    ask_after
    expect "$1"
}

holds()
{
    ask_after
    expect '' "$1"
}

# The shop, with three of four overdue orders swept in run 1. The functions
# below name an order of each sort to the cases.

export PGOPTIONS=--client-min-messages=warning
new_db invariants
for file in "$root"/sql/migrations/*.sql "$root"/sql/functions/*.sql \
    "$root"/sql/sample/shop.sql; do
    sql -f "$file" >/dev/null
done
sql -v orders=400 -f "$root/sql/sample/data.sql"
sql -f "$root/sql/sample/definition.sql" >/dev/null
sql -f - <<'SQL'
CREATE FUNCTION pg_temp.sweep(id bigint) RETURNS text LANGUAGE sql AS
$$SELECT order_sweep.cancel_unpaid_cancel(id, NULL, 1)$$;

INSERT INTO order_sweep.run (sweep, host, pid, ended_at, stopped)
VALUES ('cancel_unpaid', 'here', 1, now(), 'done');
UPDATE order_sweep.run
   SET swept = (SELECT count(*) FILTER (WHERE pg_temp.sweep(id) = 'swept')
                  FROM shop.orders
                 WHERE order_status = 1
                   AND created < extract(epoch FROM now()) - 1800
                   AND id % 4 <> 0);

CREATE FUNCTION shop.a_swept() RETURNS bigint LANGUAGE sql STABLE AS
$$SELECT min((order_key ->> 0)::bigint) FROM order_sweep.journal$$;
CREATE FUNCTION shop.a_due() RETURNS bigint LANGUAGE sql STABLE AS
$$SELECT min(id) FROM shop.orders
   WHERE order_status = 1 AND created < extract(epoch FROM now()) - 1800$$;
CREATE FUNCTION shop.swept_at() RETURNS timestamptz LANGUAGE sql STABLE AS
$$SELECT swept_at FROM order_sweep.journal
   WHERE order_key = jsonb_build_array(shop.a_swept())$$;
SQL
swept=$(sql -c 'SELECT swept FROM order_sweep.run')
if [ "$swept" != 150 ]; then
    fail "150 of 400 orders are to be swept for the cases, but $swept were"
fi

# Sound.

holds 'nothing changed' </dev/null
holds 'paid after the sweep, past pay_order' <<'SQL'
INSERT INTO shop.payment (order_id, amount) VALUES (shop.a_swept(), 1);
SQL
holds 'swept at the deadline' <<'SQL'
UPDATE shop.orders
   SET created = floor(extract(epoch FROM shop.swept_at())) - 1800
 WHERE id = shop.a_swept();
SQL
holds 'an order of unknown outcome was swept' <<'SQL'
UPDATE order_sweep.run SET swept = swept - 1, unknown = 1;
SQL
holds 'a run died' <<'SQL'
UPDATE order_sweep.run SET swept = 0, ended_at = NULL;
SQL
holds 'placed, paid, refused, failed' <<'SQL'
SELECT shop.pay_order(shop.a_due(), 1)
  FROM shop.place_order(7777, '[{"goods_id": 3, "quantity": 1},
                                {"goods_id": 1, "quantity": 2},
                                {"goods_id": 3, "quantity": 4}]')
\g /dev/null
INSERT INTO order_sweep.failure
VALUES ('cancel_unpaid', jsonb_build_array(shop.a_due()), 1, 0, now(), false,
        'P0001', 'no', now());
SQL

# Broken.

breaks 'stock not conserved' <<'SQL'
UPDATE shop.goods SET stock = stock - 1 WHERE id = 1;
SQL
breaks 'stock not conserved' <<'SQL'
UPDATE shop.goods SET stock = stock - 1;
SQL
breaks 'live order without mark' <<'SQL'
DELETE FROM shop.buyer_mark
 WHERE (buyer_id, goods_id) = (SELECT buyer_id, goods_id
                                 FROM shop.buyer_mark LIMIT 1);
SQL
breaks 'mark without live order' <<'SQL'
INSERT INTO shop.buyer_mark (buyer_id, goods_id) VALUES (7777, 1);
SQL
breaks 'two live orders of the same goods' <<'SQL'
INSERT INTO shop.orders (id, buyer_id, created)
SELECT 7777, buyer_id, created FROM shop.orders WHERE id = shop.a_due();
INSERT INTO shop.order_line (order_id, line, goods_id, quantity)
SELECT 7777, 1, goods_id, 1 FROM shop.order_line
 WHERE order_id = shop.a_due() AND line = 1;
UPDATE shop.goods SET stock = stock - 1
 WHERE id = (SELECT goods_id FROM shop.order_line WHERE order_id = 7777);
SQL
breaks 'closed order without journal' <<'SQL'
DELETE FROM order_sweep.journal
 WHERE order_key = jsonb_build_array(shop.a_swept());
UPDATE order_sweep.run SET swept = swept - 1;
SQL
breaks 'closed order without journal' <<'SQL'
UPDATE shop.orders SET closed_at = NULL
 WHERE id = (SELECT min(id) FROM shop.orders
              WHERE order_status = 3
                AND jsonb_build_array(id) NOT IN (SELECT order_key
                                                    FROM order_sweep.journal));
SQL
breaks 'journal of an order not closed' <<'SQL'
INSERT INTO order_sweep.journal (sweep, order_key, run_id, payload)
VALUES ('cancel_unpaid', jsonb_build_array(shop.a_due()), 0, '{}');
SQL
breaks 'journal without order' <<'SQL'
INSERT INTO order_sweep.journal (sweep, order_key, run_id, payload)
VALUES ('cancel_unpaid', '[7777]', 0, '{}');
SQL
breaks 'order swept twice' <<'SQL'
INSERT INTO order_sweep.journal (sweep, order_key, ordinal, run_id, payload)
VALUES ('cancel_unpaid', jsonb_build_array(shop.a_swept()), 2, 0, '{}');
SQL
breaks 'paid order closed' <<'SQL'
INSERT INTO shop.payment (order_id, amount, paid_at)
VALUES (shop.a_swept(), 1, shop.swept_at());
SQL
breaks 'paid order closed' <<'SQL'
UPDATE shop.orders SET paid_at = now() WHERE id = shop.a_swept();
SQL
breaks 'young order swept' <<'SQL'
UPDATE shop.orders
   SET created = floor(extract(epoch FROM shop.swept_at())) - 1799
 WHERE id = shop.a_swept();
SQL
breaks 'run and journal differ' <<'SQL'
UPDATE order_sweep.run SET swept = swept + 1;
SQL
breaks 'run and journal differ' <<'SQL'
UPDATE order_sweep.run SET swept = swept - 1;
SQL
breaks 'failure of an order swept' <<'SQL'
INSERT INTO order_sweep.failure
VALUES ('cancel_unpaid', jsonb_build_array(shop.a_swept()), 1, 0, now(), false,
        'P0001', 'no', now());
SQL

# Left behind by a session: one that stays while the invariants are asked.

# A session of the application $1 that has run the statement $2.
session_stays()
{
    coproc stays { PGAPPNAME=$1 sql 2>&1; }
    stays_process=$!
    printf '%s \\echo ready\n' "$2" >&"${stays[1]}"
    local line=
    while [ "$line" != ready ]; do
        read -r -u "${stays[0]}" line
    done
}

# Ask the invariants, and end the session.
session_ends()
{
    said=$(sql -f "$invariants" 2>&1) || said="error: $said"
    echo '\q' >&"${stays[1]}"
    wait "$stays_process"
}

lock='SELECT pg_advisory_lock(1869838192, 1);'
session_stays other "BEGIN; SELECT pg_advisory_lock(1869838193, 1);"
session_ends
expect '' 'transaction and lock of another program'
session_stays order-sweep "$lock"
session_ends
expect 'advisory lock left'
session_stays order-sweep 'BEGIN; SELECT 1;'
session_ends
expect 'transaction left open'

# Each invariant that there is was broken.

while read -r name; do
    if [[ " ${proven[*]/%/,} " != *" $name, "* ]]; then
        fail "no case breaks the invariant \"$name\""
    fi
done < <(sed -n "s/^    SELECT '\([^']*\)',\$/\1/p" "$invariants")

if [ "$failures" != 0 ]; then
    exit 1
fi
echo "invariants_detect: ok, ${#proven[@]} cases"
