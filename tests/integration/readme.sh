#!/bin/bash
# The definition in README, word for word, on a shop such as it speaks of.
set -euo pipefail

# shellcheck source=tests/support/db.sh
. "$ORDER_SWEEP_SOURCE/tests/support/db.sh"
trap drop_dbs EXIT

new_db readme
"$ORDER_SWEEP_BIN" migrate
sql -f - <<'SQL'
CREATE SCHEMA shop;
CREATE TABLE shop.orders (id bigint PRIMARY KEY, status text NOT NULL,
    created_at timestamptz NOT NULL, cancelled_at timestamptz);
CREATE TABLE shop.sku (id bigint PRIMARY KEY, stock int NOT NULL);
CREATE TABLE shop.order_line (order_id bigint REFERENCES shop.orders,
    sku_id bigint REFERENCES shop.sku, quantity int);
CREATE TABLE shop.payment (id bigint PRIMARY KEY,
    order_id bigint REFERENCES shop.orders, state text);
INSERT INTO shop.sku VALUES (1, 10);
INSERT INTO shop.orders
SELECT n, CASE n WHEN 4 THEN 'paid' ELSE 'unpaid' END,
       now() - CASE n WHEN 5 THEN '29 minutes' ELSE '31 minutes' END::interval
  FROM generate_series(1, 5) n;
INSERT INTO shop.order_line SELECT id, 1, 1 FROM shop.orders, generate_series(1, 2);
INSERT INTO shop.payment VALUES (1, 2, 'processing'), (2, 3, 'failed');
SQL

awk '/^```sql$/ { inside = 1; next } /^```/ { inside = 0 } inside' \
    "$ORDER_SWEEP_SOURCE/README.md" >"$ORDER_SWEEP_TMP/readme.sql"
sql -f "$ORDER_SWEEP_TMP/readme.sql" >/dev/null

"$ORDER_SWEEP_BIN"
"$ORDER_SWEEP_BIN" check
got=$(sql -c "SELECT (SELECT string_agg(id || status, ' ' ORDER BY id)
    FROM shop.orders), (SELECT stock FROM shop.sku)")
wanted='1cancelled 2unpaid 3cancelled 4paid 5unpaid|14'
if [ "$got" != "$wanted" ]; then
    echo "README's definition: got $got, wanted $wanted" >&2
    exit 1
fi
