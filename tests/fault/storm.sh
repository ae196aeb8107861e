#!/bin/bash
# The storm: a flash sale on a bad day. Buyers place, pay (some slowly, some by
# a payment that touches the order only through its foreign key), edit and pay
# late; an admin cancels by hand; four sweepers work at once, with the lock and
# without, straight and through PgBouncer; runs are killed and stopped, sessions
# ended, and the server is stopped (fast and immediately) and started again.
# When all is over, one plain run sweeps the rest, and everything must add up.
#
#     tests/fault/storm.sh [--seconds N | --minutes N] [--seed S]
#                          [--mutate NAME] [--verbose]
#
# By itself it needs a build in build/dev, or ORDER_SWEEP_BIN; it makes a server
# and a pooler of its own, and keeps nothing unless something is broken. It ends
# with 0 if all holds, with 1 after a line "violated: ..." for each thing that
# does not. --seed repeats what each actor does; storm.c says what that means.
# --mutate takes a guard out of the sweep, to see that the storm notices:
# no-row-lock, one-statement or no-journal.
#
# An immediate stop of the server may undo whole cancels of a run that has not
# closed its books (--durability batch), never half of one, and never a payment
# that was told as done. (That the server runs with fsync off does not matter
# here: what it has written is with the kernel, which goes on.)
set -euo pipefail

seconds=20
seed=$((RANDOM * 32768 + RANDOM))
mutation=
verbose=
while [ $# != 0 ]; do
    case $1 in
    --seconds) seconds=$2; shift ;;
    --minutes) seconds=$(($2 * 60)); shift ;;
    --seed) seed=$2; shift ;;
    --mutate) mutation=$2; shift ;;
    --verbose) verbose=yes ;;
    *)
        echo "usage: storm.sh [--seconds N | --minutes N] [--seed S]" \
            "[--mutate NAME] [--verbose]" >&2
        exit 64
        ;;
    esac
    shift
done

: "${ORDER_SWEEP_SOURCE:=$(cd "$(dirname "$0")/../.." && pwd)}"
: "${ORDER_SWEEP_BUILD:=$ORDER_SWEEP_SOURCE/build/dev}"
: "${ORDER_SWEEP_BIN:=$ORDER_SWEEP_BUILD/cmd/order-sweep/order-sweep}"
ORDER_SWEEP_BIN=$(realpath "$ORDER_SWEEP_BIN")
own_folder=
if [ -z "${ORDER_SWEEP_TMP:-}" ]; then
    own_folder=$(mktemp -d /tmp/order-sweep-storm.XXXXXX)
    ORDER_SWEEP_TMP=$own_folder
fi
folder=$ORDER_SWEEP_TMP
# Any value will do until there is a server.
export PGHOST=${PGHOST:-none}
export ORDER_SWEEP_SOURCE ORDER_SWEEP_BIN ORDER_SWEEP_TMP

# shellcheck source=tests/support/shop.sh
. "$ORDER_SWEEP_SOURCE/tests/support/shop.sh"
# shellcheck source=tests/support/pooler.sh
. "$ORDER_SWEEP_SOURCE/tests/support/pooler.sh"
here=$ORDER_SWEEP_SOURCE/tests/fault

ORDER_SWEEP_TEST_CONF='checkpoint_timeout = 30s
deadlock_timeout = 100ms
wal_writer_delay = 10s
wal_writer_flush_after = 1GB'
# shellcheck source=tests/support/cluster.sh
. "$support/cluster.sh"
actors=
tidy_up()
{
    if [ -n "$actors" ]; then
        # The others die with it.
        kill -KILL "$actors" 2>/dev/null || :
        wait "$actors" 2>/dev/null || :
    fi
    pooler_stop
    cluster_stop
    if [ -n "$own_folder" ] && [ ! -e "$folder/dump.sql" ]; then
        rm -rf "$own_folder"
    fi
}
trap tidy_up EXIT
cluster_start

# --- The shop ------------------------------------------------------------------

# Without a guard: with NEW (nothing) for OLD in the function that cancels.
mutate()
{
    sql -o /dev/null -c "SELECT testing.mutate('cancel_unpaid_cancel',
        \$a\$$1\$a\$, \$a\$${2:-}\$a\$)"
}

lock='PERFORM FROM shop.orders o WHERE o.id = $1 FOR UPDATE OF o SKIP LOCKED;'
take_out()
{
    sql -o /dev/null -f "$support/testing.sql"
    case $1 in
    no-row-lock) mutate "$lock" 'PERFORM 1;' ;;
    one-statement)
        # What waits for the payer's lock still looks as it did before.
        mutate "$lock" 'PERFORM 1;'
        mutate $'\n     WHERE o.id = $1\n' $'\n     WHERE o.id = (SELECT x.id
            FROM shop.orders x WHERE x.id = $1 FOR UPDATE)\n'
        ;;
    no-journal)
        mutate "INSERT INTO order_sweep.journal (sweep, order_key, run_id, payload)
    VALUES ('cancel_unpaid', order_sweep_key, \$3, order_sweep_payload)" \
            'PERFORM 1'
        ;;
    *) die "no such mutation: $1" ;;
    esac
}

# The sample shop, but with two seconds to pay.
window='2 seconds'
new_db storm
run 0 migrate
sql -o /dev/null -f "$sample/shop.sql" -f "$here/storm_shop.sql"
sed "s/'30 minutes'/'$window'/" "$sample/definition.sql" |
    PGOPTIONS='-c client_min_messages=error' sql -o /dev/null
