#!/bin/bash
# Four hosts and one PostgreSQL, each host with an address, a name and a network
# of its own. They sweep together, in each way that there is; one is cut off in
# mid-batch (its packets vanish, nothing is closed), on one the run is killed,
# and the clock of one is wrong by a day. Nothing is lost, nothing done twice,
# and what the lost host held is free within the limits of the keepalives.
set -euo pipefail

# shellcheck source=tests/support/hosts.sh
. "$ORDER_SWEEP_SOURCE/tests/support/hosts.sh"
# shellcheck source=tests/support/shop.sh
. "$ORDER_SWEEP_SOURCE/tests/support/shop.sh"

libfaketime=$(find /usr/lib -name libfaketime.so.1 | head -n 1)
if [ -z "$libfaketime" ]; then
    echo 'four_hosts: libfaketime is not installed' >&2
    exit 77
fi

# Each way has a database of its own, so that one cut is for all of them.
alone='lock linger'
together='no_lock slots linger_slots'
ways="$alone $together"
declare -A arguments=(
    [lock]=''
    [linger]='--linger'
    [no_lock]='--no-lock'
    [slots]='--slots 4'
    [linger_slots]='--linger --slots 4'
)
# A session may be idle for this long and ten seconds: so it is the keepalives
# that end the one that was cut off. A quarter of it is what an order may take.
limit='--time-limit 2m'
keepalives=25
slack=15

hosts='east north south west'
well=east
cut=north
killed=south
wrong=west
hosts_server
for host in $hosts; do
    if [ "$host" = "$wrong" ]; then
        # The clock on the wall only.  Sanitizers want to be loaded first.
        host_start "$host" env LD_PRELOAD="$libfaketime" \
            FAKETIME_DONT_FAKE_MONOTONIC=1 \
            ASAN_OPTIONS="${ASAN_OPTIONS:-}:verify_asan_link_order=0"
    else
        host_start "$host"
    fi
done

# --- The shop ----------------------------------------------------------------

# Some would be due if the wrong clock were asked, and stay young till the end.
new_shop hosts 1000 20
base=$PGDATABASE
place 20 '20 minutes'
due=$(sql -c 'SELECT count(*) FROM order_sweep.cancel_unpaid_due(NULL)')
make_gate
for host in $hosts; do
    sql -c "CREATE TRIGGER \"$host\" BEFORE UPDATE ON shop.orders
        FOR EACH ROW WHEN (NEW.id % 10 = 0
            AND inet_client_addr() = '${host_address[$host]}')
        EXECUTE FUNCTION gate.pass('$host')"
done
for way in $ways clock; do
    sql -d postgres -c "CREATE DATABASE ${base}_$way TEMPLATE $base"
done

# in_way NAME: from here on in its database, with its arguments.
in_way()
{
    way=$1
    PGDATABASE=${base}_$way
    # shellcheck disable=SC2206  # words
    options=($limit ${arguments[$way]:-})
}

# all_swept HOSTS: once, and by these, or more.
all_swept()
{
    value "$due $due 0 0" "SELECT concat_ws(' ',
        (SELECT count(*) FROM order_sweep.journal),
        (SELECT count(DISTINCT order_key) FROM order_sweep.journal),
        (SELECT count(*) FROM order_sweep.cancel_unpaid_due(NULL)),
        (SELECT count(*) FROM order_sweep.failure))"
    value t "SELECT array_agg(r.host) @> string_to_array('$1', ' ')
        FROM order_sweep.journal j JOIN order_sweep.run r ON r.id = j.run_id"
    invariants
}

# --- The wrong clock by itself -----------------------------------------------

in_way clock
for FAKETIME in -1d +1d; do
    export FAKETIME
    off=$((($(there $wrong date +%s) - $(date +%s)) * ${FAKETIME%d}))
    if [ $off -lt 86340 ] || [ $off -gt 86460 ]; then
        die "the clock of $wrong is off by $off s"
    fi
