#!/bin/bash
# How long the books are kept: what of the journal goes, what never, and that
# nothing of it hurts a run.
set -euo pipefail

# shellcheck source=tests/support/db.sh
. "$ORDER_SWEEP_SOURCE/tests/support/db.sh"
# shellcheck source=tests/support/steps.sh
. "$ORDER_SWEEP_SOURCE/tests/support/steps.sh"

owner=retention_owner_$$
cron=retention_cron_$$
new_shop retention "$owner"
new_role "$cron"
change "SELECT FROM order_sweep.grant_to('$cron')"

# book KEY [SWEPT [PUBLISHED [ORDINAL [SWEEP]]]]: a journal row, swept and
# published so many days ago; of keys 1 and 5
# there is an order, of others there is none.
book()
{
    change "INSERT INTO order_sweep.journal
        (sweep, order_key, ordinal, run_id, swept_at, payload, published_at)
        VALUES ('${5:-cancel_unpaid}', '$1', ${4:-1}, 0,
        now() - interval '1 day' * ${2:-91}, '{}',
        now() - interval '1 day' * ${3:-91})"
}

# The journal, as keys with their ordinals where these are above 1.
journal()
{
    ask "SELECT string_agg(order_key || CASE WHEN ordinal > 1
        THEN '/' || ordinal ELSE '' END, ' ' ORDER BY order_key, ordinal)
        FROM order_sweep.journal WHERE sweep = '${1:-cancel_unpaid}'"
}

empty()
{
    change 'TRUNCATE order_sweep.journal, order_sweep.pruned'
}

# prune [SWEEP]: as after a run of it that swept nothing; how many went.
prune()
{
    ask "SELECT order_sweep.prune(min(id)) FROM order_sweep.run
        WHERE sweep = '${1:-cancel_unpaid}'" | sed -n 's/^ERROR:  //; 1p'
}

# The functions by what the table has; migrate would undo a mutation.
as_stored='SELECT FROM order_sweep.regenerate()'

# A run that swept nothing.
run_of()
{
    change "INSERT INTO order_sweep.run (sweep, host, pid, ended_at)
        VALUES ('$1', 'a', 1, now())"
}

# goes WHAT: the one row booked goes; stays WHAT: it does not.
goes()
{
    is "$1" "$(prune "${2:-}")$(journal "${2:-}")" 1
    empty
}

stays()
{
    local before
    before=$(journal "${2:-}")
    is "$1" "$(prune "${2:-}"), $(journal "${2:-}")" "0, $before"
    empty
}

kept()
{
    ask "SELECT keep_journal, keep_runs FROM order_sweep.sweep
        WHERE name = 'cancel_unpaid'"
}

# As shops keep them: closed long ago.
change "INSERT INTO shop.orders (id, buyer_id, created, order_status, closed_at)
    SELECT n, 0, 0, 3, now() FROM unnest('{1,5}'::int[]) n;
    SELECT setval(pg_get_serial_sequence('shop.orders', 'id'), 1000000)"
run_of cancel_unpaid

# --- Off by default ----------------------------------------------------------

is 'default' "$(kept)" '|1000'
book '[2]'
stays 'kept for ever by default'
book '[2]'
place '31 minutes' >/dev/null
runs 0
is 'message' "$err" ''
is 'kept for ever by a run' "$(journal | grep -c '^\[2\] ')" 1
empty

# --- What retain takes -------------------------------------------------------

refused()
{
    is "retain($1)" "$(raised "SELECT order_sweep.retain($1)")" "22023: $2"
}
refused "'none'" 'sweep: "none" is not defined'
refused "'cancel_unpaid', '90'" 'journal: is less than a day'
refused "'cancel_unpaid', '-1 day'" 'journal: "-1 days" is out of range'
refused "'cancel_unpaid', '1 year'" \
    'journal: "1 year" has months or years, whose length varies'
refused "'cancel_unpaid', runs => 99" 'runs: "99" is out of range'
refused "'cancel_unpaid', runs => 100001" 'runs: "100001" is out of range'
refused "'cancel_unpaid', runs => NULL" 'runs: "" is out of range'
is 'the table takes no less' "$(raised "UPDATE order_sweep.sweep
    SET keep_journal = '1 hour'" | cut -d : -f 1)" 23514
