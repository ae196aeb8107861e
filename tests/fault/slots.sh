#!/bin/bash
# --slots: runs that work at the same time have shares of the orders that do
# not overlap, each order is swept once, and a share that nobody has is swept
# by the others.
set -euo pipefail

# shellcheck source=tests/support/shop.sh
. "$ORDER_SWEEP_SOURCE/tests/support/shop.sh"

# The snapshots of runs that wait would disturb other tests.
own_server

orders=2000
due='SELECT count(*) FROM order_sweep.cancel_unpaid_due(NULL)'

# sums SINCE: what the runs since then came to: how many, and their outcomes.
sums()
{
    sql -c "SELECT concat_ws(' ', count(*), sum(swept), sum(kept), sum(locked),
                   sum(changed), sum(gone), sum(failed), sum(unknown))
              FROM order_sweep.run WHERE id > $1"
}

last_id()
{
    sql -c 'SELECT max(id) FROM order_sweep.run'
}

# All orders are of the same goods: on a busy machine one may have to wait for
# their row too long, and is tried again later.
sweep_held()
{
    value 0 "$due WHERE state <> 'back-off'"
    sql -c 'UPDATE order_sweep.failure SET next_try = now()'
    run 0
}

new_shop slots 20 4
run 0

# --- Alone -------------------------------------------------------------------

place $orders '1 hour'
last=$(last_id)
run 0 --slots 4 --batch-size 100
silent
is 'one run for all shares' "1 $orders 0 0 0 0 0 0" "$(sums "$last")"
value 0 "$due"
invariants

# --- Four at once ------------------------------------------------------------

gate_table run INSERT
place $orders '1 hour'
last=$(last_id)
close_gate run
pids=()
for _ in 1 2 3 4; do
    start --slots 4 --batch-size 100
    pids+=("$pid")
done
# All have a slot; a fifth finds none, and one without slots has to wait, too.
wait_at_gates 4
run 0 --slots 4
silent
run 75 --slots 4 --fail-if-busy
says 'cancel_unpaid: another run is working on it'
run 75 --fail-if-busy
run 0 status
is 'who sweeps, by status' '4 4' "$(grep -c ' sweeps: ' "$out") $(grep -c \
    ' holds slot [1-4] of 4: [^ ]*, process [0-9]*, since ' "$out")"
open_gates
for pid in "${pids[@]}"; do
    finish 0 "$pid"
    silent
done
held=$(sql -c "SELECT sum(locked) FROM order_sweep.run WHERE id > $last")
[ "$held" -lt $((orders / 20)) ] || die "$held orders were tried in vain"
is 'four runs, nothing tried twice' "4 $((orders - held)) 0 $held 0 0 0 0" \
    "$(sums "$last")"
value t "SELECT min(swept) > $orders / 8 AND max(swept) < $orders / 2
    FROM order_sweep.run WHERE id > $last"
echo "shares: $(sql -c "SELECT string_agg(swept::text, ' ' ORDER BY id)
    FROM order_sweep.run WHERE id > $last")"
sweep_held
value 0 "$due"
invariants
sql -c 'DROP TRIGGER gate ON order_sweep.run'

# --- One that does not get on ------------------------------------------------

# Its share is its own as long as it lives.
place $orders '1 hour'
gate_orders
close_gate "$(due_order 1)"
last=$(last_id)
start --slots 4 --depth 1
stuck=$pid
wait_at_gate
run 0 --slots 4
silent
value t "SELECT swept > 0 AND swept < $orders AND locked = 0 AND changed = 0
    FROM order_sweep.run ORDER BY id DESC LIMIT 1"
left=$(sql -c "$due")
[ "$left" -gt $((orders / 8)) ] || die "only $left orders were left to it"
# Then it is anybody's.
kill -KILL "$stuck"
wait "$stuck" 2>/dev/null || :
open_gates
wait_sessions_gone
run 0 --slots 4
silent
value 0 "$due"
invariants

# A run without slots beside one with them: one of the two works.
place 10 '1 hour'
close_gate "$(due_order 1)"
start
wait_at_gate
run 75 --slots 2 --fail-if-busy
says 'cancel_unpaid: another run is working on it'
open_gates
finish 0
silent
invariants

# Of another number: together they would leave out what each thinks the other's.
sql -c 'DROP TRIGGER gate ON shop.orders'
gate_table run INSERT
place $orders '1 hour'
close_gate run
pids=()
for slots in 2 3; do
    start --slots "$slots"
    pids+=("$pid")
done
wait_at_gates 2
open_gates
for pid in "${pids[@]}"; do
    finish 0 "$pid"
    silent
done
sweep_held
value 0 "$due"
invariants

# --- Lingering ---------------------------------------------------------------

# Two with slots, and a third that waits; each sees to its own share, and to
# what has no other.
sql -c 'DROP TRIGGER gate ON order_sweep.run'
pids=()
for _ in 1 2 3; do
    start --linger --slots 2 --look-every 1s --time-limit 1m --format json
    pids+=("$pid")
done
slots 2 1
last=$(last_id)
place 100 '29 minutes 57 seconds'
wait_until "(SELECT count(*) = 100 FROM order_sweep.journal
    WHERE run_id > $last)"
for pid in "${pids[@]}"; do
    kill -TERM "$pid"
    finish 75 "$pid"
done
value 0 "SELECT count(*) FROM shop.orders o
    JOIN order_sweep.journal j ON j.order_key = jsonb_build_array(o.id)
    WHERE j.swept_at < to_timestamp(o.created) + interval '30 minutes'"
invariants
