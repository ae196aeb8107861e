#!/bin/bash
# A slow network: each piece takes 150 ms, there and back. The run is right all
# the same, and keeps its limits.
set -euo pipefail

# shellcheck source=tests/support/shop.sh
. "$ORDER_SWEEP_SOURCE/tests/support/shop.sh"

new_shop slow 400 20
proxy_start net 'delay 150'
net="--host 127.0.0.1 --port ${proxy_port[net]}"

# shellcheck disable=SC2086  # two options
{
    run 0 $net --max-orders 40 --format json
    truthful
    is 'the first run' 'max orders 40 0 0 0 0 0 0 t' "$(last_run)"
    invariants

    # Many orders at a time are on their way, or the time limit came first.
    run 0 $net --format json
    truthful
    is 'the second run' 'done 160 0 0 0 0 0 0 f' "$(last_run)"
    invariants

    # Half a minute of orders, and a few seconds for them.
    place 200 '1 hour'
    slow_orders 0.15
    began=$SECONDS
    run 0 $net --time-limit 5s --hard-limit 6s --format json
    took=$((SECONDS - began))
    truthful
    echo "ended after $took s; $(last_run)"
    case $(last_run) in
    'time limit '[1-9]*' 0 0 0 0 0 0 t') ;;
    *) die "the run row says $(last_run)" ;;
    esac
    [ "$took" -le 10 ] || die "the run took $took s"
    invariants

    # So slow that nothing comes of it, not even the first look.
    proxy net 'delay 2000'
    began=$SECONDS
    run 69 $net --time-limit 1s --hard-limit 2s
    took=$((SECONDS - began))
    [ "$took" -le 6 ] || die "the run took $took s"
}
sql -c 'DROP TRIGGER slow ON shop.orders'
run 0
silent
value 0 'SELECT count(*) FROM order_sweep.cancel_unpaid_due(NULL)'
invariants
