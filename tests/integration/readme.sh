#!/bin/bash
# The definition in README, word for word, on a shop such as it speaks of, and
# its job of CI.
set -euo pipefail

# shellcheck source=tests/support/db.sh
. "$ORDER_SWEEP_SOURCE/tests/support/db.sh"
trap drop_dbs EXIT

cp "$ORDER_SWEEP_SOURCE/tests/support/readme_shop.sql" \
    "$ORDER_SWEEP_TMP/migrations.sql"
new_db readme
"$ORDER_SWEEP_BIN" migrate
sql -f "$ORDER_SWEEP_TMP/migrations.sql"
sql -f - <<'SQL'
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

# The job of CI: it fails with a definition that is refused, beside a good one.
scratch=osw_scratch_$$
databases="$databases $scratch"
cd "$ORDER_SWEEP_TMP"
awk '/^```sh$/ { inside = 1; text = ""; next }
    /^```/ { if (inside && text ~ /createdb/) printf "%s", text; inside = 0 }
    inside { text = text $0 "\n" }' "$ORDER_SWEEP_SOURCE/README.md" |
    sed "s/scratch/$scratch/" >ci.sh
mkdir bin
ln -s "$ORDER_SWEEP_BIN" bin/order-sweep
PATH=$PWD/bin:$PATH
cp readme.sql order_sweep_definition.sql
sh ci.sh >ci.out 2>&1 || {
    cat ci.out
    exit 1
}
dropdb --force "$scratch"
echo "SELECT order_sweep.define(sweep => 'late', orders => 'shop.orders',
    key => '{id}', unpaid => 'no_such_column', since => 'created_at',
    after => '1 hour', set => 'status = NULL');" >>order_sweep_definition.sql
if sh ci.sh >ci.out 2>&1; then
    echo "README's job of CI passes with a definition that is refused" >&2
    exit 1
fi
grep -q 'unpaid: column "no_such_column" does not exist' ci.out
