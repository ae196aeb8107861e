#!/bin/bash
# How late orders are swept: the measurements of tests/bench/run punctual, which
# starts the server for them:
#
#     punctual.sh ONLY REPEAT
#
# 2000 orders whose deadlines fall at random in two minutes, the same for each
# way.  Lateness is the time of the commit, by track_commit_timestamp, less the
# deadline; clocks are all the one of this machine.
set -euo pipefail

only=$1
repeat=$2

here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/bench/common.sh
. "$here/common.sh"
# For cluster_as_server: Redis runs as the user that PostgreSQL runs as.
# shellcheck source=tests/support/cluster.sh
. "$here/../support/cluster.sh"

due=2000
total=400000

# Seconds over which the deadlines fall, and after the last of them until what
# is not swept counts as left.
span=120
patience=30

# Redis has these to look after, too.
others=1000000

# What begins with order-sweep is the command that is run at each minute.
ways=(
    'order-sweep'
    'order-sweep --linger'
    'Redis'
    'Redis, 1,000,000 other keys'
    'Redis, 1,000,000 other keys, hz 100, active-expire-effort 10'
    'Redis, subscriber down for 5 s'
)

expired=__keyevent@0__:expired

# --- The orders --------------------------------------------------------------

# Wait for a second of the clock, since 1970.
sleep_until()
{
    local left
    left=$(awk -v now="${EPOCHREALTIME/,/.}" -v then="$1" \
        'BEGIN { print (then > now ? then - now : 0) }')
    sleep "$left"
}

# A fresh shop whose deadlines fall in the span from this second on.
prepare_orders()
{
    sql -d bench -o /dev/null -c 'SELECT setseed(0.5)' -c "
        UPDATE shop.orders o
           SET created_at = to_timestamp($1 + $span * r.at)
                            - interval '30 minutes'
          FROM (SELECT id, random() AS at
                  FROM generate_series(1, $due) AS id) AS r
         WHERE o.id = r.id" -c 'VACUUM (ANALYZE) shop.orders' -c CHECKPOINT
}

orders_left()
{
    sql -d bench -c "SELECT $due - count(*) FROM order_sweep.journal"
}

# What comes too late for the first deadline would be seen as lateness.
must_be_before()
{
    [ "$EPOCHSECONDS" -lt "$1" ] || die "not ready in time for $1"
}

# --- Cron --------------------------------------------------------------------

# Run a command at each whole minute, as cron does, which itself may be up to a
# second later.  It has been at work for half a minute when the first order is
# due.
tick()
{
    local command=("$@") minute start tick last pid pids=()
    minute=$((EPOCHSECONDS / 60 * 60 + 60))
    [ $((minute - EPOCHSECONDS)) -ge 10 ] || minute=$((minute + 60))
    start=$((minute + 30))
    prepare_orders "$start"
    must_be_before "$minute"
    # One that lingers is there for the last deadline; else the next tick is.
    last=$((start + span))
    [[ " $* " = *' --linger '* ]] || last=$((last + 59))
    for ((tick = minute; tick <= last; tick += 60)); do
        sleep_until "$tick"
        PGUSER=cron PGDATABASE=bench "${command[@]}" &
        pids+=($!)
    done
    for pid in "${pids[@]}"; do
        wait "$pid" || die "$*: ended with $?"
    done
}

# --- Redis -------------------------------------------------------------------

# shellcheck source=tests/support/redis.sh
. "$here/../support/redis.sh"

# Start a Redis without persistence, with these options.
start_redis()
{
    rm -rf "$scratch/redis"
    mkdir "$scratch/redis"
    if [ "$(id -u)" = 0 ]; then
        chown postgres: "$scratch/redis"
        redis_as=(cluster_as_server)
    fi
    redis_start "$scratch/redis" --notify-keyspace-events Ex "$@"
}
trap redis_stop EXIT

# Keys from stdin, a SET a line.
load_keys()
{
    redis --pipe >"$scratch/redis.load"
    grep -q '^errors: 0,' "$scratch/redis.load" ||
        die "Redis: $(tail -n 1 "$scratch/redis.load")"
}

# A key an order.  Redis counts in milliseconds: the next whole one, or an order
# could be told of before it is due.
load_orders()
{
    sql -d bench -c "
        SELECT format('SET order:%s 1 PXAT %s', id,
                      ceil(1000 * extract(epoch FROM
                          created_at + interval '30 minutes')))
          FROM shop.orders
         WHERE id <= $due" | load_keys
}

# They expire in the hour to come; but a fifth has, and is still to be found, as
# in a Redis that has long been at it: the more it finds, the faster it looks,
# and at a fifth it finds as many as expire.
load_others()
{
    awk -v n="$others" 'BEGIN {
        srand(1)
        for (i = 1; i <= n; i++)
            printf "SET session:%d 1 PX %d\n", i,
                i % 5 ? 1 + 3600000 * rand() : 1
    }' | load_keys
}

