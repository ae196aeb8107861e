#!/bin/bash
# --linger with several sweeps: each order is swept the moment it is due,
# whatever the others' backlog; who takes over takes all; one that fails hides
# no other, and is tried again.
set -euo pipefail

# shellcheck source=tests/support/shop.sh
. "$ORDER_SWEEP_SOURCE/tests/support/shop.sh"

# The snapshots of runs that wait would disturb other tests.
own_server

swept="SELECT count(*) FROM order_sweep.journal WHERE sweep = 'cancel_unpaid'"
hinted="NOT EXISTS (SELECT FROM shop.hint WHERE state = 'new')"

# define_another DEADLINE SET
define_another()
{
    sql -o /dev/null -v deadline="$1" -v set="$2" <<'SQL'
SELECT order_sweep.define(
    sweep => 'another', orders => 'shop.hint', key => '{id}',
    unpaid => $$o.state = 'new'$$, deadline => :'deadline', set => :'set');
SQL
}

# hints N AFTER APART: rows of the other sweep, the first due in AFTER, those
# behind it APART.
hints()
{
    sql -v n="$1" -v after="$2" -v apart="$3" <<'SQL'
INSERT INTO shop.hint (state, at)
SELECT 'new', now() + :'after'::interval + i * :'apart'::interval
  FROM generate_series(0, :n - 1) i;
SQL
}

# Orders and hints swept before their deadline.
early="SELECT count(*) FROM order_sweep.journal j
    LEFT JOIN shop.orders o ON j.sweep = 'cancel_unpaid'
     AND j.order_key = jsonb_build_array(o.id)
    LEFT JOIN shop.hint h ON j.sweep = 'another'
     AND j.order_key = jsonb_build_array(h.id)
    WHERE j.swept_at < coalesce(h.at, to_timestamp(o.created)
                                      + interval '30 minutes')"

new_shop linger_sweeps 20 4
run 0
sql <<'SQL'
CREATE TABLE shop.hint (
    id bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
    state text, at timestamptz);
SQL
define_another at "state = 'old'"

# --- Both to the moment ------------------------------------------------------

hints 1 '1.5 seconds' 0
place 1 '29 minutes 57 seconds'
run 0 --linger --time-limit 6s --look-every 1m --format json
is 'both sweeps' 2 "$(grep -c '"swept":1,' "$out")"
value t "SELECT $hinted"
value 0 "$early"

# Deadlines that come while it looks, for looks that take long.
sql -o /dev/null <<'SQL'
CREATE FUNCTION shop.slow(timestamptz) RETURNS timestamptz LANGUAGE plpgsql
AS 'BEGIN PERFORM pg_sleep(0.05); RETURN $1; END';
SQL
define_another 'shop.slow(o.at)' "state = 'old'"
hints 8 '1 second' '0.13 seconds'
start --linger --time-limit 1m --look-every 1m --sweep another
wait_until "$hinted"
kill -TERM "$pid"
finish 75
value 0 "$early"

# --- A backlog ---------------------------------------------------------------

# Of one sweep: the other's orders do not wait for its end, though a look at them
# takes longer than a turn.
place 200 '1 hour'
slow_orders 0.1
sql -o /dev/null <<'SQL'
CREATE OR REPLACE FUNCTION shop.slow(timestamptz) RETURNS timestamptz
LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(0.5); RETURN $1; END';
SQL
hints 1 '4 seconds' 0
start --linger --time-limit 1m --look-every 1m
wait_until "$hinted"
value t 'SELECT count(*) > 0 FROM order_sweep.cancel_unpaid_due(NULL)'
kill -TERM "$pid"
finish 75
value 0 "$early"
# The last turn of each ended by its time; what stopped the run is the signal.
value t "SELECT bool_and(stopped = 'signal') FROM order_sweep.run
    WHERE pid = $pid"
sql -c 'DROP TRIGGER slow ON shop.orders'
define_another at "state = 'old'"
run 0

# --- Who takes over ----------------------------------------------------------

start --linger --time-limit 1m --look-every 1m
holder=$pid
slots 2 0
start --linger --time-limit 1m --look-every 1m
standby=$pid
slots 2 1
# All that the holder had, before anything is swept.
gate_orders
place 1 '29 minutes 58 seconds'
close_gate "$(due_order 1)"
kill -KILL "$holder"
wait_at_gate
slots 2 0
open_gates
finish 137 "$holder"
kill -TERM "$standby"
finish 75 "$standby"
sql -c 'DROP TRIGGER gate ON shop.orders'
run 0

