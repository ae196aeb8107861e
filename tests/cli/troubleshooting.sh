#!/bin/bash
# The page on troubleshooting: each of its entries is brought about on a server
# of its own, its commands are run as the page has them, and must say what the
# page says; then the mend, after which the trouble is over.
#
#     entry TITLE    begins it, with a new shop: order 4711 has been due for 10
#                    minutes, in database shop of shop_owner
#     seen           what stands before "Mend" runs, and is as it says
#     mended         what stands after it
#
# In the page's commands /usr/bin/order-sweep is the program of this build, and
# /etc/cron.d a folder of the test.  "…" is any text.
set -euo pipefail

# shellcheck source=tests/support/shop.sh
. "$ORDER_SWEEP_SOURCE/tests/support/shop.sh"
# shellcheck source=tests/support/cluster.sh
. "$support/cluster.sh"

if [ "$(id -u)" != 0 ] && ! sudo -n true 2>/dev/null; then
    echo 'troubleshooting: neither root nor sudo, to be somebody else' >&2
    exit 77
fi
tmp=$ORDER_SWEEP_TMP
page=$ORDER_SWEEP_SOURCE/cmd/order-sweep/doc/troubleshooting.md
trap cluster_stop EXIT
# shellcheck disable=SC2119  # its argument is another one
cluster_start
mkdir "$tmp/bin" "$tmp/cron.d" "$tmp/page"
ln -s "$ORDER_SWEEP_BIN" "$tmp/bin/order-sweep"
PATH=$tmp/bin:$PATH
export PSQLRC=/dev/null PAGER=cat PGDATABASE=postgres
cd "$tmp"

# --- The page ----------------------------------------------------------------

# page/N has the entry's title; page/N.see.K.LANGUAGE and page/N.mend.K.LANGUAGE
# its blocks.
awk -v page="$tmp/page/" '
    BEGIN { part = "see" }
    /^## / { n++; blocks = 0; part = "see"; print substr($0, 4) >(page n) }
    /^\*\*Mend\.\*\*/ { part = "mend" }
    inside && /^```$/ { inside = 0; close(file); next }
    inside { print >file; next }
    /^```/ {
        inside = 1
        file = sprintf("%s%d.%s.%02d.%s", page, n, part, ++blocks,
            substr($0, 4))
    }' "$page"
entries=$(grep -c '^## ' "$page")
done_entries=0
title=

# What the table of contents leads to.
sed -n 's/^|[^[]*| \[\([^]]*\)\](#[^)]*) |$/\1/p' "$page" |
    grep -v '^see below$' >contents
sed -n 's/^## //p' "$page" | diff contents - >&2 ||
    die 'the table lists others'
grep -o '](#[a-z0-9-]*)' "$page" | sort -u >anchors
sed -n 's/^## //p' "$page" | tr 'A-Z ' 'a-z-' | sed 's/.*/](#&)/' | sort -u |
    comm -13 - anchors >dangling
is 'links to no entry' '' "$(cat dangling)"

here()
{
    sed "s|/etc/cron\.d/|$tmp/cron.d/|g; s|/usr/bin/|$tmp/bin/|g" <<<"$1"
}

# Blanks and rules as wide as what stands in them are one.
plain()
{
    sed -E 's/ +/ /g; s/-{2,}[-+]*/-/g; s/ +$//' <<<"$1"
}

# compare COMMAND WANTED: runs it.
compare()
{
    local command got wanted
    command=$(here "$1")
    wanted=$(here "$2")
    got=$(bash -c "$command" 2>&1 </dev/null) || :
    wanted=$(plain "$wanted" | sed 's/[][*?\\]/\\&/g; s/…/*/g')
    # shellcheck disable=SC2053  # a pattern
    if [[ $(plain "$got") != $wanted ]]; then
        printf '%s\n' "$got" >"$out"
        : >"$err"
        die "$title: $command says otherwise than the page: $2"
    fi
}

console()
{
    local line command='' wanted=''
    while IFS= read -r line; do
        case $line in
        '$ '*)
            [ -z "$command" ] || compare "$command" "${wanted%$'\n'}"
            command=${line#$ }
            wanted=
            ;;
        '> '*) command+=$'\n'${line#> } ;;
        *) wanted+=$line$'\n' ;;
        esac
    done <"$1"
    compare "$command" "${wanted%$'\n'}"
}

