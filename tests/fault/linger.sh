#!/bin/bash
# --linger: each order is swept the moment it is due and never before; the run
# sleeps without a transaction, sees what appears late, stands in nobody's way,
# and the next one takes over the moment it ends or dies.
set -euo pipefail

# shellcheck source=tests/support/shop.sh
. "$ORDER_SWEEP_SOURCE/tests/support/shop.sh"

# The snapshots of runs that wait would disturb other tests.
own_server

swept="SELECT count(*) FROM order_sweep.journal WHERE sweep = 'cancel_unpaid'"
ours="SELECT FROM pg_stat_activity a WHERE a.datname = current_database()
    AND a.application_name LIKE 'order-sweep%'"

# early: orders swept before their deadline.
early="SELECT count(*) FROM shop.orders o
    JOIN order_sweep.journal j ON j.sweep = 'cancel_unpaid'
     AND j.order_key = jsonb_build_array(o.id)
    WHERE j.swept_at < to_timestamp(o.created) + interval '30 minutes'"

new_shop linger 20 4
run 0
n=$(sql -c "$swept")

# --- The moment they are due -------------------------------------------------

# It looks by itself too seldom to see any of them.
place 2 '1 hour'
place 3 '29 minutes 58 seconds'
place 3 '29 minutes 56 seconds'
start --linger --time-limit 8s --look-every 1m --format json
finish 0
is 'the run' 'done false 8 0' "$(reported stopped rest swept exit)"
truthful
value 0 "$early"
value $((n + 8)) "$swept"
value t "SELECT late_p50 <= late_p99 AND late_p99 <= late_max
                AND late_max >= interval '30 minutes'
           FROM order_sweep.run ORDER BY id DESC LIMIT 1"
# Those that fell due while it was there were not left for its end.
value t "SELECT max(j.swept_at) < max(r.ended_at) - interval '1 second'
    FROM order_sweep.journal j, order_sweep.run r"
invariants

# --- What appears late -------------------------------------------------------

place 1 '1 minute'
start --linger --time-limit 1m --look-every 200ms --format json
holder=$pid
slots 1 0
# Asleep: no transaction, no snapshot, no lock but its slot.
wait_until "EXISTS ($ours AND a.state = 'idle' AND a.xact_start IS NULL
    AND a.backend_xmin IS NULL AND a.backend_xid IS NULL)"
place 4 '30 minutes'
wait_until "($swept) = $n + 12"
# A deadline that moved nearer.
sql -c "UPDATE shop.orders SET created = created - 1740
         WHERE order_status = 1 AND id = (SELECT max(id) - 4 FROM shop.orders)"
wait_until "($swept) = $n + 13"
# A run without it works as ever, beside it.
place 2 '1 hour'
run 0
wait_until "($swept) = $n + 15"
# So does define, and what it changes holds from then on.
sql -o /dev/null -f "$sample/definition.sql"
sql -c "SELECT order_sweep.pause('cancel_unpaid')"
place 1 '1 hour'
sql -c "SELECT order_sweep.resume('cancel_unpaid')"
wait_until "($swept) = $n + 16"

# --- What others hold --------------------------------------------------------

# It is tried again now and then, and hides no other order.
mkfifo "$ORDER_SWEEP_TMP/payment"
psql -X -q -A -t -o /dev/null <"$ORDER_SWEEP_TMP/payment" &
payment=$!
exec 8>"$ORDER_SWEEP_TMP/payment"
place 1 '29 minutes 54 seconds'
echo 'BEGIN; SELECT FROM shop.orders WHERE order_status = 1 FOR UPDATE;' >&8
wait_until "EXISTS (SELECT FROM pg_stat_activity
    WHERE datname = current_database() AND state = 'idle in transaction')"
place 1 '29 minutes 54 seconds'
wait_until "($swept) = $n + 17"
wait_until "(SELECT order_status = 1
                   AND created <= extract(epoch FROM now()) - 1800
    FROM shop.orders WHERE id = (SELECT max(id) - 1 FROM shop.orders))"
value $((n + 17)) "$swept"
echo 'COMMIT;' >&8
wait_until "($swept) = $n + 18"
exec 8>&-
wait "$payment"

# --- The next one ------------------------------------------------------------

start --linger --time-limit 1m --look-every 1m --format json
standby=$pid
slots 1 1
run 0 status
grep -q "holds slot 1 of 1: .*, process $holder, since" "$out" ||
    die 'status does not name the holder'
grep -q "waits for slot 1 of 1: $(hostname | cut -c 1-16), process $standby, since" "$out" ||
    die 'status does not name the one who waits'
run 0 status --format json
grep -q "\"slot\":1,\"slots\":1,\"waits\":false,\"host\":\"[^\"]*\",\"pid\":$holder," "$out" ||
    die 'status as JSON does not name the holder'
