#!/bin/bash
# status: how each sweep is, in each of its states; the limits that make it a
# check for monitoring; it fits the terminal.
set -euo pipefail

# shellcheck source=tests/support/shop.sh
. "$ORDER_SWEEP_SOURCE/tests/support/shop.sh"

role=osw_status_$$
cleanup()
{
    drop_dbs
    sql -d postgres -c "DROP ROLE IF EXISTS $role"
}
trap cleanup EXIT

# screen LINE...: $out has these lines; T stands for a length of time, N for a
# rate, WHEN for a moment.
screen()
{
    local unit='(ms|s|min|h|days?)'
    is screen "$(printf '%s\n' "$@")" "$(sed -E \
        -e 's/20[0-9]{2}-[0-9-]+ [0-9:]+\+00/WHEN/g' \
        -e 's|\([0-9]+/s\)|(N/s)|' \
        -e "/overdue for  |from|window/! s/[0-9.]+ $unit( [0-9]+ $unit)?( |,|:|;|\$)/T\\4/g" \
        "$out")"
    is stderr '' "$(cat "$err")"
}

# field SQL: of the one line of JSON in $out.
field()
{
    ask_lines "$out" "SELECT $1 FROM line"
}

# --- The states of a sweep ---------------------------------------------------

new_shop status 1
sql -c 'SET client_min_messages = warning' -c 'TRUNCATE shop.orders, shop.buyer_mark CASCADE'
sql -o /dev/null -c "CREATE ROLE $role LOGIN" \
    -c "SELECT order_sweep.grant_read_to('$role')"

run 0 status
screen cancel_unpaid \
    '  window         30 min since created' \
    '  due now        nothing' \
    '  next deadline  none in sight' \
    '  kept           none' \
    '  failed         none' \
    '  last success   never' \
    '  at work        nobody'
run 1 status --max-age 7m
is 'which limit' 1 "$(grep -c '^  last success   never: over --max-age 7m$' "$out")"
run 0 status --format json
is 'a new one' '{"due": 0, "kept": {}, "over": [], "clock": "created", "error": null, "sweep": "cancel_unpaid", "oldest": null, "paused": false, "backlog": [{"orders": 0, "from_seconds": 0}, {"orders": 0, "from_seconds": 60}, {"orders": 0, "from_seconds": 300}, {"orders": 0, "from_seconds": 1800}, {"orders": 0, "from_seconds": 7200}, {"orders": 0, "from_seconds": 86400}], "holders": [], "back_off": 0, "last_run": null, "quarantined": 0, "last_success": null, "grace_seconds": 0.000, "next_deadline": null, "window_seconds": 1800.000, "overdue_seconds": null, "last_success_seconds": null}' "$(field l)"

# Ten that are overdue for less than a minute, and others.
place 10 '30 minutes 1 second'
place 3 '40 minutes'
place 1 '3 days'
place 1 '40 days'
place 2 '20 minutes'
sql <<'SQL'
INSERT INTO shop.payment (order_id, amount)
SELECT id, 1 FROM shop.orders ORDER BY created DESC OFFSET 2 LIMIT 1;
INSERT INTO order_sweep.failure
SELECT 'cancel_unpaid', jsonb_build_array(id), CASE n WHEN 1 THEN 10 ELSE 1 END,
       0, now() + interval '1 minute', n = 1, 'P0001', 'no', now()
  FROM (SELECT id, row_number() OVER (ORDER BY id) n FROM shop.orders
         WHERE created > extract(epoch FROM now() - interval '41 minutes')
           AND created < extract(epoch FROM now() - interval '39 minutes')) t
 WHERE n < 3;
