#!/bin/bash
# Through PgBouncer, in each of its modes: what a run does is the same, and it
# leaves neither lock nor setting in a session that others use next.
set -euo pipefail

# shellcheck source=tests/support/shop.sh
. "$ORDER_SWEEP_SOURCE/tests/support/shop.sh"
# shellcheck source=tests/support/pooler.sh
. "$ORDER_SWEEP_SOURCE/tests/support/pooler.sh"

trap 'pooler_stop; drop_dbs' EXIT

# pooled COMMAND...: with libpq's environment that of the pooler.
pooled()
{
    local PGHOST=$pooler_dir PGPORT=$pooler_port
    "$@"
}

# The sessions that the pooler has to this database are as if new.  To be called
# before invariants, which wait until the pooler has closed those of the run.
untouched()
{
    value 0 "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'
              AND database = (SELECT oid FROM pg_database
                               WHERE datname = current_database())"
    # As many at once as the pool has, so that each is looked at.
    local i jobs=()
    for i in $(seq "$1"); do
        pooled sql >"$ORDER_SWEEP_TMP/touched.$i" <<'SQL' &
BEGIN;
SELECT pg_sleep(0.3);
SELECT name, setting FROM pg_settings
 WHERE source = 'session' AND name <> 'application_name';
SELECT name, statement FROM pg_prepared_statements;
COMMIT;
SQL
        jobs+=($!)
    done
    wait "${jobs[@]}"
    if grep -h . "$ORDER_SWEEP_TMP"/touched.*; then
        die 'a session of the pooler is not as it was'
    fi
}

all_swept()
{
    value "$1" 'SELECT count(*) FROM order_sweep.journal'
    invariants
}

is_busy()
{
    case $(cat "$out") in
    'cancel_unpaid: busy'*) ;;
    *) die 'a second run found the sweep free' ;;
    esac
}

# --- Every command, in both modes ----------------------------------------------

for mode in transaction session; do
    new_db "pooler_$mode"
    pooler_start "$mode" 4
    pooled run 0 migrate
    for file in shop data definition; do
        sql -o /dev/null -v orders=1000 -v goods=50 -f "$sample/$file.sql"
    done
    # as if a run had just been here, or check tells of the backlog
    sql -c "UPDATE order_sweep.life SET seen_at = now()"
    pooled run 1 check --probe
    grep -q '^ok *lock: two connections exclude each other$' "$out"
    grep -q '^ok *segment: two statements are one transaction$' "$out"
    # One definition broken: found, and nothing of the search stays behind.
    sql -c 'ALTER TABLE shop.orders RENAME COLUMN order_status TO os'
    pooled run 78 check
    grep -q 'column o.order_status does not exist' "$out"
    sql -c 'ALTER TABLE shop.orders RENAME COLUMN os TO order_status'
    pooled run 0 --dry-run --format json
    is 'rows of the dry run' 101 "$(wc -l <"$out")"
    pooled run 0 explain 999
    grep -q 'the next run sweeps it' "$out"
    pooled run 0 --format json
    untouched 3
    all_swept 500
    pooled run 0
    silent
    untouched 3

    # In session mode a session is one's own, if one says so.
    if [ "$mode" = session ]; then
        place 20 '1 hour'
        pooled run 0 --pooler no
        untouched 3
        all_swept 520
    fi

    # A crash between two transactions is not seen here: each is flushed.
    sql <<'SQL'
CREATE TABLE flushed (synchronous text);
CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS
'BEGIN INSERT INTO public.flushed
       VALUES (current_setting(''synchronous_commit'')); RETURN NEW; END';
