#!/bin/bash
# The program on the sample shop: the lock, failing orders, several definitions,
# pause, limits, and the books it keeps.
set -euo pipefail

# shellcheck source=tests/support/db.sh
. "$ORDER_SWEEP_SOURCE/tests/support/db.sh"
# shellcheck source=tests/support/steps.sh
. "$ORDER_SWEEP_SOURCE/tests/support/steps.sh"

new_shop program

# silent CODE [ARGUMENT...]: a run that ends so and says nothing.
silent()
{
    runs "$@"
    is "output of ${*:2}" "$out" ''
    is "messages of ${*:2}" "$err" ''
}

lock_is_free()
{
    until_true "SELECT NOT EXISTS (SELECT FROM pg_locks
        WHERE locktype = 'advisory' AND database = (
            SELECT oid FROM pg_database WHERE datname = current_database()))"
}

# fields TEXT NAME...: the values of these members of a report in JSON.
fields()
{
    local json=$1 name
    shift
    for name in "$@"; do
        printf '%s\n' "$json" |
            sed -n "s/.*\"$name\":\\(\"[^\"]*\"\\|[^,}]*\\).*/\\1/p"
    done | paste -s -d ' '
}

last_run()
{
    ask 'SELECT swept, kept, locked, changed, gone, failed, unknown, stopped,
        rest, ended_at >= started_at FROM order_sweep.run
        ORDER BY id DESC LIMIT 1'
}

failure()
{
    ask "SELECT attempts, postponed, next_try - failed_at, quarantined, sqlstate
        FROM order_sweep.failure WHERE order_key = '[$1]'"
}

# The time of the next try comes.
hurry()
{
    ask "UPDATE order_sweep.failure SET next_try = now(), failed_at = failed_at
        - interval '1 hour' WHERE NOT quarantined"
}

# --- Nothing due: nothing said, nothing written -------------------------------

place '1 minute' >/dev/null
change "UPDATE order_sweep.life SET seen_at = now() - interval '299 seconds'"
before=$(fingerprint)
silent 0
is 'a run with nothing due writes nothing' "$(fingerprint)" "$before"
runs 0 --format=json
is 'report' "$(fields "$out" sweep run stopped swept exit)" \
    '"cancel_unpaid" null "nothing to sweep" 0 0'
# ... but for the sign of life, when the last one is old.
change "UPDATE order_sweep.life SET seen_at = now() - interval '301 seconds'"
silent 0
is 'sign of life' "$(ask "SELECT now() - seen_at < '1 minute'
    FROM order_sweep.life")" t
is 'no row of a run without work' "$(ask 'SELECT count(*) FROM
    order_sweep.run')" 0

# --- A run with work ---------------------------------------------------------

for _ in 1 2 3; do
    place '31 minutes' >/dev/null
done
paid=$(place '31 minutes')
change "SELECT FROM shop.pay_order($paid, 10)"
kept=$(place '31 minutes')
change "INSERT INTO shop.payment (order_id, amount) VALUES ($kept, 1)"
change "UPDATE order_sweep.life SET seen_at = now() - interval '1 hour'"
silent 0
is 'run' "$(last_run)" '3|0|0|0|0|0|0|done|f|t'
is 'journal' "$(ask 'SELECT count(*), count(DISTINCT run_id), min(run_id) =
    (SELECT id FROM order_sweep.run) FROM order_sweep.journal')" '3|1|t'
is 'sign of life of a run' "$(ask "SELECT now() - seen_at < '1 minute'
    FROM order_sweep.life")" t
is 'host and pid' "$(ask "SELECT host <> '', pid > 0, \"window\" IS NULL
    FROM order_sweep.run")" 't|t|t'
runs 0 --dry-run --format=json
is 'dry run: the kept one' "$(printf '%s\n' "$out" | grep -c 'payment received')" 2
runs 0 --format=json
is 'all that is due is kept' "$(fields "$out" run stopped rest)" \
    'null "nothing to sweep" false'
invariants 'after a run'

# --- The lock ----------------------------------------------------------------