done
before=$due
for FAKETIME in -1d +1d; do
    on $wrong run 0
    silent
    all_swept $wrong
    # Asleep for a minute, unless it knows how long it is to the deadline.
    place 30 '29 minutes 56 seconds'
    due=$((due + 30))
    on $wrong start --linger --look-every 1m
    wait_until "(SELECT count(*) = $due FROM order_sweep.journal)"
    kill -TERM "$pid"
    finish 75
    all_swept $wrong
    place 30 '1 hour'
    due=$((due + 30))
done
due=$before

# --- All of them together ----------------------------------------------------

declare -A pids
# begin HOST [ARGUMENT...]
begin()
{
    local host=$1
    shift
    on "$host" start "${options[@]}" "$@"
    pids[$way.$host]=$pid
}

# ended STATUS HOST
ended()
{
    finish "$1" "${pids[$way.$2]}"
}

session_gone()
{
    sql -c "SELECT NOT EXISTS (SELECT FROM pg_stat_activity
        WHERE datname = current_database()
          AND client_addr = '${host_address[$1]}')"
}

# Each comes to an order of its own, one host after the other: a batch that is
# being read hides its orders from others.  In the other ways one is at work.
for way in $ways; do
    in_way "$way"
    for host in $hosts; do
        close_gate "$host"
    done
    # Their deadline falls into the time when nobody knows of the loss yet.
    place 40 '29 minutes 45 seconds'
    begin $cut --format json
done
due=$((due + 40))
at_gates=1
for host in $well $killed $wrong; do
    for way in $together; do
        in_way "$way"
        wait_at_gates $at_gates
        begin "$host"
    done
    at_gates=$((at_gates + 1))
done
for way in $alone; do
    in_way "$way"
    wait_at_gate
done
for host in $well $killed $wrong; do
    in_way linger
    begin "$host"
done
wait_until "(SELECT count(DISTINCT client_addr) = 4 FROM pg_stat_activity
    WHERE datname = current_database())"
for way in $together; do
    in_way "$way"
    wait_at_gates 4
done

cut_off $cut
since=$SECONDS
for way in linger $together; do
    in_way "$way"
    kill -KILL "${pids[$way.$killed]}"
    ended 137 $killed
    open_gates
done
for way in no_lock slots; do
    in_way "$way"
    for host in $well $wrong; do
        ended 0 "$host"
        silent
    done
done

# The holder of the lock is not known to be lost yet.
in_way lock
sql -c "DELETE FROM gate.closed WHERE name = '$cut'"
on $well run 0
silent
is 'the session is gone, as if it had been closed' f "$(session_gone $cut)"

for way in $ways; do
    in_way "$way"
    until [ "$(session_gone $cut)" = t ]; do
        if [ $((SECONDS - since)) -gt $((keepalives + slack)) ]; then
            die "$way: the session of a lost host is not gone in time"
        fi
        sleep 0.2
    done
done
echo "the sessions were gone after $((SECONDS - since)) s"

# --- The rest is done by the others ------------------------------------------

in_way lock
begin $killed
wait_at_gate
kill -KILL "$pid"
ended 137 $killed
open_gates
wait_sessions_gone
for way in lock no_lock slots; do
    in_way "$way"
    on $wrong run 0 "${options[@]}"
    silent
done
# Those that linger do it by themselves.
for way in linger linger_slots; do
    in_way "$way"
    wait_until "(SELECT count(*) = $due FROM order_sweep.journal)"
    for host in $well $wrong; do
        kill -TERM "${pids[$way.$host]}"
        ended 75 "$host"
    done
done
for way in $ways; do
    in_way "$way"
    # The lost host knows what it does not know.
    ended 69 $cut
    grep -q 'outcome of [0-9]* orders* is unknown' "$err" ||
        die 'the unknown orders are not told'
    truthful
    is 'unknown orders are reported' t \
        "$([ "$(reported unknown)" -gt 0 ] && echo t)"
    case $way in
    lock) all_swept "$cut $killed $wrong" ;;
    linger) all_swept $cut ;;
    *) all_swept "$hosts" ;;
    esac
done

# --- The lost host is back ---------------------------------------------------

reconnect $cut
in_way slots
place 20 '1 hour'
due=$((due + 20))
on $cut run 0 "${options[@]}"
silent
all_swept "$hosts"
