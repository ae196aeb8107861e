#!/bin/bash
# Looks whether all of a flash sale fits together, in PostgreSQL, Redis and what
# the pages were told; a line each, and 1 if one does not hold.
set -euo pipefail

# shellcheck source=cmd/flash-sale/common.sh
. "$(dirname "$0")/common.sh"

broken=0

# line HOLDS WHAT...: HOLDS is an arithmetic condition.
line()
{
    local holds=$1 says='holds '
    shift
    if ! ((holds)); then
        says='BROKEN'
        broken=1
    fi
    printf '%s  %s\n' "$says" "$*"
}

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"

read -r offered left paid unpaid overdue closed < <(sql -c "
    SELECT g.offered, g.stock, count(*) FILTER (WHERE o.order_status = 2),
           count(*) FILTER (WHERE o.order_status = 1),
           count(*) FILTER (WHERE o.order_status = 1
               AND to_timestamp(o.created) + s.after < now()),
           count(*) FILTER (WHERE o.order_status = 3)
      FROM shop.goods g CROSS JOIN order_sweep.sweep s
      LEFT JOIN shop.orders o ON true
     WHERE g.id = 1 AND s.name = 'cancel_unpaid' GROUP BY g.id, s.id")
line "$paid + $left == $offered" \
    "PostgreSQL: $paid pieces paid for + $left left = $offered"
in_redis=$(redis GET stock:1)
line "$paid + $in_redis == $offered" \
    "Redis:      $paid pieces paid for + $in_redis left = $offered"
line "$overdue == 0" \
    "$unpaid orders unpaid, $overdue of them for longer than they may; $closed closed"

line "$(sql -c "SELECT count(*) FROM (SELECT FROM shop.orders
        WHERE order_status IN (1, 2) GROUP BY buyer_id HAVING count(*) > 1) b") == 0" \
    'no buyer has two orders that are open or paid'

sql -c 'SELECT buyer_id FROM shop.orders WHERE order_status = 2' |
    sort >bought
sql -c 'SELECT buyer_id FROM shop.buyer_mark' | sort >marked
redis SMEMBERS buyers | sort >marked_in_redis
line "$(comm -3 bought marked | wc -l) + $(comm -3 bought marked_in_redis | wc -l) == 0" \
    "who has paid, and nobody else, is marked as a buyer: $(wc -l <bought);" \
    "in PostgreSQL $(wc -l <marked), in Redis $(wc -l <marked_in_redis)"

sql -c "SELECT 'seen:' || order_sweep.event_id(sweep, order_key, ordinal)
    FROM order_sweep.journal" | sort >events
redis --scan --pattern 'seen:*' | sort >seen
sed -n 's|^closed .*"id": "\([^"]*\)".*|seen:\1|p' "$SALE_FOLDER/answers" |
    sort -u >told
line "$(wc -l <events) == $closed && $(comm -3 events seen | wc -l) == 0 &&
    $(comm -3 events told | wc -l) == 0" \
    "each order that was closed was told of: $closed closed, $(wc -l <seen) done in" \
    "Redis, $(wc -l <told) told the pages"

# The final answers of each request; the same once more is no other.
cut -d ' ' -f 1 "$SALE_FOLDER/asked" | sort >asked
sed -n -E 's#^answer/([^ ]*) (.*"(refused|ordered|failed)".*)#\1 \2#p' \
    "$SALE_FOLDER/answers" | sort -u >answers
cut -d ' ' -f 1 answers | sort -u >answered
line "$(comm -23 asked answered | wc -l) == 0" \
    "each request has its answer: $(wc -l <asked) asked," \
    "$(comm -12 asked answered | wc -l) answered"
line "$(cut -d ' ' -f 1 answers | sort | uniq -d | comm -12 - asked | wc -l) == 0" \
    'and no two different ones'

pending=$(redis XPENDING requests workers | head -n 1)
line "$pending == 0 && $(redis XLEN requests) == $(sql -c '
    SELECT count(*) FROM shop.request')" \
    "nothing is left in the line: $(redis XLEN requests) were, $pending are"

exit "$broken"