order=$(place '31 minutes')
id=$(ask 'SELECT id FROM order_sweep.sweep')
hold "SELECT pg_advisory_lock(1869838192, $id)"
before=$(fingerprint)
silent 0
is 'a run beside another changes nothing' "$(fingerprint)" "$before"
runs 75 --fail-if-busy
is 'message' "$err" 'order-sweep: cancel_unpaid: another run is working on it'
runs 0 --format=json
is 'report of a busy sweep' "$(fields "$out" run stopped exit)" 'null "busy" 0'
# Its holder gives no sign of life.
change "UPDATE order_sweep.life SET seen_at = now() - interval '299 seconds'"
silent 0
change "UPDATE order_sweep.life SET seen_at = now() - interval '400 seconds'"
runs 75
is 'message on a silent holder' "$(printf '%s\n' "$err" | sed 's/[0-9]\+ s/N s/')" \
    'order-sweep: cancel_unpaid: another session has held the lock without a sign of life for N s; look for it in pg_stat_activity and pg_locks: a run that hangs, or a transaction that called define'
# Without the lock it sweeps beside the other.
silent 0 --no-lock
is 'swept beside the holder' "$(ask "SELECT order_status FROM shop.orders
    WHERE id = $order")" 3
let_go >/dev/null
# Once the other is gone, the lock is free.
order=$(place '31 minutes')
lock_is_free
silent 0 --fail-if-busy
is 'swept after the holder' "$(ask "SELECT order_status FROM shop.orders
    WHERE id = $order")" 3
invariants 'after busy runs'

# Several runs at once, without the lock: each order once.
change "SELECT count(shop.place_order(nextval('shop.buyer'),
        '[{\"goods_id\": 6, \"quantity\": 1}, {\"goods_id\": 7, \"quantity\": 1}]',
        floor(extract(epoch FROM now()))::bigint - 1860 - n))
    FROM generate_series(1, 400) AS n"
last=$(ask 'SELECT max(id) FROM order_sweep.run')
programs=()
for _ in 1 2 3 4; do
    "$ORDER_SWEEP_BIN" --no-lock --batch-size=50 &
    programs+=($!)
done
for program in "${programs[@]}"; do
    code=0
    wait "$program" || code=$?
    is 'exit code of one of four runs' "$code" 0
done
# What one passed as locked by another, a last run takes.
change "UPDATE order_sweep.failure SET next_try = now()"
silent 0
is 'all swept, each once' "$(ask "SELECT sum(swept), sum(failed + unknown)
    FROM order_sweep.run WHERE id > $last")" '400|0'
invariants 'after four runs at once'

# --- Failing orders ----------------------------------------------------------

poor=$(place '31 minutes' '[{"goods_id": 9, "quantity": 1}]')
good=$(place '31 minutes')
change 'DELETE FROM shop.goods WHERE id = 9'
runs 1
is 'message' "$err" "order-sweep: cancel_unpaid: order $poor failed: cannot \
return 1 of goods 9: not found (SQLSTATE P0001)"
is 'run' "$(last_run)" '1|0|0|0|0|1|0|done|f|t'
is 'the other is swept' "$(ask "SELECT order_status FROM shop.orders
    WHERE id = $good")" 3
is 'first failure' "$(failure "$poor")" '1|0|00:01:00|f|P0001'
is 'message in failure' "$(ask 'SELECT message FROM order_sweep.failure')" \
    'cannot return 1 of goods 9: not found'
place '31 minutes' >/dev/null
silent 0
is 'a run that has work' "$(last_run)" '1|0|0|0|0|0|0|done|f|t'
is 'does not try it again before its time' "$(failure "$poor")" \
    '1|0|00:01:00|f|P0001'
is 'state' "$(ask 'SELECT state FROM order_sweep.cancel_unpaid_due(NULL)
    WHERE state !~ $$^keep$$')" back-off
attempt=1
for wait in 00:02:00 00:04:00 00:08:00 00:16:00 00:32:00 01:00:00 01:00:00 \
    01:00:00; do
    attempt=$((attempt + 1))
    hurry
    runs 1
    is "failure $attempt" "$(failure "$poor")" "$attempt|0|$wait|f|P0001"
done
hurry
runs 1
is 'failure 10' "$(failure "$poor")" '10|0|01:00:00|t|P0001'
change "UPDATE order_sweep.failure SET next_try = now() - interval '2 days'"
silent 0
is 'quarantined: not tried' "$(ask 'SELECT attempts FROM order_sweep.failure')" \
    10