CREATE TRIGGER note AFTER UPDATE ON shop.orders FOR EACH ROW
EXECUTE FUNCTION note();
SQL
    place 1 '1 hour'
    pooled run 0
    place 1 '1 hour'
    run 0
    value 'on off' "SELECT string_agg(synchronous, ' ') FROM flushed"
    sql -c 'DROP TRIGGER note ON shop.orders'

    # --- The lock ---------------------------------------------------------------

    swept=$(sql -c 'SELECT count(*) FROM order_sweep.journal')
    place 20 '1 hour'
    gate_orders
    close_gate "$(due_order 10)"
    pooled start -v
    wait_at_gate
    pooled run 0 -v
    is_busy
    # The lock's own session keeps no vacuum from its work.
    value '1 t' "SELECT concat_ws(' ', count(*),
            bool_and(a.state = 'idle in transaction'
                     AND a.backend_xmin IS NULL AND a.backend_xid IS NULL))
        FROM pg_locks l JOIN pg_stat_activity a USING (pid)
        WHERE l.locktype = 'advisory' AND l.classid = 1869838192
          AND a.datname = current_database()"
    pooled run 75 --fail-if-busy
    run 0 -v # and one that comes straight
    is_busy
    # An operator cancels the one at work: nothing of it stays.
    kill -KILL "$pid"
    finish 137
    open_gates
    wait_until "NOT EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory'
        AND database = (SELECT oid FROM pg_database
                         WHERE datname = current_database()))"
    pooled run 0
    untouched 3
    all_swept "$((swept + 20))"

    # --- A hard stop: the server is asked through the pooler to cancel ----------

    place 20 '1 hour'
    gate=$(due_order 5)
    close_gate "$gate"
    pooled start
    wait_at_gate
    kill -TERM "$pid"
    kill -INT "$pid"
    finish 75
    value 1 "SELECT order_status FROM shop.orders WHERE id = $gate"
    value 0 'SELECT count(*) FROM order_sweep.failure'
    open_gates
    pooled run 0
    untouched 3
    invariants

    # --- Lingering, and slots ---------------------------------------------------

    swept=$(sql -c 'SELECT count(*) FROM order_sweep.journal')
    place 3 '29 minutes 58 seconds'
    pooled start --linger --time-limit 1m --look-every 1m
    holder=$pid
    slots 1 0
    # Asleep, and the session that has the slot keeps no vacuum from its work.
    value '1 t' "SELECT concat_ws(' ', count(*),
            bool_and(a.state = 'idle in transaction'
                     AND a.backend_xmin IS NULL AND a.backend_xid IS NULL))
        FROM pg_locks l JOIN pg_stat_activity a USING (pid)
        WHERE l.locktype = 'advisory' AND l.classid = 1869838192 + 1
          AND a.datname = current_database()"
    pooled start --linger --time-limit 1m --look-every 1m
    slots 1 1
    wait_until "(SELECT count(*) FROM order_sweep.journal) = $swept + 3"
    place 1 '1 hour'
    kill -KILL "$holder"
    finish 137 "$holder"
    wait_until "(SELECT count(*) FROM order_sweep.journal) = $swept + 4"
    kill -TERM "$pid"
    finish 75
    place 40 '1 hour'
    pooled run 0 --slots 2
    silent
    untouched 3
    all_swept "$((swept + 44))"

    # The session with the locks is gone, while its own share is swept, or the
    # other one: the run goes on without.
    for share in 0 1; do
        place 40 '1 hour'
        close_gate "$(sql -c "SELECT min(id) FROM shop.orders
            WHERE order_status = 1
              AND (hashtext(id::text) & 2147483647) % 2 = $share
              AND created < extract(epoch FROM now()) - 1800")"
        pooled start --slots 2
        wait_at_gate
        sql -o /dev/null -c "SELECT pg_terminate_backend(pid) FROM pg_locks
            WHERE locktype = 'advisory' AND classid = 1869838192
              AND database = (SELECT oid FROM pg_database
                               WHERE datname = current_database())"
        open_gates
        finish 0
        one_line
        said | grep -q '^order-sweep: warning: cancel_unpaid: ' ||
            die 'a lock that is gone is not told of'
        untouched 3
        all_swept "$((swept + 44 + 40 * (share + 1)))"
    done
    pooler_stop
done

# --- Eight runs at once: one of them works ----------------------------------------

# running PID...: how many of them have not ended.
running()
{
    local pid count=0
    for pid; do
        if kill -0 "$pid" 2>/dev/null; then
            count=$((count + 1))
        fi
    done
    echo "$count"
}

pooler_start transaction 4
for round in 1 2 3; do
    place 20 '1 hour'
    close_gate "$(due_order 10)"
    pids=()
    for _ in 1 2 3 4 5 6 7 8; do
        pooled start -v
        pids+=("$pid")
    done
    # The one that works waits for the others, who may not.
    tries=600
    while [ "$(running "${pids[@]}")" -gt 1 ]; do
        tries=$((tries - 1))
        [ "$tries" != 0 ] || die 'more than one run is at work'
        sleep 0.05
    done
    wait_at_gate
    open_gates
    worked=0
    busy=0
    for pid in "${pids[@]}"; do
        finish 0 "$pid"
        is 'stderr of one of eight' '' "$(cat "$err")"
        case $(cat "$out") in
        'cancel_unpaid: 20 swept'*) worked=$((worked + 1)) ;;
        'cancel_unpaid: busy'*) busy=$((busy + 1)) ;;
        esac
    done
    is "worked and busy in round $round" '1 7' "$worked $busy"
done
untouched 4
pooler_stop
invariants

# --- A pool of one ---------------------------------------------------------------

warning='going on without the lock, for the connection pooler gives no session'
pooler_start transaction 1
place 20 '1 hour'
pooled run 0 --format json
is 'messages' "order-sweep: warning: cancel_unpaid: $warning for it: its pool \
is too small" "$(cat "$err")"
untouched 1
invariants
place 20 '1 hour'
pooled run 0 --no-lock
silent
untouched 1
invariants
pooled run 1 check --probe
grep -q '^warn *lock: the connection pooler has no session for the lock$' "$out"
untouched 1
pooler_stop

# --- Fewer sessions than --jobs asks for -------------------------------------------

# Two of the three are for the run and its lock.
pooler_start session 3
place 40 '1 hour'
pooled run 0 --jobs 4
says_like 'warning: going on with 2 of 4 connections: no answer from the server *'
pooler_stop
invariants
# Where transactions are pooled, they share what is there.
pooler_start transaction 3
place 40 '1 hour'
pooled run 0 --jobs 4
silent
untouched 3
pooler_stop
invariants