SQL
oldest=$(sql -c "SELECT id FROM shop.orders
    WHERE created < extract(epoch FROM now() - interval '2 days')
    ORDER BY created DESC LIMIT 1")
run 0 status
screen cancel_unpaid \
    '  window         30 min since created' \
    '  due now        11 orders' \
    "  oldest         $oldest, overdue for T" \
    '  next deadline  in T, WHEN' \
    '  kept           1 payment received, 1 too old' \
    '  failed         1 in back-off, next try in T; 1 quarantined; see order-sweep retry' \
    '  last success   never' \
    '  at work        nobody' \
    '  overdue for    under 1 min  ######### 9' \
    '                 from 1 min   0' \
    '                 from 5 min   # 1' \
    '                 from 30 min  0' \
    '                 from 2 h     0' \
    '                 from 1 day   # 1'
is 'how long the oldest is overdue' 1 \
    "$(grep -c ', overdue for 2 days 23 h$' "$out")"
run 0 status --format json
is 'a full one' '{"too old": 1, "payment received": 1}|11|'"[$oldest]"'|1|1|9 0 1 0 0 1|t' \
    "$(field "l->'kept', l->'due', l->'oldest', l->'back_off', l->'quarantined',
    (SELECT string_agg(b->>'orders', ' ' ORDER BY n)
       FROM jsonb_array_elements(l->'backlog') WITH ORDINALITY AS e(b, n)),
    (l->>'overdue_seconds')::numeric BETWEEN 257400 AND 257520")"

# A role that may only look sees the same.
PGUSER=$role run 0 status
is 'another role' 1 "$(grep -c '^  due now        11 orders$' "$out")"

# After a run.  The shop's orders have no mark of being swept before.
run 0
run 0 status
is 'what was swept' 1 "$(grep -Ec \
    '^  last run       [^:]* ago: 11 swept in [^(]* \([0-9]+/s\); done$' "$out")"
is 'how late' 1 "$(grep -Ec \
    '^  its lateness   p50 .*, p99 .*, max 2 days 23 h$' "$out")"
is 'when' 1 "$(grep -Ec '^  last success   [0-9.]+ m?s ago$' "$out")"

# --- The limits --------------------------------------------------------------

limit=(--max-age 7m)
run 0 status "${limit[@]}" --max-quarantined 1 --max-overdue 1s
place 1 '1 hour'
# The failed orders are no delay of the sweep's: they have a limit of their own.
run 0 status --max-overdue 31m
run 1 status --max-overdue 29m
is 'which limit' 1 "$(grep -c 'overdue for 30 min.*: over --max-overdue 29m$' "$out")"
run 1 status --max-quarantined 0
is 'which limit' 1 "$(grep -c '1 quarantined: over --max-quarantined 0; see ' "$out")"
# Kept in books that are older than the last run's: only a success is one.
sql -c "UPDATE order_sweep.life SET success_at = now() - interval '7 minutes 1 second'"
run 1 status "${limit[@]}"
is 'which limit' 1 "$(grep -c '^  last success   7 min .*ago: over --max-age 7m$' "$out")"
run 1 status "${limit[@]}" --max-quarantined 0 --max-overdue 29m --format json
is 'which limits' '["max-overdue", "max-age", "max-quarantined"]' "$(field "l->'over'")"
# A run that gave up is no success; one that swept beside an order that failed is.
place 60 '1 hour'
sql -c 'ALTER TABLE shop.orders ADD CONSTRAINT no CHECK (order_status <> 3) NOT VALID'
run 1
value failures 'SELECT stopped FROM order_sweep.run ORDER BY id DESC LIMIT 1'
run 1 status "${limit[@]}"
is 'what the run did' 1 "$(grep -c '^  last run       .* ago: 0 swept in .*, .* failed; failures$' "$out")"
sql -c 'ALTER TABLE shop.orders DROP CONSTRAINT no,
    ADD CONSTRAINT no CHECK (order_status <> 3 OR id % 10 > 0) NOT VALID'
run 1
run 0 status "${limit[@]}"
sql -c 'ALTER TABLE shop.orders DROP CONSTRAINT no' \
    -c 'DELETE FROM order_sweep.failure'
run 0
# One with too few orders to give up is none either, if each of them failed.
place 3 '1 hour'
sql -c 'ALTER TABLE shop.orders ADD CONSTRAINT no CHECK (order_status <> 3)
        NOT VALID' \
    -c "UPDATE order_sweep.life
           SET success_at = now() - interval '7 minutes 1 second'"
success=$(sql -c 'SELECT success_at FROM order_sweep.life')
run 1
value 'done|0|3' 'SELECT stopped, swept, failed FROM order_sweep.run
    ORDER BY id DESC LIMIT 1'
value "$success" 'SELECT success_at FROM order_sweep.life'
run 1 status "${limit[@]}"
sql -c 'ALTER TABLE shop.orders DROP CONSTRAINT no' \
    -c 'DELETE FROM order_sweep.failure'
# What others hold is no failure.
exec 8> >(exec psql -qXd "$PGDATABASE" >/dev/null)
session=$!
echo 'BEGIN; SELECT FROM shop.orders FOR UPDATE;' >&8
wait_until "EXISTS (SELECT FROM pg_stat_activity
    WHERE datname = current_database() AND state = 'idle in transaction'
      AND query LIKE '%FOR UPDATE%')"
