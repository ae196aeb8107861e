#!/bin/bash
# Several connections share the orders of a run: each order is tried by one of
# them, and limits, signals, failures and losses are as with one connection.
set -euo pipefail

# shellcheck source=tests/support/shop.sh
. "$ORDER_SWEEP_SOURCE/tests/support/shop.sh"

# The sessions of the run, but the one that holds the lock and looks.
others="SELECT a.pid FROM pg_stat_activity a
         WHERE a.datname = current_database()
           AND a.application_name LIKE 'order-sweep%'
           AND NOT EXISTS (SELECT FROM pg_locks l
                            WHERE l.pid = a.pid AND l.locktype = 'advisory')"

# start_at_gates ARGUMENT...: a run of three jobs, each at a gate.
start_at_gates()
{
    sql -c "INSERT INTO gate.closed SELECT id FROM shop.orders
             WHERE order_status = 1 ORDER BY created, id OFFSET 100"
    start --jobs 3 --format json "$@"
    wait_at_gates 3
}

# The next run does what is left; then all due orders are swept once.
settle()
{
    open_gates
    invariants
    run 0 --jobs 3
    silent
    value "$due" 'SELECT count(*) FROM order_sweep.journal'
    value 0 "SELECT count(*) FROM order_sweep.cancel_unpaid_due(NULL)"
    value 0 'SELECT count(*) FROM order_sweep.failure'
    invariants
    place 300 '1 hour'
    due=$((due + 300))
}

new_shop jobs 600 20
due=300
gate_orders

# --- All is swept, once ------------------------------------------------------

start_at_gates
value 2 "SELECT count(*) FROM ($others) t"
open_gates
finish 0
is 'the report' '300 done false 0' "$(reported swept stopped rest exit)"
settle

# Not one more than was asked for.
run 0 --jobs 4 --max-orders 100
is 'the run' 'max orders 100 0 0 0 0 0 0 t' "$(last_run)"
settle

# --- Signals -----------------------------------------------------------------

# One: what is in flight is settled.
start_at_gates
kill -TERM "$pid"
open_gates
finish 75
truthful
is 'unknown orders' 0 "$(reported unknown)"
settle

# Two: what is in flight is cancelled, in each session.
start_at_gates --depth 1
kill -TERM "$pid"
kill -INT "$pid"
finish 75
truthful
is 'unknown orders' 0 "$(reported unknown)"
settle

# --- A connection is lost ----------------------------------------------------

# The first, which also books: the run is at its end.
start_at_gates
sql -o /dev/null -c "SELECT pg_terminate_backend(pid) FROM pg_locks
    WHERE locktype = 'advisory' AND database = (
        SELECT oid FROM pg_database WHERE datname = current_database())"
finish 69
open_gates
# What the other sessions had received comes to its end.
wait_sessions_gone
truthful
value t "SELECT $(reported unknown) BETWEEN 3 AND 192"
settle

# Another: what the others have in flight is settled, and the books are closed.
start_at_gates
sql -o /dev/null -c "SELECT pg_terminate_backend(pid) FROM ($others LIMIT 1) t"
open_gates
finish 69
truthful
value t "SELECT $(reported unknown) BETWEEN 1 AND 64"
value "lost $(reported swept unknown)" "SELECT concat_ws(' ', stopped, swept,
    unknown) FROM order_sweep.run ORDER BY id DESC LIMIT 1"
settle

# --- A connection falls silent -----------------------------------------------

# What it had is unknown, but the books are closed in time.
start_at_gates --time-limit 2s --hard-limit 3s
silent_one=$(sql -c "$others LIMIT 1")
kill -STOP "$silent_one"
open_gates
finish 1
kill -CONT "$silent_one"
truthful
is 'the end' 'hard limit' "$(reported stopped)"
value "hard limit $(reported swept unknown)" "SELECT concat_ws(' ', stopped,
    swept, unknown) FROM order_sweep.run ORDER BY id DESC LIMIT 1"
value t "SELECT $(reported unknown) BETWEEN 1 AND 64"
wait_sessions_gone
# Some of the others' orders met the locks that it held.
sql -c 'UPDATE order_sweep.failure SET next_try = now()'
settle

# --- Orders fail -------------------------------------------------------------

sql <<'SQL'
CREATE FUNCTION shop.fail() RETURNS trigger LANGUAGE plpgsql
AS 'BEGIN RAISE ''no''; END';
CREATE TRIGGER fail BEFORE UPDATE ON shop.orders FOR EACH ROW
EXECUTE FUNCTION shop.fail();
SQL
run 1 --jobs 4
grep -q "this looks like the shop's fault" "$err" || die 'whose fault it is'
value 0 'SELECT count(*) FROM order_sweep.failure'
sql -c 'DROP TRIGGER fail ON shop.orders'
settle

# --- No more connections are to be had ---------------------------------------

sql <<'SQL'
CREATE ROLE jobs_cron LOGIN CONNECTION LIMIT 2;
SELECT order_sweep.grant_to('jobs_cron');
SQL
run 0 -U jobs_cron --jobs 4
says_like 'warning: going on with 2 of 4 connections: *too many connections for role*'
sql -o /dev/null <<'SQL'
DROP OWNED BY jobs_cron;
DROP ROLE jobs_cron;
SQL
settle

# Nobody answers any more: they have two seconds, all together.
gate_table run INSERT
for signal in '' TERM; do
    proxy_start tunnel
    close_gate run
    PGHOST=127.0.0.1 PGPORT=${proxy_port[tunnel]} start --jobs 16
    wait_at_gate
    proxy tunnel hole
    open_gates
    if [ -n "$signal" ]; then
        until [ "$answer" = 2 ]; do
            sleep 0.02
            proxy tunnel callers
        done
        kill -TERM "$pid"
        finish 75
        says_like '*: stopped by a signal *'
    else
        finish 0
        says_like 'warning: going on with 1 of 16 connections: no answer in time*'
        proxy tunnel callers
        is callers 2 "$answer"
        settle
    fi
    proxy_stop tunnel
done
sql -c 'DROP TRIGGER gate ON order_sweep.run'
settle

# --- Two sweeps: the statements of the one are not those of the other --------

sql -o /dev/null <<'SQL'
SELECT order_sweep.define(
    sweep => 'close_paid', orders => 'shop.orders', key => '{id}',
    unpaid => 'o.order_status = 2', since => 'created', after => '1 minute',
    set => 'order_status = 3, closed_at = now()');
SQL
paid=$(sql -c 'SELECT count(*) FROM order_sweep.close_paid_due(NULL)')
run 0 --jobs 3
silent
value "$paid" "SELECT count(*) FROM order_sweep.journal
                WHERE sweep = 'close_paid'"
value "$due" "SELECT count(*) FROM order_sweep.journal
               WHERE sweep = 'cancel_unpaid'"

# With another connection than the first lost, the next sweep has its turn.
place 300 '1 hour'
sql -c "UPDATE shop.orders SET order_status = 2 WHERE id IN (
    SELECT id FROM shop.orders WHERE order_status = 1
     ORDER BY created, id LIMIT 100)"
paid=$((paid + $(sql -c 'SELECT count(*) FROM order_sweep.close_paid_due(NULL)')))
sql -c "INSERT INTO gate.closed SELECT id FROM shop.orders
         WHERE order_status = 1 ORDER BY created, id OFFSET 100"
start --jobs 3
wait_at_gates 3
sql -o /dev/null -c "SELECT pg_terminate_backend(pid) FROM ($others LIMIT 1) t"
open_gates
finish 69
value "$paid" "SELECT count(*) FROM order_sweep.journal
                WHERE sweep = 'close_paid'"