# One sweep each: who has one tries for the other now and then.
pids=()
for sweep in another cancel_unpaid; do
    start --linger --time-limit 1m --look-every 1m --sweep "$sweep"
    pids+=("$pid")
done
slots 2 0
start --linger --time-limit 1m --look-every 1m
slots 2 1
kill -TERM "${pids[1]}"
finish 75 "${pids[1]}"
slots 2 0
hints 1 '0 seconds' 0
kill -TERM "${pids[0]}"
finish 75 "${pids[0]}"
wait_until "$hinted"
kill -TERM "$pid"
finish 75
value 0 "$early"

# --- The rate ----------------------------------------------------------------

# Of all sweepings together, not of each: so few fall due at once here that none
# would have to wait.
hints 8 '1 second' '0.1 seconds'
start --linger --time-limit 1m --look-every 1m --max-rate 2
wait_until "$hinted"
kill -TERM "$pid"
finish 75
value t "SELECT max(j.swept_at) - min(j.swept_at) > interval '3.4 seconds'
    FROM (SELECT swept_at FROM order_sweep.journal
           WHERE sweep = 'another' ORDER BY swept_at DESC LIMIT 8) j"

# --- One that is paused ------------------------------------------------------

# Nobody signs for it, and so it looks dead neither to who has its slot nor to
# who waits for it.
life="SELECT seen_at, success_at FROM order_sweep.life
    WHERE sweep_id = (SELECT id FROM order_sweep.sweep WHERE name = 'another')"
sql -o /dev/null -c "SELECT order_sweep.pause('another')" \
    -c "UPDATE order_sweep.life SET seen_at = now() - interval '1 hour'
         WHERE sweep_id = (
               SELECT id FROM order_sweep.sweep WHERE name = 'another')"
before=$(sql -c "$life")
start --linger --time-limit 1m --look-every 100ms
slots 2 0
run 0 --linger --time-limit 2s --look-every 100ms --format json
is 'what the one that waits tells' '' "$(cat "$err")"
is 'its sweeps' 'another: paused|cancel_unpaid: busy' "$(ask_lines "$out" "
    SELECT string_agg(format('%s: %s', l->>'sweep', l->>'stopped'), '|'
                      ORDER BY l->>'sweep') FROM line")"
kill -TERM "$pid"
finish 75
value "$before" "$life"
sql -o /dev/null -c "SELECT order_sweep.resume('another')"

# --- One that fails ----------------------------------------------------------

# Its orders: told, the other one is swept, and it is tried again.
define_another at "state = (1 / (o.id - o.id))::text"
hints 60 '0 seconds' 0
start --linger --time-limit 1m --look-every 200ms
wait_until "EXISTS (SELECT FROM order_sweep.run
    WHERE pid = $pid AND stopped = 'failures')"
n=$(sql -c "$swept")
place 1 '29 minutes 58 seconds'
wait_until "($swept) = $n + 1"
define_another at "state = 'old'"
wait_until "$hinted"
kill -TERM "$pid"
finish 1

# Its statements cannot be had, while its row is open: told once.
hints 1 '0 seconds' 0
hints 1 '2 seconds' 0
start --linger --time-limit 5s --look-every 1m --sweep another
wait_until "1 = (SELECT count(*) FROM shop.hint WHERE state = 'new')"
sql -c 'ALTER FUNCTION order_sweep.calls_of(text) RENAME TO calls_away'
finish 78
says_like 'another: function order_sweep.calls_of(text) does not exist; *'
sql -c 'ALTER FUNCTION order_sweep.calls_away(text) RENAME TO calls_of'
run 0
value t "SELECT $hinted"

# Its look fails: told once, and the other one is swept.
sql -c 'ALTER TABLE shop.hint DROP state'
n=$(sql -c "$swept")
place 1 '29 minutes 58 seconds'
run 78 --linger --time-limit 4s --look-every 100ms
says_like 'another: column o.state does not exist*'
value $((n + 1)) "$swept"
value 0 "$early"
invariants
