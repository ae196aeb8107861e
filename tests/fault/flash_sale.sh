#!/bin/bash
# The flash sale whole: 2,000 buyers for 200 pieces, of whom a third never pays,
# while workers, relays and sweepers are killed at random and each engine is
# restarted once.  At the end all fits together: cmd/flash-sale/report.sh.
#
#     FLASH_SALE_SEED        who comes when, pays, and is killed (default 1)
#     FLASH_SALE_SECONDS     the sale ends then at the latest (default 240)
set -euo pipefail

# shellcheck source=tests/support/shop.sh
. "$ORDER_SWEEP_SOURCE/tests/support/shop.sh"
# shellcheck source=tests/support/cluster.sh
. "$support/cluster.sh"
# shellcheck source=tests/support/redis.sh
. "$support/redis.sh"
# shellcheck source=tests/support/rabbitmq.sh
. "$support/rabbitmq.sh"
# shellcheck source=cmd/flash-sale/sale.sh
. "$ORDER_SWEEP_SOURCE/cmd/flash-sale/sale.sh"

seed=${FLASH_SALE_SEED:-1}
seconds=${FLASH_SALE_SECONDS:-240}
RANDOM=$seed
crowd=
cleanup()
{
    if [ -n "$crowd" ]; then
        kill "$crowd" 2>/dev/null || :
    fi
    sale_stop
}
trap cleanup EXIT

mkdir "$ORDER_SWEEP_TMP/bin"
ln -s "$ORDER_SWEEP_BIN" "$ORDER_SWEEP_TMP/bin/order-sweep"
PATH=$ORDER_SWEEP_TMP/bin:$PATH
sale_start "$ORDER_SWEEP_TMP" 200 '5 seconds'
# shellcheck disable=SC2119  # with all of its processes
sale_open
began=$SECONDS
"$sale/crowd.sh" 2000 "$seed" "$seconds" 200 &
crowd=$!

# So many orders were made, whatever became of them.
ordered()
{
    sql -c 'SELECT count(*) FROM shop.orders'
}

# Each engine once, in an order that the seed says, when so many orders are made.
engines=(redis rabbitmq postgresql)
for i in 2 1; do
    j=$((RANDOM % (i + 1)))
    engine=${engines[i]}
    engines[i]=${engines[j]}
    engines[j]=$engine
done
restarts=(40 110 180)
victims=(worker-1 worker-2 worker-3 sweeper-1 sweeper-2 relay-1 relay-2)
kills=0
restart=0
while kill -0 "$crowd" 2>/dev/null; do
    sale_kill "${victims[RANDOM % ${#victims[@]}]}"
    kills=$((kills + 1))
    if ((restart < 3)) && (($(ordered) >= restarts[restart])); then
        case ${engines[restart]} in
        redis)
            redis_stop
            sale_redis
            ;;
        rabbitmq)
            rabbitmq_stop
            sale_rabbitmq
            ;;
        postgresql)
            own_stop immediate
            own_start
            ;;
        esac
        restart=$((restart + 1))
    fi
    sleep "0.$((RANDOM % 900 + 100))"
done
wait "$crowd" || die 'the crowd ended otherwise'
crowd=
is 'engines restarted' 3 "$restart"
took=$((SECONDS - began))
# What closed last is still to be told.
unpublished='SELECT count(*) FROM order_sweep.journal WHERE published_at IS NULL'
until [ "$(sql -c "$unpublished")" = 0 ] &&
    [ "$(redis XPENDING requests workers | head -n 1)" = 0 ]; do
    [ $((SECONDS - began - took)) -lt 120 ] || break
    sleep 0.5
done
if ! "$sale/report.sh" >"$out"; then
    die "seed $seed: something does not fit"
fi
cat "$out"
echo "flash_sale: seed $seed, $took s, $kills kills, restarted ${engines[*]}"
