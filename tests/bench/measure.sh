#!/bin/bash
# The measurements of tests/bench/run, which starts the server for them:
#
#     measure.sh ROUNDS DUE TOTAL ONLY REPEAT
#
# Each measurement has a new database, copied file by file from one that was
# loaded, vacuumed (FREEZE) and analysed once: the same pages, no dead rows, the
# same statistics, so the same plans.  Then all of it is read into shared
# buffers, small tables last, and a checkpoint done, so that no way of sweeping
# pays for what another one left to be written.
set -euo pipefail

rounds=$1
due=$2
total=$3
only=$4
repeat=$5

here=$(cd "$(dirname "$0")" && pwd)
# In the server's folder, which is removed however this ends.
scratch=${PGHOST%/*}/bench
mkdir "$scratch"

# The ways of sweeping, one a line.  What begins with order-sweep is the command
# that is run.
ways=(
    'set-based statement'
    'one-at-a-time loop'
    'order-sweep'
    'order-sweep --durability each'
    'order-sweep --depth 1 --jobs 1'
    'order-sweep --depth 8 --jobs 1'
    'order-sweep --depth 64 --jobs 1'
    'order-sweep --depth 1 --jobs 2'
    'order-sweep --depth 8 --jobs 2'
    'order-sweep --depth 64 --jobs 2'
    'order-sweep --depth 1 --jobs 1 --durability each'
    'order-sweep --depth 8 --jobs 1 --durability each'
    'order-sweep --depth 64 --jobs 1 --durability each'
    'order-sweep --depth 1 --jobs 2 --durability each'
    'order-sweep --depth 8 --jobs 2 --durability each'
    'order-sweep --depth 64 --jobs 2 --durability each'
)

# The ways that wait for the disk with each order sweep so many at most: their
# rate is the same, and a disk may take 3 ms.
share=5000

idle_turns=200

sql()
{
    psql -X -q -A -t -v ON_ERROR_STOP=1 "$@"
}

die()
{
    echo "bench: $*" >&2
    exit 1
}

# --- The shop ----------------------------------------------------------------

make_shop()
{
    sql -c 'CREATE ROLE shop_owner LOGIN' -c 'CREATE ROLE cron LOGIN' \
        -c 'CREATE DATABASE bench_shop OWNER shop_owner'
    sql -d bench_shop -c 'REVOKE CREATE ON SCHEMA public FROM PUBLIC' \
        -c 'CREATE EXTENSION pg_prewarm'
    "$ORDER_SWEEP_BIN" migrate -d bench_shop -U shop_owner
    sql -d bench_shop -U shop_owner -v due="$due" -v total="$total" \
        -f "$here/shop.sql"
    sql -d bench_shop -U shop_owner -o /dev/null -f "$here/definition.sql" \
        -c "SELECT order_sweep.grant_to('cron')"
    sql -d bench_shop -c 'VACUUM (FREEZE, ANALYZE)'
    # What sees nothing wrong in an unswept shop would see nothing later on.
    [ -n "$(broken bench_shop "$due")" ] || die 'verify.sql is blind'
}

# What is wrong in a database in which so many orders were to be swept.
broken()
{
    sql -d "$1" -v swept="$2" -v due="$due" -v total="$total" \
        -f "$here/verify.sql"
}

fresh_shop()
{
    local strategy=
    # Before 15 there was no other.
    if [ "$(sql -c 'SHOW server_version_num')" -ge 150000 ]; then
        strategy='STRATEGY file_copy'
    fi
    sql -c 'SET client_min_messages = warning' \
        -c 'DROP DATABASE IF EXISTS bench WITH (FORCE)' \
        -c "CREATE DATABASE bench TEMPLATE bench_shop $strategy"
    sql -d bench -o /dev/null -c "SELECT sum(pg_prewarm(oid))
        FROM (SELECT oid FROM pg_class WHERE relkind IN ('r', 'i', 't')
               ORDER BY pg_relation_size(oid) DESC) AS relation" -c CHECKPOINT
}

# --- Sweeping ----------------------------------------------------------------

# The number of orders that a way sweeps.
orders_of()
{
    case $1 in
    *loop | *each) echo $((due < share ? due : share)) ;;
    *) echo "$due" ;;
    esac
}

# Time a command under a role; what it took is a line of FILE with LABEL.
time_as()
{
    local role=$1 file=$2 label=$3
    shift 3
    PGUSER=$role PGDATABASE=bench "$ORDER_SWEEP_BUILD/tests/bench_stopwatch" \
        "$scratch/$file" "$label" "$@" >/dev/null
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
    wrong=$(broken bench "$orders")
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

# 200 times each, in turns, in a shop where nothing is due any more.
idle_runs()
{
    local turn program query
    local own=("$ORDER_SWEEP_BIN") other=(psql -XAtc 'select 1')
    program=order-sweep$'\t'$(files_opened "${own[@]}")
    query="psql -XAtc 'select 1'"$'\t'$(files_opened "${other[@]}")
    for turn in $(seq "$idle_turns"); do
        time_as cron idle "$turn"$'\t'"$program" "${own[@]}"
        time_as cron idle "$turn"$'\t'"$query" "${other[@]}"
    done
    echo "bench: $idle_turns idle runs" >&2
}

# --- The machine -------------------------------------------------------------

machine()
{
    local sync fsync
    sync=$(sql -c 'SHOW wal_sync_method')
    # Its first table: one write of 8 kB.
    fsync=$(pg_test_fsync -s 1 -f "$scratch/fsync" | awk -v sync="$sync" '
        $1 == sync && !seen { seen = 1; print $4 }')
    cat <<END
- Machine: $(nproc) cores, $(sed -n '/^model name/ { s/.*: //p; q }' \
        /proc/cpuinfo), Linux $(uname -r); load average before: $load
- Disk: $(df --output=fstype "$scratch" | tail -n 1), $sync of 8 kB takes \
${fsync:-?} µs (pg_test_fsync)
- PostgreSQL $(sql -c 'SHOW server_version'), on a Unix socket; default settings
  but shared_buffers $(sql -c 'SHOW shared_buffers') and max_wal_size \
$(sql -c 'SHOW max_wal_size'); fsync $(sql -c 'SHOW fsync')
- $("$ORDER_SWEEP_BIN" --version), $(sed -n 's/^CMAKE_BUILD_TYPE:[A-Z]*=//p' \
        "$ORDER_SWEEP_BUILD/CMakeCache.txt")$(git -C "$here" describe --always \
        --dirty 2>/dev/null | sed 's/^/, commit /')
- To repeat it: \`$repeat\`
END
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

read -r load _ </proc/loadavg
make_shop
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
