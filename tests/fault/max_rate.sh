#!/bin/bash
# --max-rate: orders are begun no faster, however many connections there are;
# while the run waits it has no transaction open, and limits and signals end the
# wait.
set -euo pipefail

# shellcheck source=tests/support/shop.sh
. "$ORDER_SWEEP_SOURCE/tests/support/shop.sh"

due="SELECT count(*) FROM order_sweep.cancel_unpaid_due(NULL)"

# The last run has swept all that was due, and took 1.9 seconds at least.
paced()
{
    is 'the run' 'done 200 0 0 0 0 0 0 f' "$(last_run)"
    value t "SELECT $(reported seconds) >= 1.9"
    value 0 "$due"
    invariants
}

new_shop max_rate 200 20
run 0
place 200 '1 hour'

# --- The rate ----------------------------------------------------------------

for jobs in 1 4; do
    run 0 --max-rate 100 --jobs "$jobs" --format json
    paced
    place 200 '1 hour'
done

# --- While it waits ----------------------------------------------------------

# At one a second it waits nearly always.  The third order is swept: then it is
# seen without a transaction, and with nothing that it holds but the sweep's.
waiting="SELECT FROM pg_stat_activity a
          WHERE a.datname = current_database()
            AND a.application_name LIKE 'order-sweep%'"
before=$(sql -c 'SELECT count(*) FROM order_sweep.journal')
start --max-rate 1 --format json
wait_until "(SELECT count(*) FROM order_sweep.journal) >= $before + 3"
wait_until "EXISTS ($waiting AND a.state = 'idle' AND a.xact_start IS NULL
                    AND a.backend_xmin IS NULL)"

# A signal ends the wait: the books are closed, and tell what the report tells.
kill -TERM "$pid"
finish 75
truthful
is 'the report' 'signal true 75' "$(reported stopped rest exit)"
value "signal $(reported swept) t" "SELECT concat_ws(' ', stopped, swept, rest)
    FROM order_sweep.run ORDER BY id DESC LIMIT 1"
value t "SELECT $(reported swept) BETWEEN 3 AND 100"
invariants

# --- The time limit ----------------------------------------------------------

run 0 --max-rate 10 --time-limit 2s --format json
truthful
is 'the report' 'time limit true 0' "$(reported stopped rest exit)"
value t "SELECT $(reported swept) BETWEEN 1 AND 21"
value t "SELECT ($due) > 0"
run 0
silent
value 0 "$due"
invariants
