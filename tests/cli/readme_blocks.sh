#!/bin/bash
# Every command block of README is run, or is run by a test that is named here;
# a block that nobody claims fails, and a claim without a block too.  Its links
# lead somewhere.
#
#     block FIRST-LINE              the block that begins so, into the file
#                                   block: it is run here
#     elsewhere FIRST-LINE FILE WORD...
#                                   FILE runs it: it has these words
#
# What is not run here word for word: sudo is nobody else, /usr/bin and
# node_exporter's folder are ones of the test, and systemctl works on an
# installation that does not run.
set -euo pipefail

# shellcheck source=tests/support/shop.sh
. "$ORDER_SWEEP_SOURCE/tests/support/shop.sh"
# shellcheck source=tests/support/cluster.sh
. "$support/cluster.sh"

root=$ORDER_SWEEP_SOURCE
tmp=$ORDER_SWEEP_TMP
readme=$root/README.md
if ! command -v systemctl >/dev/null; then
    echo 'readme_blocks: systemctl is not installed' >&2
    exit 77
fi
trap cluster_stop EXIT
# shellcheck disable=SC2119  # its argument is another one
cluster_start
mkdir "$tmp/bin" "$tmp/metrics" "$tmp/blocks"
ln -s "$ORDER_SWEEP_BIN" "$tmp/bin/order-sweep"
printf '#!/bin/sh\nexec "$@"\n' >"$tmp/bin/sudo"
chmod 755 "$tmp/bin/sudo"
PATH=$tmp/bin:$PATH
export PSQLRC=/dev/null PAGER=cat PGDATABASE=postgres
cd "$tmp"

# --- The blocks --------------------------------------------------------------

awk '/^```/ { inside = !inside; if (inside) n++; next }
    inside { print >sprintf("blocks/%02d", n) }' "$readme"

claim()
{
    local file found=
    for file in blocks/*; do
        if [[ $file != *.claimed && $(head -n 1 "$file") = "$1"* ]]; then
            [ -z "$found" ] || die "two blocks begin with $1"
            found=$file
        fi
    done
    [ -n "$found" ] || die "no block begins with $1"
    mv "$found" "$found.claimed"
    cp "$found.claimed" block
}

block()
{
    claim "$1"
}

elsewhere()
{
    local file=$root/$2 word
    claim "$1"
    for word in "${@:3}"; do
        grep -q -F -e "$word" "$file" || die "$2 has no $word: who runs $1?"
    done
}

# What is not there in a test.
here()
{
    sed -i "s|/usr/bin/order-sweep|$tmp/bin/order-sweep|g
        s|/var/lib/prometheus/node-exporter|$tmp/metrics|g" block
}

# What an example shows, but for moments of time; "..." is any text.
shows()
{
    local command got wanted moment
    moment='s/[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9:.]+\+00/MOMENT/g'
    command=$(sed -n '1s/^\$ //p' block)
    got=$(bash -c "$command" 2>&1 | sed -E "$moment")
    wanted=$(sed -E "1d; $moment
        s/[][*?\\\\]/\\\\&/g; s/ ?\.\.\./*/g" block)
    # shellcheck disable=SC2053  # a pattern
    if [[ $got != $wanted ]]; then
        printf '%s\n' "$got" >"$out"
        die "$command shows otherwise than README: $wanted"
    fi
}

# --- Built and installed -----------------------------------------------------

mkdir source
(cd "$root" && cp -R CHANGELOG.md CMakeLists.txt CMakePresets.json LICENSE \
    README.md cmd cron.d lib sql "$tmp/source")
export DESTDIR=$tmp/installed
block 'cmake --preset release -D ORDER_SWEEP_TESTS=OFF'
(cd source && bash -e ../block) >"$out" 2>"$err" || die 'it is not installed'
[ "$(installed/usr/bin/order-sweep --version)" = \
    "order-sweep $ORDER_SWEEP_VERSION" ] || die 'another version is installed'
# Beside README is what it says is there.
for file in troubleshooting.md run.svg order.svg recipes/shop.sql \
    monitoring/order-sweep.rules.yml examples/definition.sql; do
    [ -s "installed/usr/share/doc/order-sweep/$file" ] || die "no $file"
done
grep -o '](\([a-zA-Z0-9_./@-]*\)[)#]' \
    installed/usr/share/doc/order-sweep/README.md |
    tr -d ']()#' | sort -u >links
grep -q '^examples/definition.sql$' links || die 'README has no links'
while read -r path; do
    [ -e "installed/usr/share/doc/order-sweep/$path" ] || echo "$path"
done <links >dangling
is 'links of the installed README to no file' '' "$(cat dangling)"

block 'systemctl enable --now'
sed "s|systemctl enable --now|systemctl --root=$DESTDIR enable|" block >enable
bash -e enable >"$out" 2>"$err" || die 'the timers cannot be enabled'
wants=$DESTDIR/etc/systemd/system/timers.target.wants
for i in 0 1; do
    [ -h "$wants/order-sweep@$i.timer" ] ||
        die "timer $i is not enabled"
done
unset DESTDIR

