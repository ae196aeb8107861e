#!/bin/bash
# Events to Redis: stock, mark and word of it exactly once, whatever dies; and a
# stream whose workers each get an order once.
set -euo pipefail

# shellcheck source=tests/support/shop.sh
. "$ORDER_SWEEP_SOURCE/tests/support/shop.sh"
# shellcheck source=tests/support/redis.sh
. "$ORDER_SWEEP_SOURCE/tests/support/redis.sh"

listener=
cleanup()
{
    if [ -n "$listener" ]; then
        kill "$listener" 2>/dev/null || :
    fi
    redis_stop
    drop_dbs
}
trap cleanup EXIT

library=$ORDER_SWEEP_SOURCE/cmd/order-sweep/redis/order_sweep.lua
mkdir -p "$ORDER_SWEEP_TMP/redis"
durable=(--appendonly yes --appendfsync always)
redis_start "$ORDER_SWEEP_TMP/redis" "${durable[@]}"
is 'the library' order_sweep "$(redis -x FUNCTION LOAD REPLACE <"$library")"
pipe=(redis-cli -s "$redis_folder/socket" --pipe --pipe-timeout 5)

# --- The library -------------------------------------------------------------

refused()
{
    is "$1" "ERR give_back: $2" "$(redis FCALL give_back "${@:3}" 2>&1)"
}
redis MSET stock:1 0 stock:2 5 word x >/dev/null
redis SADD buyers 7 8 >/dev/null
refused 'no stock' 'wants seen, marks and stock as keys, then buyer, channel and a quantity for each stock' \
    2 seen:1 buyers 7 news
refused 'a quantity too few' 'wants seen, marks and stock as keys, then buyer, channel and a quantity for each stock' \
    4 seen:1 buyers stock:1 stock:2 7 news 1
refused 'no quantity' '"-1" is no quantity' 3 seen:1 buyers stock:1 7 news -1
refused 'no number' 'word is no number' 4 seen:1 buyers stock:1 word 7 news 1 1
refused 'no set' 'word is no set' 3 seen:1 word stock:1 7 news 1
is 'nothing is changed' '0 5 2 0' "$(redis MGET stock:1 stock:2 | paste -sd ' ') $(redis \
    SCARD buyers) $(redis EXISTS seen:1)"
for reply in 1 0 0; do
    is 'once' $reply "$(redis FCALL give_back 5 seen:1 buyers stock:1 stock:2 stock:3 7 news 2 3 4)"
done
is 'what it did' '2 8 0 1' "$(redis MGET stock:1 stock:2 | paste -sd ' ') $(redis \
    EXISTS stock:3) $(redis SCARD buyers)"
redis FLUSHALL >/dev/null

# --- From the shop -----------------------------------------------------------

new_shop redis 10 5
run 0
sql -o /dev/null <<'SQL'
SELECT order_sweep.publish('cancel_unpaid', line => $$
    (SELECT format('FCALL give_back %s seen:%s buyers %s %s back_on_sale %s',
                   2 + count(*), e.id,
                   string_agg('stock:' || (g->>'goods_id'), ' '),
                   e.payload->>'buyer_id', string_agg(g->>'quantity', ' '))
       FROM jsonb_array_elements(e.payload->'goods') g)
$$);
SQL
unpublished="SELECT count(*) FROM order_sweep.journal WHERE published_at IS NULL
    AND swept_at >= (SELECT publish_since FROM order_sweep.sweep)"

# sold N: so many pieces of goods 1 were sold, each to another buyer, and nobody
# paid; Redis has none left.
sold()
{
    place "$1" '1 hour'
    redis SET stock:1 0 >/dev/null
    sql -c "SELECT 'SADD buyers ' || buyer_id FROM shop.orders
        WHERE order_status = 1 AND created < extract(epoch FROM now()) - 1800" |
        redis --pipe >/dev/null
}

# given_back N: all that is back, and who has bought.
given_back()
{
    is 'stock and marks' "$1 0" "$(redis GET stock:1) $(redis SCARD buyers)"
}

# Somebody hears that goods are back on sale, once.
sold 5
redis SUBSCRIBE back_on_sale >"$ORDER_SWEEP_TMP/heard" 2>/dev/null &
listener=$!
until [ "$(redis PUBSUB NUMSUB back_on_sale | tail -n 1)" = 1 ]; do
    sleep 0.05
done
run 0
run 0 relay -- "${pipe[@]}"
silent
given_back 5
until grep -q stock:1 "$ORDER_SWEEP_TMP/heard"; do
    sleep 0.05
done
is 'heard' 1 "$(grep -c stock:1 "$ORDER_SWEEP_TMP/heard")"

