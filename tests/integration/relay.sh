#!/bin/bash
# The relay: what its command takes is published, what it refuses alone waits;
# and what a line looks like.
set -euo pipefail

# shellcheck source=tests/support/shop.sh
. "$ORDER_SWEEP_SOURCE/tests/support/shop.sh"
# shellcheck source=tests/support/relay.sh
. "$ORDER_SWEEP_SOURCE/tests/support/relay.sh"
cleanup()
{
    drop_dbs
    sql -d postgres -c 'SET client_min_messages = warning' \
        -c "DROP ROLE IF EXISTS osw_relay_$$"
}
trap cleanup EXIT

# --- What is an event --------------------------------------------------------

new_shop relay 2000
run 0
run 78 relay -- cat
says_like 'there are no events; SELECT order_sweep.publish*'
run 78 relay --linger -- cat
run 64 relay --sweep cancel_unpaid -- cat
says_like 'sweep: what cancel_unpaid does is no event; SELECT order_sweep.publish*'
sql -o /dev/null -c "SELECT order_sweep.publish('cancel_unpaid')"
# What was swept before is none.
run 0 relay -v -- false
relayed 0 0 0
place 3 '1 hour'
run 0
run 0 relay -v -- sh -c "$take"
relayed 3 0 0
each_told 3
run 0 status
is 'status' '  events         all relayed' "$(grep '^  events ' "$out")"
is 'a line' 3 "$(ask_lines "$told" "SELECT count(*) FROM line
    WHERE l->>'type' = 'cancel_unpaid' AND l->>'aggregatetype' = 'orders'
      AND l->'payload'->>'order_id' = l->>'aggregateid'
      AND (l->>'timestamp')::timestamptz > now() - interval '1 minute'
      AND (l->>'id')::uuid = order_sweep.event_id('cancel_unpaid',
              jsonb_build_array((l->>'aggregateid')::bigint), 1)")"
run 0 relay -- false
silent
# All of them, from the beginning.
sql -o /dev/null -c "SELECT order_sweep.publish('cancel_unpaid', since => '-infinity')"
run 0 relay -- sh -c "$take"
silent
each_told 1003

for bad in '' '-- ' 'cat' '--batch 0 -- cat' '--jobs 2 -- cat' '--look-every 1s -- cat'; do
    read -ra words <<<"$bad"
    run 64 relay "${words[@]}"
    one_line
done
run 64 --batch 5

# --- What a command does -----------------------------------------------------

# Its output is the log's.
again
run 0 relay -v -- sh -c "$take; echo taken; echo well >&2"
is 'output' 'order-sweep: info: sh: taken
order-sweep: info: sh: well' "$(head -n 2 "$err")"

# One event that it always refuses, among 500.
sql -c 'DELETE FROM order_sweep.journal WHERE ctid NOT IN (
    SELECT ctid FROM order_sweep.journal ORDER BY swept_at DESC LIMIT 500)'