is 'the table takes no fewer' "$(raised "UPDATE order_sweep.sweep
    SET keep_runs = 1" | cut -d : -f 1)" 23514
is 'nothing of it is stored' "$(kept)" '|1000'
is 'not for the role that sweeps' "$(raised \
    "SELECT order_sweep.retain('cancel_unpaid')" -U "$cron")" \
    '42501: permission denied for function retain'
change "SELECT FROM order_sweep.retain('cancel_unpaid', '90 days', 200)"
is 'stored' "$(kept)" '2160:00:00|200'
change "SELECT FROM order_sweep.retain('cancel_unpaid', '90 days')"
is 'runs by default' "$(kept)" '2160:00:00|1000'
sql -f "$ORDER_SWEEP_SOURCE/sql/sample/definition.sql" >/dev/null
is 'define keeps it' "$(kept)" '2160:00:00|1000'

# --- What goes, and what never does ------------------------------------------

book '[2]'
goes 'the order is gone'
book '[2]' 91 NULL
stays 'never published'
book '[2]' 89 91
stays 'swept not long ago'
book '[2]' 91 89
stays 'published not long ago'
book '[1]'
stays 'there is the order: swept before'
book '[1]'
book '[1]' 91 NULL 2
is 'a newer row of the order' "$(prune) $(journal)" '1 [1]/2'
empty
book '[1]' 91 NULL
book '[1]' 91 91 2
stays 'an older row that was not published, the newest that was'
book '[1]'
book '[5]' 91 91 2
stays 'a newer row of another order'
book '[1]'
book '[1]' 91 91 2 another
stays 'a newer row of another sweep'
book '[2]'
book '[2]' 91 91 1 another
is 'a row of another sweep' "$(prune) $(journal another)" '1 [2]'
empty
# Keys that a definition before may have had.
for key in '[1, 2]' '[]' '["2"]' '["A-2"]' '[[2]]' '["99999999999999999999"]'; do
    book "$key"
    stays "key $key"
done
# ... hide none behind them.
book '["A-2"]'
book '[2]'
is 'the one behind' "$(prune) $(journal)" '1 ["A-2"]'
empty

# An order opened again is kept for what is in the journal still.
order=$(place '31 minutes')
is 'cancel' "$(cancel "$order")" swept
change "UPDATE order_sweep.journal SET swept_at = now() - interval '91 days',
        published_at = now() - interval '91 days';
    UPDATE shop.orders SET order_status = 1, closed_at = NULL WHERE id = $order"
is 'nothing goes' "$(prune)" 0
is 'swept before' "$(ask "SELECT state FROM order_sweep.preview('cancel_unpaid',
    NULL)")" 'keep: swept before'
change "UPDATE shop.orders SET order_status = 3, closed_at = now()"
empty

# --- Orders that are not seen are not gone -----------------------------------

# Written anew while prune waits for the table: a snapshot from before that sees
# none of its rows.
patience()
{
    change "ALTER FUNCTION order_sweep.prune SET lock_timeout = '$1';
        ALTER FUNCTION order_sweep.cancel_unpaid_gone SET lock_timeout = '$1'"
}
patience 60s
book '[1]'
book '[2]'
hold 'BEGIN; ALTER TABLE shop.orders
    ALTER buyer_id TYPE bigint USING buyer_id + 0'
sql -c "SELECT order_sweep.prune(min(id)) FROM order_sweep.run
    WHERE sweep = 'cancel_unpaid'" >"$scratch/pruned" 2>&1 5>&- 6<&- 7>&- 8<&- &
pruning=$!
until_true "SELECT EXISTS (SELECT FROM pg_stat_activity
    WHERE datname = current_database() AND wait_event_type = 'Lock')"
let_go COMMIT
wait "$pruning" || : # what it said is told
is 'the orders are written anew' "$(cat "$scratch/pruned") $(journal)" '1 [1]'
patience 200ms
empty

change "ALTER TABLE shop.orders ENABLE ROW LEVEL SECURITY;
    ALTER TABLE shop.orders FORCE ROW LEVEL SECURITY;
    CREATE POLICY seen ON shop.orders
        USING (current_setting('app.seen', true) = 'on')"
