#!/bin/bash
# A network that stops in mid-run and says nothing any more, at each step of a
# run: the run ends within its limits, and its report is true.
set -euo pipefail

# shellcheck source=tests/support/shop.sh
. "$ORDER_SWEEP_SOURCE/tests/support/shop.sh"

new_shop stalled 120 20
base=$PGDATABASE
declare -A pids began

# phase NAME [ARGUMENT...]: a shop of its own, and a network before it.
phase()
{
    PGDATABASE=${base}_$1
    sql -d postgres -c "CREATE DATABASE $PGDATABASE TEMPLATE $base"
    databases="$databases $PGDATABASE"
    proxy_start "$1"
}

# begin NAME [ARGUMENT...]: a run through that network.
begin()
{
    local name=$1
    shift
    began[$name]=$(date +%s)
    start --host 127.0.0.1 --port "${proxy_port[$name]}" --format json "$@"
    pids[$name]=$pid
}

# hold_probe: the first look waits for a lock, until free_probe.
hold_probe()
{
    sql -c 'BEGIN; LOCK TABLE order_sweep.sweep; SELECT pg_sleep(3600)' \
        >/dev/null 2>&1 &
    holder=$!
    wait_until "EXISTS (SELECT FROM pg_stat_activity
        WHERE datname = current_database() AND query LIKE 'BEGIN; LOCK%'
          AND wait_event = 'PgSleep')"
}

wait_at_probe()
{
    wait_until "EXISTS (SELECT FROM pg_stat_activity
        WHERE datname = current_database() AND wait_event_type = 'Lock'
          AND application_name LIKE 'order-sweep%')"
}

free_probe()
{
    sql -o /dev/null -c "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE datname = current_database() AND query LIKE 'BEGIN; LOCK%'"
    wait "$holder" || :
}

# ended NAME SECONDS: the run ended with 69, and in this time, but for slack on
# a busy machine.
ended()
{
    local last took
    PGDATABASE=${base}_$1
    finish 69 "${pids[$1]}"
    last=$(stat -c %Y "${started[${pids[$1]}]}.err")
    took=$((last - began[$1]))
    echo "$1: ended after $took s"
    [ "$took" -le $(($2 + 4)) ] || die "the run took $took s"
}

# settle NAME: nothing is left behind, and the next run does the rest.
settle()
{
    proxy_stop "$1"
    invariants
    run 0
    silent
    value 60 'SELECT count(*) FROM order_sweep.journal'
    invariants
}

limits='--time-limit 8s --hard-limit 8s'

# --- The runs, each stopped at its place -------------------------------------

# shellcheck disable=SC2086  # two options
{
    phase connect
    proxy connect stop
    begin connect $limits

    phase probe
    hold_probe
    begin probe $limits
    wait_at_probe
    proxy probe stop
    free_probe

    # Its books are open only after the lock is taken.
    phase lock
    gate_table run INSERT
    close_gate run
    begin lock $limits
    wait_at_gate
    proxy lock stop
    open_gates

    phase stream
    gate_orders
    close_gate "$(due_order 40)"
    begin stream $limits
    wait_at_gate
    proxy stream stop
    open_gates

    phase close
    gate_table run UPDATE
    close_gate run
    begin close $limits
    wait_at_gate
    proxy close stop
    open_gates
}

# Two signals are like the hard limit, wherever the run is.
phase signal
hold_probe
begin signal
wait_at_probe
proxy signal stop
free_probe
kill -TERM "$pid"
kill -INT "$pid"
phase signals
gate_orders
close_gate "$(due_order 40)"
begin signals
wait_at_gate
proxy signals stop
open_gates
kill -TERM "$pid"
kill -INT "$pid"

# --- What became of them -----------------------------------------------------

# It was lost before it had a run to report of.
without_run()
{
    grep -q '"run":null,"stopped":"lost",.*"exit":69,' "$out" ||
        die 'the loss is not told in JSON'
    : >"$out"
}

ended connect 5
without_run
says_like 'no answer in time from "127.0.0.1", port [0-9]*'
ended probe 8
without_run
says 'no answer from the server in time'
ended lock 8
without_run
says 'cancel_unpaid: no answer from the server in time'
ended stream 10
truthful
grep -q 'outcome of [0-9]* orders* is unknown' "$err" ||
    die 'the unknown orders are not told'
grep -q '39 orders were swept, but are not known to be durable' "$err" ||
    die 'the durability is not told'
ended close 10
truthful
grep -q '60 orders were swept, but are not known to be durable' "$err" ||
    die 'the durability is not told'
ended signal 10
without_run
says 'no answer from the server in time'
ended signals 10
truthful
for name in connect probe lock stream close signal signals; do
    PGDATABASE=${base}_$name
    settle $name
done
