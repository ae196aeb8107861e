# shellcheck shell=bash
# Sourced by the demo and by the test: the flash sale's engines and processes.
# The caller has sourced the files cluster.sh, redis.sh and rabbitmq.sh of
# tests/support, has order-sweep in its PATH, and traps EXIT.
#
#     sale_start FOLDER PIECES WINDOW   the engines, the shop in PostgreSQL, its
#                                       goods in Redis
#     sale_open [NAME...]               the sale opens; without these processes
#     sale_kill NAME                    kills one; another takes its place
#     sale_close                        no process is there any more
#     sale_stop                         nor an engine
#
# The processes: door-1, door-2, worker-1, worker-2, worker-3, sweeper-1,
# sweeper-2, relay-1, relay-2, board, listener.  What all pages were told is in
# FOLDER/answers; what the processes say, in FOLDER/log.

sale=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=cmd/flash-sale/common.sh
. "$sale/common.sh"

sale_keepers=()

# Durable, for what was acknowledged must be there after a kill.
sale_redis()
{
    mkdir -p "$SALE_FOLDER/redis"
    redis_start "$SALE_FOLDER/redis" --appendonly yes --appendfsync always
}

sale_rabbitmq()
{
    mkdir -p "$SALE_FOLDER/rabbitmq"
    rabbitmq_start "$SALE_FOLDER/rabbitmq"
}

sale_start()
{
    export SALE_FOLDER=$1
    export SALE_REDIS=$SALE_FOLDER/redis/socket
    local root=$sale/../..

    cluster_start keep
    export PGDATABASE=shop
    createdb shop
    order-sweep migrate
    psql -X -q -v ON_ERROR_STOP=1 -f "$root/sql/sample/shop.sql"
    sed "s/after  => '30 minutes'/after  => '$3'/" \
        "$root/sql/sample/definition.sql" |
        PGOPTIONS='-c client_min_messages=error' psql -X -q -v ON_ERROR_STOP=1 -o /dev/null
    psql -X -q -v ON_ERROR_STOP=1 -v pieces="$2" -f "$sale/sale.sql"
    # Of these Redis does not know.
    sql -c 'INSERT INTO shop.blocked_buyer SELECT generate_series(50, 5000, 50)'

    sale_rabbitmq
    # shellcheck disable=SC2154  # of rabbitmq.sh
    export SALE_MQTT=$rabbitmq_mqtt_port
    sale_redis
    redis -x FUNCTION LOAD REPLACE <"$sale/sale.lua" >/dev/null
    redis -x FUNCTION LOAD REPLACE \
        <"$root/cmd/order-sweep/redis/order_sweep.lua" >/dev/null
    redis XGROUP CREATE requests workers '$' MKSTREAM >/dev/null
    sql -c 'SELECT id, stock FROM shop.goods' | while read -r goods stock; do
        redis SET "stock:$goods" "$stock" >/dev/null
    done
    mkdir "$SALE_FOLDER/pids"
    : >"$SALE_FOLDER/answers"
}

# keep NAME COMMAND...: starts it again whenever it ends, until sale_close.
keep()
{
    local name=$1
    shift
    (
        child=
        trap 'kill "$child" 2>/dev/null || :; wait; exit' TERM
        while :; do
            "$@" &
            child=$!
            echo "$child" >"$SALE_FOLDER/pids/$name"
            wait "$child" || :
            sleep 0.2
        done
    ) 9>&- >>"$SALE_FOLDER/log" 2>&1 </dev/null &
    sale_keepers+=($!)
}

listen()
{
    exec mosquitto_sub -p "$SALE_MQTT" -i listener -c -q 1 -t 'answer/+' \
        -t 'back/+' -t closed -F '%t %p' >>"$SALE_FOLDER/answers"
}

sale_open()
{
    local without=" $* " n
    # A session that the broker keeps: no answer is missed.
    mosquitto_sub -p "$SALE_MQTT" -i listener -c -q 1 -t 'answer/+' \
        -t 'back/+' -t closed -E
    keep listener listen
    keep door-1 "$sale/door.sh" 1 '*[0-7]'
    keep door-2 "$sale/door.sh" 2 '*[89a-f]'
    for n in 1 2 3; do
        keep "worker-$n" "$sale/worker.sh" "$n"
    done
    for n in 1 2; do
        if [[ $without != *' sweeper '* ]]; then
            keep "sweeper-$n" order-sweep --linger
        fi
        keep "relay-$n" order-sweep relay --linger --look-every 200ms \
            --time-limit 20s -- "$sale/tell.sh"
    done
    keep board "$sale/board.sh"
    redis SET open yes >/dev/null
}

sale_kill()
{
    kill -9 "$(cat "$SALE_FOLDER/pids/$1")" 2>/dev/null || :
}

sale_close()
{
    local pid
    for pid in "${sale_keepers[@]}"; do
        kill "$pid" 2>/dev/null || :
    done
    for pid in "${sale_keepers[@]}"; do
        wait "$pid" 2>/dev/null || :
    done
    sale_keepers=()
}

sale_stop()
{
    sale_close
    redis_stop
    rabbitmq_stop
    cluster_stop
}
