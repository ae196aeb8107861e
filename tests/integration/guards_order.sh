#!/bin/bash
# Takes the guards out of what is done with an order, one at a time, and sees
# that the test that is there for it fails.  (test_races.c does this itself for
# some.)
set -euo pipefail

# shellcheck source=tests/support/guards.sh
. "$ORDER_SWEEP_SOURCE/tests/support/guards.sh"

# --- Cancel ------------------------------------------------------------------

without outcomes $cancel "<> 'read committed'" "= ''"
without races $cancel ' SKIP LOCKED' '' test_payer_updates_first
without races $cancel "$lock" 'PERFORM 1;' test_two_sweepers
without races $cancel 'FOR UPDATE OF o' 'FOR NO KEY UPDATE OF o' \
    test_payment_in_flight
without races $cancel "RETURN 'locked'" "RETURN 'gone'" test_payer_updates_first
without outcomes $cancel "RETURN 'gone'" "RETURN 'locked'"
without outcomes $cancel "\$1${and}$unpaid$and" "\$1$and"
without outcomes $cancel "$unpaid$and$on_time" "$unpaid"
without outcomes $cancel "$and$young_enough"
without outcomes $cancel "$and$rule"
without outcomes $cancel "order_sweep_state = 'sweep'" false
without outcomes $cancel "$look_again" "${look_again/IF/IF false AND}"
without outcomes $cancel 'shop.refuse(' 'concat('
without outcomes $cancel 'SET CONSTRAINTS ALL IMMEDIATE;'
without outcomes $cancel "$journal" 'PERFORM 1'
without outcomes $cancel 'least(now()' 'greatest(now()'
without outcomes $cancel 'order_sweep_to bigint := floor' \
    'order_sweep_to bigint := ceil'

# --- Batch -------------------------------------------------------------------

without outcomes $batch "$unpaid${and}(" '('
without outcomes $batch "$and$on_time"
without outcomes $batch "$and$young_enough"
without outcomes $batch "$and$rule"
without outcomes $batch 'LIMIT 1) IS NULL' 'LIMIT 0) IS NULL'
without program $batch 'order_sweep_f.quarantined OR' 'false AND'
without program $batch 'order_sweep_f.next_try > now()' false
without outcomes $batch $'ORDER BY (created\n), o.id' 'ORDER BY o.id'
without outcomes $batch '> ROW($2, $3)' '>= ROW($2, $3)'
without outcomes $batch 'LIMIT $4' 'LIMIT 1000'
without outcomes $batch 'least(now()' 'greatest(now()'
without races $batch 'FOR UPDATE OF o SKIP LOCKED' '' test_payer_updates_first
without races $batch ' SKIP LOCKED' '' test_payer_updates_first
without races $batch 'FOR UPDATE OF o' 'FOR NO KEY UPDATE OF o' \
    test_payment_in_flight

# --- Explain -----------------------------------------------------------------

without ../cli/explain cancel_unpaid_explain d.paused false

all_noticed
