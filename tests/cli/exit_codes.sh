#!/bin/bash
# Every exit code: what leads to it, the one line on stderr, nothing on stdout,
# and a database as it was where the run could not do its work.
set -euo pipefail

# shellcheck source=tests/support/shop.sh
. "$ORDER_SWEEP_SOURCE/tests/support/shop.sh"

before=$ORDER_SWEEP_TMP/before

# refused STATUS PATTERN ARGUMENT...: ends so, says this.
refused()
{
    local status=$1 pattern=$2
    shift 2
    run "$status" "$@"
    says_like "$pattern"
}

# --- 78: the schema ----------------------------------------------------------

new_db codes_empty
dump "$before"
missing='schema "order_sweep" does not exist; run order-sweep migrate *'
refused 78 "$missing"
refused 78 "$missing" --dry-run
run 0 migrate
dump "$before"
refused 78 'no sweep is defined; call order_sweep.define *'
refused 78 'no sweep is defined; call order_sweep.define *' --dry-run
unchanged "$before"

new_shop codes 200 20
sql -c 'INSERT INTO order_sweep.version VALUES (99)'
dump "$before"
newer='the database is newer: schema order_sweep has version 99, this program *'
newer="${newer}needs [0-9]*; install the newer order-sweep"
refused 78 "$newer"
refused 78 "$newer" --dry-run
refused 78 "$newer" migrate
unchanged "$before"
sql -c 'DELETE FROM order_sweep.version'
dump "$before"
refused 78 'the database is older: *; run order-sweep migrate'
refused 78 'the database is older: *; run order-sweep migrate' --dry-run
unchanged "$before"
sql -c 'INSERT INTO order_sweep.version VALUES (1), (2), (3), (4), (5), (6)'

# --- 64: wrong usage ---------------------------------------------------------

dump "$before"
refused 64 '--window: "0" has no unit; *' --window 0
refused 64 '--window: "0s" is too short; *' --window 0s
refused 64 '--window: "-1" has a sign; *' --window -1
refused 64 '--window: "30" has no unit; *' --window 30
refused 64 '--window: "1 month" has months or years, *' --window '1 month'
refused 64 '--window: the argument is empty; *' --window ''
refused 64 '--window: the argument is missing; *' --window
refused 64 '--batch-size: "0" is out of range; *' --batch-size 0
refused 64 '--limit: for a dry run only; *' --limit 5
refused 64 '--sweep: "NoName" cannot be the name of a sweep; *' --sweep NoName
refused 64 'unknown command "sweep"; *' sweep
refused 64 '--dbname: invalid connection option "x"*' --dbname x=y
# Told before anything is connected.
refused 64 '--window: "30" has no unit; *' --window 30 --host /nowhere
unchanged "$before"

sql -o /dev/null <<'SQL'
SELECT order_sweep.define(
    sweep => 'another', orders => 'shop.orders', key => '{id}',
    unpaid => 'o.order_status = 1', since => 'created', after => '1 day',
    set => 'order_status = 3, closed_at = now()');
SQL
dump "$before"
which='say which with --sweep: another, cancel_unpaid'
refused 64 "--window: there are 2 sweeps; $which" --window 1h
refused 64 "--window: there are 2 sweeps; $which" \
    --window 1h --dry-run
unchanged "$before"
sql -o /dev/null <<'SQL'
SELECT order_sweep.define(
    sweep => 'another', orders => 'shop.orders', key => '{id}',
    unpaid => 'o.order_status = 1', deadline => 'created + 86400',
    set => 'order_status = 3, closed_at = now()');
SQL
dump "$before"
refused 64 '--window: another has a deadline for each order; *' \
    --window 1h --sweep another
unchanged "$before"
sql -o /dev/null -c "SELECT order_sweep.undefine('another')"

# --- 69: the database --------------------------------------------------------

dump "$before"
for dry in '' --dry-run; do
    # shellcheck disable=SC2086  # empty: no argument
    {
        refused 69 'connection to server on socket "/nowhere/*" failed: No such file or directory; Is the server running *' \
            --host /nowhere $dry
        refused 69 'connection to server at "127.0.0.1", port 1 failed: *' \
            --host 127.0.0.1 --port 1 $dry
        refused 69 '* failed: FATAL: database "osw_nowhere" does not exist' \
            --dbname osw_nowhere $dry
        refused 69 '*role "osw_nobody" does not exist' \
            --username osw_nobody $dry
    }
done
refused 69 'connection to server on socket "/nowhere/*' migrate --host /nowhere

# --- 78: the definition ------------------------------------------------------

refused 78 '--sweep: "nothing" is not defined in this database; *' \
    --sweep nothing
refused 78 '--sweep: "nothing" is not defined in this database; *' \
    --sweep nothing --dry-run
unchanged "$before"

sql -c 'ALTER TABLE shop.orders RENAME created TO placed'
dump "$before"
refused 78 'cancel_unpaid: column "created" does not exist; *'
refused 78 'cancel_unpaid: column "created" does not exist; *' --dry-run
unchanged "$before"
sql -c 'ALTER TABLE shop.orders RENAME placed TO created'

# The look does not touch what only the cancel needs.
sql -c 'ALTER TABLE shop.buyer_mark RENAME TO mark'
sql -c 'CREATE TABLE shop.kept AS SELECT * FROM shop.orders'
run 78
says_like 'cancel_unpaid: *relation "shop.buyer_mark" does not exist *'
value 0 'SELECT count(*) FROM order_sweep.failure'
value 0 'SELECT count(*) FROM (TABLE shop.orders EXCEPT TABLE shop.kept) t'
sql -c 'DROP TABLE shop.kept'
sql -c 'ALTER TABLE shop.mark RENAME TO buyer_mark'

