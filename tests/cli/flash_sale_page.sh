#!/bin/bash
# The page of the flash sale in a Chromium without a window, on a real broker.
# The shop behind the broker is played here: so it can answer late, twice, in
# the wrong order, and nonsense.
set -euo pipefail

# shellcheck source=tests/support/shop.sh
. "$ORDER_SWEEP_SOURCE/tests/support/shop.sh"
# shellcheck source=tests/support/browser.sh
. "$ORDER_SWEEP_SOURCE/tests/support/browser.sh"
# shellcheck source=tests/support/rabbitmq.sh
. "$ORDER_SWEEP_SOURCE/tests/support/rabbitmq.sh"

page=$ORDER_SWEEP_SOURCE/cmd/flash-sale/page.html
heard=$ORDER_SWEEP_TMP/heard
listener=

cleanup()
{
    browser_stop
    if [ -n "$listener" ]; then
        kill "$listener" 2>/dev/null || :
        wait "$listener" 2>/dev/null || :
    fi
    rabbitmq_stop
}
trap cleanup EXIT

# --- The shop, played --------------------------------------------------------

# tell TOPIC MESSAGE [OPTION...]
tell()
{
    mosquitto_pub -h 127.0.0.1 -p "$rabbitmq_mqtt_port" -u guest -P guest \
        -q 1 -t "$1" -m "$2" "${@:3}"
}

# tell_shop STOCK [NAME]
tell_shop()
{
    tell shop "{\"name\": \"${2:-Kettle}\", \"price\": \"9.90\",
        \"offered\": 20, \"stock\": $1, \"open\": true, \"window\": 20,
        \"paid\": 5, \"unpaid\": 4, \"closed\": 3}" -r
}

# tell_closed EVENT ORDER BUYER
tell_closed()
{
    tell closed "{\"id\": $1, \"order\": $2, \"buyer\": $3,
        \"goods\": [{\"goods_id\": 1, \"quantity\": 1}]}"
}

# The request that the page asks about now, and an answer to it.
request()
{
    browser_run 'return me.request'
}
answer()
{
    tell "answer/$(request)" "$1"
}
ordered()
{
    answer "{\"state\": \"ordered\", \"order\": $1,
        \"until\": $(($(date +%s) + ${2:-600})).5}"
}

# Wait until the shop has heard so many messages under a topic.
heard()
{
    local until=$((SECONDS + 60))
    until [ "$(grep -c "^$1" "$heard")" = "$2" ]; do
        [ "$SECONDS" -lt "$until" ] || die "heard of $1: $(cat "$heard")"
        sleep 0.1
    done
}

forget()
{
    : >"$heard"
}

# Wait until a script returns true.
until_true()
{
    local until=$((SECONDS + 60))
    until [ "$(browser_run "return $1")" = true ]; do
        [ "$SECONDS" -lt "$until" ] || die "not true: $1"
        sleep 0.1
    done
}

# How many messages in the list are like this.
listed()
{
    browser_run "return [...document.querySelectorAll('#news li')]
        .filter(line => line.textContent.includes('$1')).length"
}

mkdir "$ORDER_SWEEP_TMP/rabbitmq"
rabbitmq_start "$ORDER_SWEEP_TMP/rabbitmq"
# A session that the broker keeps: nothing is missed while it restarts.
mosquitto_sub -h 127.0.0.1 -p "$rabbitmq_mqtt_port" -u guest -P guest -q 1 \
    -i listener -c -t 'ask/+' -t 'pay/+' -F '%t %p' >>"$heard" &
listener=$!
browser_start "$ORDER_SWEEP_TMP/browser"

# --- What the shop says ------------------------------------------------------

tell_shop 11 '<img id=harm src=x>'
browser_tab one "file://$page?port=$rabbitmq_web_port&buyer=7"
# Between page and broker: what is sent is kept, and what comes is, by the word
# in sessionStorage, cut into bytes or put together, or not let through.
browser_cdp Page.addScriptToEvaluateOnNewDocument "$(jq -n '{source: $shim}' \
    --arg shim 'window.wire = []; window.deaf = () => false;
    window.WebSocket = class extends WebSocket {
        set onmessage(take) {
            let held = [];
            const give = () => {
                take({data: Uint8Array.from(held).buffer});
                held = [];
            };
            super.onmessage = take && (event => {
                const bytes = [...new Uint8Array(event.data)];
                if (deaf(bytes))
                    return;
                if (sessionStorage.getItem("frames") === "joined") {
                    if (!held.length)
                        setTimeout(give, 500);
                    held.push(...bytes);
                } else {
                    for (const byte of bytes)
                        take({data: Uint8Array.of(byte).buffer});
                }
            });
        }
        send(bytes) {
            wire.push([...bytes]);
            super.send(bytes);
        }
    };')" >/dev/null