book '[1]'
is 'hidden by row security' "$(prune) $(journal)" \
    '42501: query would be affected by row-level security policy for table "orders" [1]'
# Where the policies are wanted, too.
change "UPDATE order_sweep.sweep SET settings = '{\"app.seen\": \"off\"}'
    WHERE name = 'cancel_unpaid'"
change "$as_stored"
is 'hidden by settings' "$(prune) $(journal)" \
    '42501: query would be affected by row-level security policy for table "orders" [1]'

# --- A look that fails is told, and hurts nothing ----------------------------

# told WHAT MESSAGE: a run sweeps, and says so and no more.
told()
{
    local order
    order=$(place '31 minutes')
    runs 0
    is "$1: message" "$err" "order-sweep: warning: cancel_unpaid: the journal was not pruned: $2"
    is "$1: swept" "$(ask "SELECT order_status FROM shop.orders
        WHERE id = $order")" 3
    is "$1: the row of the run" "$(ask "SELECT stopped, swept
        FROM order_sweep.run WHERE sweep = 'cancel_unpaid'
        ORDER BY id DESC LIMIT 1")" 'done|1'
    is "$1: journal" "$(journal | grep -c '^\[1\] \[')" 1
    change "DELETE FROM order_sweep.journal WHERE order_key <> '[1]'"
}
change "UPDATE order_sweep.sweep SET settings = '{\"app.seen\": \"on\"}'
    WHERE name = 'cancel_unpaid'"
change "SET app.seen = 'on'"
change "$as_stored"
told 'a policy' \
    'query would be affected by row-level security policy for table "orders"'
change "ALTER TABLE shop.orders DISABLE ROW LEVEL SECURITY;
    ALTER TABLE shop.orders NO FORCE ROW LEVEL SECURITY;
    UPDATE order_sweep.sweep SET settings = NULL"
change "$as_stored"
change "CREATE OR REPLACE FUNCTION order_sweep.cancel_unpaid_gone(jsonb[])
    RETURNS SETOF jsonb LANGUAGE plpgsql SECURITY DEFINER
    AS 'BEGIN PERFORM pg_sleep(600); END'"
told 'one that takes long' 'canceling statement due to statement timeout'
change 'DROP FUNCTION order_sweep.cancel_unpaid_gone(jsonb[])'
told 'one that is missing' \
    'function order_sweep.cancel_unpaid_gone(jsonb[]) does not exist'
change "$as_stored"
change "REVOKE EXECUTE ON FUNCTION order_sweep.prune(bigint) FROM $cron"
place '31 minutes' >/dev/null
runs 0 -U "$cron"
is 'no right' "$err" 'order-sweep: warning: cancel_unpaid: the journal was not pruned: permission denied for function prune'
change "SELECT FROM order_sweep.grant_to('$cron')"
empty

# --- Runs --------------------------------------------------------------------

# An idle run looks for nothing.
book '[2]'
runs 0
is 'an idle run' "$(journal)" '[2]'
order=$(place '31 minutes')
runs 0 -U "$cron"
is 'a run that had work' "$err|$(journal)" "|[$order]"
empty

# Beside another run that is at it, and past a row that somebody holds.
book '[2]'
hold "BEGIN; SELECT order_sweep.prune(min(id)) FROM order_sweep.run
    WHERE sweep = 'cancel_unpaid'" >/dev/null
book '[3]'
place '31 minutes' >/dev/null
runs 0
is 'two at once' "$err|$(journal | cut -d ' ' -f 1,2)" '|[2] [3]'
let_go COMMIT
is 'the first of them' "$(journal | cut -d ' ' -f 1)" '[3]'
empty
book '[2]'
book '[3]'
hold "BEGIN; SELECT FROM order_sweep.journal WHERE order_key = '[2]' FOR UPDATE"
place '31 minutes' >/dev/null
runs 0
is 'past a row that is held' "$err|$(journal | cut -d ' ' -f 1)" '|[2]'
is 'only that' "$(journal | grep -c '\[3\]')" 0
let_go COMMIT
empty

# The event is to be published again: seen behind the lock.
book '[2]'
hold "BEGIN; UPDATE order_sweep.journal SET published_at = NULL"
is 'while it is changed' "$(prune)" 0
let_go COMMIT
stays 'an event that is to be published again'

