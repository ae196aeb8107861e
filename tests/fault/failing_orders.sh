#!/bin/bash
# Orders that fail, orders behind a lock, and a shop in which every order
# fails: each stops only itself, and good orders get their turn in the same run.
set -euo pipefail

# shellcheck source=tests/support/shop.sh
. "$ORDER_SWEEP_SOURCE/tests/support/shop.sh"

failures()
{
    sql -c "SELECT concat_ws(' ', count(*), min(attempts), max(attempts),
                             max(postponed),
                             count(*) FILTER (WHERE quarantined))
              FROM order_sweep.failure"
}

make_due()
{
    sql -c "UPDATE order_sweep.failure SET next_try = now() - interval '1 s'"
}

# --- 600 failing orders before ten good ones ---------------------------------

new_shop failing 10 4
run 0
sql <<'SQL'
CREATE FUNCTION shop.fail() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT FROM shop.order_line l
                WHERE l.order_id = NEW.id AND l.goods_id = 100) THEN
        RAISE EXCEPTION 'goods 100 are cursed';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER fail BEFORE UPDATE OF order_status ON shop.orders
FOR EACH ROW EXECUTE FUNCTION shop.fail();
SQL
place 600 '2 hours' 100
place 10 '1 hour' 101

run 1 --batch-size 100
is 'the first run' 'done 10 0 0 0 0 600 0 f' "$(last_run)"
is 'the failures' '600 1 1 0 0' "$(failures)"
is 'lines on stderr' 11 "$(wc -l <"$err")"
named='order-sweep: cancel_unpaid: order [0-9]* failed'
is 'the orders named' 10 \
    "$(said | grep -c "^$named: goods 100 are cursed (SQLSTATE P0001)$")"
is 'the last line' "order-sweep: cancel_unpaid: 590 more orders failed; \
see order_sweep.failure" "$(said | tail -n 1)"

# They back off: not even tried by the next runs.
run 0
silent
value 't t' "SELECT concat_ws(' ', bool_and(next_try > now()),
    bool_and(next_try < now() + interval '1 minute')) FROM order_sweep.failure"
run 0 --dry-run
grep -q '^  total: 600 due; 600 back-off$' "$out" || die 'no back-off'

# Each time twice as long, up to an hour; given up after the tenth.
for attempt in 2 3 4 5 6 7 8 9 10; do
    make_due
    place 10 '1 hour' 101
    run 1 --batch-size 100
    is "run $attempt" 'done 10 0 0 0 0 600 0 f' "$(last_run)"
    minutes=$((attempt > 6 ? 60 : 1 << (attempt - 1)))
    value 0 "SELECT count(*) FROM order_sweep.failure
              WHERE next_try - now() NOT BETWEEN interval '$minutes minutes'
                    - interval '30 s' AND interval '$minutes minutes'"
    if [ "$attempt" = 9 ]; then
        is 'after nine' '600 9 9 0 0' "$(failures)"
    fi
done
is 'after ten' '600 10 10 0 600' "$(failures)"
make_due
run 0
silent
run 0 --dry-run
grep -q '^  total: 600 due; 600 quarantined$' "$out" || die 'no quarantine'
invariants

# A few that fail without any success are their own fault all the same.
sql -c 'DELETE FROM order_sweep.failure'
sql -c 'UPDATE shop.orders SET created = created + 86400 WHERE id NOT IN (
    SELECT id FROM shop.orders WHERE order_status = 1 AND id > 10
     ORDER BY id LIMIT 49)
    AND order_status = 1'
run 1
is '49 that fail' 'done 0 0 0 0 0 49 0 f' "$(last_run)"
is 'their failures' '49 1 1 0 0' "$(failures)"

# --- Every order fails -------------------------------------------------------

sql -c 'DELETE FROM order_sweep.failure' -o /dev/null
place 600 '1 hour' 100
run 1
says "cancel_unpaid: 50 orders in a row failed, and the newest ones too: \
goods 100 are cursed (SQLSTATE P0001); this looks like the shop's fault, so \
no attempt is recorded"
is 'no attempts' '0 0' "$(failures | tr -s ' ')"
value 't failures' "SELECT concat_ws(' ', failed < 200, stopped)
    FROM order_sweep.run ORDER BY id DESC LIMIT 1"