# Each event about an order is a call of the function that order-sweep calls,
# in one session, a transaction each, flushed as late as order-sweep's.
subscribe()
{
    local cancel='SELECT order_sweep.cancel_unpaid_cancel(\1, NULL, 0);'
    # Its redis-cli ends with an error, for its connection is cut.
    { redis subscribe "$expired" 2>/dev/null || :; } |
        sed -u -n "s/^order:\([0-9]*\)\$/$cancel/p" |
        PGUSER=cron PGOPTIONS='-c synchronous_commit=off' sql -d bench \
            >>"$scratch/outcomes" &
    subscriber=$!
    until [ "$(redis pubsub numsub "$expired" | tail -n 1)" = 1 ] &&
        [ "$(sql -c "SELECT count(*) FROM pg_stat_activity
                      WHERE datname = 'bench' AND usename = 'cron'")" = 1 ]; do
        kill -0 "$subscriber" || die 'the subscriber does not start'
        sleep 0.1
    done
}

# It ends once it has done what it was told of.
unsubscribe()
{
    redis client kill type pubsub >/dev/null
    wait "$subscriber" || die "the subscriber ended with $?"
}

listen_to_redis()
{
    local way=$1 start options=() wrong
    case $way in
    *'hz 100'*) options=(--hz 100 --active-expire-effort 10) ;;
    esac
    start_redis "${options[@]}"
    case $way in
    *'other keys'*) load_others ;;
    esac
    : >"$scratch/outcomes"
    start=$((EPOCHSECONDS + 10))
    prepare_orders "$start"
    load_orders
    subscribe
    must_be_before "$start"
    case $way in
    *'down for 5 s')
        sleep_until $((start + span / 2))
        unsubscribe
        sleep_until $((start + span / 2 + 5))
        subscribe
        ;;
    esac
    sleep_until $((start + span))
    while [ "$EPOCHSECONDS" -lt $((start + span + patience)) ] &&
        [ "$(orders_left)" != 0 ]; do
        sleep 0.5
    done
    unsubscribe
    wrong=$(sort "$scratch/outcomes" | uniq -c | grep -v ' swept$' || :)
    [ -z "$wrong" ] || die "$way: $wrong"
    redis_stop
}

# --- All of it ---------------------------------------------------------------

# One way, in a fresh shop; each order is a line of the file lateness.
measure()
{
    local place=$1 way=$2 command early left wrong
    fresh_shop
    case $way in
    order-sweep*)
        read -r -a command <<<"$way"
        tick "$ORDER_SWEEP_BIN" "${command[@]:1}"
        ;;
    *) listen_to_redis "$way" ;;
    esac
    sql -d bench -c "COPY (
        SELECT $place, '$way',
               1000 * extract(epoch FROM pg_xact_commit_timestamp(j.xmin)
                                         - o.deadline)
          FROM (SELECT id, created_at + interval '30 minutes' AS deadline
                  FROM shop.orders
                 WHERE id <= $due) AS o
          LEFT JOIN order_sweep.journal j
                 ON j.order_key = jsonb_build_array(o.id)) TO STDOUT" \
        >>"$scratch/lateness"
    # By the beginning of its transaction, which is before the commit.
    early=$(sql -d bench -c "SELECT count(*)
          FROM order_sweep.journal j
          JOIN shop.orders o ON jsonb_build_array(o.id) = j.order_key
         WHERE j.swept_at < o.created_at + interval '30 minutes'")
    [ "$early" = 0 ] || die "$way: $early swept before they were due"
    left=$(orders_left)
    echo "bench: $way: $left left" >&2
    case $way in
    order-sweep*) [ "$left" = 0 ] || die "$way: $left are not swept" ;;
    *)
        # A plain look at all is what others add; then all must be well.
        PGUSER=cron PGDATABASE=bench "$ORDER_SWEEP_BIN"
        ;;
    esac
    wrong=$(broken bench "$due" "$due" "$total")
    [ -z "$wrong" ] || die "$way: $wrong"
}

make_shop "$due" "$total"
measured=
for place in "${!ways[@]}"; do
    if grep -q -E -e "$only" <<<"${ways[place]}"; then
        measured=yes
        measure "$place" "${ways[place]}"
    fi
done
[ -n "$measured" ] || die "no way matches $only"

machine
echo "- Redis $(redis-cli --version | sed 's/.* //'), on a Unix socket;" \
    "default settings but for no persistence"
printf '\n%s orders due at random in %s s; lateness in ms:\n\n' "$due" "$span"
sql -v patience="$patience" -f "$here/report_punctual.sql" \
    <"$scratch/lateness"
