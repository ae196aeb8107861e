# shellcheck shell=bash
# Sourced by the measurements: the shop, what a command takes, the machine.
#
# Each measurement has a new database, bench, copied file by file from one that
# was loaded, vacuumed (FREEZE) and analysed once: the same pages, no dead rows,
# the same statistics, so the same plans.  Then all of it is read into shared
# buffers, small tables last, and a checkpoint done, so that no measurement pays
# for what another one left to be written.
#
# The caller has set these:
: "${here:?}" "${repeat:?}"

# In the server's folder, which is removed however this ends.
scratch=${PGHOST%/*}/bench
mkdir "$scratch"

read -r load _ </proc/loadavg

sql()
{
    psql -X -q -A -t -v ON_ERROR_STOP=1 "$@"
}

die()
{
    echo "bench: $*" >&2
    exit 1
}

sql -c 'CREATE ROLE shop_owner LOGIN' -c 'CREATE ROLE cron LOGIN'

# --- The shop ----------------------------------------------------------------

# A shop with so many due orders and so many in all, in the database bench_shop.
make_shop()
{
    local due=$1 total=$2
    sql -c 'SET client_min_messages = warning' \
        -c 'DROP DATABASE IF EXISTS bench_shop' \
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
    [ "$due" = 0 ] || [ -n "$(broken bench_shop "$due" "$due" "$total")" ] ||
        die 'verify.sql is blind'
}

# What is wrong in a database in which so many orders, of so many due, of so many
# in all were to be swept.
broken()
{
    sql -d "$1" -v swept="$2" -v due="$3" -v total="$4" \
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

# --- A command ---------------------------------------------------------------

now_us()
{
    echo "${EPOCHREALTIME/[.,]/}"
}

# Time a command under a role; what it took is a line of FILE with LABEL.
time_as()
{
    local role=$1 file=$2 label=$3
    shift 3
    PGUSER=$role PGDATABASE=bench "$ORDER_SWEEP_BUILD/tests/bench_stopwatch" \
        "$scratch/$file" "$label" "$@" >/dev/null
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