role=osw_codes_$$
sql -c "CREATE ROLE $role LOGIN"
dump "$before"
denied='permission denied for schema order_sweep; *order_sweep.grant_to(role)*'
refused 78 "$denied" --username "$role"
refused 78 "$denied" --username "$role" --dry-run
refused 78 '*belongs to role*; run migrate as that role, with --username' \
    migrate --username "$role"
unchanged "$before"
sql -c "DROP ROLE $role"

# --- 75: another session's lock ----------------------------------------------

dump "$before"
sql -c 'BEGIN; LOCK TABLE shop.orders; SELECT pg_sleep(3600)' \
    >/dev/null 2>&1 &
wait_until "EXISTS (SELECT FROM pg_stat_activity
    WHERE datname = current_database() AND query LIKE 'BEGIN; LOCK%'
      AND wait_event = 'PgSleep')"
run 75
says_like 'cancel_unpaid: canceling statement due to lock timeout; another *'
run 75 --dry-run
says_like 'cancel_unpaid: canceling statement due to lock timeout; another *'
sql -o /dev/null -c "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE datname = current_database() AND query LIKE 'BEGIN; LOCK%'"
wait $! || :
unchanged "$before"

# --- 74: the report ----------------------------------------------------------

full()
{
    local status=0
    "$ORDER_SWEEP_BIN" "$@" >/dev/full 2>"$err" </dev/null || status=$?
    is "status of order-sweep $*" 74 "$status"
    : >"$out"
    says 'the report could not be written: No space left on device'
}

full --dry-run
full --dry-run --format json
full --dry-run --window 1m --limit 1000000
unchanged "$before"
full --max-orders 1 --format text
full --max-orders 1 --format json
full --max-orders 1 --verbose
# The orders are swept all the same.
value 3 'SELECT count(*) FROM order_sweep.journal'
status=0
# A closed stdout is no place for the connection's socket.
dump "$before"
"$ORDER_SWEEP_BIN" --dry-run --window 1m >&- 2>"$err" || status=$?
is 'status with stdout closed' 74 "$status"
says 'the report could not be written: Bad file descriptor'
unchanged "$before"
run 0 --max-orders 1
silent

# --- 0: done, and what is as good --------------------------------------------

value 96 "SELECT count(*) FROM order_sweep.cancel_unpaid_due(NULL)
          WHERE state = 'sweep'"
run 0 --max-orders 6 --format json
value '6 max orders t' "SELECT concat_ws(' ', swept, stopped, rest)
    FROM order_sweep.run ORDER BY id DESC LIMIT 1"

# Two sweeps share the number: the first one, by name, takes it whole.
sql -o /dev/null <<'SQL'
SELECT order_sweep.define(
    sweep => 'z_later', orders => 'shop.orders', key => '{id}',
    unpaid => 'o.order_status = 1', since => 'created', after => '30 minutes',
    set => 'order_status = 3, closed_at = now()');
SQL
run 0 --max-orders 5
silent
value 15 'SELECT count(*) FROM order_sweep.journal'
sql -o /dev/null -c "SELECT order_sweep.undefine('z_later')"

# The time limit, with a rest.
place 200 '1 hour'
slow_orders 0.05
run 0 --time-limit 4s --hard-limit 1m --format json
is 'reports of one sweep' 1 "$(wc -l <"$out")"
value 'time limit t' "SELECT concat_ws(' ', stopped, rest)
    FROM order_sweep.run ORDER BY id DESC LIMIT 1"
sql -c 'DROP TRIGGER slow ON shop.orders'

run 0
silent
run 0 --format json
grep -q '"stopped":"nothing to sweep"' "$out" || die 'there is something to sweep'
invariants

# --- 75: a signal; busy ------------------------------------------------------

place 200 '1 hour'
gate_orders
close_gate "$(due_order 10)"
start
wait_at_gate

dump "$before"
run 0
silent
run 75 --fail-if-busy
says 'cancel_unpaid: another run is working on it'
unchanged "$before"
# A run that waits for ever is not left alone for ever.
sql -c "UPDATE order_sweep.life SET seen_at = seen_at - interval '6 minutes'"
dump "$before"
refused 75 'cancel_unpaid: another session has held the lock without a sign *'
unchanged "$before"

kill -TERM "$pid"
open_gates
finish 75
says_like 'cancel_unpaid: stopped by a signal after [0-9]* order*'
value 'signal t' "SELECT concat_ws(' ', stopped, rest)
    FROM order_sweep.run ORDER BY id DESC LIMIT 1"

# --- 1: some failed ----------------------------------------------------------

bad=$(due_order 5)
sql -c "UPDATE shop.order_line SET goods_id = -1 WHERE order_id = $bad"
run 1
says "cancel_unpaid: order $bad failed: cannot return 1 of goods -1: \
not found (SQLSTATE P0001)"
sql -c "UPDATE shop.order_line SET goods_id = 1 WHERE order_id = $bad"
run 0
silent
invariants

# --- 69: the server goes away in mid-run -------------------------------------

sql -c "DELETE FROM order_sweep.failure"
close_gate "$bad"
start --format json
wait_at_gate
sql -o /dev/null -c "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE datname = current_database() AND application_name LIKE 'order-sweep%'"
finish 69
open_gates
# The report says what is known, on stdout; all else is on stderr.
grep -q '"unknown":1,.*"exit":69' "$out" || die 'the report is wrong'
: >"$out"
grep -q 'terminating connection due to administrator command' "$err" ||
    die 'the loss is not told'
run 0
silent
invariants