value t "SELECT after = interval '$window' FROM order_sweep.sweep"
if [ -n "$mutation" ]; then
    take_out "$mutation"
fi
pooler_start transaction 10 'server_login_retry = 1' \
    'server_idle_timeout = 600' 'max_client_conn = 200'

# --- The storm -------------------------------------------------------------------

echo "storm: seed $seed, $seconds s, $ORDER_SWEEP_BIN${mutation:+, $mutation}"
"$ORDER_SWEEP_BUILD/tests/storm" "$seed" "$seconds" "$folder" \
    "$pooler_dir" "$pooler_port" &
actors=$!

# Stop and start the server again and again, in ways and after pauses that come
# from the seed.
RANDOM=$((seed % 32768))
modes=(fast immediate)
turn=$((RANDOM % 2))
end=$((SECONDS + seconds))
next=$((SECONDS + 2 + RANDOM % 4))
while kill -0 "$actors" 2>/dev/null; do
    sleep 0.1
    if [ "$SECONDS" -ge "$next" ] && [ "$SECONDS" -lt "$end" ]; then
        own_stop "${modes[turn]}"
        own_start || die "$(tail -n 20 "$cluster_dir/run/server.log")"
        echo "${modes[turn]}" >>"$folder/restarts"
        turn=$((1 - turn))
        next=$((SECONDS + 5 + RANDOM % 6))
    fi
done
status=0
wait "$actors" || status=$?
actors=
case $status in
0 | 1) ;;
*) die "the actors ended with $status" ;;
esac

# --- Afterwards --------------------------------------------------------------------

violated()
{
    sed 's/^/storm: /' >>"$folder/violations"
}

# No run is left, so nothing of one may be: look before the sessions of the
# pooler end.
if ! (wait_until "NOT EXISTS (SELECT FROM pg_stat_activity
        WHERE datname = current_database() AND application_name LIKE 'order-sweep%'
          AND state <> 'idle')
    AND NOT EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory')") \
    2>"$folder/waited"; then
    violated <"$folder/waited"
fi
pooler_stop

# Locks held by others put an order off; whatever else fails one is a fault.
sql -c "SELECT format('order %s failed: %s (SQLSTATE %s)', order_key, message,
                      sqlstate)
          FROM order_sweep.failure
         WHERE sqlstate NOT IN ('40P01', '55P03', '57014')" | violated
sql -c "UPDATE order_sweep.failure SET next_try = now() - interval '1 s'" \
    -c "SELECT storm.settle()" -o /dev/null
wait_until "NOT EXISTS (SELECT FROM shop.orders WHERE order_status = 1
    AND created > extract(epoch FROM now() - interval '3 s'))"
status=0
"$ORDER_SWEEP_BIN" --time-limit 10m --format json >"$out" 2>"$err" </dev/null || status=$?
if [ "$status" != 0 ] || [ -s "$err" ]; then
    echo "the last run ended with $status: $(cat "$err" "$out")" | violated
fi

for table in action run; do
    cat "$folder/${table}s".* | sql -c "\\copy storm.$table FROM pstdin
        WITH (FORMAT csv, DELIMITER E'\\t', QUOTE E'\\x01')"
done
touch "$folder/restarts"
sql -c '\copy storm.restart FROM pstdin' <"$folder/restarts"
wait_sessions_gone
sql -v window="$window" -f "$support/invariants.sql" | violated
sql -f "$here/storm_invariants.sql" | violated

sql -v seconds="$seconds" -f "$here/storm_load.sql"
if [ -n "$verbose" ]; then
    echo "What runs said (numbers as N):"
    cat "$folder"/stderr.* | grep '^order-sweep: ' | sed 's/[0-9]\+/N/g' |
        sort | uniq -c | sort -rn
fi

# --- If something is broken -----------------------------------------------------------

# All that is known of an order.
tell_order()
{
    echo "--- order $1"
    sql -x -v id="$1" <<'SQL'
SELECT * FROM shop.orders WHERE id = :id;
SELECT * FROM shop.order_line WHERE order_id = :id;
SELECT * FROM shop.payment WHERE order_id = :id;
SELECT * FROM order_sweep.journal WHERE order_key = jsonb_build_array(:id);
SELECT * FROM order_sweep.failure WHERE order_key = jsonb_build_array(:id);
SELECT actor, step, action, number, result, to_timestamp(at) AS ended
  FROM storm.action WHERE order_id = :id ORDER BY at;
SELECT r.*, to_timestamp(r.at) AS ended
  FROM storm.run r JOIN order_sweep.journal j
    ON j.run_id = (r.report->>'run')::bigint
 WHERE j.order_key = jsonb_build_array(:id);
SQL
}

if [ ! -s "$folder/violations" ]; then
    echo "storm: all invariants hold"
    exit 0
fi
sed 's/^/violated: /' "$folder/violations"
if [ -z "$mutation" ]; then
    sed -n 's/.*order \[\?\([0-9]\+\).*/\1/p' "$folder/violations" | sort -u |
        head -n 3 | while read -r order; do
        tell_order "$order"
    done
    pg_dump -f "$folder/dump.sql"
    cp "$cluster_dir/run/server.log" "$folder/"
    echo "storm: the database (dump.sql), the server's log and what actors and" \
        "runs wrote are in $folder"
fi
echo "storm: repeat with: tests/fault/storm.sh --seconds $seconds --seed $seed"
exit 1