# blocks PART: runs those of this entry.
blocks()
{
    local file
    for file in page/"$number.$1".*; do
        case $file in
        *.console) console "$file" ;;
        *.sql) sql -o /dev/null -f "$file" ;;
        *.sh)
            here "$(cat "$file")" >block
            bash -e block >"$out" 2>"$err" || die "$title: $file fails"
            ;;
        *) die "$title: $file is nothing to run" ;;
        esac
    done
}

seen()
{
    blocks see
}

mended()
{
    blocks mend
}

# The order is swept, if need be by a run that comes now.
swept()
{
    run 0
    silent
    value cancelled 'SELECT status FROM shop.orders WHERE id = 4711'
}

# --- The shop ----------------------------------------------------------------

entry()
{
    title=$1
    number=$(grep -l -x -F -- "$title" page/* |
        sed -n 's|^page/\([0-9]*\)$|\1|p')
    [ -n "$number" ] || die "the page has no entry $title"
    done_entries=$((done_entries + 1))
    sql -U postgres -d postgres -c 'SET client_min_messages = warning' \
        -c 'DROP DATABASE IF EXISTS shop' \
        -c 'CREATE DATABASE shop TEMPLATE made OWNER shop_owner'
    # shellcheck source=/dev/null
    . page/0.see.01.sh
    cp made.sql definition.sql
}

# hold ROLE SQL: a transaction that stays open, of a psql that reads on until
# let_go; or until this script ends, however that may be.
hold()
{
    psql -X -q -U "$1" <held >"$tmp/held.out" 2>&1 &
    holder=$!
    exec 4>held
    echo "BEGIN; $2" >&4
    PGUSER=postgres wait_until "EXISTS (SELECT FROM pg_stat_activity
        WHERE datname = 'shop' AND state = 'idle in transaction')"
}

let_go()
{
    exec 4>&-
    wait "$holder" || :
}
mkfifo held

sql -d postgres -c 'CREATE ROLE shop_owner LOGIN' \
    -c 'CREATE ROLE shop_app LOGIN' \
    -c 'CREATE DATABASE made OWNER shop_owner'
PGUSER=shop_owner PGDATABASE=made
run 0 migrate
# The definition is README's, and tells what a payment is.
awk '/^```sql$/ { inside = 1; next } /^```/ { inside = 0 } inside' \
    "$ORDER_SWEEP_SOURCE/README.md" >readme.sql
paid='EXISTS (SELECT FROM shop.payment p WHERE p.order_id = o.id)'
sed "/^CREATE INDEX/d; s/^    set .*/    paid   => \$\$$paid\$\$,\n&/" \
    readme.sql >made.sql
sql -f - <<'SQL'
CREATE SCHEMA shop;
GRANT USAGE ON SCHEMA shop TO shop_app;
CREATE TABLE shop.orders (id bigint PRIMARY KEY, status text NOT NULL,
    created_at timestamptz, cancelled_at timestamptz);
GRANT ALL ON shop.orders TO shop_app;
CREATE TABLE shop.sku (id bigint PRIMARY KEY,
    stock int NOT NULL CHECK (stock <= 10));
CREATE TABLE shop.order_line (order_id bigint REFERENCES shop.orders,
    sku_id bigint REFERENCES shop.sku, quantity int);
CREATE TABLE shop.payment (id bigint PRIMARY KEY,
    order_id bigint REFERENCES shop.orders, state text,
    created_at timestamptz DEFAULT clock_timestamp());
INSERT INTO shop.orders VALUES (4711, 'unpaid', now() - interval '40 minutes');
INSERT INTO shop.sku VALUES (1, 8);
INSERT INTO shop.order_line VALUES (4711, 1, 2);
SQL
grep '^CREATE INDEX' readme.sql >index.sql
sql -f index.sql
sql -o /dev/null -f made.sql

# --- The entries -------------------------------------------------------------

entry 'Nothing happens at all'
sed "s|[^ ]*/bin/order-sweep|$tmp/bin/order-sweep|g" \
    "$ORDER_SWEEP_BUILD/cron.d/order-sweep" >cron.d/order-sweep
seen
mended
swept

entry 'Nothing is defined here'
sql -o /dev/null -c "SELECT order_sweep.undefine('cancel_unpaid')"
seen
mended
swept

entry 'An overdue order is left alone'
sql -o /dev/null -c "SELECT order_sweep.pause('cancel_unpaid')"
seen
run 0
silent
mended
swept
# verdict TEXT SQL: what brings it about.
verdicts=0
verdict()
{
    sql -o /dev/null -c "DELETE FROM shop.payment;
        DELETE FROM order_sweep.journal; DELETE FROM order_sweep.failure;
        UPDATE shop.sku SET stock = 8; UPDATE shop.orders
        SET status = 'unpaid', created_at = now() - interval '40 minutes'" \
        -c "$2"
    grep -q -F "| \`$1\` |" "$page" || die "the page has no verdict $1"
    compare 'order-sweep explain 4711' "…verdict"$'\n'"    $1"
    verdicts=$((verdicts + 1))
}
verdict 'not swept: not unpaid' "UPDATE shop.orders SET status = 'waiting'"
verdict 'not swept: not due yet' "UPDATE shop.orders
    SET created_at = now() + interval '1 hour'"
verdict 'not swept: no clock' 'UPDATE shop.orders SET created_at = NULL'
verdict 'kept: payment running or received' \
    "INSERT INTO shop.payment VALUES (1, 4711, 'processing')"
verdict 'kept: too old' "UPDATE shop.orders
    SET created_at = now() - interval '31 days'"
verdict 'the next run sweeps it' 'SELECT 1'
fails="SELECT order_sweep.cancel_unpaid_fail(4711, '23514', 'no', true)"
verdict 'not swept: back-off until …' "$fails"
verdict 'not swept: quarantined' "$fails;
    UPDATE order_sweep.failure SET quarantined = true"
verdict 'kept: swept before' "SELECT order_sweep.cancel_unpaid_cancel(4711,
    NULL, 0); UPDATE shop.orders SET status = 'unpaid'"
verdict 'not swept: the sweep is paused' \
    "SELECT order_sweep.pause('cancel_unpaid')"
is 'verdicts of the page' "$verdicts" \
    "$(grep -c -E '^\| `(not swept|kept|the next)' "$page")"

entry 'An old backlog stays'
sql -c "UPDATE shop.orders SET created_at = now() - interval '45 days'"
seen
run 0
silent
mended
swept

entry 'All orders are hours late'
# Written in Tokyo.
sql -c "ALTER TABLE shop.orders ALTER created_at TYPE timestamp
    USING created_at AT TIME ZONE 'Asia/Tokyo'"
sed -i "s/^    after .*/&\n    zone   => 'UTC',/" definition.sql
sql -o /dev/null -f definition.sql
seen
run 0
silent
mended
swept

entry 'An order fails again and again'
sql -c 'UPDATE shop.sku SET stock = 10'
seen
sql -c 'UPDATE order_sweep.failure SET attempts = 9, next_try = now()'
run 1
grep -q 'quarantined' "$err" || die 'it is not told of the tenth time'
run 0
silent
mended
swept

entry 'Orders are passed by'
hold shop_app 'SELECT FROM shop.orders WHERE id = 4711 FOR UPDATE;'
run 0
silent
# Six minutes later.
sql -c "UPDATE order_sweep.run
    SET started_at = started_at - interval '6 minutes'"
seen
mended
let_go
swept

entry 'The orders table is locked'
hold shop_owner 'ALTER TABLE shop.orders ADD COLUMN note text;'
seen
mended
let_go
swept

entry 'It is busy for ever'
hold shop_owner "$(cat definition.sql)"
run 0
silent
run 75 --fail-if-busy
says 'cancel_unpaid: another run is working on it'
# Six minutes later.
sql -c "UPDATE order_sweep.life SET seen_at = seen_at - interval '6 minutes'"
seen
compare 'order-sweep status' '…process …'
mended
let_go
swept

entry '78 after a migration of the shop'
sql -c 'ALTER TABLE shop.orders RENAME status TO order_state'
seen
mended
run 0
silent
value cancelled 'SELECT order_state FROM shop.orders WHERE id = 4711'

entry '78 after an update of order-sweep'
# The schema as it was before the last migration, with functions that no run of
# this version gets as far as to call, but for those that need that migration.
sql -c 'SET client_min_messages = warning' -c 'DROP SCHEMA order_sweep CASCADE'
last=$(printf '%s\n' "$ORDER_SWEEP_SQL"/migrations/*.sql | tail -n 1)
for file in "$ORDER_SWEEP_SQL"/{migrations,functions}/*.sql; do
    [ "$file" = "$last" ] ||
        sql -o /dev/null -c 'SET check_function_bodies = off' \
            -c 'SET client_min_messages = warning' -f "$file" 2>"$err" ||
        grep -q '/functions/.* does not exist$' "$err" || die "$file"
done
seen
mended
sql -o /dev/null -f definition.sql
swept

entry 'Idle runs are slow'
sql -c 'DROP INDEX shop.orders_created_at_id_idx' \
    -c "UPDATE shop.orders SET status = 'paid'"
run 0
silent
wait_until "(SELECT seq_scan > 0 FROM pg_stat_user_tables
    WHERE relid = 'shop.orders'::regclass)"
seen
mended
run 0 check
run 0
silent
wait_until "(SELECT idx_scan > 0 FROM pg_stat_user_indexes
    WHERE indexrelid = 'shop.orders_created_at_id_idx'::regclass)"

entry 'Permission denied'
sql -U postgres -c 'CREATE ROLE "order-sweep" LOGIN'
seen
mended
run 0 check --role order-sweep
run 0 -U order-sweep
silent
swept
sql -U postgres -c 'DROP OWNED BY "order-sweep"' -c 'DROP ROLE "order-sweep"'

entry 'It cannot log in'
# There may be no user order-sweep here: nobody is who the server lets in as
# order-sweep, and whom sudo makes of us.
cluster_as_server sh -c "cd '$cluster_dir/data'
    echo 'sweeper nobody order-sweep' >>pg_ident.conf
    echo 'local all postgres,shop_owner trust' >pg_hba.conf
    echo 'local all all peer map=sweeper' >>pg_hba.conf"
sql -U postgres -o /dev/null -c 'SELECT pg_reload_conf()'
cp "${ORDER_SWEEP_TOOL_BIN:-$ORDER_SWEEP_BIN}" "$cluster_dir/order-sweep"
cat >bin/sudo <<SUDO
#!/bin/bash
[ "\$*" = '-u order-sweep env -u PGUSER order-sweep -v' ] || exit 1
cd /
set -- env PGUSER=order-sweep "$cluster_dir/order-sweep" -v
if [ "\$(id -u)" = 0 ]; then
    exec runuser -u nobody -- "\$@"
fi
exec $(command -v sudo || :) -n -u nobody \
    --preserve-env=PGHOST,PGPORT,PGDATABASE "\$@"
SUDO
chmod 755 bin/sudo
seen
mended
swept

entry 'An order was cancelled though paid'
swept
sql -c "INSERT INTO shop.payment VALUES (1, 4711, 'received')"
seen
mended
# The next one is refused, and one that is in time is not.
sql -c 'DELETE FROM shop.payment' -c "INSERT INTO shop.orders
    VALUES (4712, 'unpaid', now())"
if sql -c "INSERT INTO shop.payment VALUES (2, 4711, 'received')" 2>"$err"; then
    die 'it is taken again'
fi
grep -q 'order 4711 is cancelled: refund' "$err" || die 'refused otherwise'
sql -c "INSERT INTO shop.payment VALUES (3, 4712, 'received')"
run 0 late

entry 'Events do not come out'
sql -o /dev/null -c "SELECT order_sweep.publish('cancel_unpaid')"
sql -c "INSERT INTO shop.orders VALUES (4712, 'unpaid', now() - interval '1 hour')"
swept
cat >bin/tell-the-shop <<TELL
#!/bin/sh
if [ ! -e '$tmp/shop-is-back' ]; then
    echo 'connection refused' >&2
    exit 1
fi
cat >'$tmp/told'
TELL
chmod 755 bin/tell-the-shop
seen
: >shop-is-back
mended
is 'who was told' '4711 4712' "$(ask_lines told "
    SELECT string_agg(l->>'aggregateid', ' ' ORDER BY l->>'aggregateid') FROM line")"

# --- All of them -------------------------------------------------------------

is 'entries that were brought about' "$entries" "$done_entries"
echo "troubleshooting: $done_entries entries"
