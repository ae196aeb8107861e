#!/bin/bash
# Takes the guards out of the generated functions, one at a time, and sees that
# the test that is there for it fails.  (test_races.c and grants.sh do this
# themselves for some.)
set -euo pipefail

here=$ORDER_SWEEP_SOURCE/tests/integration
survivors=0
guards=0

# Run a test with the SQL run on its shop: it must fail.
survives()
{
    guards=$((guards + 1))
    local command=("$here/$1.sh") said
    if [ "$1" = races ]; then
        command=("$ORDER_SWEEP_BUILD/tests/test_integration_races" "$3")
    fi
    if said=$(ORDER_SWEEP_TEST_MUTATION=$2 "${command[@]}" 2>&1); then
        printf 'guards: %s notices nothing of: %s\n' "$1" "$2" >&2
        survivors=$((survivors + 1))
    elif [[ $said == *'does not hold:'* ]]; then
        printf 'guards: %s\n' "$said" >&2
        survivors=$((survivors + 1))
    fi
}

# without TEST FUNCTION OLD [NEW [NAME]]: with NEW (nothing) for OLD in a
# function; NAME is the test within races.
without()
{
    survives "$1" "SELECT testing.mutate(\$a\$$2\$a\$, \$a\$$3\$a\$,
        \$a\$${4:-}\$a\$)" "${5:-}"
}

unpaid=$'(o.order_status = 1\n)'
on_time=$'(created\n) <= order_sweep_to'
young_enough=$'(created\n) >= order_sweep_from'
rule=$'(EXISTS (SELECT FROM shop.payment p WHERE p.order_id = o.id)\n) IS NOT TRUE'
and=$'\n       AND '
lock='PERFORM FROM shop.orders o WHERE o.id = $1 FOR UPDATE OF o SKIP LOCKED;'
cancel=cancel_unpaid_cancel
batch=cancel_unpaid_batch

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
without outcomes $cancel "IF EXISTS (SELECT FROM shop.orders o WHERE o.id = \$1 AND" \
    "IF false AND EXISTS (SELECT FROM shop.orders o WHERE o.id = \$1 AND"
without hostile $cancel "current_setting('timezone_abbreviations') <> 'Default'" \
    false
without outcomes $cancel 'shop.refuse(' 'concat('
without outcomes $cancel 'SET CONSTRAINTS ALL IMMEDIATE;'
without outcomes $cancel "VALUES ('cancel_unpaid', order_sweep_key, \$3, \
order_sweep_payload)" "SELECT '', '{}', 0, '{}' WHERE false"
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
without retyped clauses 'order_sweep.same_type(' '0 <= num_nonnulls('
# The settings of the caller.
without hostile pins "' SET IntervalStyle = postgres\n'" "''"

# Either of them alone keeps the index in use.
survives define "SELECT testing.mutate('index_pins', x, replace(x, 'off', 'on'))
    FROM unnest('{SET enable_sort = off,SET enable_bitmapscan = off}'::text[]) AS x"

if [ "$survivors" != 0 ] || [ "$guards" = 0 ]; then
    exit 1
fi
echo "guards: ok, $guards guards taken out, each noticed"