# With tests/run --all: built, and installed in a Debian of its own.
elsewhere 'cmake --workflow --preset deb' tests/run \
    'cmake --workflow --preset deb' 'tests/package/lifecycle build/deb/*.deb'
grep -q "^readme_line 'sudo apt install '" "$root/tests/package/lifecycle" ||
    die 'nobody runs apt install'

# --- Ten minutes -------------------------------------------------------------

sql -c 'CREATE ROLE shop_owner LOGIN' -c 'CREATE DATABASE shop'
sql -d shop -c 'GRANT CREATE ON DATABASE shop TO shop_owner' \
    -c 'SET ROLE shop_owner' -f "$root/tests/support/readme_shop.sql"
sql -d shop -f - <<'SQL'
SET ROLE shop_owner;
INSERT INTO shop.orders SELECT id, 'unpaid', now() - interval '31 minutes'
  FROM generate_series(4711, 4713) AS id;
INSERT INTO shop.payment VALUES (1, 4711, 'processing');
SQL

block 'order-sweep migrate -v'
bash -e block >"$out" 2>"$err" || die 'migrate'
block 'SELECT order_sweep.define('
cp block order_sweep_definition.sql
psql -q -o /dev/null -v ON_ERROR_STOP=1 -d shop -U shop_owner -f block

block 'order-sweep --dry-run'
bash -e block >"$out" 2>"$err" || die 'dry run, or check'
wanted='  total: 3 due; 2 sweep; 1 keep: payment running or received'
grep -q -x -F "$wanted" "$out" || die 'the dry run'
grep -q '^ok    cancel_unpaid: index:' "$out" || die 'check finds no index'

block "\$ order-sweep explain 4711"
PGDATABASE=shop PGUSER=shop_owner shows

# The user is made where there is no other one.
block 'useradd --system'
grep -q "^readme_line 'useradd '" "$root/tests/package/lifecycle" ||
    die 'nobody runs useradd'
if [ "$(id -u)" != 0 ]; then
    printf '#!/bin/sh\nshift 3\nexec "$@"\n' >bin/runuser
    chmod 755 bin/runuser
fi
bash -e <(sed 1d block) >"$out" 2>"$err" || die 'the role for cron'

export PGDATABASE=shop
PGUSER=order-sweep
block 'PGDATABASE=shop'
here
unset PGDATABASE
# shellcheck disable=SC2046  # settings without blanks
env $(grep '^[A-Z]*=' block) sh -c \
    "$(sed -n 's/^\* \* \* \* \* order-sweep //p' block)" >"$out" 2>"$err"
silent
export PGDATABASE=shop
PGUSER=shop_owner value '4712 4713' "SELECT string_agg(id::text, ' '
    ORDER BY id) FROM shop.orders WHERE status = 'cancelled'"

block '* * * * * order-sweep test -x'
here
sh -c "$(sed -n 's/^\* \* \* \* \* order-sweep //p' block)" >"$out" 2>"$err" &
lingers=$!
PGUSER=postgres slots 1 0
PGUSER=shop_owner sql -c "INSERT INTO shop.orders VALUES (4714, 'unpaid',
    now() - interval '29 minutes 59 seconds')"
PGUSER=shop_owner wait_until "(SELECT status = 'cancelled' FROM shop.orders
    WHERE id = 4714)"

# What it says is that of another day; that it is told is tests/fault/linger.
PGUSER=shop_owner
block "\$ order-sweep status"
bash -c "$(sed -n '1s/^\$ //p' block)" >out.status 2>"$err" || die 'status'
grep -q '^cancel_unpaid' out.status || die 'status tells of no sweep'
kill -TERM "$lingers"
status=0
wait "$lingers" || status=$?
is 'the end of the run that lingers' 75 "$status"
says 'cancel_unpaid: stopped by a signal after 1 order'

block '--metrics-file'
here
# shellcheck disable=SC2046  # options without blanks
run 0 $(cat block)
grep -q '^order_sweep_up{.*} 1$' metrics/order-sweep.prom || die 'no metrics'

# --- Events ------------------------------------------------------------------

block "SELECT order_sweep.publish('cancel_unpaid');"
PGUSER=shop_owner sql -o /dev/null -f block
PGUSER=shop_owner sql -c "INSERT INTO shop.orders VALUES (4715, 'unpaid',
    now() - interval '31 minutes')"
run 0
block '* * * * * order-sweep order-sweep relay -- /usr/local/bin/tell-the-shop'
printf '#!/bin/sh\ncat >%s/told\n' "$tmp" >bin/tell-the-shop
chmod 755 bin/tell-the-shop
sed -i "s|/usr/local/bin/|$tmp/bin/|" block
sh -c "$(sed -n 's/^\* \* \* \* \* order-sweep //p' block)" >"$out" 2>"$err"
silent
is 'who is told of' 4715 "$(sed 's/.*aggregateid" : "\([0-9]*\)".*/\1/' told)"
for words in "SELECT order_sweep.publish('cancel_unpaid', line => \$\$" '-- to a stream' \
    'redis-cli -x FUNCTION LOAD' '* * * * * order-sweep order-sweep relay --linger -- redis-cli'; do
    elsewhere "$words" tests/integration/redis.sh FUNCTION 'FCALL give_back %s seen' \
        "format('FCALL hand_over 2 seen:%s orders %s'" '--pipe --pipe-timeout 5'