# --- A part at a time, and round ---------------------------------------------

# many FROM TO PUBLISHED
many()
{
    change "INSERT INTO order_sweep.journal
        (sweep, order_key, run_id, swept_at, payload, published_at)
        SELECT 'cancel_unpaid', jsonb_build_array(n), 0,
               now() - interval '91 days', '{}', $3
          FROM generate_series($1, $2) n"
}
long_ago="now() - interval '91 days'"
rows()
{
    ask 'SELECT count(*) FROM order_sweep.journal'
}
# most SWEPT: how many go at once after a run that swept so many; the least of
# the tries may have ended by time.
most()
{
    local n=0 most=0
    change "UPDATE order_sweep.run SET swept = $1 WHERE id = (
        SELECT min(id) FROM order_sweep.run WHERE sweep = 'cancel_unpaid')"
    for _ in {1..20}; do
        empty
        many 10001 13000 "$long_ago"
        n=$(prune)
        most=$((n > most ? n : most))
        [ "$most" -lt $((1000 + 2 * $1)) ] || break
    done
    echo "$most"
}
is 'a part at a time' "$(most 0)" 1000
is 'a larger one after a large run' "$(most 400)" 1800
# However long the look takes.
empty
many 10001 13000 "$long_ago"
change "CREATE OR REPLACE FUNCTION order_sweep.cancel_unpaid_gone(jsonb[])
    RETURNS SETOF jsonb LANGUAGE plpgsql SECURITY DEFINER
    AS 'BEGIN PERFORM pg_sleep(0.3); RETURN QUERY SELECT unnest(\$1); END'"
is 'a slow look' "$(prune)" 100
change "$as_stored"
change "UPDATE order_sweep.run SET swept = 0"
# Behind rows that stay, and before where the last look ended.
empty
many 10001 13000 NULL
many 13001 13010 "$long_ago"
for _ in {1..60}; do
    prune >/dev/null
    [ "$(rows)" != 3000 ] || break
done
is 'past what stays' "$(rows)" 3000
prune >/dev/null
book '[2]'
for _ in {1..60}; do
    prune >/dev/null
    [ "$(rows)" != 3000 ] || break
done
is 'from the start again' "$(rows)" 3000
empty

# --- Other tables ------------------------------------------------------------

# A view may show again what it shows no more.
change "CREATE VIEW shop.open AS SELECT * FROM shop.orders
        WHERE order_status = 1;
    SELECT FROM order_sweep.define(sweep => 'by_view', orders => 'shop.open',
        key => '{id}', unpaid => 'o.order_status = 1', since => 'created',
        after => '1 hour', set => 'order_status = 3, closed_at = now()');
    SELECT FROM order_sweep.retain('by_view', '1 day')"
run_of by_view
book '[1]' 91 91 1 by_view
stays 'of a view' by_view
change "SELECT FROM order_sweep.undefine('by_view')"
is 'undefine ends it' "$(ask "SELECT count(*) FROM pg_proc
    WHERE proname = 'by_view_gone'")" 0

# Partitions, and a key of several columns of types that are written in many
# ways: each cancelled, half of them deleted.
change "CREATE TYPE shop.kind AS ENUM ('a''b', 'C');
    CREATE DOMAIN shop.code AS char(6);
    CREATE TABLE shop.part (code shop.code, n numeric(9,2), at timestamptz,
        on_day date, u uuid, kind shop.kind, f float8, b bytea, t text, yes bool,
        open bool, PRIMARY KEY (code, n, at, on_day, u, kind, f, b, t, yes))
        PARTITION BY RANGE (at);
    CREATE TABLE shop.part_1 PARTITION OF shop.part
        FOR VALUES FROM ('2020-01-01') TO ('2021-01-01');
    CREATE TABLE shop.part_2 PARTITION OF shop.part DEFAULT;
    INSERT INTO shop.part SELECT 'x' || n, n + 0.5,
        now() - interval '1 day' - n * interval '1 second', '2024-02-29',
        md5(n::text)::uuid, CASE n % 3 WHEN 0 THEN 'C' ELSE 'a''b' END::shop.kind,
        n / 3.0::float8, decode(md5(n::text), 'hex'), E'\\ \" ü ' || n,
        n % 5 = 0, true FROM generate_series(1, 20) n;
    SELECT FROM order_sweep.define(sweep => 'parts', orders => 'shop.part',
        key => '{code,n,at,on_day,u,kind,f,b,t,yes}', unpaid => 'o.open',
        since => 'at', after => '1 hour', set => 'open = false');
    SELECT FROM order_sweep.retain('parts', '1 day')"
