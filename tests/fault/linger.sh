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

# slots HELD WAITING: so many slots are held here, and so many waited for.
slots()
{
    wait_until "(SELECT (count(*) FILTER (WHERE l.granted),
                         count(*) FILTER (WHERE NOT l.granted)) = ($1, $2)
        FROM pg_locks l JOIN pg_database d ON d.oid = l.database
        WHERE d.datname = current_database() AND l.locktype = 'advisory'
          AND l.classid > 1869838192 AND l.classid <= 1869838192 + 16)"
}

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
start --linger --time-limit 8s --look-every 1h --format json
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

start --linger --time-limit 1m --look-every 1h --format json
standby=$pid
slots 1 1
run 0 status
grep -q "holds slot 1: .*, process $holder, since" "$out" ||
    die 'status does not name the holder'
grep -q 'waits for slot 1: ' "$out" || die 'status does not tell who waits'
run 0 status --format json
grep -q "\"slot\":1,\"waits\":false,\"host\":\"[^\"]*\",\"pid\":$holder," "$out" ||
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
start --linger --time-limit 1m --look-every 1h --format json
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

# A holder that is stopped loses its place: 10 s after it should have looked.
start --linger --time-limit 4s --look-every 100ms
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

# --- Several sweeps ----------------------------------------------------------

sql -o /dev/null <<'SQL'
CREATE TABLE shop.hint (id bigint PRIMARY KEY, state text, at timestamptz);
SELECT order_sweep.define(
    sweep => 'another', orders => 'shop.hint', key => '{id}',
    unpaid => $$o.state = 'new'$$, deadline => 'at',
    set => $$state = 'old'$$);
INSERT INTO shop.hint VALUES (1, 'new', now() + interval '1.5 seconds');
SQL
place 1 '29 minutes 57 seconds'
run 0 --linger --time-limit 6s --look-every 1h --format json
is 'both sweeps' 2 "$(grep -c '"swept":1,' "$out")"
value t 'SELECT max(j.swept_at) >= max(h.at)
    FROM order_sweep.journal j, shop.hint h WHERE j.sweep = $$another$$'
value 0 "$early"

# Deadlines that come while it looks, for looks that take long.
sql -o /dev/null <<'SQL'
CREATE FUNCTION shop.slow(timestamptz) RETURNS timestamptz LANGUAGE plpgsql
AS 'BEGIN PERFORM pg_sleep(0.05); RETURN $1; END';
SELECT order_sweep.define(
    sweep => 'another', orders => 'shop.hint', key => '{id}',
    unpaid => $$o.state = 'new'$$, deadline => 'shop.slow(o.at)',
    set => $$state = 'old'$$);
INSERT INTO shop.hint
SELECT 10 + i, 'new', now() + interval '1 second' + i * interval '0.13 seconds'
  FROM generate_series(1, 8) i;
SQL
start --linger --time-limit 1m --look-every 1h --sweep another
wait_until "NOT EXISTS (SELECT FROM shop.hint WHERE state = 'new')"
kill -TERM "$pid"
finish 75
value t 'SELECT bool_and(j.swept_at >= h.at) FROM order_sweep.journal j
    JOIN shop.hint h ON j.order_key = jsonb_build_array(h.id)
    WHERE j.sweep = $$another$$'

# A broken one is told of once, and the other one is swept.
sql -c 'ALTER TABLE shop.hint DROP state'
place 1 '29 minutes 58 seconds'
run 78 --linger --time-limit 4s --look-every 100ms
says_like 'another: column o.state does not exist*'
value $((n + 23)) "$swept"
value 0 "$early"
invariants
