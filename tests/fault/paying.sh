#!/bin/bash
# Buyers pay while the sweep goes on: whoever gets to an order first has it.
# Sample shop of 10,000 orders, half due, a tenth of the due ones paid by a
# second session during the run.
set -euo pipefail

# shellcheck source=tests/support/shop.sh
. "$ORDER_SWEEP_SOURCE/tests/support/shop.sh"

new_shop paying 10000 50
value 5000 "SELECT count(*) FROM order_sweep.cancel_unpaid_due(NULL)
            WHERE state = 'sweep'"
goods_before=$(sql -c 'SELECT sum(offered) FROM shop.goods')

# Every tenth of the due orders, in an order that the sweep does not follow.
sql -c "SELECT format('SELECT shop.pay_order(%s, 9.90);', id)
          FROM (SELECT id, row_number() OVER (ORDER BY created, id) AS n
                  FROM shop.orders WHERE order_status = 1
                   AND created <= extract(epoch FROM now()) - 1800) t
         WHERE n % 10 = 0 ORDER BY md5(id::text)" >"$ORDER_SWEEP_TMP/pay.sql"
is 'payments to make' 500 "$(wc -l <"$ORDER_SWEEP_TMP/pay.sql")"

# The run waits at its hundredth order until the payer is at work too.
gate_orders
gate=$(due_order 101)
sed -i "/(${gate}, /d" "$ORDER_SWEEP_TMP/pay.sql"
payments=$(wc -l <"$ORDER_SWEEP_TMP/pay.sql")
close_gate "$gate"
start --format json
wait_at_gate
psql -X -q -A -t -f "$ORDER_SWEEP_TMP/pay.sql" \
    >"$ORDER_SWEEP_TMP/paid" 2>"$ORDER_SWEEP_TMP/refunded" &
payer=$!
wait_until '(SELECT count(*) >= 100 FROM shop.payment p
    JOIN shop.orders o ON o.id = p.order_id AND o.created <= extract(epoch
        FROM now()) - 1800 AND p.amount = 9.90)'
open_gates
finish 0
wait "$payer"
swept=$(sql -c 'SELECT swept FROM order_sweep.run')
paid=$(wc -l <"$ORDER_SWEEP_TMP/paid")
refunded=$(grep -c 'not open for payment: refund' "$ORDER_SWEEP_TMP/refunded" ||
    :)
echo "swept $swept, paid $paid, refunded $refunded"
is 'payments answered' "$payments" $((paid + refunded))
[ "$paid" -ge 100 ] || die 'nobody paid during the run'

# Among them orders that the run had listed before: it looked again at each.
value 't 0' "SELECT concat_ws(' ', changed > 0, kept) FROM order_sweep.run"

# Each order has one fate.
value 0 "SELECT count(*) FROM order_sweep.journal j
           JOIN shop.payment p ON jsonb_build_array(p.order_id) = j.order_key"
value 0 'SELECT count(*) FROM shop.payment p JOIN shop.orders o
             ON o.id = p.order_id WHERE o.order_status <> 2'
value "$goods_before" 'SELECT sum(offered) FROM shop.goods'
invariants

# What a payer held at that moment is left to the next run, which finds it
# paid; nothing else is left.
run 0
silent
value "$((5000 - paid))" 'SELECT count(*) FROM order_sweep.journal'
before=$ORDER_SWEEP_TMP/before
dump "$before"
run 0
silent
unchanged "$before"
invariants