again
bad=$(sql -c 'SELECT order_key->>0 FROM order_sweep.journal
              ORDER BY swept_at, order_key OFFSET 317 LIMIT 1')
picky="! grep -q '\"aggregateid\" : \"$bad\"' \"/proc/self/fd/0\" || exit 3; $take"
run 1 relay -v -- sh -c "$picky"
relayed 499 1 0
is 'who is told' "order-sweep: warning: cancel_unpaid: event of order $bad refused: sh ended with 3" \
    "$(grep warning "$err")"
each_told 499
# It waits for its next try, while others pass.
run 0 relay -v -- sh -c "$picky"
relayed 0 0 0
run 0 status
is 'status' 1 "$(grep -c '^  events         1 to relay, the oldest for .*; 1 refused$' "$out")"
sql -c "UPDATE order_sweep.delivery SET attempts = 9, next_try = now()"
run 1 relay -v -- sh -c "$picky"
relayed 0 1 1
is 'who is told' "order-sweep: warning: cancel_unpaid: event of order $bad refused for the tenth time, and parked: sh ended with 3" \
    "$(grep warning "$err")"
sql -c "UPDATE order_sweep.delivery SET next_try = now()"
run 0 relay -v -- sh -c "$picky"
relayed 0 0 0
run 0 status
is 'status' 1 "$(grep -c '^  events         1 to relay, .*; 1 parked; see order-sweep retry$' "$out")"
run 0 status --format json
is 'as JSON' '1|0|1' "$(ask_lines "$out" \
    "SELECT l->'events', l->'events_refused', l->'events_parked' FROM line")"
run 0 retry
is 'retry' "cancel_unpaid: event of order $bad, parked: attempts 10, last WHEN: sh ended with 3" \
    "$(sed -n '1s/ 20[0-9-]* [0-9:]*+00/ WHEN/p' "$out")"
run 0 relay -v -- sh -c "$take"
relayed 1 0 0
each_told 500

# What it says may be no text: the others are published all the same.
again
run 1 relay -v -- sh -c "! grep -q '\"aggregateid\" : \"$bad\"' /proc/self/fd/0 ||
    { printf 'no \\377 text\\n'; exit 3; }; $take"
relayed 499 1 0
value 'sh ended with 3: no \377 text' 'SELECT message FROM order_sweep.delivery'

# Many of them, ten in a row too, and the command is no worse for it.
again
run 1 relay -v -- sh -c "! grep -qE '\"aggregateid\" : \"[0-9]*[05]\"' /proc/self/fd/0 && $take"
poor=$(sql -c "SELECT count(*) FROM order_sweep.journal
    WHERE (order_key->>0)::int % 5 = 0")
relayed $((500 - poor)) "$poor" 0

# The first eleven and the newest one: that is no outage either.
again
poor=$(sql -c "SELECT string_agg('\"aggregateid\" : \"' || k || '\"', '|') FROM (
    SELECT order_key->>0 AS k, row_number() OVER (ORDER BY swept_at, order_key) AS n
      FROM order_sweep.journal) t WHERE n <= 11 OR n = 500")
run 1 relay -v -- sh -c "! grep -qE '$poor' /proc/self/fd/0 && $take"
relayed 488 12 0

# It takes nothing: that is held against no event.
for command in 'cat >/dev/null; echo no Redis; exit 1' 'echo no Redis' \
    'cat >/dev/null; echo no Redis; kill -9 $$'; do
    again
    run 75 relay -v -- sh -c "$command"
    relayed 0 0 0
    grep -q ' the command takes no event: sh .*: no Redis$' "$err" || die 'no word on the outage'
    value 0 'SELECT count(*) FROM order_sweep.delivery'
    value 500 "$unpublished"
done
run 78 relay -- /no/such/command
says 'the command takes no event: /no/such/command cannot be run: No such file or directory'
value 0 'SELECT count(*) FROM order_sweep.delivery'
# It hangs: it is told to end, and what it had waits behind the others.
run 1 relay --time-limit 20s --batch 1 -v -- sh -c \
    "read -r line; case \$line in *'\"$bad\"'*) trap : TERM; sleep 61.017; sleep 61.017;; esac; echo \"\$line\" >>\"\$told\""
relayed 499 1 0
grep -q "event of order $bad refused: sh did not end in time" "$err" ||
    die 'no word on the command that hangs'
[ -z "$(pgrep -xf 'sleep 61.017')" ] || die 'a process of the command was left'

# Those that it hung on together, and never alone, are not nearer to being parked.
again
run 0 relay --time-limit 2s -v -- sh -c 'sleep 61.018'
relayed 0 0 0
value '500 0' "SELECT count(*) || ' ' || max(attempts) FROM order_sweep.delivery"

# --- What a line looks like --------------------------------------------------

# publish_line EXPRESSION
publish_line()
{
    sql -o /dev/null -v line="$1" <<<"SELECT order_sweep.publish('cancel_unpaid', :'line')"
}
again
publish_line "'FCALL give_back 0 ' || e.id || ' ' || (e.payload->>'order_id')"
run 0 relay -- sh -c "$take"
is 'lines' 500 "$(grep -cE '^FCALL give_back 0 [0-9a-f-]{36} [0-9]+$' "$told")"
# None for some, and for some an error or a line break.
again
publish_line "CASE e.key->>0 WHEN '$bad' THEN NULL ELSE 'x' END"
run 0 relay -v -- sh -c "$take"
relayed 500 0 0
is 'one without a line' 499 "$(wc -l <"$told")"
for line in "'x' || 1 / (CASE e.key->>0 WHEN '$bad' THEN 0 ELSE 1 END)" \
    "CASE e.key->>0 WHEN '$bad' THEN E'x\\ny' ELSE 'x1' END"; do
    again
    publish_line "$line"
    run 1 relay -v -- sh -c "$take"
    relayed 499 1 0
    grep -q "event of order $bad refused: line: [dh]" "$err" || die 'no word on the line'
    is 'the others' 499 "$(grep -cx x1 "$told")"
done
for line in 'e.no_such' "'a'; DELETE FROM shop.orders" "'a')" ''; do
    if publish_line "$line" 2>"$err"; then
        die "taken for a line: $line"
    fi
    grep -q 'ERROR:  line: ' "$err" || die "no word on the line: $line"
done
# Defined anew it has its line still, and its events.
publish_line "'still'"
sql -o /dev/null -f "$sample/definition.sql"
again
run 0 relay -- sh -c "$take"
is 'still' 500 "$(grep -cx still "$told")"
sql -o /dev/null -c "SELECT order_sweep.publish('cancel_unpaid')"

# --- An order's events -------------------------------------------------------

# One waits as long as an older one of its order does.
again
sql -c "INSERT INTO order_sweep.journal (sweep, order_key, ordinal, run_id, payload)
    SELECT sweep, order_key, 2, run_id, payload FROM order_sweep.journal
     WHERE order_key = '[$bad]'"
run 1 relay -v -- sh -c "$picky"
relayed 499 1 0
sql -c 'UPDATE order_sweep.delivery SET next_try = now()'
run 0 relay -v -- sh -c "$take"
relayed 2 0 0
is 'in order' "$(sql -c "SELECT order_sweep.event_id('cancel_unpaid', '[$bad]', n)
    FROM generate_series(1, 2) n")" "$(ask_lines "$told" "SELECT l->>'id' FROM line
    WHERE l->>'aggregateid' = '$bad'")"

sql -c 'DELETE FROM order_sweep.journal WHERE ordinal = 2'

# --- Which are taken ---------------------------------------------------------

# What was tried before waits behind what was not, and is not mixed with it.
again
sql -c "INSERT INTO order_sweep.delivery SELECT sweep, order_key, ordinal, 3, now()
    FROM order_sweep.journal ORDER BY swept_at, order_key LIMIT 2"
claim="SELECT events, retried FROM order_sweep.claim_events('cancel_unpaid', 600)"
is 'the fresh ones first' '498|f' "$(sql -F '|' -c "$claim")"
is 'then those of before' '2|t' "$(sql -F '|' -c "$claim")"
is 'then none' '0|t' "$(sql -F '|' -c "$claim")"
value '1 498, 4 2' "SELECT string_agg(attempts || ' ' || n, ', ' ORDER BY attempts)
    FROM (SELECT attempts, count(*) AS n FROM order_sweep.delivery GROUP BY 1) t"
# One that died is followed by another a few seconds later.
value t "SELECT bool_and(next_try > now() AND next_try < now() + interval '6 seconds')
    FROM order_sweep.delivery"
sql -c "UPDATE order_sweep.delivery SET next_try = now()" \
    -c "UPDATE order_sweep.delivery SET parked = true WHERE attempts = 4"
is 'none that is parked' '498|t' "$(sql -F '|' -c "$claim")"
# Not from before the beginning, nor of a sweep whose events are none.
again
sql -o /dev/null -c "SELECT order_sweep.publish('cancel_unpaid', since => now())"
is 'none from before' '0|t' "$(sql -F '|' -c "$claim")"
sql -o /dev/null -c "SELECT order_sweep.publish('cancel_unpaid')"
is 'none from before, again' '0|t' "$(sql -F '|' -c "$claim")"
sql -o /dev/null -c "SELECT order_sweep.publish('cancel_unpaid', since => '-infinity')"
sql -o /dev/null -c "SELECT order_sweep.unpublish('cancel_unpaid')"
is 'none that nobody wants' '0|t' "$(sql -F '|' -c "$claim")"
sql -o /dev/null -c "SELECT order_sweep.publish('cancel_unpaid', since => '-infinity')"

# Two at once: what one feeds the other passes by.
again
mkfifo "$ORDER_SWEEP_TMP/"{begun,go}
start relay -v -- sh -c "echo >'$ORDER_SWEEP_TMP/begun'
    read -r _ <'$ORDER_SWEEP_TMP/go'; $take"
read -r _ <"$ORDER_SWEEP_TMP/begun"
sql -c 'UPDATE order_sweep.delivery SET next_try = now()'
run 0 relay -v -- sh -c "$take"
relayed 0 0 0
echo >"$ORDER_SWEEP_TMP/go"
finish 0
relayed 500 0 0
is 'lines' 500 "$(wc -l <"$told")"
# What was claimed and published by another meanwhile is taken no more.
again
ids=$(sql -c "SELECT ids FROM order_sweep.claim_events('cancel_unpaid', 10)")
sql -c 'UPDATE order_sweep.journal SET published_at = now()'
value 0 "SELECT count(*) FROM order_sweep.take_events('cancel_unpaid', '$ids')"

# The cron role is enough, and a role that looks is not.
role=osw_relay_$$
again
sql -o /dev/null -c "CREATE ROLE $role LOGIN" -c "SELECT order_sweep.grant_read_to('$role')"
PGUSER=$role run 78 relay -- sh -c "$take"
sql -o /dev/null -c "SELECT order_sweep.grant_to('$role')"
PGUSER=$role run 0 relay -v -- sh -c "$take"
relayed 500 0 0
