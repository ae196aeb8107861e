#!/bin/bash
# Runs that hold the lock and are dead: one is stopped (SIGSTOP), of one only
# the client's end of the connection is gone, of one only the server's.  The
# lock is free after the time that README and man page tell, and until then
# the other ticks say so.
set -euo pipefail

# shellcheck source=tests/support/shop.sh
. "$ORDER_SWEEP_SOURCE/tests/support/shop.sh"

# shop NAME: a shop whose orders take longer than a run may.
shop()
{
    new_shop "$1" 400 20
    slow_orders 0.05
}

# mid_run PID: it is among its orders.
mid_run()
{
    wait_until 'EXISTS (SELECT FROM order_sweep.journal)'
    kill -0 "$1" || die 'the run is over already'
}

lock_is_free="NOT EXISTS (SELECT FROM pg_locks l, pg_database d
    WHERE l.locktype = 'advisory' AND l.classid = 1869838192
      AND l.database = d.oid AND d.datname = current_database())"

# idle: from here on the holder's session does nothing any more.
idle()
{
    wait_until "EXISTS (SELECT FROM pg_stat_activity
        WHERE datname = current_database()
          AND application_name LIKE 'order-sweep%' AND state = 'idle')"
}

# --- The client's end is gone, the server does not know ----------------------

shop half_open
half_open=$PGDATABASE
proxy_start half
start --time-limit 4s --host 127.0.0.1 --port "${proxy_port[half]}" \
    --format json
mid_run "$pid"
proxy half 'drop client'
# The client is told, and ends.
finish 69
truthful
grep -q 'outcome of [0-9]* orders* is unknown' "$err" ||
    die 'the unknown orders are not told'

# --- The server's end is gone, the client does not know ----------------------

shop deaf
proxy_start deaf
start --time-limit 4s --hard-limit 5s --host 127.0.0.1 \
    --port "${proxy_port[deaf]}" --format json
deaf=$pid
mid_run "$deaf"
proxy deaf 'drop server'
# The server is told, so the lock is free at once, and the next run works.
wait_until "$lock_is_free"
sql -c 'DROP TRIGGER slow ON shop.orders'
run 0
silent
finish 69 "$deaf"
truthful
invariants

# --- The holder is stopped ---------------------------------------------------

shop stopped
start --time-limit 4s --format json
holder=$pid
trap 'kill -CONT "$holder" 2>/dev/null || :; drop_dbs' EXIT
mid_run "$holder"
kill -STOP "$holder"
idle
since=$SECONDS

# The other ticks: it has given a sign of life not long ago.
run 0
silent
run 75 --fail-if-busy
says 'cancel_unpaid: another run is working on it'
# Six minutes later.
sql -c "UPDATE order_sweep.life SET seen_at = seen_at - interval '6 minutes'"
for _ in 1 2; do
    run 75
    says_like 'cancel_unpaid: another session has held the lock without a '\
'sign of life for 3[67][0-9] s; look for it in pg_stat_activity and pg_locks:'\
' a run that hangs, or a transaction that called define'
done

# Within the time limit and ten seconds, but for slack on a busy machine.
wait_until "$lock_is_free"
took=$((SECONDS - since))
echo "the lock was free after $took s"
[ "$took" -ge 10 ] || die 'the lock was free too soon'
[ "$took" -le 24 ] || die 'the lock was not free in time'
sql -c 'DROP TRIGGER slow ON shop.orders'
run 0
silent
value 0 'SELECT count(*) FROM order_sweep.cancel_unpaid_due(NULL)'
invariants

# When it goes on, long after its limits, it says what it knows.
kill -CONT "$holder"
finish 69 "$holder"
truthful
grep -q 'orders* w.* swept, but .* not known to be durable' "$err" ||
    die 'the durability is not told'
invariants

# --- The half-open one, whose time is over as well ---------------------------

PGDATABASE=$half_open
wait_until "$lock_is_free"
sql -c 'DROP TRIGGER slow ON shop.orders'
run 0
silent
value 0 'SELECT count(*) FROM order_sweep.cancel_unpaid_due(NULL)'
invariants
