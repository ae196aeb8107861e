#!/bin/bash
# How fast events come out: the measurements of tests/bench/run relay, which
# starts the server for them:
#
#     relay.sh ROUNDS DUE TOTAL REPEAT
#
# DUE of TOTAL orders are swept, and relays feed what was done to cat.
set -euo pipefail

rounds=$1
due=$2
total=$3
repeat=$4

here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/bench/common.sh
. "$here/common.sh"

relay=(relay --time-limit 10m -- sh -c 'cat >/dev/null')

as_cron()
{
    PGUSER=cron PGDATABASE=bench "$ORDER_SWEEP_BIN" "$@"
}

# took ROUND WAY BEGAN: until now.
took()
{
    printf '%s\t%s\t%s\n' "$1" "$2" $(($(now_us) - $3)) >>"$scratch/times"
}

all_out()
{
    local left
    left=$(sql -d bench -c 'SELECT count(*) FROM order_sweep.journal
                    WHERE published_at IS NULL')
    [ "$left" = 0 ] || die "$left events are left"
}

for_cron()
{
    sql -d bench -c "SELECT order_sweep.publish('cancel_unpaid', since => '-infinity')" \
        -o /dev/null -U shop_owner
}

make_shop "$due" "$total"
for round in $(seq "$rounds"); do
    fresh_shop
    began=$(now_us)
    as_cron --time-limit 10m
    took "$round" 'the sweep, alone' "$began"
    for_cron
    for relays in 1 2 4; do
        sql -d bench -c 'UPDATE order_sweep.journal SET published_at = NULL' \
            -c 'VACUUM ANALYZE order_sweep.journal' -c CHECKPOINT
        began=$(now_us)
        pids=()
        for _ in $(seq "$relays"); do
            as_cron "${relay[@]}" &
            pids+=($!)
        done
        for pid in "${pids[@]}"; do
            wait "$pid"
        done
        took "$round" "relays, alone: $relays" "$began"
        as_cron "${relay[@]}"
        all_out
    done
    fresh_shop
    for_cron
    began=$(now_us)
    as_cron --time-limit 10m &
    sweep=$!
    as_cron relay --linger --look-every 100ms --time-limit 10m -- \
        sh -c 'cat >/dev/null' &
    other=$!
    wait "$sweep"
    took "$round" 'the sweep, beside a relay' "$began"
    until [ "$(sql -d bench -c 'SELECT count(*) FROM order_sweep.journal
                        WHERE published_at IS NULL')" = 0 ]; do
        sleep 0.02
    done
    took "$round" 'both, until all is out' "$began"
    kill -TERM "$other"
    wait "$other" || :
    wrong=$(broken bench "$due" "$due" "$total")
    [ -z "$wrong" ] || die "$wrong"
    echo "bench: round $round" >&2
done

machine
printf '\n%s orders, by rounds:\n\n' "$due"
sort -t $'\t' -k 2,2 -s "$scratch/times" | awk -F '\t' -v due="$due" '
    BEGIN { print "| What | Orders or events a second | Median |\n|---|---|---|" }
    function line() {
        if (n == 0) return
        for (i = 2; i <= n; i++)
            for (j = i; j > 1 && r[j] < r[j - 1]; j--) {
                t = r[j]; r[j] = r[j - 1]; r[j - 1] = t
            }
        printf "| %s |%s | %.0f |\n", name, all, r[int((n + 1) / 2)]
        n = 0; all = ""
    }
    $2 != name { line(); name = $2 }
    { r[++n] = due / $3 * 1e6; all = all sprintf(" %.0f", r[n]) }
    END { line() }'
