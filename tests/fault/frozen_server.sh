#!/bin/bash
# A server that stops in mid-run and says nothing any more, not even to a
# cancel: the run ends within its hard limit and two seconds all the same, and
# what was in flight is told as unknown. Then the server goes on.
set -euo pipefail

# shellcheck source=tests/support/shop.sh
. "$ORDER_SWEEP_SOURCE/tests/support/shop.sh"

own_server
new_shop frozen 40 4
gate_orders
close_gate "$(due_order 5)"

# signal NAME: to the server and all its processes, as they were at the gate.
signal()
{
    # shellcheck disable=SC2086  # numbers
    kill -s "$1" $processes
}

began=$SECONDS
start --time-limit 20s --hard-limit 20s --format json
wait_at_gate
processes=$(sql -c 'SELECT pid FROM pg_stat_activity WHERE pid <> pg_backend_pid()')
processes="$(head -n 1 "$cluster_dir/data/postmaster.pid") $processes"
trap 'signal CONT; cluster_stop' EXIT # a stopped server cannot be ended
signal STOP
finish 69
took=$((SECONDS - began))
signal CONT
echo "ended after $took s"
# 20 s, 2 s to drain, and slack for a busy machine
[ "$took" -le 26 ] || die "the run took $took s"
case $(cat "$out") in
*'"unknown":'[1-9]*) ;;
*) die "no unknown order in $(cat "$out")" ;;
esac
open_gates
run 0
value 0 'SELECT count(*) FROM shop.orders WHERE order_status = 1
         AND created <= extract(epoch FROM now()) - 1800'
invariants