run 0
value 'done|0|0' 'SELECT stopped, swept, failed FROM order_sweep.run
    ORDER BY id DESC LIMIT 1'
run 0 status "${limit[@]}"
exec 8>&-
wait "$session"
# A run that finds nothing to do is one, too, when it tells that it is alive.
run 0
sql -c "UPDATE order_sweep.life SET success_at = now() - interval '8 minutes',
    seen_at = now() - interval '8 minutes'"
run 0
run 0 status "${limit[@]}"

for bad in '--max-overdue 0s' '--max-age 6m59s' '--max-quarantined -1'; do
    read -ra words <<<"$bad"
    run 64 status "${words[@]}"
done

# --- Paused, broken, slow ----------------------------------------------------

place 1 '2 hours'
sql -o /dev/null -c "SELECT order_sweep.pause('cancel_unpaid')"
run 0 status
is 'a paused one' 'cancel_unpaid: paused' "$(head -n 1 "$out")"
is 'what is due' 1 "$(grep -c '^  due now        1 order$' "$out")"
# Nobody sweeps it: for a check that is no better than a run that fails.
run 1 status --max-overdue 1h
sql -o /dev/null -c "SELECT order_sweep.resume('cancel_unpaid')"

# Two sweeps; the look at one is broken, and the other one is told of.
sql -o /dev/null <<'SQL'
CREATE TABLE shop.parts (name text, batch int, state text, at timestamptz,
    PRIMARY KEY (name, batch));
INSERT INTO shop.parts VALUES (E'\033[2J\n' || repeat('long ', 40), 7, 'open',
    now() - interval '2 hours');
SELECT order_sweep.define(sweep => 'parts', orders => 'shop.parts',
    key => '{name,batch}', unpaid => $$state = 'open'$$, since => 'at',
    after => '1 hour', grace => '90 seconds',
    unless => json_build_object(rtrim(repeat('支付中 ', 14)), 'batch = 8',
        rtrim(repeat('退款 ', 19)), 'batch = 9'),
    set => $$state = 'closed'$$);
INSERT INTO shop.parts SELECT 'kept', n, 'open', now() - interval '3 hours'
  FROM generate_series(8, 9) n;
SQL
sql -c 'ALTER TABLE shop.orders RENAME created TO made'
run 78 status --max-quarantined 0
is 'the broken one' 1 "$(grep -c '^  broken         column "created" does not exist; see order-sweep check$' "$out")"
is 'the other one' 1 "$(grep -c '^  window         1 h since at, and 1 min 30 s of grace$' "$out")"
run 78 status --format json
is 'as JSON' 'column "created" does not exist|;|1' "$(ask_lines "$out" "SELECT
    string_agg(l->>'error', ''), ';', string_agg(l->>'due', '') FROM line")"
run 0 status --sweep parts
sql -c 'ALTER TABLE shop.orders RENAME made TO created'

# The orders take too long to look at: the books are told, and what was counted.
sql -o /dev/null <<'SQL'
ALTER FUNCTION order_sweep.preview RENAME TO preview_as_it_is;
CREATE FUNCTION order_sweep.preview(sweep text, "window" interval)
RETURNS TABLE (order_key jsonb, since timestamptz, deadline timestamptz,
               state text)
LANGUAGE sql AS $$ SELECT NULL::jsonb, now(), now(), pg_sleep(60)::text $$;
SQL
run 1 status --sweep parts --max-overdue 30m
is 'what is due' 1 "$(grep -c '^  due now        1 order$' "$out")"
is 'the oldest' 1 "$(grep -c '^  oldest         overdue for 5[0-9] min .*: over ' "$out")"
is 'what is kept' 1 "$(grep -c \
    '^  kept           not known within 5.0 s; order-sweep --dry-run takes the time$' "$out")"
run 0 status --sweep parts --format json
is 'as JSON' '1|t|t|t' "$(field "l->'due', l->'kept' = 'null',
    l->'backlog' = 'null', l->'oldest' = 'null'")"