# --- A run that dies leaves no answer to the next client --------------------------

# With one order answered and the next on the way, a pooler that sees its client
# go takes the server's session for free: the next client waits behind the order
# and gets the answer to it.
pooler_start transaction 1
place 20 '1 hour'
gate=$(due_order 20) # the last: nothing more is sent behind it
close_gate "$gate"
pooled start --no-lock
wait_at_gate
kill -KILL "$pid"
finish 137
is 'the answer to another client' mine \
    "$(PGHOST=$pooler_dir PGPORT=$pooler_port timeout 60 psql -XAtc "SELECT 'mine'")"
open_gates
pooler_stop
wait_sessions_gone
run 0
invariants

# --- A signal while the lock's connection is made -----------------------------------

# The only session goes to another client between the look and the lock.
pooler_start transaction 1
place 20 '1 hour'
runs=$(sql -c 'SELECT count(*) FROM order_sweep.run')
ORDER_SWEEP_BIN=$ORDER_SWEEP_INJECTION_BIN ORDER_SWEEP_INJECT=after-probe:stop \
    pooled start
until grep -q "^State:.T" "/proc/$pid/status"; do
    sleep 0.02
done
mkfifo "$ORDER_SWEEP_TMP/other"
pooled sql <"$ORDER_SWEEP_TMP/other" >"$ORDER_SWEEP_TMP/other.out" &
exec 7>"$ORDER_SWEEP_TMP/other"
echo 'BEGIN; SELECT 1;' >&7
until [ -s "$ORDER_SWEEP_TMP/other.out" ]; do
    sleep 0.02
done
kill -CONT "$pid"
pooler_waits "$PGDATABASE"
kill -TERM "$pid"
finish 75
is 'messages' 'order-sweep: cancel_unpaid: stopped by a signal before it began' \
    "$(cat "$err")"
exec 7>&-
wait
value "$runs" 'SELECT count(*) FROM order_sweep.run'
pooled run 0 --no-lock
pooler_stop
invariants

# --- Two sessions less than asked for: connections refused ------------------------

pooler_start transaction 4 'max_client_conn = 1'
place 20 '1 hour'
pooled run 0
case $(cat "$err") in
"order-sweep: warning: cancel_unpaid: $warning for it: "*connections*) ;;
*) die "no warning: $(cat "$err")" ;;
esac
pooler_stop
invariants

# --- A setting that the pooler refuses --------------------------------------------

pooler_start transaction 4
place 20 '1 hour'
dump "$ORDER_SWEEP_TMP/before"
PGOPTIONS='-c geqo=off' pooled run 78
says_like 'connection to server on socket * failed: *unsupported startup parameter: options; leave it out *'
unchanged "$ORDER_SWEEP_TMP/before"
pooled run 0
silent
pooler_stop
invariants

# --- Transactions that are not read committed --------------------------------------

sql -c "ALTER DATABASE $PGDATABASE
        SET default_transaction_isolation = 'repeatable read'"
pooler_start transaction 4
place 20 '1 hour'
dump "$ORDER_SWEEP_TMP/before"
pooled run 78
says_like 'behind the connection pooler transactions are repeatable read, *'
unchanged "$ORDER_SWEEP_TMP/before"
pooler_stop
run 0 # a session of one's own can be set back
sql -c "ALTER DATABASE $PGDATABASE RESET default_transaction_isolation"
invariants

# The only session of the pool is spoilt by another client, on the way: no
# order is to blame.
pooler_start transaction 1
place 20 '1 hour'
gate_table run INSERT
close_gate run
pooled start --no-lock --format json
wait_at_gate
pooled sql -c "SET default_transaction_isolation = 'repeatable read'" &
pooler_waits "$PGDATABASE"
open_gates
finish 78
is messages 'order-sweep: cancel_unpaid: the transaction must be read committed' \
    "$(said)"
value 0 'SELECT swept FROM order_sweep.run ORDER BY id DESC LIMIT 1'
value broken 'SELECT stopped FROM order_sweep.run ORDER BY id DESC LIMIT 1'
value 0 'SELECT count(*) FROM order_sweep.failure'
pooler_stop
run 0
invariants

# --- Pooling of statements ----------------------------------------------------------

pooler_start statement 4
place 20 '1 hour'
pooled run 0 --no-lock
silent
place 20 '1 hour'
pooled run 0
case $(cat "$err") in
"order-sweep: warning: cancel_unpaid: $warning for it: "*) ;;
*) die "no warning: $(cat "$err")" ;;
esac
# There a block is refused for good: no outage, as the state of the error says.
for command in check 'check --probe' --dry-run migrate; do
    # shellcheck disable=SC2086  # two words
    pooled run 78 $command
    grep -q 'statement pooling mode; only a run and explain do without '\
'transaction blocks: connect to PostgreSQL itself$' "$err" ||
        die "$command: $(cat "$err")"
done
pooled run 0 explain 1
pooler_stop
invariants
