#!/bin/bash
# Hosts that take the connection and then say nothing: the next one of the list
# is tried, all of them together have their limit, and a signal ends it.
set -euo pipefail

# shellcheck source=tests/support/shop.sh
. "$ORDER_SWEEP_SOURCE/tests/support/shop.sh"

new_shop connecting 200 20
for name in 1 2; do
    proxy_start hole$name hole
done
proxy_start good
holes=${proxy_port[hole1]},${proxy_port[hole2]}
good=${proxy_port[good]}

# were_tried N: each of the two holes has had N callers.
were_tried()
{
    for name in 1 2; do
        proxy hole$name callers
        is "callers of hole $name" "$1" "$answer"
    done
}

# --- The host behind the holes is found, however the list is given -----------

hosts=127.0.0.1,127.0.0.1,127.0.0.1
PGHOST=$hosts PGPORT=$holes,$good PGCONNECT_TIMEOUT=1 run 0 --max-orders 1
silent
were_tried 1
run 0 --max-orders 1 --dbname \
    "host=$hosts port=$holes,$good dbname=$PGDATABASE connect_timeout=1"
silent
were_tried 2
cat >"$ORDER_SWEEP_TMP/services" <<SERVICE
[shop]
host=$hosts
port=$holes,$good
dbname=$PGDATABASE
connect_timeout=1
SERVICE
(
    export PGSERVICEFILE=$ORDER_SWEEP_TMP/services
    unset PGHOST PGPORT PGDATABASE
    run 0 --max-orders 1 --dbname service=shop
    silent
)
were_tried 3
value 3 'SELECT count(*) FROM order_sweep.journal'

# Where several connections are asked for, the other ones are not worth more.
PGHOST=$hosts PGPORT=$holes,$good PGCONNECT_TIMEOUT=1 run 0 --max-orders 1 \
    --jobs 16
says_like 'warning: going on with * of 16 connections: no answer *in time*'
value 4 'SELECT count(*) FROM order_sweep.journal'

# The questions find it too, and so does migrate.
list="host=127.0.0.1,127.0.0.1 port=${proxy_port[hole1]},$good
    dbname=$PGDATABASE connect_timeout=1"
run 0 --dry-run --dbname "$list"
run 1 check --dbname "$list" # 1: nobody has swept for long
run 0 explain --dbname "$list" "$(due_order 1)"
run 0 migrate --dbname "$list"

# --- Nobody answers ----------------------------------------------------------

began=$SECONDS
PGHOST=127.0.0.1,127.0.0.1 PGPORT=$holes run 69 \
    --time-limit 1s --hard-limit 2s
took=$((SECONDS - began))
one_line
is 'holes in the message' 2 \
    "$(grep -o 'no answer in time from "127.0.0.1", port' "$err" | wc -l)"
[ "$took" -le 4 ] || die "the run took $took s"

# --- A signal ----------------------------------------------------------------

# More than the limit of the connection: it is the signal that ends it.
proxy_start deaf hole
for signal in TERM INT; do
    proxy deaf callers
    before=$answer
    start --host 127.0.0.1 --port "${proxy_port[deaf]}" --format json
    until [ "$answer" -gt "$before" ]; do
        sleep 0.02
        proxy deaf callers
    done
    kill -$signal "$pid"
    finish 75
    grep -q '"stopped":"signal",.*"exit":75,' "$out" || die 'no line of JSON'
    : >"$out"
    says 'stopped by a signal while connecting'
done
value 4 'SELECT count(*) FROM order_sweep.journal'
invariants