browser_reload
browser_wait link Connected
browser_wait stock 11
is 'text is text' '<img id=harm src=x>' "$(browser_text name)"
is 'text is no element' true "$(browser_run 'return !$("harm")')"

tell_shop 12
browser_wait stock 12
is 'the counts' 'Kettle 9.90 20 5 4 3' "$(for id in name price offered paid \
    unpaid closed; do browser_text "$id"; done | paste -sd ' ')"
browser_run 'window.seen = new Set();
    new MutationObserver(() => seen.add($("name").textContent +
        $("price").textContent + $("stock").textContent)).observe(document.body,
        {childList: true, characterData: true, subtree: true})'
for nonsense in 'no JSON' null 7 '[]' '{}' '{"name": {}}' \
    '{"name": "x", "price": "1", "offered": 9, "stock": -1, "paid": 1,
      "unpaid": 1, "closed": 1}' \
    '{"name": "x", "price": "1", "offered": 9, "stock": "9", "paid": 1,
      "unpaid": 1, "closed": 1}' \
    '{"name": "x", "price": 1, "offered": 9, "stock": 9, "paid": 1,
      "unpaid": 1, "closed": 1}'; do
    tell shop "$nonsense"
    tell closed "$nonsense"
done
tell closed '{"id": 1, "order": 1, "buyer": 7, "goods": 5}'
tell closed '{"id": 1, "order": 1, "buyer": 7, "goods": [{"goods_id": 1,
    "quantity": "many"}]}'
tell closed '{"id": 1, "order": "<b>1</b>", "buyer": 7, "goods": []}'
# One after the other: once these are there, the others were.
tell_closed 1 101 8
until_true 'me.news.length > 0'
tell_shop 13
browser_wait stock 13
is 'nothing else was shown' 'Kettle9.9012 Kettle9.9013' \
    "$(browser_run 'return [...seen].sort().join(" ")')"
is 'nothing but the order in the list' '1 1' \
    "$(browser_run 'return me.news.length') $(listed 'Order 101 closed: 1 piece')"
is 'no connection was lost over it' 1 \
    "$(browser_run 'return wire.filter(p => p[0] === 0x10).length')"

# --- A request ---------------------------------------------------------------

browser_wait state 'Nothing ordered yet'
# On a new connection, before the broker's word on what was subscribed.
browser_run 'window.deaf = bytes => bytes[0] === 0x90;
    window.wire = []; socket.close()'
until_true 'wire.some(packet => packet[0] === 0x82)'
browser_click order
browser_wait state 'Asking …'
is 'the answer is subscribed' true "$(browser_run 'return wire.some(packet =>
    packet[0] === 0x82 && new TextDecoder().decode(Uint8Array.from(packet))
        .includes(me.request))')"
browser_run 'window.deaf = () => false; socket.close()'
heard ask/ 1
is 'what is asked' "ask/$(request) {\"buyer\":7,\"goods\":1}" "$(cat "$heard")"
browser_click order
answer 'no JSON'
tell answer/other '{"state": "refused", "why": "sold out"}'
answer '{"state": "ordered", "order": 12, "until": "soon"}'
answer '{"state": "in line"}'
browser_wait state 'In line'
ordered 12
browser_wait state Ordered
browser_wait remains '9:??'
browser_wait detail '*12*'
# Late, or once more.
answer '{"state": "in line"}'
answer '{"state": "refused", "why": "sold out"}'
answer '{"state": "too late", "order": 11, "why": "x"}'
answer '{"state": "paid", "order": 11}'
tell_closed 2 11 8
until_true 'me.news.some(line => line.text.includes("11 closed"))'
is 'it stays so' Ordered "$(browser_text state)"
heard ask/ 1

# A reload keeps it, and it can be paid; what comes in between is not lost.
forget
browser_run 'sessionStorage.setItem("frames", "joined")'
browser_reload
browser_wait link Connected
browser_wait state Ordered
is 'after a reload' '1 2' "$(listed 'You have order 12') $(listed closed)"
browser POST /url '{"url": "about:blank"}' >/dev/null
tell_closed 3 14 8
browser POST /back >/dev/null
browser_wait link Connected
until_true 'me.news.some(line => line.text.includes("14 closed"))'

