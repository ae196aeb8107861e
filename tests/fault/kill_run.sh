#!/bin/bash
# A run that dies in the middle, by kill -9, by the loss of its session or of
# the whole server: no order is half done, and the next run does the rest, once.
set -euo pipefail

# shellcheck source=tests/support/shop.sh
. "$ORDER_SWEEP_SOURCE/tests/support/shop.sh"

# The next run does what is left; then all due orders are swept once.
settle()
{
    # The session of a dead client goes on until it notices.
    wait_sessions_gone
    invariants
    run 0
    silent
    value "$due" 'SELECT count(*) FROM order_sweep.journal'
    value 0 "SELECT count(*) FROM order_sweep.cancel_unpaid_due(NULL)"
    value 0 'SELECT count(*) FROM order_sweep.failure'
    invariants
}

# more: orders that are due, for the next case.
more()
{
    place 300 '1 hour'
    due=$((due + 300))
}

new_shop kill 600 20
due=300
gate_orders
gate_table run INSERT
gate_table run UPDATE close

# --- kill -9 -----------------------------------------------------------------

# At the first order, within a batch, at its end, at the last order.
for n in 1 130 256 300; do
    close_gate "$(due_order "$n")"
    done_before=$(sql -c 'SELECT count(*) FROM order_sweep.journal')
    start --batch-size 64
    wait_at_gate
    value $((done_before + n - 1)) 'SELECT count(*) FROM order_sweep.journal'
    kill -9 "$pid"
    finish 137
    # What was on its way is done, or not; the dead run holds its lock till
    # then, and its books stay open.
    value "$((done_before + n - 1))" 'SELECT count(*) FROM order_sweep.journal'
    run 0
    silent
    open_gates
    settle
    value 1 'SELECT count(*) FROM order_sweep.run
             WHERE ended_at IS NULL AND id > (
                SELECT max(id) FROM order_sweep.run) - 2'
    more
done

# Before its books are open, and while it closes them.
close_gate run
start
wait_at_gate
kill -9 "$pid"
finish 137
open_gates
wait_sessions_gone
value $((due - 300)) 'SELECT count(*) FROM order_sweep.journal'
settle
more
close_gate close
start
wait_at_gate
kill -9 "$pid"
finish 137
open_gates
settle

# --- The session is ended ----------------------------------------------------

# One that is ended by the server tells the run so.
more
close_gate "$(due_order 100)"
start --format json
wait_at_gate
sql -o /dev/null -c "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE datname = current_database() AND application_name LIKE 'order-sweep%'"
finish 69
open_gates
# Swept are those that were answered; unknown are those on the wire: the one
# at the gate, and up to 63 behind it.
is 'the report' '99 lost true 69 t' "$(
    sql -v line="$(cat "$out")" <<'SQL'
SELECT concat_ws(' ', r->>'swept', r->>'stopped', r->>'rest', r->>'exit',
                 (r->>'unknown')::int BETWEEN 1 AND 64)
  FROM (SELECT :'line'::jsonb) AS t(r);
SQL
)"
said | grep -q '^order-sweep: cancel_unpaid: terminating connection due to ' ||
    die 'the loss is not told'
grep -q 'outcome of [0-9]* orders* is unknown' "$err" ||
    die 'the unknown orders are not told'
grep -q '99 orders were swept, but are not known to be durable' "$err" ||
    die 'the durability is not told'
value $((due - 300 + 99)) 'SELECT count(*) FROM order_sweep.journal'
settle

# --- The server dies ---------------------------------------------------------

ORDER_SWEEP_TEST_CONF='wal_writer_delay = 10s
wal_writer_flush_after = 1GB
autovacuum = off'
own_server
new_shop kill_server 600 20
due=300
gate_orders
for durability in batch each; do
    sql -c CHECKPOINT
    done_before=$(sql -c 'SELECT count(*) FROM order_sweep.journal')
    close_gate "$(due_order 150)"
    start --durability $durability
    wait_at_gate
    value $((done_before + 149)) 'SELECT count(*) FROM order_sweep.journal'
    own_stop immediate
    finish 69
    own_start
    lost=$((done_before + 149 -
        $(sql -c 'SELECT count(*) FROM order_sweep.journal')))
    echo "durability $durability: the crash undid $lost of 149 orders"
    if [ $durability = each ] && [ "$lost" != 0 ]; then
        die 'an order swept with --durability each is undone'
    fi
    open_gates
    settle
    more
done
