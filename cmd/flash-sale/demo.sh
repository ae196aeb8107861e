#!/bin/bash
# The flash sale, shown: cmd/demo --flash-sale runs this, with order-sweep in the
# PATH.
#
#     demo.sh SECONDS [sweeper]
#
# 20 pieces, 120 buyers, ten seconds to pay; it lasts so many seconds at most,
# on a terminal until Enter.  "sweeper": without one.
set -euo pipefail

root=$(cd "$(dirname "$0")/../.." && pwd)
# shellcheck source=tests/support/cluster.sh
. "$root/tests/support/cluster.sh"
# shellcheck source=tests/support/redis.sh
. "$root/tests/support/redis.sh"
# shellcheck source=tests/support/rabbitmq.sh
. "$root/tests/support/rabbitmq.sh"
# shellcheck source=cmd/flash-sale/sale.sh
. "$root/cmd/flash-sale/sale.sh"

seconds=$1
without=${2:-}
crowd=
folder=$(mktemp -d /tmp/order-sweep-sale.XXXXXX)

finish()
{
    status=$?
    trap '' HUP INT TERM
    if [ -n "$crowd" ]; then
        kill "$crowd" 2>/dev/null || :
        wait "$crowd" 2>/dev/null || :
    fi
    sale_stop
    rm -rf "$folder"
    exit "$status"
}
trap finish EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

# What has become of the sale, on a line; and the orders that were closed since.
last_closed=0
shown=
show()
{
    local stock line closed
    stock=$(redis GET stock:1)
    while read -r closed line; do
        last_closed=$closed
        echo "        $line"
    done < <(sql -F ' ' -v last="$last_closed" <<'SQL'
SELECT extract(epoch FROM closed_at)::numeric,
       format('order %s of buyer %s not paid: closed, piece back',
              id, buyer_id)
  FROM shop.orders
 WHERE order_status = 3 AND extract(epoch FROM closed_at)::numeric > :last
 ORDER BY closed_at, id;
SQL
    )
    line=$(sql -c "SELECT format('to pay %s, paid %s, closed %s',
        lpad(count(*) FILTER (WHERE order_status = 1)::text, 2),
        lpad(count(*) FILTER (WHERE order_status = 2)::text, 2),
        lpad(count(*) FILTER (WHERE order_status = 3)::text, 2)) FROM shop.orders")
    if [ "$stock $line" != "$shown" ]; then
        printf '%3d s   %2d left, %s\n' $((SECONDS - began)) "$stock" "$line"
    fi
    shown="$stock $line"
}

echo "Starting a PostgreSQL, a Redis and a RabbitMQ of its own ..."
cluster_reap
sale_start "$folder" 20 '10 seconds' >/dev/null
echo
echo "The page, for a browser on this machine; you are one of the buyers:"
echo
echo "    file://$sale/page.html?port=$rabbitmq_web_port"
echo
echo "20 pieces, 120 buyers, 10 s to pay; a third never pays.${without:+
order-sweep is left out.}"
if [ -t 0 ]; then
    read -r -p 'Enter opens the sale, and Enter ends it. '
fi
echo
sale_open ${without:+"$without"}
began=$SECONDS
"$sale/crowd.sh" 120 $$ "$seconds" 30 &
crowd=$!
while [ $((SECONDS - began)) -lt "$seconds" ]; do
    show
    if [ -t 0 ]; then
        if read -r -t 1; then
            break
        fi
    elif ! kill -0 "$crowd" 2>/dev/null; then
        break
    else
        sleep 1
    fi
done
kill "$crowd" 2>/dev/null || :
wait "$crowd" || broken=yes
crowd=

# What is under way comes to its end; what is not paid, too, if there is who
# closes it.
redis DEL open >/dev/null
echo
echo "The sale is over ..."
for _ in $(seq 150); do
    if [ "$(redis XPENDING requests workers | head -n 1)" = 0 ] &&
        [ "$(sql -c "SELECT count(*) FROM shop.orders WHERE order_status = 1
            ${without:+AND created > extract(epoch FROM now()) - 12}")" = 0 ] &&
        [ "$(sql -c 'SELECT count(*) FROM order_sweep.journal
            WHERE published_at IS NULL')" = 0 ]; then
        break
    fi
    sleep 0.1
done
show
sale_close
echo
"$sale/report.sh" || broken=yes
echo
if [ -n "$without" ]; then
    echo "Without order-sweep: the pieces of those who did not pay never came back,"
    echo "and they cannot order again."
elif [ -n "${broken:-}" ]; then
    exit 1
fi