# The broker's word does not come through: said once more, as the same.
browser_run 'window.deaf = bytes => bytes[0] === 0x40'
browser_click pay
heard pay/ 1
is 'paying' 'Paying …' "$(browser_text state)"
browser_run 'socket.close()'
heard pay/ 2
is 'what is paid' "pay/$(request) {\"order\":12}" "$(sort -u "$heard")"
is 'DUP, and the same packet id' true "$(browser_run \
    'const [a, b] = wire.filter(p => [0x32, 0x3A].includes(p[0]));
    return a[0] === 0x32 && b[0] === 0x3A && a.slice(1).join() === b.slice(1).join()')"
browser_run 'window.deaf = () => false; socket.close()'
until_true 'ready && me.outbox.length === 0'
heard pay/ 3
answer '{"state": "paid", "order": 12}'
browser_wait state Paid
answer '{"state": "too late", "order": 12, "why": "paid twice"}'
tell_closed 4 15 8
until_true 'me.news.some(line => line.text.includes("15 closed"))'
is 'paid is paid' 'Paid true' "$(browser_text state) $(browser_run \
    'return $("order").ariaDisabled')"

# --- Not paid, sold out, back ------------------------------------------------

forget
browser_tab two "file://$page?port=$rabbitmq_web_port"
browser_wait link Connected
buyer=$(browser_text buyer)
browser_click order
heard ask/ 1
# The event overtakes the answer, and comes twice.
tell_closed 5 16 "$buyer"
ordered 16 10
tell_closed 5 16 "$buyer"
browser_wait state 'Closed: not paid in time'
browser_click order
heard ask/ 2
ordered 17 2
browser_wait state Ordered
browser_wait within 'Time is over'
browser_wait remains 0:00
tell_closed 6 17 "$buyer"
browser_wait state 'Closed: not paid in time'
is 'each told once' '1 1' "$(listed '16 closed') $(listed '17 closed')"

browser_click order
heard ask/ 3
answer '{"state": "refused", "why": "sold out"}'
browser_wait state 'Sold out – you are waiting'
tell back/2 '{"goods": 2}'
first=$(request)
tell back/1 '{"goods": 1}'
heard ask/ 4
[ "$(request)" != "$first" ] || die 'the same request again'
# Goods came back between the look at the stock and the answer.
tell back/1 '{"goods": 1}'
until_true 'me.again'
first=$(request)
answer '{"state": "refused", "why": "sold out"}'
heard ask/ 5
[ "$(request)" != "$first" ] || die 'the same request again'
answer '{"state": "refused", "why": "sold out"}'
browser_wait state 'Sold out – you are waiting'
is 'each asked with an id of its own' 5 "$(grep -c . <(cut -d ' ' -f 1 "$heard" |
    sort -u))"
browser_click order
heard ask/ 6
answer '{"state": "failed", "why": "<b>no</b>"}'
browser_wait state 'No order was made'
is 'why' '<b>no</b>' "$(browser_text detail)"
browser_click order
heard ask/ 7
answer '{"state": "refused", "why": "one each"}'
browser_wait state Refused

# --- No port; the tab twice --------------------------------------------------

browser_tab lost "file://$page"
browser_wait link 'Open this page with ?port=PORT'
browser_switch two
client=$(browser_run 'return me.client')
browser_run 'window.open(location.href)' >/dev/null
browser_tabs[copy]=$(browser GET /window/handles | jq -r '.[-1]')
browser_switch copy
browser_wait link Connected
[ "$(browser_run 'return me.client')" != "$client" ] || die 'one client twice'
[ "$(browser_text buyer)" != "$buyer" ] || die 'one buyer twice'

# --- The connection ----------------------------------------------------------

# What is no MQTT ends the connection, and another is made.
browser_switch two
for nonsense in 0x30,255,255,255,255,1 0x30,2,0,9 0x32,3,0,1,65 0x34,4,0,1,65,0 \
    0xF0,0 0x30,255,255,255,127; do
    browser_run "window.before = socket;
        socket.onmessage({data: Uint8Array.of($nonsense).buffer})"
    until_true 'ready && socket !== before'
done
# So does a broker that says nothing any more.
browser_run 'window.before = socket;
    const take = socket.onmessage; socket.onmessage = () => {};'
until_true 'ready && socket !== before'

# A restart, with a request in the meantime.
forget
rabbitmq_stop
browser_wait link 'Connection lost, trying again …'
browser_click order
browser_wait detail '*kept*'
browser_switch one
browser_wait link 'Connection lost, trying again …'
rabbitmq_start "$ORDER_SWEEP_TMP/rabbitmq"
browser_wait link Connected
browser_switch two
browser_wait link Connected
heard ask/ 1
answer '{"state": "in line"}'
browser_wait state 'In line'

# A broker that lost what it had: the request is made once more.
forget
browser_run 'me.client = "page-unknown"; socket.close()'
heard ask/ 1
ordered 18
browser_wait state Ordered
