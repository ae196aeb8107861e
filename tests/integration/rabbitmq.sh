#!/bin/bash
# Events to RabbitMQ: a durable queue whose workers each get an event once, and
# a broadcast that each application server gets; nothing is lost, whatever dies.
set -euo pipefail

# shellcheck source=tests/support/shop.sh
. "$ORDER_SWEEP_SOURCE/tests/support/shop.sh"
# shellcheck source=tests/support/rabbitmq.sh
. "$ORDER_SWEEP_SOURCE/tests/support/rabbitmq.sh"
# shellcheck source=tests/support/relay.sh
. "$ORDER_SWEEP_SOURCE/tests/support/relay.sh"

tmp=$ORDER_SWEEP_TMP
workers=()
cleanup()
{
    if [ "${#workers[@]}" != 0 ]; then
        kill -9 "${workers[@]}" 2>/dev/null || :
    fi
    rabbitmq_stop
    drop_dbs
}
trap cleanup EXIT

mkdir "$tmp/rabbitmq"
rabbitmq_start "$tmp/rabbitmq"
tell=(mosquitto_pub -p "$rabbitmq_mqtt_port" -l -q 1 -t orders/cancelled)

# The queue is README's.
sed -n '/^{"queues"/,/^```/{/^```/!p}' "$ORDER_SWEEP_SOURCE/README.md" \
    >"$tmp/queue.json"
rabbitmq_ctl import_definitions "$tmp/queue.json"

in_queue()
{
    rabbitmq_ctl list_queues name messages | awk '$1 == "orders" { print $2 }'
}

# server NAME [OPTION...]: an application server; it comes with a session that
# stays.
server()
{
    mosquitto_sub -p "$rabbitmq_mqtt_port" -i "$1" -c -q 1 -t orders/cancelled \
        "${@:2}"
}

# heard FILE: it has each event, in whole lines; some may be there twice.
heard()
{
    ask_lines "$1" "SELECT l->>'id' FROM line" | sort -u >"$tmp/ids"
    sql -c "SELECT order_sweep.event_id(sweep, order_key, ordinal)
        FROM order_sweep.journal" | sort |
        diff - "$tmp/ids" >&2 || die "$1 has other events than the journal"
}

# --- A queue, and a broadcast ------------------------------------------------

new_shop rabbitmq 10 5
sql -o /dev/null -c "SELECT order_sweep.publish('cancel_unpaid')"
server server-1 -E
server server-2 -E
place 495 '1 hour' # and five are due
run 0
run 0 relay -v -- "${tell[@]}"
relayed 500 0 0
server server-1 -C 500 >"$tmp/server-1"
heard "$tmp/server-1"
# What the broker acknowledged it has after its death.
rabbitmq_stop
rabbitmq_start "$tmp/rabbitmq"
is 'the queue' 500 "$(in_queue)"
server server-2 -C 500 >"$tmp/server-2"
heard "$tmp/server-2"

# worker NAME PREFETCH: reads the queue, each message with the script work-NAME.
# (amqp-consume takes all options for its own, those of its command too.)
worker()
{
    chmod 755 "$tmp/work-$1"
    amqp-consume -s 127.0.0.1 --port "$rabbitmq_amqp_port" -q orders -p "$2" \
        "$tmp/work-$1" >"$tmp/worker-$1" &
    workers+=($!)
}
# The dead one has been given fifty.
mkfifo "$tmp/begun"
printf '#!/bin/sh\necho $$ >%q\nexec sleep 1000\n' "$tmp/begun" >"$tmp/work-dead"
worker dead 50
read -r at_work <"$tmp/begun"
kill -9 "${workers[@]}" "$at_work"
wait "${workers[@]}" 2>/dev/null || :
workers=()
for name in a b; do
    printf '#!/bin/sh\ncat\necho\n' >"$tmp/work-$name"
    worker "$name" 7
done
until [ "$(cat "$tmp"/worker-[ab] | wc -l)" -ge 500 ]; do
    sleep 0.1
done
until [ "$(in_queue)" = 0 ]; do
    sleep 0.1
done
cat "$tmp"/worker-[ab] >"$tmp/workers"
is 'each once' 500 "$(wc -l <"$tmp/workers")"
heard "$tmp/workers"
is 'both at work' yes "$([ -s "$tmp/worker-a" ] && [ -s "$tmp/worker-b" ] && echo yes)"

# --- The broker dies ---------------------------------------------------------

# In the middle: what has no acknowledgement by then is told again.
place 3000 '1 hour'
run 0
start relay --batch 50 --time-limit 8s -- "${tell[@]}"
wait_until "($unpublished) < 2500"
rabbitmq_stop
finish 75
[ "$(sql -c "$unpublished")" -gt 0 ] || die 'the broker died too late'

# While it is down the sweep goes on, and what is to be told shows.
run 75 relay -- "${tell[@]}"
says_like 'the command takes no event: mosquitto_pub ended with *Connection refused'
place 100 '1 hour'
run 0
start relay --linger --look-every 100ms --time-limit 2m -- "${tell[@]}"
relay=$pid
run 0 status
is 'status' 1 "$(grep -c "^  events         $(sql -c "$unpublished") to relay, " "$out")"
rabbitmq_start "$tmp/rabbitmq"
wait_until "($unpublished) = 0"
kill -TERM "$relay"
finish 75 "$relay"

# More may have come than there are; none is missing.
until server server-1 -W 2 >>"$tmp/server-1" 2>"$tmp/timeout" ||
    [ "$(sort -u "$tmp/server-1" | wc -l)" -ge 3600 ]; do
    :
done
heard "$tmp/server-1"
invariants
