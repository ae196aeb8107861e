#!/bin/bash
# Makes orders of the requests in the line, and tells their pages:
#
#     worker.sh NAME
#
# A request is acknowledged last, when its order is made and the broker has its
# answer.  Where a worker dies before, another takes the request over, and does
# again what may have been done: the order is made once for a request, and so is
# taken back what a failed one had taken.
set -euo pipefail

# shellcheck source=cmd/flash-sale/common.sh
. "$(dirname "$0")/common.sh"

name=$1

# For each request a line: as it came, and the answer.  Each is a transaction of
# its own; one that has no line is for later.
make_orders()
{
    local entry request buyer goods
    while read -r entry request buyer goods; do
        echo "SELECT '$entry', '$request', $buyer, $goods," \
            "shop.order_for('$request', $buyer, $goods);"
    done | sql -f - 2>/dev/null || :
}

while :; do
    requests=$(redis FCALL take 1 requests "$name" 20 3000 2>/dev/null) ||
        requests=
    if [ -z "$requests" ]; then
        sleep 0.1
        continue
    fi
    told=()
    while read -r entry request buyer goods answer; do
        case $answer in
        '{"state" : "failed"'*)
            if ! redis FCALL undo 3 "request:$request" "stock:$goods" buyers \
                "$buyer" >/dev/null 2>&1 ||
                ! tell "back/$goods" "{\"goods\": $goods}"; then
                continue
            fi
            ;;
        esac
        if tell "answer/$request" "$answer"; then
            told+=("$entry")
        fi
    done < <(make_orders <<<"$requests")
    if [ "${#told[@]}" != 0 ]; then
        redis XACK requests workers "${told[@]}" >/dev/null 2>&1 || :
    fi
done
