#!/bin/bash
# Tells the pages twice a second how the sale stands, for them to show.
set -euo pipefail

# shellcheck source=cmd/flash-sale/common.sh
. "$(dirname "$0")/common.sh"

shown=
while :; do
    if stock=$(redis GET stock:1 2>/dev/null) &&
        board=$(sql -v stock="${stock:-0}" 2>/dev/null <<'SQL'
SELECT json_build_object('name', g.name, 'price', g.price::text,
           'offered', g.offered, 'stock', :stock, 'open', true,
           'window', extract(epoch FROM s.after)::integer,
           'paid', count(*) FILTER (WHERE o.order_status = 2),
           'unpaid', count(*) FILTER (WHERE o.order_status = 1),
           'closed', count(*) FILTER (WHERE o.order_status = 3))
  FROM shop.goods g CROSS JOIN order_sweep.sweep s LEFT JOIN shop.orders o ON true
 WHERE g.id = 1 AND s.name = 'cancel_unpaid' GROUP BY g.id, s.id;
SQL
        ) && [ "$board" != "$shown" ] && tell shop "$board" -r; then
        shown=$board
    fi
    sleep 0.5
done