# 1,000 events, while relays are killed at each step, the command is, and Redis
# dies: their effect is there exactly once.
sold 1000
run 0
for point in events-taken before-feed after-feed before-book; do
    ORDER_SWEEP_BIN=$ORDER_SWEEP_INJECTION_BIN ORDER_SWEEP_INJECT=$point:kill:2 \
        start relay --batch 50 -- "${pipe[@]}"
    finish 137
    sql -c 'UPDATE order_sweep.delivery SET next_try = now()'
done
[ "$(sql -c "$unpublished")" -gt 500 ] || die 'the kills came too late'
# The command dies with its work half done.
run 0 relay --batch 500 -v -- sh -c \
    "if mkdir '$ORDER_SWEEP_TMP/died' 2>/dev/null; then
         head -n 120 | ${pipe[*]} >/dev/null; kill -9 \$\$
     fi; exec ${pipe[*]}"
value 0 "$unpublished"
given_back 1000

# Redis is down: the sweep goes on, and what is to be told shows; then it drains
# by itself.
redis_stop
sold_before=$(sql -c 'SELECT max(id) FROM shop.orders')
place 100 '1 hour'
start relay --linger --look-every 100ms --time-limit 2m -- "${pipe[@]}"
relay=$pid
run 0 --metrics-file "$ORDER_SWEEP_TMP/metrics.prom"
value 100 "SELECT count(*) FROM shop.orders WHERE id > $sold_before AND order_status = 3"
wait_until "EXISTS (SELECT FROM order_sweep.delivery)"
wait_until "NOT EXISTS (SELECT FROM order_sweep.delivery)"
run 0 status
is 'status' 1 "$(grep -c '^  events         100 to relay, the oldest for ' "$out")"
is 'metrics' 1 "$(grep -c '^order_sweep_events_waiting{.*} 100$' \
    "$ORDER_SWEEP_TMP/metrics.prom")"
redis_start "$ORDER_SWEEP_TMP/redis" "${durable[@]}"
wait_until "($unpublished) = 0"
is 'stock' 1100 "$(redis GET stock:1)"
kill -TERM "$relay"
finish 75 "$relay"
is 'told once' 1 "$(grep -c 'the command takes no event' "$err")"
# A wrong type in Redis: the one order that it concerns waits, no other.
redis SET stock:2 none >/dev/null
place 1 '1 hour' 2
place 20 '1 hour'
run 0
run 1 relay -v -- "${pipe[@]}"
is 'the report' 'events: 20 published, 1 refused, 0 of them parked' "$(cat "$out")"
invariants

# --- A stream ----------------------------------------------------------------

redis DEL stock:2 >/dev/null
sql -c 'UPDATE order_sweep.delivery SET next_try = now()'
run 0 relay -- "${pipe[@]}"
sql -o /dev/null <<'SQL'
SELECT order_sweep.publish('cancel_unpaid', line => $$
    format('FCALL hand_over 2 seen:%s orders %s', e.id, to_json(e.payload::text))
$$);
SQL
redis XGROUP CREATE orders workers 0 MKSTREAM >/dev/null
place 300 '1 hour'
run 0
run 0 relay -- "${pipe[@]}"
# The same once more, as after a crash.
sql -c "UPDATE order_sweep.journal SET published_at = NULL WHERE swept_at > (
    SELECT max(started_at) FROM order_sweep.run)"
run 0 relay -- "${pipe[@]}"
is 'the stream' 300 "$(redis XLEN orders)"

# read_group NAME COUNT: a worker takes so many and writes the orders.
read_group()
{
    redis --json XREADGROUP GROUP workers "$1" COUNT "$2" STREAMS orders '>' |
        grep -o 'order_id[^0-9]*[0-9]*' | grep -o '[0-9]*$'
}
# The dead one has read fifty and acknowledged none.
read_group dead 50 >"$ORDER_SWEEP_TMP/dead"
workers=()
for worker in a b; do
    while read_group $worker 7; do :; done >"$ORDER_SWEEP_TMP/$worker" &
    workers+=($!)
done
wait "${workers[@]}"
is 'each once' 300 "$(sort -u "$ORDER_SWEEP_TMP"/{dead,a,b} | wc -l)"
is 'none twice' 300 "$(cat "$ORDER_SWEEP_TMP"/{dead,a,b} | wc -l)"
redis --json XAUTOCLAIM orders workers a 0 0 COUNT 1000 |
    grep -o 'order_id[^0-9]*[0-9]*' | grep -o '[0-9]*$' >"$ORDER_SWEEP_TMP/claimed"
is 'taken over' 0 "$(sort "$ORDER_SWEEP_TMP/dead" | comm -23 - <(sort "$ORDER_SWEEP_TMP/claimed") | wc -l)"
