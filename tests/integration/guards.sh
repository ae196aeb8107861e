#!/bin/bash
# Takes the guards out of the generated functions, one at a time, and sees that
# the test that is there for it fails.  (test_races.c and grants.sh do this
# themselves for some.)
set -euo pipefail

here=$ORDER_SWEEP_SOURCE/tests/integration
survivors=0

# shellcheck source=tests/support/guards.sh
. "$ORDER_SWEEP_SOURCE/tests/support/guards.sh"

# Run a test with the SQL run on its shop: it must fail.
survives()
{
    local command=("$here/$1.sh")
    if [ "$1" = races ]; then
        command=("$ORDER_SWEEP_BUILD/tests/test_integration_races" "$3")
    fi
    if ! mutated "$2" "${command[@]}"; then
        printf 'guards: %s does not notice: %s\n%s\n' "$1" "$2" "$said" >&2
        survivors=$((survivors + 1))
    fi
}

# without TEST FUNCTION OLD [NEW [NAME]]: with NEW (nothing) for OLD in a
# function; NAME is the test within races.
without()
{
    survives "$1" "$(replacing "$2" "$3" "${4:-}")" "${5:-}"
}

# --- Cancel ------------------------------------------------------------------

without outcomes $cancel "<> 'read committed'" "= ''"
without races $cancel ' SKIP LOCKED' '' test_payer_updates_first
without races $cancel "$lock" 'PERFORM 1;' test_two_sweepers
without races $cancel 'FOR UPDATE OF o' 'FOR NO KEY UPDATE OF o' \
    test_payment_in_flight
without races $cancel "RETURN 'locked'" "RETURN 'gone'" test_payer_updates_first
without outcomes $cancel "RETURN 'gone'" "RETURN 'locked'"
without outcomes $cancel "\$1${and}$unpaid$and" "\$1$and"
without outcomes $cancel "$unpaid$and$on_time${and}(" "$unpaid${and}("
without outcomes $cancel "$and$young_enough"
without outcomes $cancel "$and$rule"
without outcomes $cancel "order_sweep_state = 'sweep'" false
without outcomes $cancel "$look_again" "${look_again/IF/IF false AND}"
without hostile $cancel "current_setting('timezone_abbreviations') <> 'Default'" \
    false
without outcomes $cancel 'shop.refuse(' 'concat('
without outcomes $cancel 'SET CONSTRAINTS ALL IMMEDIATE;'
without outcomes $cancel "$journal" 'PERFORM 1'
without outcomes $cancel 'least(now()' 'greatest(now()'
without outcomes $cancel 'order_sweep_to bigint := floor' \
    'order_sweep_to bigint := ceil'
without grants $cancel 'SECURITY DEFINER' 'SECURITY INVOKER'
without grants $cancel "SET row_security TO 'off'"

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

# --- What all definitions are made from --------------------------------------

without define clauses 'AND %s <= order_sweep_until' ''
without define clock_bound floor ceil
without define clauses "> ''-infinity''" 'IS NOT NULL'
# The settings of the caller.
without hostile pins "' SET IntervalStyle = postgres\n'" "''"

# Either of them alone keeps the index in use.
survives define "SELECT testing.mutate('index_pins', x, replace(x, 'off', 'on'))
    FROM unnest('{SET enable_sort = off,SET enable_bitmapscan = off}'::text[]) AS x"

if [ "$survivors" != 0 ] || [ "$guards" = 0 ]; then
    exit 1
fi
echo "guards: ok, $guards guards taken out, each noticed"