done
for words in '* * * * * order-sweep order-sweep relay --linger -- mosquitto_pub' \
    '{"queues"' 'mosquitto_sub -i'; do
    elsewhere "$words" tests/integration/rabbitmq.sh 'import_definitions' \
        '-l -q 1 -t orders/cancelled' '-i "$1" -c -q 1 -t orders/cancelled'
done

# What Kafka is told, without a Kafka.
block '-- to Kafka'
PGUSER=shop_owner sql -o /dev/null -f block
PGUSER=shop_owner sql -c "INSERT INTO shop.orders VALUES (4716, 'unpaid',
    now() - interval '31 minutes')"
run 0
elsewhere '* * * * * order-sweep order-sweep relay --linger -- kcat' README.md \
    'Not run here; as their documentation has it.'
run 0 relay -- sh -c "cat >'$tmp/told'"
is 'the key' '[4716]' "$(cut -f 1 told)"
cut -f 2 told >value
is 'the message' 'cancel_unpaid' "$(ask_lines value "SELECT l->>'sweep' FROM line")"
PGUSER=shop_owner sql -o /dev/null -c "SELECT order_sweep.publish('cancel_unpaid')"

# The outbox has what Debezium's event router looks for, unless it is told
# otherwise, and is written with the cancel.
block 'CREATE TABLE shop.outbox'
PGUSER=shop_owner sql -f block
block 'INSERT INTO shop.outbox'
PGUSER=shop_owner sql -o /dev/null <<SQL
SELECT order_sweep.define(sweep => 'to_outbox', orders => 'shop.orders',
    key => '{id}', unpaid => \$\$status = 'unpaid'\$\$, since => 'created_at',
    after => '30 minutes', set => \$\$status = 'cancelled'\$\$,
    each => ARRAY[\$each\$$(cat block)\$each\$]);
INSERT INTO shop.orders VALUES (4717, 'unpaid', now() - interval '31 minutes');
SQL
run 0 --sweep to_outbox
value 'id uuid, aggregatetype text, aggregateid text, type text, payload jsonb' \
    "SELECT string_agg(column_name || ' ' || data_type, ', ' ORDER BY ordinal_position)
       FROM information_schema.columns WHERE table_name = 'outbox'"
value 'orders|4717|cancel_unpaid|{"order_id": 4717}' "SELECT concat_ws('|',
    aggregatetype, aggregateid, type, payload) FROM shop.outbox
    WHERE aggregateid = '4717'"
PGUSER=shop_owner sql -o /dev/null -c "SELECT order_sweep.undefine('to_outbox')" \
    -c 'DROP TABLE shop.outbox'

# --- The books ---------------------------------------------------------------

block 'SELECT order_sweep.retain('
PGUSER=shop_owner sql -o /dev/null -f block
value '5000 2160:00:00' "SELECT concat_ws(' ', keep_runs, keep_journal)
    FROM order_sweep.sweep WHERE name = 'cancel_unpaid'"

# --- CI ----------------------------------------------------------------------

elsewhere 'set -e' tests/integration/readme.sh createdb 'sh ci.sh'

# The steps of the job that are commands.
block 'jobs:'
PGUSER=postgres
PGDATABASE=postgres
sql -c 'CREATE DATABASE job'
PGDATABASE=job
cp "$root/tests/support/readme_shop.sql" migrations.sql
sed -n 's/^ *- run: //p' block >steps
is 'commands of the job' 4 "$(wc -l <steps)"
bash -e steps >"$out" 2>"$err" || die 'the job fails'

# --- What tests/run is -------------------------------------------------------

elsewhere 'cmd/demo ' tests/run 'stage demo cmd/demo' 'stage flash-sale cmd/demo --flash-sale'
elsewhere 'cmake --preset dev ' tests/run 'cmake --preset "$1"' \
    'cmake --build --preset "$1"' '--all' 'with-server ctest'

# --- All of them -------------------------------------------------------------

unclaimed=$(for file in blocks/??; do
    [ ! -e "$file" ] || head -n 1 "$file"
done)
is 'blocks that no test runs' '' "$unclaimed"

# --- Links -------------------------------------------------------------------

sed -n 's/^##* //p' "$readme" | tr -d '?,.:' | tr 'A-Z ' 'a-z-' | sort -u \
    >headings
grep -o '](#[a-z0-9-]*)' "$readme" | tr -d ']()#' | sort -u |
    comm -23 - headings >dangling
is 'links to no heading' '' "$(cat dangling)"
grep -o '](\([a-zA-Z0-9_./@-]*\)[)#]' "$readme" | tr -d ']()#' | sort -u |
    while read -r path; do
        [ -e "$root/$path" ] || echo "$path"
    done >dangling
is 'links to no file' '' "$(cat dangling)"

echo "readme_blocks: $(find blocks -name '*.claimed' | wc -l) blocks"
