#!/bin/bash
# Two runs started together, 20 times over, with the lock and without: each
# order is swept once.
set -euo pipefail

# shellcheck source=tests/support/shop.sh
. "$ORDER_SWEEP_SOURCE/tests/support/shop.sh"

orders=400
rounds=20
due=0
shared=0

# both ARGUMENT...: two runs, from their start to their end.
both()
{
    local first second
    start "$@"
    first=$pid
    start "$@"
    second=$pid
    if [ -n "${together:-}" ]; then
        # Both have looked and found work; now they begin at one moment.
        wait_at_gates 2
        open_gates
    fi
    finish 0 "$first"
    silent
    finish 0 "$second"
    silent
}

new_shop two 20 4
run 0
due=$(sql -c 'SELECT count(*) FROM order_sweep.journal')
gate_table run INSERT

for way in lock no-lock; do
    for _ in $(seq $rounds); do
        place $orders '1 hour' 1
        due=$((due + orders))
        last=$(sql -c 'SELECT max(id) FROM order_sweep.run')
        if [ $way = no-lock ]; then
            together=yes
            close_gate run
            both --no-lock --batch-size 50
        else
            both --batch-size 50
        fi
        is 'journal, swept, failed, unknown, still due' \
            "$due $orders 0 0 0" "$(sql -c "
            SELECT concat_ws(' ', (SELECT count(*) FROM order_sweep.journal),
                   sum(swept), sum(failed), sum(unknown),
                   (SELECT count(*) FROM shop.orders WHERE order_status = 1
                     AND created <= extract(epoch FROM now()) - 1800))
              FROM order_sweep.run WHERE id > $last")"
        shared=$((shared + $(sql -c "SELECT (count(*) FILTER (WHERE swept > 0)
            = 2)::int FROM order_sweep.run WHERE id > $last")))
    done
    invariants
    echo "$way: both runs swept in $shared of $rounds rounds"
    if [ $way = lock ]; then
        # The lock keeps the runs apart: one may follow the other at most.
        value t "SELECT bool_and(started_at >= before)
            FROM (SELECT started_at, max(ended_at) OVER (ORDER BY id
                         ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
                         AS before
                    FROM order_sweep.run) t WHERE before IS NOT NULL"
    elif [ "$shared" = 0 ]; then
        die 'without the lock only one run ever swept'
    fi
    shared=0
done

# A failure that one run books while another one is about to sweep the order:
# it is over, although it is younger than the journal's row.
sql -c "INSERT INTO order_sweep.failure
            (sweep, order_key, attempts, postponed, next_try, quarantined,
             sqlstate, message, failed_at)
        SELECT sweep, order_key, 0, 1, now() + interval '1 minute', false,
               '55P03', 'canceling statement due to lock timeout',
               swept_at + interval '1 second'
          FROM order_sweep.journal LIMIT 1"
place 1 '1 hour'
run 0
value 0 'SELECT count(*) FROM order_sweep.failure'

# --- While a run holds the lock and waits ------------------------------------------

# It holds no snapshot and no transaction id, which would keep vacuum from its
# work.
place 20 '1 hour'
gate_orders
close_gate "$(due_order 10)"
start
trap 'kill -CONT "$pid" 2>/dev/null || :; drop_dbs' EXIT
wait_at_gate
kill -STOP "$pid"
open_gates
ours="SELECT FROM pg_stat_activity a WHERE datname = current_database()
    AND application_name LIKE 'order-sweep%'"
wait_until "NOT EXISTS ($ours AND state NOT LIKE 'idle%')"
value t "SELECT EXISTS ($ours AND EXISTS (SELECT FROM pg_locks l
    WHERE l.pid = a.pid AND l.locktype = 'advisory' AND l.classid = 1869838192))"
value f "SELECT EXISTS ($ours AND NOT (state = 'idle'
    AND backend_xmin IS NULL AND backend_xid IS NULL))"
kill -CONT "$pid"
finish 0
silent
invariants