is 'state' "$(ask 'SELECT state FROM order_sweep.cancel_unpaid_due(NULL)
    WHERE state !~ $$^keep$$')" quarantined
place '31 minutes' >/dev/null
silent 0
is 'a quarantined row stays' "$(ask 'SELECT count(*) FROM
    order_sweep.failure')" 1
# Mended: the row of the failure goes with the success.
change "INSERT INTO shop.goods VALUES (9, 'Goods 9', 10, 1000, 999)"
change "UPDATE order_sweep.failure SET quarantined = false, next_try = now()"
silent 0
is 'swept at last' "$(ask "SELECT order_status FROM shop.orders
    WHERE id = $poor")" 3
is 'no failure is left' "$(ask 'SELECT count(*) FROM order_sweep.failure')" 0
invariants 'after failures'

# Stock that others hold is no failure of the order.
order=$(place '31 minutes' '[{"goods_id": 8, "quantity": 1}]')
hold 'BEGIN; SELECT FROM shop.goods WHERE id = 8 FOR UPDATE'
number=0
for wait in 00:01:00 00:02:00 00:04:00 00:08:00 00:10:00 00:10:00; do
    number=$((number + 1))
    runs 0
    # 1, 2, 4 minutes
    case $number in
    [123]) is 'message' "$err" '' ;;
    *) is 'message' "$err" 'order-sweep: warning: cancel_unpaid: orders that met the locks of other sessions four times or more: 1; see order-sweep check' ;;
    esac
    is "lock $number" "$(failure "$order")" "0|$number|$wait|f|55P03"
    hurry
done
is 'run' "$(last_run)" '0|0|1|0|0|0|0|done|t|t'
let_go COMMIT >/dev/null
silent 0
is 'swept once the stock is free' "$(ask "SELECT order_status FROM shop.orders
    WHERE id = $order")" 3
is 'no failure is left' "$(ask 'SELECT count(*) FROM order_sweep.failure')" 0

# An order that others hold, for a payment on its way, is passed by in each run
# and not counted; what is behind it is swept.
order=$(place '33 minutes')
hold "BEGIN; INSERT INTO shop.payment (order_id, amount) VALUES ($order, 1)"
for number in 1 2 3; do
    place '31 minutes' >/dev/null
    silent 0
    is "run $number beside a payment" "$(last_run)" '1|0|0|0|0|0|0|done|f|t'
done
is 'no failure' "$(ask 'SELECT count(*) FROM order_sweep.failure')" 0
let_go COMMIT >/dev/null
silent 0
is 'kept once it is paid' "$(ask "SELECT order_status FROM shop.orders
    WHERE id = $order")" 1
change "SELECT FROM shop.pay_order($order, 10)"
invariants 'after a payment on its way'

# Sixty orders of goods that are gone: the shop's fault, no attempt is booked.
change "SELECT count(shop.place_order(nextval('shop.buyer'),
        '[{\"goods_id\": 9, \"quantity\": 1}]',
        floor(extract(epoch FROM now()))::bigint - 1860))
    FROM generate_series(1, 60)"
change 'ALTER TABLE shop.goods RENAME TO wares'
before=$(ask 'SELECT count(*) FROM order_sweep.failure')
runs 78
is 'message' "$(printf '%s\n' "$err" | grep -c "the shop's fault")" 1
is 'no attempt is booked' "$(ask 'SELECT count(*) FROM order_sweep.failure')" \
    "$before"
is 'run' "$(ask 'SELECT swept, stopped FROM order_sweep.run ORDER BY id DESC
    LIMIT 1')" '0|failures'
change 'ALTER TABLE shop.wares RENAME TO goods'
silent 0
is 'run' "$(ask 'SELECT swept, stopped FROM order_sweep.run ORDER BY id DESC
    LIMIT 1')" '60|done'
invariants "after the shop's fault"

# --- --max-orders, --window, --batch-size -------------------------------------

for _ in 1 2 3 4 5 6 7; do
    place '40 minutes' >/dev/null
done
runs 0 --max-orders=3 --format=json
is 'report' "$(fields "$out" stopped rest swept)" '"max orders" true 3'
is 'run' "$(last_run)" '3|0|0|0|0|0|0|max orders|t|t'
silent 0 --window='41 minutes'
is 'a longer window' "$(ask 'SELECT count(*) FROM
    order_sweep.cancel_unpaid_batch(NULL, NULL, NULL, 100)')" 4