# A fault in the definition or in the tables is a matter of the set-up.
sql -c "CREATE OR REPLACE FUNCTION shop.fail() RETURNS trigger LANGUAGE plpgsql
        AS 'BEGIN PERFORM no_such_function(); RETURN NEW; END'"
run 78
is 'lines on stderr' 1 "$(wc -l <"$err")"
is 'no attempts' '0 0' "$(failures)"
sql -c 'DROP TRIGGER fail ON shop.orders'
run 0
silent
invariants

# --- 200 orders behind a goods row that another session holds ----------------

new_shop locked 10 4
run 0
place 200 '2 hours' 100
place 10 '1 hour' 101
place 10 '50 minutes' 102

# hold TABLE ID: another session holds this row.
hold()
{
    sql -c "BEGIN; SELECT FROM shop.$1 WHERE id = $2 FOR UPDATE;
            SELECT pg_sleep(3600)" >/dev/null 2>&1 &
    holder=$!
    wait_until "EXISTS (SELECT FROM pg_stat_activity
        WHERE datname = current_database() AND query LIKE 'BEGIN; SELECT FROM%'
          AND wait_event = 'PgSleep')"
}

let_go()
{
    sql -o /dev/null -c "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE datname = current_database() AND query LIKE 'BEGIN; SELECT FROM%'"
    wait "$holder" || :
}

hold goods 100

# held SECONDS ARGUMENT...: a run ends in time, with its ten good orders done.
held()
{
    local began=$SECONDS most=$1
    shift
    run 0 "$@"
    is 'stderr of a run past locks' '' "$(cat "$err")"
    if [ $((SECONDS - began)) -gt "$most" ]; then
        die "the run took $((SECONDS - began)) s"
    fi
    value 0 'SELECT count(*) FROM order_sweep.failure WHERE attempts > 0'
}

held 22 --time-limit 15s
value 't t f' "SELECT concat_ws(' ', swept >= 20, locked > 0, failed > 0)
    FROM order_sweep.run ORDER BY id DESC LIMIT 1"
# Those that met the lock wait for their next try; with the default limits all
# others get theirs.
held 54
is 'who waits' '200 0 0 1 0' "$(failures)"
run 0
silent
invariants
# It does not stay without a word.
sql -c "UPDATE order_sweep.failure SET postponed = 3, next_try = now()
         WHERE order_key IN (SELECT order_key FROM order_sweep.failure LIMIT 5)"
run 0
says 'warning: cancel_unpaid: orders that met the locks of other sessions four times or more: 5; see order-sweep check'

let_go
make_due
run 0
silent
is 'afterwards' 'done 200 0 0 0 0 0 0 f' "$(last_run)"
is 'nothing waits' '0 0' "$(failures)"
invariants

# --- An order whose own row another session holds ----------------------------

passed_by()
{
    run 0 --format json "$@"
    is 'stderr' "order-sweep: warning: cancel_unpaid: orders are passed by \
since DATE, for another session holds their rows; see order-sweep check" \
        "$(said | sed 's/[-0-9]* [:0-9]*+00/DATE/')"
}

# Five minutes long that is its payment, say, or another run.
place 3 '1 hour'
hold orders "$(due_order 1)"
run 0
silent
is 'the run' 'done 2 0 0 0 0 0 0 f' "$(last_run)"
sql -c "UPDATE order_sweep.run SET started_at = started_at - interval '6 minutes'"
place 1 '1 hour'
passed_by
is 'the report' '1 done true 0' "$(reported swept stopped rest exit)"
is 'the run' 'done 1 0 0 0 0 0 0 t' "$(last_run)"
# Also where less time is left than a statement may take: those that linger stay
# to their last moment.
place 1 '1 hour'
passed_by --linger --time-limit 4s --hard-limit 4500ms --look-every 1m
# Under a longer window it was not due then.
run 0 --window 56m
silent
# It is the same where each order has its deadline.
sql -o /dev/null -c "SELECT order_sweep.define(
    sweep => 'cancel_unpaid', orders => 'shop.orders', key => '{id}',
    unpaid => 'o.order_status = 1', deadline => 'o.created + 1800', unit => 's',
    set => 'order_status = 3, closed_at = now()')"
passed_by
let_go
run 0
silent
