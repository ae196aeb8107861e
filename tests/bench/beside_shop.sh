#!/bin/bash
# What a shop's own transactions take while its backlog is swept: the
# measurements of tests/bench/run beside_shop, which starts the server for them:
#
#     beside_shop.sh ROUNDS DUE TOTAL ONLY REPEAT
#
# The shop places and pays orders at a fixed rate, by pgbench.  Of its
# transactions those count that were to begin while the sweep worked.
set -euo pipefail

rounds=$1
due=$2
total=$3
only=$4
repeat=$5

here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/bench/common.sh
. "$here/common.sh"

# Transactions a second, half of them placing, half paying.
shop_rate=200
clients=4

# What works beside the shop.
ways=(
    'nothing'
    'order-sweep'
    'order-sweep --jobs 2'
    'order-sweep --durability each'
    'order-sweep --max-rate 5000'
    'order-sweep --max-rate 2000'
)

# Without a sweep the shop is looked at for so long, as with one at most.
longest=15

# One way beside the shop, in a fresh one: its lines go to the files.
beside()
{
    local round=$1 place=$2 way=$3 log began ended first shop status=0 command
    fresh_shop
    sql -d bench -c "CREATE SEQUENCE shop.order_id START $((total + 1))" \
        -c 'ALTER SEQUENCE shop.order_id OWNER TO shop_owner'
    log=$scratch/shop.$round.$place
    first=$(wc -l <"${PGHOST}/server.log")
    PGUSER=shop_owner pgbench -d bench -n -M prepared -c "$clients" -j 1 \
        -R "$shop_rate" -T $((longest + 4)) -D due="$due" -D total="$total" \
        -f "$here/shop_place.sql" -f "$here/shop_pay.sql" \
        -l --log-prefix "$log" >"$log.out" 2>&1 &
    shop=$!
    # Not before it works.
    until [ "$(sql -d bench -c 'SELECT last_value FROM shop.order_id')" -gt \
        $((total + shop_rate / 2)) ]; do
        kill -0 "$shop" || die "pgbench: $(tail -n 1 "$log.out")"
        sleep 0.1
    done
    began=$(now_us)
    if [ "$way" = nothing ]; then
        sleep "$longest"
    else
        read -r -a command <<<"$way"
        PGUSER=cron PGDATABASE=bench timeout "$((longest + 60))" \
            "$ORDER_SWEEP_BIN" "${command[@]:1}" --time-limit "${longest}s" ||
            status=$?
    fi
    ended=$(now_us)
    wait "$shop" || die "pgbench: $(tail -n 1 "$log.out")"
    [ "$status" = 0 ] || die "$way: ended with $status"
    # Scheduled start: the end, less what it took, the lag included.
    cat "$log".[0-9]* | awk -v OFS='\t' -v round="$round" -v place="$place" \
        -v way="$way" -v began="$began" -v ended="$ended" '
        { start = $5 * 1e6 + $6 - $3 }
        start >= began && start < ended { print round, place, way, $3 }' \
        >>"$scratch/latencies"
    tail -n "+$((first + 1))" "$PGHOST/server.log" |
        sed -n -E 's/.* (\S*) (\S+)@bench LOG: +process .* acquired \S+ on .* after ([0-9.]+) ms$/\1\t\2\t\3/p' |
        awk -v OFS='\t' -v round="$round" -v place="$place" -v way="$way" \
            '{ print round, place, way, $(NF - 1), $NF }' \
            >>"$scratch/waits"
    printf '%s\t' "$round" "$place" "$way" $((ended - began)) \
        >>"$scratch/sweeps"
    sql -d bench -c "SELECT count(*) FROM shop.orders WHERE status = 'cancelled'" \
        >>"$scratch/sweeps"
    echo "bench: round $round of $rounds, $way" >&2
}

make_shop "$due" "$total"
# None of the others is due, and all may still be paid.
sql -d bench_shop -c "UPDATE shop.orders
    SET status = 'unpaid', created_at = now() + interval '1 hour'
    WHERE id > $due" -c 'VACUUM (FULL, FREEZE, ANALYZE)'
: >"$scratch/waits"
for round in $(seq "$rounds"); do
    for place in "${!ways[@]}"; do
        if grep -q -E -e "$only" <<<"${ways[place]}" || [ "$place" = 0 ]; then
            beside "$round" "$place" "${ways[place]}"
        fi
    done
done

machine
printf '\nA shop of %s transactions a second while %s orders are swept; rounds: %s; medians:\n\n' \
    "$shop_rate" "$due" "$rounds"
sql -v latencies="$scratch/latencies" -v waits="$scratch/waits" \
    -v sweeps="$scratch/sweeps" -f "$here/report_beside_shop.sql"
