#!/bin/bash
# Signals and limits: what is on the wire is settled, the books agree with the
# report, and the run ends in time.
set -euo pipefail

# shellcheck source=tests/support/shop.sh
. "$ORDER_SWEEP_SOURCE/tests/support/shop.sh"

# agree [COUNT]: the report in $out, the run row and the journal tell the same
# outcomes, and why the run ended.
agree()
{
    is 'report and run row' "$(last_run)" "$(sql -v line="$(cat "$out")" <<'SQL'
SELECT concat_ws(' ', r->>'stopped', r->>'swept', r->>'kept', r->>'locked',
                 r->>'changed', r->>'gone', r->>'failed', r->>'unknown',
                 left(r->>'rest', 1))
  FROM (SELECT :'line'::jsonb) AS t(r);
SQL
)"
    value 0 'SELECT swept - (SELECT count(*) FROM order_sweep.journal
                              WHERE run_id = r.id)
               FROM order_sweep.run r ORDER BY id DESC LIMIT 1'
}

swept()
{
    sql -c 'SELECT swept FROM order_sweep.run ORDER BY id DESC LIMIT 1'
}

new_shop signals 2000 20
gate_orders

# --- One signal: nothing more is sent, all that is out is settled ------------

for signal in TERM INT HUP; do
    close_gate "$(due_order 100)"
    start --format json
    wait_at_gate
    kill -$signal "$pid"
    open_gates
    finish 75
    is stderr "$(said)" \
        "order-sweep: cancel_unpaid: stopped by a signal after $(swept) orders"
    case $(last_run) in
    "signal "*" 0 0 0 0 0 0 t") ;;
    *) die "the run row says $(last_run)" ;;
    esac
    if [ "$(swept)" -lt 100 ] || [ "$(swept)" -gt 228 ]; then
        die "$(swept) swept: not what was on the wire at the hundredth order"
    fi
    agree
    invariants
done

# A parent that ignores INT means it (nohup, a job of a shell).
close_gate "$(due_order 10)"
(
    trap '' INT
    exec "$ORDER_SWEEP_BIN" --max-orders 20 >"$out" 2>"$err" </dev/null
) &
pid=$!
wait_at_gate
kill -INT "$pid"
open_gates
wait "$pid"
value 20 'SELECT swept FROM order_sweep.run ORDER BY id DESC LIMIT 1'

# --- The time limit ----------------------------------------------------------

# Ten seconds of work, four of time: one report, and no second one of a turn
# that there was no time for.
run 0
place 200 '1 hour'
slow_orders 0.05
run 0 --time-limit 4s --format json
is 'lines of the report' 1 "$(wc -l <"$out")"
case $(last_run) in
"time limit "*" 0 0 0 0 0 0 t") ;;
*) die "the run row says $(last_run)" ;;
esac
agree
sql -c 'DROP TRIGGER slow ON shop.orders'
invariants

# --- A second signal: what is out is cancelled -------------------------------

gate=$(due_order 50)
close_gate "$gate"
start --format json
wait_at_gate
kill -TERM "$pid"
# The first one must have been seen: the same signal counts once till then.
kill -INT "$pid"
finish 75
# The gate is still closed: what stood there was cancelled, and is as before.
value 1 "SELECT order_status FROM shop.orders WHERE id = $gate"
value 0 'SELECT count(*) FROM order_sweep.failure'
case $(last_run) in
"signal "*" 0 0 0 0 0 0 t") ;;
*) die "the run row says $(last_run)" ;;
esac
agree
open_gates
invariants

# --- The hard limit ----------------------------------------------------------

# Quick orders fill the stream, behind them each takes 0.9 s, just less than a
# statement may take: these are all out at once, and most of them still at the
# hard limit.
run 0
place 100 '2 hours'
last=$(sql -c 'SELECT max(id) FROM shop.orders')
place 15 '1 hour'
slow_orders 0.9 "OLD.id > $last"
began=$SECONDS
start --time-limit 4s --hard-limit 5s --format json
finish 0
took=$((SECONDS - began))
echo "ended after $took s; $(last_run)"
[ "$took" -le 8 ] || die "the run took $took s"
case $(last_run) in
"hard limit 10"[1-9]" 0 0 0 0 0 0 t") ;;
*) die "the run row says $(last_run)" ;;
esac
agree
invariants
sql -c 'DROP TRIGGER slow ON shop.orders'
place 100 '1 hour'

# --- One slow order ----------------------------------------------------------

slow=$(due_order 30)
close_gate "$slow"
start --time-limit 4s --format json
finish 1
open_gates
is stderr "order-sweep: cancel_unpaid: order $slow failed: canceling \
statement due to statement timeout (SQLSTATE 57014); one order may take a \
quarter of --time-limit" "$(said)"
case $(last_run) in
"done "*" 0 0 0 0 1 0 f") ;;
*) die "the run row says $(last_run)" ;;
esac
agree
value "[$slow] 1 t" "
    SELECT concat_ws(' ', order_key, attempts, next_try > now())
      FROM order_sweep.failure"
run 0
silent
sql -c "UPDATE order_sweep.failure SET next_try = now() - interval '1 s'"
run 0
silent
is 'the next try' 'done 1 0 0 0 0 0 0 f' "$(last_run)"
value 0 'SELECT count(*) FROM order_sweep.failure'
invariants
