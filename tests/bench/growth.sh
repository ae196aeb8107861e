#!/bin/bash
# What a run costs as the shop grows: the measurements of tests/bench/run
# growth, which starts the server for them:
#
#     growth.sh LARGEST REPEAT
#
# LARGEST is the number of orders of the largest shop; a tenth of them are due
# in the longest run.
set -euo pipefail

largest=$1
repeat=$2

here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/bench/common.sh
. "$here/common.sh"

turns=50

# Unpaid orders that are not due yet: each look ends at the first of them.
pending=1000

# --- The idle run ------------------------------------------------------------

blocks_of_bench()
{
    local left
    # A session's counts are there once it is gone.
    for left in $(seq 200); do
        left=$(sql -c "SELECT count(*) FROM pg_stat_activity
                        WHERE datname = 'bench' AND application_name <> 'holder'")
        [ "$left" != 0 ] || break
        sleep 0.05
    done
    [ "$left" = 0 ] || die "$left sessions do not end"
    sql -c "SELECT blks_hit + blks_read FROM pg_stat_database
             WHERE datname = 'bench'"
}

# A line of the table: what an idle run costs in the shop as it stands.
idle_run()
{
    local state=$1 turn before after
    local own=("$ORDER_SWEEP_BIN") other=(psql -XAtc 'select 1')
    # The first ones set hints, and give the sign of life.
    for turn in 1 2 3; do
        time_as cron warm_up 0 "${own[@]}"
    done
    sql -o /dev/null -c 'SELECT pg_stat_statements_reset()'
    before=$(blocks_of_bench)
    for turn in $(seq "$turns"); do
        time_as cron warm_up 0 "${own[@]}"
    done
    after=$(blocks_of_bench)
    : >"$scratch/idle"
    for turn in $(seq "$turns"); do
        time_as cron idle "$turn"$'\town' "${own[@]}"
        time_as cron idle "$turn"$'\tpsql' "${other[@]}"
    done
    sql -v state="$state" -v turns="$turns" \
        -v blocks="$(((after - before) / turns))" \
        -f "$here/report_growth_idle.sql" <"$scratch/idle"
    echo "bench: $state" >&2
}

# A shop in which nothing is due.
make_quiet_shop()
{
    local due=$1 total=$2
    make_shop "$due" "$total"
    sql -d bench_shop -c "UPDATE shop.orders
        SET status = 'unpaid', created_at = now() + id * interval '1 ms'
        WHERE id > $total - $pending" -c 'VACUUM (FREEZE, ANALYZE)'
}

# Keep a snapshot of now in a session of its own, until the descriptor closes.
hold_snapshot()
{
    coproc holder {
        PGAPPNAME=holder psql -X -q -A -t -d bench
    }
    echo 'BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM shop.sku;' \
        >&"${holder[1]}"
    read -r -u "${holder[0]}" _
}

release_snapshot()
{
    echo '\q' >&"${holder[1]}"
    wait "${holder_PID:?}" || :
}

run_to_the_end()
{
    PGUSER=cron PGDATABASE=bench "$ORDER_SWEEP_BIN" --time-limit 1d
}

idle_runs()
{
    local total due=100000
    cat <<END

An idle run, its session from beginning to end; turns: $turns, medians; the
ratio is taken within each turn:

| State of the shop | Buffers | Planning, ms | Execution, ms | Wall time, ms | of psql |
|---|---|---|---|---|---|
END
    for ((total = 10000; total <= largest; total *= 10)); do
        if [ "$total" != 100000 ]; then
            make_quiet_shop 0 "$total"
            fresh_shop
            idle_run "$(printf "%'d orders" "$total")"
        fi
    done
    make_quiet_shop "$due" 1000000
    fresh_shop
    hold_snapshot
    run_to_the_end
    idle_run "$due swept, an old snapshot is held"
    release_snapshot
    idle_run "$due swept, the snapshot is gone"
    sql -d bench -c 'VACUUM shop.orders'
    idle_run "$due swept, vacuumed"

    fresh_shop
    sql -d bench -U shop_owner -o /dev/null -v rule=yes -f "$here/definition.sql"
    idle_run "$due kept by a rule"

    fresh_shop
    sql -d bench -U shop_owner -c "INSERT INTO order_sweep.failure
        SELECT 'cancel_unpaid', jsonb_build_array(id), 10, 0, now(), true,
               'P0001', 'out of order', now()
          FROM shop.orders WHERE id <= 10000" \
        -c "UPDATE shop.orders SET status = 'paid'
             WHERE id BETWEEN 10001 AND $due"
    sql -d bench -c 'VACUUM (FREEZE, ANALYZE)'
    idle_run "10000 in quarantine"
}

# --- A run -------------------------------------------------------------------

runs()
{
    local due total=$largest wrong
    make_shop $((largest / 10)) "$total"
    cat <<END

A run of $total orders, as more of them are due:

| Due | Time, s | Orders/s | Client CPU, µs an order | Peak memory, MiB |
|---|---|---|---|---|
END
    for ((due = 1; due <= largest / 10; due *= 10)); do
        fresh_shop
        sql -d bench -c "UPDATE shop.orders SET status = 'paid'
            WHERE id > $due AND status = 'unpaid'" \
            -c 'VACUUM (FREEZE, ANALYZE) shop.orders' -c CHECKPOINT
        : >"$scratch/run"
        time_as cron run "$due" "$ORDER_SWEEP_BIN" --time-limit 1d
        wrong=$(sql -d bench -c "SELECT count(*) FROM shop.orders
            WHERE (status = 'cancelled') <> (id <= $due)")
        [ "$wrong" = 0 ] || die "$wrong orders are in the wrong state"
        awk -F '\t' '{ printf "| %d | %.3f | %.0f | %.1f | %.1f |\n", $1, $2,
            $1 / $2, $3 / $1 * 1e6, $4 / 1024 }' "$scratch/run"
        echo "bench: $due due" >&2
    done
}

sql -o /dev/null -c 'CREATE EXTENSION pg_stat_statements'
machine
idle_runs
runs