# Not even they could be counted: that is no 0.
sql -o /dev/null <<'SQL'
ALTER FUNCTION order_sweep.parts_backlog RENAME TO parts_backlog_as_it_is;
CREATE FUNCTION order_sweep.parts_backlog(integer)
RETURNS TABLE (order_sweep_orders bigint, order_sweep_overdue interval)
LANGUAGE sql SECURITY DEFINER AS $$ SELECT 1::bigint, pg_sleep(60)::text::interval $$;
SQL
run 75 status --sweep parts --max-overdue 1d
is 'what is due' 1 "$(grep -c '^  due now        not known$' "$out")"
sql -o /dev/null <<'SQL'
DROP FUNCTION order_sweep.preview, order_sweep.parts_backlog;
ALTER FUNCTION order_sweep.preview_as_it_is RENAME TO preview;
ALTER FUNCTION order_sweep.parts_backlog_as_it_is RENAME TO parts_backlog;
SQL

# --- Who is at work ----------------------------------------------------------

# at_work NAME: what status tells of a session of this name that has the lock.
at_work()
{
    local session
    exec 8> >(PGAPPNAME=$1 exec psql -qXd "$PGDATABASE" >/dev/null)
    session=$!
    echo "SELECT pg_advisory_lock(1869838192, id) FROM order_sweep.sweep;" >&8
    wait_until "EXISTS (SELECT FROM pg_locks
        WHERE locktype = 'advisory' AND classid = 1869838192 AND granted)"
    run 0 status --sweep cancel_unpaid
    exec 8>&-
    wait "$session"
    sed -En 's/^  at work        sweeps: //; T; s/[0-9]+ of the/N of the/
        s/20[0-9-]+ [0-9:]+\+00/WHEN/; p' "$out"
}
# The row of a run that died stays open: what has the lock now is no such run.
sql -c "INSERT INTO order_sweep.run (sweep, host, pid, started_at)
    VALUES ('cancel_unpaid', 'dead-host', 7, now() - interval '1 second')"
is 'a stranger' \
    "a session of $(sql -c 'SELECT current_user'), process N of the server, since WHEN" \
    "$(at_work psql)"
is 'another run' 'web-9, process 12, since WHEN' "$(at_work 'order-sweep web-9 12')"
sql -c 'DELETE FROM order_sweep.run WHERE pid = 7'

# --- On a terminal -----------------------------------------------------------

export TERM=xterm
for columns in 80 200; do
    terminal $columns status --sweep parts
    [ "$(widest)" -le $columns ] || die "a line has $(widest) of $columns columns"
    [ "$(widest)" -gt $((columns - 10)) ] || die "no line uses $columns columns"
    is "the key at $columns" 1 "$(grep -c '^  oldest         ?\[2J?long long' "$out")"
    is "colours at $columns" 1 "$(grep -c $'^\033\\[1mparts\033\\[0m$' "$out")"
done
# So does a dry run's table: its key and its rule are cut.
terminal 80 --dry-run --sweep parts
[ "$(widest)" -le 80 ] || die "a line has $(widest) of 80 columns"
is 'a dry run at 80' 1 "$(grep -c '^  ?\[2J?long\.\.\.  2.*  sweep$' "$out")"
is 'its rule' 1 "$(grep -c '^  kept, 8  .*  keep: 支付中 .*\.\.\.$' "$out")"
terminal 200 --dry-run --sweep parts
[ "$(widest)" -le 200 ] || die "a line has $(widest) of 200 columns"
is 'a dry run at 200' 1 "$(grep -c '^  kept, 8  .*  keep: 支.*支付中$' "$out")"
# And check colours what is wrong.
terminal 80 check || : # with 1 or 78
is 'what is wrong' 1 "$(grep -c $'^\033\\[3[13]m\\(warn\\|fail\\)\033\\[0m  ' "$out" |
    sed 's/^[1-9][0-9]*$/1/')"
NO_COLOR=1 terminal 80 status
is 'NO_COLOR' 0 "$(grep -c $'\033' "$out" || :)"
TERM=dumb terminal 80 status
is 'a dumb terminal' 0 "$(grep -c $'\033' "$out" || :)"
run 0 status --sweep parts
is 'no terminal' 0 "$(grep -c $'\033' "$out" || :)"
is 'no terminal: one line' 1 "$(grep -c '^  kept           1 支付中 支.*支付中, 1 退款 .*退款$' "$out")"