# It holds a snapshot while it waits, but no longer than ten seconds.
place 1 '29 minutes 58 seconds'
kill -KILL "$holder"
wait "$holder" 2>/dev/null || :
wait_until "($swept) = $n + 19"
value 0 "$early"
# What a killed run did is in the journal; its row stays open.
value 1 "SELECT count(*) FROM order_sweep.run
    WHERE ended_at IS NULL AND pid = $holder"

# Ended by a signal: it says so, and the third one is at work at once.
start --linger --time-limit 1m --look-every 1m --format json
third=$pid
slots 1 1
kill -TERM "$standby"
finish 75 "$standby"
truthful
slots 1 0
place 1 '30 minutes'
kill -TERM "$third"
finish 75 "$third"
run 0
value $((n + 20)) "$swept"

# One that only waits is told to stop: nothing of it stays.
start --linger --time-limit 1m
first=$pid
slots 1 0
start --linger --time-limit 1m
slots 1 1
kill -TERM "$pid"
finish 75
says 'cancel_unpaid: stopped by a signal before it began'
slots 1 0
# One that waits in vain is silent.
start --linger --time-limit 2s
finish 0
silent
kill -TERM "$first"
finish 75 "$first"
invariants

# --- Stopped -----------------------------------------------------------------

# A holder that is stopped loses its place: 10 s after a quarter of its time.
start --linger --time-limit 40s --look-every 100ms
first=$pid
trap 'kill -CONT "$first" 2>/dev/null || :; cluster_stop' EXIT
slots 1 0
kill -STOP "$first"
place 1 '1 hour'
start --linger --time-limit 40s --look-every 1s
wait_until "($swept) = $n + 21"
kill -CONT "$first"
finish 69 "$first"
kill -TERM "$pid"
finish 75
invariants

# --- A holder that is dead ---------------------------------------------------

# The lock of the sweep itself, as by a session that called define and went away:
# that orders are due and not swept is no sign of life.
hold_sweep()
{
    psql -X -q -A -t -o /dev/null \
        -c 'SELECT pg_advisory_lock(1869838192, id) FROM order_sweep.sweep' \
        -c 'SELECT pg_sleep(600)' &
    foreign=$!
    wait_until "EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory'
        AND classid = 1869838192)"
}
let_sweep_go()
{
    kill "$foreign"
    wait "$foreign" 2>/dev/null || :
    sql -o /dev/null -c "SELECT pg_terminate_backend(pid) FROM pg_locks
        WHERE locktype = 'advisory' AND classid = 1869838192"
    wait_until "NOT EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory'
        AND classid = 1869838192)"
}
hold_sweep
place 1 '1 hour'
sql -c "UPDATE order_sweep.life SET seen_at = now() - interval '297 seconds'"
run 75 --linger --time-limit 7s --look-every 100ms
says_like 'cancel_unpaid: another session has held the lock without a sign of life for 30* s; *'
# Alive it is busy, and no more than that.
sql -c 'UPDATE order_sweep.life SET seen_at = now()'
run 0 --linger --time-limit 2s -v
is 'the report' 'cancel_unpaid: busy' "$(sed 's/;.*//' "$out")"
let_sweep_go
run 0

# --- Paused in the moment ----------------------------------------------------

# It was due at the look, and is paused when its statements are asked for.
place 1 '1 hour'
for point in after-probe:0: after-lock:75:--linger; do
    IFS=: read -r point status option <<<"$point"
    ORDER_SWEEP_BIN=$ORDER_SWEEP_INJECTION_BIN \
        ORDER_SWEEP_INJECT=$point:stop start -v ${option:+"$option"}
    until grep -q '^State:.T' "/proc/$pid/status"; do
        sleep 0.05
    done
    sql -c "SELECT order_sweep.pause('cancel_unpaid')"
    kill -CONT "$pid"
    if [ "$status" != 0 ]; then
        wait_until "EXISTS ($ours AND a.query LIKE '%next_deadline%')"
        kill -TERM "$pid"
    fi
    finish "$status"
    if grep -v 'stopped by a signal' "$err"; then
        die 'a pause is taken for a failure'
    fi
    sql -c "SELECT order_sweep.resume('cancel_unpaid')"
done
run 0

# --- Whose session is it -----------------------------------------------------

# Anybody may call a session whatever he likes.
for name in 'x 1 since never' 'x 1 since 2026-99-99T00:00:00Z' \
    'x 99999999999 since 2026-01-01T00:00:00Z'; do
    PGAPPNAME="order-sweep $name" psql -X -q -A -t -o /dev/null \
        -c "SELECT pg_advisory_lock(1869838192 + 1, id) FROM order_sweep.sweep" \
        -c 'SELECT pg_sleep(600)' &
    foreign=$!
    slots 1 0
    run 0 status
    run 0 status --format json
    grep -q '"slot":1,' "$out" || die 'status does not tell of the lock'
    kill "$foreign"
    wait "$foreign" 2>/dev/null || :
    sql -o /dev/null -c "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE application_name LIKE 'order-sweep x%'"
    slots 0 0
done
invariants
