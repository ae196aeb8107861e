#!/bin/bash
# The relay: whatever dies, and whenever, each event is told; four at once tell
# none twice; and it waits for a command that takes nothing.
set -euo pipefail

# shellcheck source=tests/support/shop.sh
. "$ORDER_SWEEP_SOURCE/tests/support/shop.sh"
# shellcheck source=tests/support/relay.sh
. "$ORDER_SWEEP_SOURCE/tests/support/relay.sh"
trap drop_dbs EXIT

new_shop relay 10
sql -o /dev/null -c "SELECT order_sweep.publish('cancel_unpaid', since => '-infinity')"

# --- Four at once ------------------------------------------------------------

# 20,000 events, two of each order: each is told once, an order's in their order.
sql <<'SQL'
TRUNCATE order_sweep.journal;
INSERT INTO order_sweep.journal (sweep, order_key, ordinal, run_id, payload)
SELECT 'cancel_unpaid', jsonb_build_array(n), o, 1, '{}'
  FROM generate_series(1, 10000) n, generate_series(1, 2) o;
SQL
again
pids=()
for _ in 1 2 3 4; do
    start relay -v --time-limit 2m -- sh -c "$take"
    pids+=("$pid")
done
for pid in "${pids[@]}"; do
    finish 0 "$pid"
done
run 0 relay -v -- sh -c "$take" # what was locked by another when it looked
value 0 "$unpublished"
is 'lines' 20000 "$(wc -l <"$told")"
each_told 20000
is 'in order' 0 "$(ask_lines "$told" "SELECT count(*) FROM (
    SELECT l->>'id' = order_sweep.event_id('cancel_unpaid',
               jsonb_build_array((l->>'aggregateid')::int), 1)::text AS first,
           row_number() OVER (PARTITION BY l->>'aggregateid' ORDER BY n) AS n
      FROM (SELECT l, row_number() OVER () AS n FROM line) t) x
    WHERE x.first IS DISTINCT FROM (x.n = 1)")"

# --- What dies ---------------------------------------------------------------

# kill -9 of the relay, before, while and after the command runs, and of the
# command: each of 1,000 events is told, and in whole lines.
sql -c 'DELETE FROM order_sweep.journal WHERE ordinal = 2 OR (order_key->>0)::int > 1000'
killed=0
for point in events-taken before-feed after-feed before-book; do
    again
    ORDER_SWEEP_BIN=$ORDER_SWEEP_INJECTION_BIN ORDER_SWEEP_INJECT=$point:kill \
        start relay --batch 100 -- sh -c "$take"
    finish 137
    [ "$(sql -c "$unpublished")" -gt 0 ] || die "at $point nothing was left"
    sql -c 'UPDATE order_sweep.delivery SET next_try = now()'
    wait_sessions_gone
    run 0 relay -v -- sh -c "$take"
    value 0 "$unpublished"
    value 0 'SELECT count(*) FROM order_sweep.delivery'
    each_told 1000
    killed=$((killed + 1))
done
is 'kills' 4 $killed
again
mkfifo "$ORDER_SWEEP_TMP/ready"
start relay --batch 100 -- sh -c "$take; echo >'$ORDER_SWEEP_TMP/ready'; exec sleep 62.017"
read -r _ <"$ORDER_SWEEP_TMP/ready"
kill -9 "$pid"
finish 137
value 1000 "$unpublished"
pkill -9 -xf 'sleep 62.017'
wait_sessions_gone
sql -c 'UPDATE order_sweep.delivery SET next_try = now()'
# The command dies, a few times.
run 0 relay -v -- sh -c "read -r line; echo \"\$line\" >>\"\$told\"
    echo >>'$ORDER_SWEEP_TMP/deaths'
    [ \$(wc -l <'$ORDER_SWEEP_TMP/deaths') -gt 3 ] || kill -9 \$\$; $take"
value 0 "$unpublished"
each_told 1000

# --- With --linger -----------------------------------------------------------

again
start relay --linger --time-limit 1m --look-every 100ms -v -- sh -c \
    "[ ! -e '$ORDER_SWEEP_TMP/down' ] && $take"
wait_until "($unpublished) = 0"
touch "$ORDER_SWEEP_TMP/down"
again
wait_until "EXISTS (SELECT FROM order_sweep.delivery)"
wait_until "NOT EXISTS (SELECT FROM order_sweep.delivery)"
value 1000 "$unpublished"
rm "$ORDER_SWEEP_TMP/down"
wait_until "($unpublished) = 0"
each_told 1000
kill -TERM "$pid"
finish 75
is 'told once' 1 "$(grep -c 'the command takes no event' "$err")"
