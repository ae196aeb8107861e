#!/bin/bash
# Debian's cron with the entry as it is shipped, switched on, two ticks: what is
# due is swept by the first one after it, and nobody gets mail of it. With the
# line for runs that linger, in another database, it is swept between the ticks.
set -euo pipefail

# shellcheck source=tests/support/shop.sh
. "$ORDER_SWEEP_SOURCE/tests/support/shop.sh"
here=$ORDER_SWEEP_SOURCE/tests/cron

if ! [ -x /usr/sbin/cron ]; then
    echo 'ticks: cron is not installed' >&2
    exit 77
fi
as_root=
if [ "$(id -u)" != 0 ]; then
    as_root=sudo
fi
if ! $as_root unshare --mount --propagation unchanged --pid --fork true; then
    echo 'ticks: no namespaces to be had here' >&2
    exit 77
fi

# Its folder can be read by all, and goes with it.
own_server
folder=$cluster_dir/cron
prefix=$folder/prefix
mkdir -p "$folder/cron.d" "$prefix/bin"

# --- The shop, the program, the entry ----------------------------------------

new_shop ticks 100 10
run 0
invariants
sql -d postgres -c "ALTER DATABASE $PGDATABASE RENAME TO shop" \
    -c 'CREATE ROLE "order-sweep" LOGIN'
export PGDATABASE=shop
sql -o /dev/null -c "SELECT order_sweep.grant_to('order-sweep')"
wait_sessions_gone
sql -d postgres -c 'CREATE DATABASE lingering TEMPLATE shop'

cp "${ORDER_SWEEP_TOOL_BIN:-$ORDER_SWEEP_BIN}" "$prefix/bin/order-sweep"
"$CMAKE" -S "$ORDER_SWEEP_SOURCE" -B "$folder/build" -G Ninja \
    -D ORDER_SWEEP_TESTS=OFF -D CMAKE_INSTALL_PREFIX="$prefix" >"$out"
# As whoever wants runs does: take the # away from one of the two lines.
sed '/^#\*.*\/order-sweep$/s/^#//' "$folder/build/cron.d/order-sweep" \
    >"$folder/cron.d/order-sweep"
is 'plain jobs' 1 "$(grep -c '^\*.*/order-sweep$' "$folder/cron.d/order-sweep")"
# One that looks for leaks would look in a /proc of other processes.
sed -i '/^PGDATABASE=/a ASAN_OPTIONS=detect_leaks=0' \
    "$folder/cron.d/order-sweep" "$folder/build/cron.d/order-sweep"
# The other line instead of the first, and the other database.
sed -e '/^#\*.* --linger$/s/^#//' \
    -e 's/^PGDATABASE=.*/PGDATABASE=lingering/' \
    "$folder/build/cron.d/order-sweep" >"$folder/cron.d/lingering"
is 'jobs that linger' 1 \
    "$(grep -c '^\*.* --linger$' "$folder/cron.d/lingering")"
# That mail would be seen: a job that has something to say each minute.
cat >"$folder/cron.d/talker" <<'ENTRY'
MAILTO=root
* * * * * root echo a minute is over
ENTRY
$as_root chown -R root: "$folder/cron.d"

# --- Two ticks ---------------------------------------------------------------

# So many runs that swept have ended; a tick may be a minute off.
swept_by()
{
    local seconds=120
    until [ "$(sql -c 'SELECT count(*) FROM order_sweep.run
                        WHERE swept > 0 AND ended_at IS NOT NULL')" = "$1" ]; do
        seconds=$((seconds - 1))
        [ "$seconds" != 0 ] || die 'no tick of cron has swept'
        sleep 1
    done
}

before=$(sql -c 'SELECT count(*) FROM order_sweep.run WHERE swept > 0')
place 30 '1 hour'
# It ends with the pipe that it reads from, however this test ends.
mkfifo "$folder/until"
$as_root "$here/private-cron" "$folder" "$PGHOST" <"$folder/until" &
cron=$!
exec 7>"$folder/until"
stop_cron()
{
    exec 7>&-
    wait "$cron"
}
trap 'stop_cron; cluster_stop' EXIT
swept_by $((before + 1))
value 0 'SELECT count(*) FROM order_sweep.cancel_unpaid_due(NULL)'

# Others fall due: the next tick has them, a minute later; a run that lingers
# has them when their time is over, half-way to that tick.
place 20 '1 hour'
last=$(sql -c 'SELECT max(id) FROM shop.orders' -d lingering)
PGDATABASE=lingering place 20 '29 minutes 35 seconds'
swept_by $((before + 2))
trap cluster_stop EXIT
stop_cron
value '30,20' "SELECT string_agg(swept::text, ',' ORDER BY id)
    FROM (SELECT * FROM order_sweep.run ORDER BY id DESC LIMIT 2) r"
value 2 "SELECT count(DISTINCT date_trunc('minute', started_at))
    FROM (SELECT * FROM order_sweep.run ORDER BY id DESC LIMIT 2) r"
invariants
PGDATABASE=lingering
value '20 t' "SELECT concat_ws(' ', count(*), max(j.swept_at
        - to_timestamp(o.created)) < interval '30 minutes 15 seconds')
    FROM order_sweep.journal j JOIN shop.orders o
      ON j.order_key = jsonb_build_array(o.id)
   WHERE o.id > $last"
invariants

# --- The mail ----------------------------------------------------------------

grep -q '^a minute is over$' "$folder/mail" || die 'no mail comes through'
cat "$folder/mail" # shown if what follows fails
is 'mail from others than the talker' '' \
    "$(grep '^Subject:' "$folder/mail" | grep -v 'echo a minute is over$' || :)"
