#!/bin/bash
# How fast each way of sweeping is, and an idle run: the measurements of
# tests/bench/run, which starts the server for them:
#
#     sweeps.sh ROUNDS DUE TOTAL ONLY REPEAT
set -euo pipefail

rounds=$1
due=$2
total=$3
only=$4
repeat=$5

here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/bench/common.sh
. "$here/common.sh"

# The ways of sweeping, one a line.  What begins with order-sweep is the command
# that is run; its defaults are one job, a depth of 64, durability batch.
ways=(
    'set-based statement'
    'one-at-a-time loop'
    'function without guards'
    'order-sweep'
    'order-sweep --depth 8'
    'order-sweep --depth 1'
    'order-sweep --jobs 2'
    'order-sweep --jobs 2 --depth 8'
    'order-sweep --jobs 2 --depth 1'
    'order-sweep --durability each'
    'order-sweep --depth 8 --durability each'
    'order-sweep --depth 1 --durability each'
    'order-sweep --jobs 2 --durability each'
    'order-sweep --jobs 2 --depth 8 --durability each'
    'order-sweep --jobs 2 --depth 1 --durability each'
)

# The ways that wait for the disk with each order sweep so many at most: their
# rate is the same, and a disk may take 3 ms.
share=5000

idle_turns=200

# --- Sweeping ----------------------------------------------------------------

# The number of orders that a way sweeps.
orders_of()
{
    case $1 in
    *loop | *each) echo $((due < share ? due : share)) ;;
    *) echo "$due" ;;
    esac
}

# One way of sweeping, in a fresh shop; what it took is a line of FILE.
sweep()
{
    local file=$1 round=$2 place=$3 way=$4 orders label command wrong
    orders=$(orders_of "$way")
    label=$(printf '%s\t' "$round" "$place" "$way")$orders
    fresh_shop
    case $way in
    'set-based statement')
        time_as shop_owner "$file" "$label" \
            psql -X -q -v ON_ERROR_STOP=1 -f "$here/setbased.sql"
        ;;
    'function without guards')
        sql -d bench -U shop_owner -f "$here/bare.sql"
        time_as cron "$file" "$label" "$ORDER_SWEEP_BIN" --time-limit 1d
        ;;
    'one-at-a-time loop')
        time_as shop_owner "$file" "$label" \
            "$ORDER_SWEEP_BUILD/tests/bench_loop" "$orders"
        ;;
    *)
        read -r -a command <<<"$way"
        command=("$ORDER_SWEEP_BIN" "${command[@]:1}" --time-limit 1d)
        if [ "$orders" != "$due" ]; then
            command+=(--max-orders "$orders")
        fi
        time_as cron "$file" "$label" "${command[@]}"
        ;;
    esac || die "$way: ended with $?"
    wrong=$(broken bench "$orders" "$due" "$total")
    [ -z "$wrong" ] || die "$way: $wrong"
    echo "bench: round $round of $rounds, $way: $(tail -n 1 "$scratch/$file" |
        awk -F '\t' '{ printf "%d orders in %.2f s", $4, $5 }')" >&2
}

# --- The idle run ------------------------------------------------------------

# The number of files that a command opens, "-" where strace cannot tell.
files_opened()
{
    if PGUSER=cron PGDATABASE=bench strace -f -qq -e trace=open,openat \
        -o "$scratch/strace" "$@" >/dev/null 2>&1; then
        grep -c -E ' = [0-9]+$' "$scratch/strace"
    else
        echo -
    fi
}

# Time an idle run in this turn.
idle_run()
{
    local turn=$1 name=$2
    shift 2
    if [ "$turn" = 0 ]; then
        files[$name]=$(files_opened "$@")
    else
        time_as cron idle "$turn"$'\t'"$name"$'\t'"${files[$name]}" "$@"
    fi
}

# 200 times each, in turns, in a shop where nothing is due any more.
idle_runs()
{
    local turn packaged
    local -A files
    # What a user calls: in Debian a wrapper that looks for the server's own.
    packaged=$(PATH=${PATH#*:} command -v psql)
    for turn in $(seq 0 "$idle_turns"); do
        idle_run "$turn" order-sweep "$ORDER_SWEEP_BIN"
        idle_run "$turn" select_one "$ORDER_SWEEP_BUILD/tests/bench_select_one"
        idle_run "$turn" psql psql -XAtc 'select 1'
        idle_run "$turn" "$packaged" "$packaged" -XAtc 'select 1'
    done
    echo "bench: $idle_turns idle runs" >&2
}

# --- All of it ---------------------------------------------------------------

measured=()
for way in "${ways[@]}"; do
    if grep -q -E -e "$only" <<<"$way"; then
        measured+=("$way")
    fi
done
idle=
if grep -q -E -e "$only" <<<'idle run'; then
    idle=yes
fi
[ -n "$idle" ] || [ "${#measured[@]}" != 0 ] || die "no way matches $only"

make_shop "$due" "$total"
# Round 0 is not counted: in it the server makes the WAL files that it uses again later.
sweep warm_up 0 0 'order-sweep'
if [ -n "$idle" ]; then
    sql -d bench -c 'VACUUM (ANALYZE)' -c CHECKPOINT
    idle_runs
fi
for round in $(seq "$rounds"); do
    for place in "${!measured[@]}"; do
        sweep sweeps "$round" "$place" "${measured[place]}"
    done
done

machine
if [ "${#measured[@]}" != 0 ]; then
    printf '\n%s due of %s orders; rounds: %s; medians (min..max):\n\n' \
        "$due" "$total" "$rounds"
    sql -f "$here/report_sweeps.sql" <"$scratch/sweeps"
fi
if [ -n "$idle" ]; then
    printf '\nNothing due; turns: %s; medians (min..max):\n\n' "$idle_turns"
    sql -f "$here/report_idle.sql" <"$scratch/idle"
fi