runs 0 --window=39m --max-orders=1 --format=json
is 'report' "$(fields "$out" swept)" 1
is 'window of the run' "$(ask 'SELECT "window" FROM order_sweep.run
    ORDER BY id DESC LIMIT 1')" 00:39:00
young=$(place '29 minutes')
runs 64 --window=1s --format=json
is 'a shorter window is refused' "$err" 'order-sweep: --window: shorter than the one cancel_unpaid is defined with; write a longer one, or add --dry-run to see what it would mean'
is 'the young one' "$(ask "SELECT order_status FROM shop.orders
    WHERE id = $young")" 1
runs 0 --dry-run --window=1s --format=json
is 'a dry run may look ahead' "$(printf '%s\n' "$out" |
    grep -c "\\[$young\\].*\"what\":\"sweep\"")" 1
for _ in 1 2 3 4 5 6 7; do
    place '40 minutes' >/dev/null
done
runs 0 --batch-size=2 --format=json
is 'small batches' "$(fields "$out" stopped swept)" '"done" 10'
invariants 'after limits'

# --- pause, resume, undefine --------------------------------------------------

order=$(place '31 minutes')
change "SELECT FROM order_sweep.pause('cancel_unpaid')"
before=$(fingerprint)
silent 0
runs 0 --format=json
is 'report' "$(fields "$out" stopped exit)" '"paused" 0'
is 'a paused sweep changes nothing' "$(fingerprint)" "$before"
change "SELECT FROM order_sweep.resume('cancel_unpaid')"
silent 0
is 'resumed' "$(ask "SELECT order_status FROM shop.orders
    WHERE id = $order")" 3

change "SELECT FROM order_sweep.undefine('cancel_unpaid')"
is 'functions left' "$(ask "SELECT count(*) FROM pg_proc
    WHERE proname ~ '^cancel_unpaid_'")" 0
is 'the journal stays' "$(ask 'SELECT count(*) > 0 FROM order_sweep.journal')" t
runs 78
is 'message' "$err" 'order-sweep: no sweep is defined; call order_sweep.define in this database, as the README shows'
runs 78 --sweep=cancel
is 'message' "$err" 'order-sweep: --sweep: "cancel" is not defined in this database; none is: call order_sweep.define'
is 'defined again' "$(sql -f "$ORDER_SWEEP_SQL/sample/definition.sql" 2>&1 \
    >/dev/null | sed -n 's/.*WARNING: *//p')" \
    'sweep: the journal has orders of cancel_unpaid from when it was defined before'
runs 78 --sweep=cancel
is 'message' "$err" 'order-sweep: --sweep: "cancel" is not defined in this database; defined are: cancel_unpaid'
# An order swept before, opened again by the shop, is not swept twice.
change "UPDATE shop.orders SET order_status = 1 WHERE id = $order"
silent 0
is 'not swept twice' "$(ask "SELECT order_status FROM shop.orders
    WHERE id = $order")" 1
runs 0 --dry-run --format=json
is 'dry run' "$(printf '%s\n' "$out" | grep -c '"what":"keep","rule":"swept before"')" 1
change "UPDATE shop.orders SET order_status = 3 WHERE id = $order"
invariants 'after undefine'

# --- Several definitions ------------------------------------------------------

sql -f - <<'SQL'
CREATE TABLE shop.seat (id text PRIMARY KEY, state text NOT NULL,
    held_until timestamptz);
CREATE TABLE shop.cart (id int PRIMARY KEY, open boolean, since timestamptz);
SELECT order_sweep.define(sweep => 'free_seat', orders => 'shop.seat',
    key => '{id}', unpaid => $$state = 'held'$$, deadline => 'held_until',
    set => $$state = 'free'$$, again => true);
SELECT order_sweep.define(sweep => 'a_broken', orders => 'shop.cart',
    key => '{id}', unpaid => 'open', since => 'since', after => '1 minute',
    set => 'open = false');
INSERT INTO shop.seat VALUES ('A1', 'held', now()), ('A2', 'held', NULL),
    ('A3', 'held', now() + interval '1 hour');
