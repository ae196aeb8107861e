#!/bin/bash
# The command of the relay: brings closed orders to Redis, then to the pages and
# the doors.  It ends with 0 only when both have all of them.
set -euo pipefail

# shellcheck source=cmd/flash-sale/common.sh
. "$(dirname "$0")/common.sh"

lines=$(cat)
cut -f 1 <<<"$lines" |
    redis-cli -s "$SALE_REDIS" --pipe --pipe-timeout 5 >/dev/null
cut -f 2 <<<"$lines" |
    timeout 10 mosquitto_pub -p "$SALE_MQTT" -l -q 1 -t closed
grep -o '"goods_id": [0-9]*' <<<"$lines" | sort -u |
    while read -r _ goods; do
        tell "back/$goods" "{\"goods\": $goods}"
    done