runs 0 --sweep parts
change "UPDATE order_sweep.journal SET swept_at = now() - interval '2 days',
        published_at = now() - interval '2 days' WHERE sweep = 'parts';
    DELETE FROM shop.part WHERE n < 11"
is 'half of them' "$(prune parts)" 10
is 'those that are gone' "$(ask "SELECT count(*) FROM order_sweep.journal j
    WHERE sweep = 'parts' AND (j.order_key->>1)::numeric > 11")" 10

# --- Another table, or another key, under the same name -----------------------

change "CREATE TABLE shop.copy (id int PRIMARY KEY, n int UNIQUE,
        at timestamptz, open bool);
    CREATE TABLE shop.other (LIKE shop.copy INCLUDING ALL)"
define_parts()
{
    sql -c "SELECT order_sweep.define(sweep => 'parts', orders => '$1',
        key => '$2', unpaid => 'o.open', since => 'at', after => '1 hour',
        set => 'open = false', again => true)" 2>&1
}
kept_for_ever='WARNING:  sweep: the journal of parts is kept for ever from now on, for orders or key are others'
for change in 'shop.copy {id}' 'shop.copy {n}' 'shop.other {n}'; do
    is "now $change" "$(PGOPTIONS='' define_parts "${change% *}" "${change#* }" |
        grep -c -F "$kept_for_ever")|$(ask "SELECT keep_journal IS NULL
        FROM order_sweep.sweep WHERE name = 'parts'")" '1|t'
    change "SELECT FROM order_sweep.retain('parts', '1 day')"
done
change 'ALTER TABLE shop.other ALTER n TYPE text'
is 'now another type' "$(PGOPTIONS='' define_parts shop.other '{n}' |
    grep -c -F "$kept_for_ever")|$(ask "SELECT keep_journal IS NULL
    FROM order_sweep.sweep WHERE name = 'parts'")" '1|t'
change "SELECT FROM order_sweep.undefine('parts')"
is 'the journal of what is undefined' "$(ask "SELECT count(*)
    FROM order_sweep.journal WHERE sweep = 'parts'")" 10
empty

# --- What check says ---------------------------------------------------------

retention()
{
    ask "SELECT what FROM order_sweep.sweep s, order_sweep.check_retention(s)"
}
book '[1]' 89
is 'nothing is old' "$(retention)" ''
book '[2]' 91 NULL
is 'nothing was published' "$(retention)" \
    'the journal grows: of 1 old rows looked at none was published'
is 'check says so' "$("$ORDER_SWEEP_BIN" check --format=json |
    grep -c '"item":"retention"')" 1
book '[5]'
is 'something was' "$(retention)" ''
empty
book '[2]' 91 NULL
change "SELECT FROM order_sweep.retain('cancel_unpaid')"
is 'kept for ever' "$(retention)" ''
empty

# --- Runs --------------------------------------------------------------------

# left RUNS ROWS: after so many more rows and a run, of one sweep alone.
left()
{
    change "INSERT INTO order_sweep.run (sweep, host, pid)
        SELECT s, 'here', 1 FROM generate_series(1, $1),
               unnest('{cancel_unpaid,another}'::text[]) s"
    place '31 minutes' >/dev/null
    runs 0
    is "runs kept, $1 more" "$(ask "SELECT
        count(*) FILTER (WHERE sweep = 'cancel_unpaid'),
        count(*) FILTER (WHERE sweep = 'another') FROM order_sweep.run")" "$2"
}
change 'DELETE FROM order_sweep.run'
change "SELECT FROM order_sweep.retain('cancel_unpaid', runs => 2500)"
left 2499 '2500|2499'
left 1 '2500|2500'
change "SELECT FROM order_sweep.retain('cancel_unpaid', runs => 100)"
left 0 '1501|2500'
left 0 '502|2500'
left 0 '100|2500'
runs 0 migrate
is 'migrate keeps it' "$(kept)" '|100'
finish
