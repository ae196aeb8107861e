#!/bin/bash
# Buyers of the flash sale, each with the page in a Chromium without a window, on
# the shop as the demo has it.  One does not pay: the order is closed, the piece
# comes back, and so may the buyer; the one who waits gets it.
set -euo pipefail

# shellcheck source=tests/support/shop.sh
. "$ORDER_SWEEP_SOURCE/tests/support/shop.sh"
# shellcheck source=tests/support/cluster.sh
. "$support/cluster.sh"
# shellcheck source=tests/support/redis.sh
. "$support/redis.sh"
# shellcheck source=tests/support/rabbitmq.sh
. "$support/rabbitmq.sh"
# shellcheck source=tests/support/browser.sh
. "$support/browser.sh"
# shellcheck source=cmd/flash-sale/sale.sh
. "$ORDER_SWEEP_SOURCE/cmd/flash-sale/sale.sh"

cleanup()
{
    browser_stop
    sale_stop
}
trap cleanup EXIT

mkdir "$ORDER_SWEEP_TMP/bin"
ln -s "$ORDER_SWEEP_BIN" "$ORDER_SWEEP_TMP/bin/order-sweep"
PATH=$ORDER_SWEEP_TMP/bin:$PATH
sale_start "$ORDER_SWEEP_TMP" 1 '20 seconds'
browser_start "$ORDER_SWEEP_TMP/browser"

# buyer ID: opens the page of one.
buyer()
{
    # shellcheck disable=SC2154  # of rabbitmq.sh
    browser_tab "$1" \
        "file://$sale/page.html?port=$rabbitmq_web_port&buyer=$1"
    browser_wait link Connected
}

# The page asks; what it asks is for the report.
order()
{
    browser_click order
    note
}
note()
{
    echo "$(browser_run 'return me.request') $(browser_text buyer)" \
        >>"$SALE_FOLDER/asked"
}

# What the page says of its order, without the order's number.
told()
{
    browser_run 'return me.news.filter(line => line.mine)
        .map(line => line.text.replace(/[0-9]+/, "N")).reverse().join("; ")'
}

# --- The sale is not open ----------------------------------------------------

# Door, workers and relays are there; Redis says that it is not open.
# shellcheck disable=SC2119  # with all of its processes
sale_open
redis DEL open >/dev/null
buyer 7
browser_wait stock 1
order
browser_wait state Refused
browser_wait detail 'The sale is not open.'
redis SET open yes >/dev/null

# --- Who may not order -------------------------------------------------------

buyer 50
order
browser_wait state 'No order was made'
browser_wait detail 'buyer 50 is blocked'
browser_wait stock 1

# --- Not paid ----------------------------------------------------------------

browser_switch 7
order
browser_wait state Ordered
browser_wait within 'Pay within'
browser_wait remains '0:*'
browser_wait stock 0
first=$(browser_run 'return me.order')
browser_wait state 'Closed: not paid in time'
browser_wait stock 1
browser_wait closed 1
is 'what the buyer was told' \
    'Refused: not open; You are in line; You have order N; Your order N closed: 1 piece back' \
    "$(told)"

# --- Again, and one who waits ------------------------------------------------

buyer 8
browser_switch 7
order
browser_wait state Ordered
second=$(browser_run 'return me.order')
[ "$second" != "$first" ] || die 'the closed order again'
browser_switch 8
order
browser_wait state 'Sold out – you are waiting'
# What comes back, the page asks for by itself.
browser_wait state Ordered
note
browser_click pay
browser_wait state Paid
browser_wait paid 1
browser_wait unpaid 0
browser_wait closed 2
browser_wait stock 0
is 'what the buyer was told' \
    'Sold out: you are waiting; You are in line; You have order N; Order N is paid' \
    "$(told)"
third=$(browser_run 'return me.order')
browser_switch 7
browser_wait state 'Closed: not paid in time'
order
browser_wait state 'Sold out – you are waiting'

# --- All fits together -------------------------------------------------------

is 'the orders' "7 $first 3,7 $second 3,8 $third 2" "$(sql -c "SELECT
    string_agg(format('%s %s %s', buyer_id, id, order_status), ',' ORDER BY id)
    FROM shop.orders")"
if ! "$sale/report.sh" >"$out"; then
    die 'something does not fit'
fi
