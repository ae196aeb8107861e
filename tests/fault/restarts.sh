#!/bin/bash
# A server that is restarted again and again, fast and immediately, while
# buyers place and pay orders and two runs at a time sweep them.
set -euo pipefail

# shellcheck source=tests/support/shop.sh
. "$ORDER_SWEEP_SOURCE/tests/support/shop.sh"

restarts=4

own_server
trap 'rm -f "$ORDER_SWEEP_TMP/open"; cluster_stop' EXIT
new_shop restarts 400 20
touch "$ORDER_SWEEP_TMP/open"

is_open()
{
    [ -e "$ORDER_SWEEP_TMP/open" ]
}

# Some place orders that are due, some pay what they find unpaid; a server that
# is away is no surprise to them.
buy()
{
    while is_open; do
        place 20 '1 hour' || :
        sql -o /dev/null -c "SELECT shop.pay_order(id, 1) FROM shop.orders
            WHERE order_status = 1 AND id % 5 = 0
            ORDER BY created DESC LIMIT 3" || :
    done >/dev/null 2>&1
}

# sweep NAME ARGUMENT...: runs without a pause; their exit codes in a file.
sweep()
{
    local file=$ORDER_SWEEP_TMP/$1 status
    shift
    while is_open; do
        status=0
        "$ORDER_SWEEP_BIN" --batch-size 50 "$@" >/dev/null 2>&1 || status=$?
        echo $status >>"$file"
        sleep 0.05 # and leave something to the others
    done
}

buy &
buyer=$!
sweep alone &
alone=$!
sweep beside --no-lock --durability each &
beside=$!

swept=0
for i in $(seq $restarts); do
    # Again after some work.
    wait_until "(SELECT count(*) > $swept + 50 FROM order_sweep.journal)"
    if [ $((i % 2)) = 0 ]; then
        own_stop fast
    else
        own_stop immediate
    fi
    own_start
    swept=$(sql -c 'SELECT count(*) FROM order_sweep.journal')
done
wait_until "(SELECT count(*) > $swept FROM order_sweep.journal)"
rm "$ORDER_SWEEP_TMP/open"
wait "$buyer" "$alone" "$beside"

# A run ends well, or says that the database is away.
for file in alone beside; do
    echo "runs $file, by exit code: $(sort "$ORDER_SWEEP_TMP/$file" | uniq -c |
        sed 's/ *\([0-9]*\) \([0-9]*\)/\1 with \2/' | paste -s -d,)"
    if grep -q -v -x -E '0|1|69' "$ORDER_SWEEP_TMP/$file"; then
        die "a run $file ended with $(sort -u "$ORDER_SWEEP_TMP/$file")"
    fi
    grep -q -x 0 "$ORDER_SWEEP_TMP/$file" || die "no run $file ended well"
done
grep -q -x 69 "$ORDER_SWEEP_TMP/alone" "$ORDER_SWEEP_TMP/beside" ||
    die 'no run met a restart'

run 0
silent
value '0 0' "SELECT concat_ws(' ',
    (SELECT count(*) FROM order_sweep.cancel_unpaid_due(NULL)),
    (SELECT count(*) FROM order_sweep.failure))"
echo "$(sql -c 'SELECT count(*) FROM order_sweep.journal') orders swept," \
    "$(sql -c 'SELECT count(*) FROM shop.payment') paid"
invariants
