#!/bin/bash
# An application server: takes what pages ask, one after the other, and answers:
#
#     door.sh NAME PATTERN
#
# PATTERN says which requests are its, as with case: several doors share them.
#
# It keeps a flag of its own for goods that are sold out, so that Redis is not
# asked for nothing.  The flag is never older than the news that drops it: both
# come in one row, and the news is sent after the stock has risen.
set -euo pipefail

# shellcheck source=cmd/flash-sale/common.sh
. "$(dirname "$0")/common.sh"

name=$1
pattern=$2
declare -A sold_out

# Again until it is done: engines are away for a while.
insist()
{
    until "$@"; do
        sleep 0.2
    done
}

# Sets $reply to what Redis says to a request.
ask_redis()
{
    reply=$(redis FCALL ask 5 "request:$1" "stock:$3" open buyers requests \
        "$1" "$2" "$3" 2>/dev/null) || return 1
    reply=${reply#"$1 "}
}

ask()
{
    local request=$1 buyer=$2 goods=$3
    if [ -n "${sold_out[$goods]:-}" ]; then
        reply='sold out'
    else
        insist ask_redis "$request" "$buyer" "$goods"
    fi
    case $reply in
    'in line') insist tell "answer/$request" '{"state": "in line"}' ;;
    *)
        if [ "$reply" = 'sold out' ]; then
            sold_out[$goods]=yes
        fi
        insist tell "answer/$request" "{\"state\": \"refused\", \"why\": \"$reply\"}"
        ;;
    esac
}

pay()
{
    insist answer_payment "$1" "$2"
    insist tell "answer/$1" "$answer"
}

answer_payment()
{
    answer=$(sql -c "SELECT shop.pay('$1', $2)" 2>/dev/null)
}

# mosquitto_sub connects again by itself, but not at first.
while ! tell doors "\"$name\""; do
    sleep 0.2
done
digits='([0-9]{1,15})'
exec {messages}< <(exec mosquitto_sub -p "$SALE_MQTT" -i "door-$name" -c -q 1 \
    -t 'ask/+' -t 'pay/+' -t 'back/+' -F '%t %p')
subscriber=$!
trap 'kill "$subscriber" 2>/dev/null || :; wait "$subscriber" || :' EXIT
trap 'exit 143' TERM
while read -r -u "$messages" topic message; do
    id=${topic#*/}
    # shellcheck disable=SC2254  # a pattern
    case $topic in
    back/*)
        unset "sold_out[$id]"
        continue
        ;;
    */$pattern) ;;
    *) continue ;;
    esac
    [[ $id =~ ^[A-Za-z0-9-]{1,64}$ ]] || continue
    if [[ $topic = ask/* &&
        $message =~ ^\{\"buyer\":\ ?$digits,\ ?\"goods\":\ ?$digits\}$ ]]; then
        ask "$id" "${BASH_REMATCH[1]}" "${BASH_REMATCH[2]}"
    elif [[ $topic = pay/* && $message =~ ^\{\"order\":\ ?$digits\}$ ]]; then
        pay "$id" "${BASH_REMATCH[1]}"
    fi
done