INSERT INTO shop.cart VALUES (1, true, now() - interval '1 hour');
ALTER TABLE shop.cart RENAME since TO opened;
SQL
order=$(place '31 minutes')
runs 78
is 'message' "$err" 'order-sweep: a_broken: column "since" does not exist; look for a column that was renamed or dropped'
is 'the others are swept' "$(ask "SELECT (SELECT order_status FROM shop.orders
    WHERE id = $order), string_agg(state, ' ' ORDER BY id) FROM shop.seat")" \
    '3|free held held'
is 'runs' "$(ask 'SELECT string_agg(sweep, $$ $$ ORDER BY id) FROM (SELECT
    sweep, id FROM order_sweep.run ORDER BY id DESC LIMIT 2) AS r')" \
    'cancel_unpaid free_seat'
runs 64 --window=1h
is 'message' "$err" 'order-sweep: --window: there are 3 sweeps; say which with --sweep: a_broken, cancel_unpaid, free_seat'
runs 64 --window=1h --sweep=free_seat
is 'message' "$err" 'order-sweep: --window: free_seat has a deadline for each order; leave --window out'
silent 0 --sweep=cancel_unpaid
silent 0 --sweep=free_seat
runs 78 --sweep=a_broken --format=json
is 'report of a broken one' "$(printf '%s\n' "$out" | sed 's/.*,"exit"/"exit"/')" \
    '"exit":78,"error":"column \"since\" does not exist"}'
# The definition is called anew, and all is well.
change "SELECT FROM order_sweep.define(sweep => 'a_broken', orders => 'shop.cart',
    key => '{id}', unpaid => 'open', since => 'opened', after => '1 minute',
    set => 'open = false')"
silent 0
is 'mended' "$(ask 'SELECT open FROM shop.cart')" f
# again: the same seat, held again, is freed again.
change "UPDATE shop.seat SET state = 'held', held_until = now() WHERE id = 'A1'"
silent 0
is 'journal of again' "$(ask "SELECT string_agg(ordinal::text, ' '
    ORDER BY ordinal) FROM order_sweep.journal WHERE sweep = 'free_seat'")" '1 2'
# The lock of one sweep is not that of another.
order=$(place '31 minutes')
change "UPDATE shop.seat SET state = 'held', held_until = now() WHERE id = 'A1'"
hold "SELECT pg_advisory_lock(1869838192, id) FROM order_sweep.sweep
    WHERE name = 'cancel_unpaid'"
runs 0 --format=json
is 'beside the lock of another sweep' "$(fields "$out" sweep stopped swept)" \
    '"a_broken" "cancel_unpaid" "free_seat" "nothing to sweep" "busy" "done" 0 0 1'
let_go >/dev/null
lock_is_free
silent 0
is 'swept once its lock is free' "$(ask "SELECT order_status FROM shop.orders
    WHERE id = $order")" 3
# Orders are used up before the other's turn: it is told that it has a rest.
place '31 minutes' >/dev/null
change "UPDATE shop.seat SET state = 'held', held_until = now() WHERE id = 'A1'"
runs 0 --max-orders=1 --format=json
is 'no turn' "$(fields "$(printf '%s\n' "$out" | tail -n 1)" sweep run stopped rest)" \
    '"free_seat" null "no turn" true'
is 'nothing to sweep' "$(fields "$(printf '%s\n' "$out" | head -n 1)" sweep stopped rest)" \
    '"a_broken" "nothing to sweep" false'
silent 0
invariants 'after several definitions'

# --- The history of runs is bounded ------------------------------------------

change "INSERT INTO order_sweep.run (sweep, host, pid)
    SELECT s, 'here', 1 FROM generate_series(1, 1100),
           unnest('{cancel_unpaid,free_seat}'::text[]) AS s"
place '31 minutes' >/dev/null
silent 0
is 'runs kept' "$(ask "SELECT count(*), max(id) FILTER (WHERE swept = 1) = max(id)
    FROM order_sweep.run WHERE sweep = 'cancel_unpaid'")" '1000|t'
is 'runs of another sweep' "$(ask "SELECT count(*) > 1100
    FROM order_sweep.run WHERE sweep = 'free_seat'")" t
change "DELETE FROM order_sweep.run WHERE host = 'here'"
invariants 'at the end'
finish
