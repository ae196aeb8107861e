#!/bin/bash
# Several hosts with the same line in their crontab: the measurements of
# tests/bench/run hosts, which starts the server for them:
#
#     hosts.sh MINUTES ROUNDS REPEAT
#
# A host is a process that is started at each tick.  Three linger for so many
# minutes while orders fall due at random moments, then for three minutes with
# none; then four with slots share 200,000 due orders, beside one alone.
set -euo pipefail

minutes=$1
rounds=$2
repeat=$3

here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/bench/common.sh
. "$here/common.sh"

total=400000
due=200000
a_minute=600 # orders that fall due while the hosts linger
idle=3       # minutes without any

# --- Three that linger -------------------------------------------------------

# tick: each host starts its run, as cron does.
tick()
{
    for host in 1 2 3; do
        PGUSER=cron PGDATABASE=bench "$ORDER_SWEEP_BIN" --linger \
            >>"$scratch/out.$host" 2>&1 &
    done
}

# ticks FIRST N: so many of them, a minute from one to the next, the first at
# this second of the clock.
ticks()
{
    local next=$1
    [ "$EPOCHSECONDS" -lt "$next" ] || die 'not ready in time'
    for _ in $(seq "$2"); do
        sleep "$(awk -v then="$next" -v now="${EPOCHREALTIME/,/.}" \
            'BEGIN { print then - now }')"
        tick
        next=$((next + 60))
    done
}

# Statements that the hosts have sent, whatever they are.
statements()
{
    sql -d bench -c "SELECT coalesce(sum(calls), 0) FROM pg_stat_statements
        WHERE userid = 'cron'::regrole AND toplevel"
}

linger()
{
    local sent wrong orders start counted
    orders=$((minutes * a_minute))
    make_shop $orders $total
    fresh_shop
    start=$(((EPOCHSECONDS / 60 + 2) * 60))
    sql -d bench -o /dev/null -c 'CREATE EXTENSION pg_stat_statements' \
        -c 'SELECT setseed(0.5)' -v minutes="$minutes" -v start=$start \
        -f - <<'SQL'
-- From a second after the first tick to a second before the last.
UPDATE shop.orders SET created_at = to_timestamp(:start + 1)
       + random() * (:minutes * interval '1 minute' - interval '2 seconds')
       - interval '30 minutes'
 WHERE status = 'unpaid';
VACUUM ANALYZE shop.orders;
SQL
    echo "lingering for $minutes minutes" >&2
    # The tick after them is the first of those without orders.
    ticks $start $((minutes + 1))
    # Those of the tick before end ten seconds later.
    sleep 12
    wrong=$(broken bench "$orders" "$orders" $total)
    [ -z "$wrong" ] || die "$wrong"
    sql -d bench -o /dev/null -c 'SELECT pg_stat_statements_reset()'
    counted=$EPOCHSECONDS
    echo "idle for $idle minutes" >&2
    start=$(((EPOCHSECONDS / 60 + 1) * 60))
    ticks $start $idle
    # As long after the last tick as the count began before the first.
    sleep $((60 - (start - counted)))
    sent=$(statements)
    wait
    for host in 1 2 3; do
        [ ! -s "$scratch/out.$host" ] || die "$(head -n 3 "$scratch/out.$host")"
    done
    echo
    echo "$orders orders in $minutes minutes, three hosts with --linger:"
    echo
    sql -d bench -f "$here/report_hosts.sql"
    echo
    echo "Statements a minute over the three hosts, when idle: $((sent / idle))"
}

# --- Four that share ---------------------------------------------------------

# sweep HOSTS: how many ms so many of them take together for all that is due.
sweep()
{
    local hosts=$1 began pids=()
    fresh_shop
    began=$(date +%s%N)
    for _ in $(seq "$hosts"); do
        PGUSER=cron PGDATABASE=bench "$ORDER_SWEEP_BIN" --slots "$hosts" \
            --time-limit 10m &
        pids+=($!)
    done
    wait "${pids[@]}"
    took=$((($(date +%s%N) - began) / 1000000))
    local wrong
    wrong=$(broken bench $due $due $total)
    [ -z "$wrong" ] || die "$wrong"
}

share()
{
    local one four waste
    make_shop $due $total
    echo
    echo "$due due orders, all of them swept:"
    echo
    echo '| Round | One run, s | Four runs with --slots 4, s | of the first | Tried in vain |'
    echo '|---|---|---|---|---|'
    for round in $(seq "$rounds"); do
        sweep 1
        one=$took
        sweep 4
        four=$took
        waste=$(sql -d bench -c "SELECT sum(locked + changed + gone)
            FROM order_sweep.run")
        awk -v r="$round" -v one="$one" -v four="$four" -v waste="$waste" \
            'BEGIN { printf "| %d | %.1f | %.1f | %.2f | %d |\n", r, one / 1000,
                     four / 1000, four / one, waste }'
    done
}

linger
share
echo
machine
