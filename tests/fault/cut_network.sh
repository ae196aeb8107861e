#!/bin/bash
# A connection that is cut after N bytes, from the client or from the server,
# for many N over the whole conversation: what the run tells is true, nothing
# is half done, and the next runs do the rest.
set -euo pipefail

# shellcheck source=tests/support/shop.sh
. "$ORDER_SWEEP_SOURCE/tests/support/shop.sh"

points=30 # for each direction
orders=30 # a run
plain=5   # the run after it

new_shop cut 20 4
place $(((2 * points + 3) * (orders + plain))) '1 hour'
due=$(sql -c "SELECT count(*) FROM order_sweep.cancel_unpaid_due(NULL)")
proxy_start net

# through: a run through the network; its exit code is in $status.
through()
{
    status=0
    "$ORDER_SWEEP_BIN" --host 127.0.0.1 --port "${proxy_port[net]}" \
        --format json --max-orders $orders --batch-size $orders \
        >"$out" 2>"$err" </dev/null || status=$?
}

# How long the whole conversation is.
through
is 'the status of a run through the network' 0 "$status"
proxy net bytes
read -r client server <<<"$answer"
echo "a run is $client bytes from the client and $server from the server"

declare -A statuses=([0]=0 [69]=0)
reports=0
unknown=0

# cut SIDE BYTES
cut()
{
    proxy net "cut $1 $2"
    through
    proxy net "cut $1 0"
    case $status in
    0) ;;
    69) [ -s "$err" ] || die 'lost in silence' ;;
    *) die "cut after $2 bytes from the $1, the run ended with $status" ;;
    esac
    statuses[$status]=$((statuses[$status] + 1))
    if grep -q '"run":[0-9]' "$out"; then
        truthful
        reports=$((reports + 1))
        grep -q '"unknown":0' "$out" || unknown=$((unknown + 1))
    else
        is 'the status without a run' 69 "$status"
        grep -q '"run":null,"stopped":"lost",.*"exit":69' "$out" ||
            die 'the loss is not told'
        # Nothing told, nothing done: the last that swept is the plain run.
        value t 'SELECT max(run_id) = (SELECT max(id) FROM order_sweep.run
                                        WHERE ended_at IS NOT NULL)
                   FROM order_sweep.journal'
    fi
    invariants
    run 0 --max-orders $plain
    silent
}

for i in $(seq $points); do
    cut client $((client * i / (points + 1)))
    cut server $((server * i / (points + 1)))
done
# The last bytes of all, when everything is done.
cut client $((client - 1))
cut server $((server - 1))
echo "${statuses[69]} runs were lost and ${statuses[0]} were not;" \
    "$reports had a report, $unknown with unknown orders"
[ "${statuses[69]}" -gt $points ] || die 'too few runs were lost'
[ "$unknown" -gt 5 ] || die 'too few runs were lost among their orders'

run 0
silent
value "$due 0 0" "SELECT concat_ws(' ',
    (SELECT count(*) FROM order_sweep.journal),
    (SELECT count(*) FROM order_sweep.cancel_unpaid_due(NULL)),
    (SELECT count(*) FROM order_sweep.failure))"
invariants
