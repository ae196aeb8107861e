#!/bin/bash
# Takes the guards out of the generated functions, one at a time, and sees that
# the test that is there for it fails.  (test_races.c and grants.sh do this
# themselves for some.)
set -euo pipefail

here=$ORDER_SWEEP_SOURCE/tests/integration
survivors=0
passed=

# shellcheck source=tests/support/guards.sh
. "$ORDER_SWEEP_SOURCE/tests/support/guards.sh"

# Run a test with the SQL run on its shop: it must fail, and without it pass.
survives()
{
    local command=("$here/$1.sh")
    if [ "$1" = races ]; then
        command=("$ORDER_SWEEP_BUILD/tests/test_integration_races" "$3")
    fi
    if [[ $passed != *" ${command[*]} "* ]]; then
        if ! said=$("${command[@]}" 2>&1); then
            printf 'guards: %s fails as it is:\n%s\n' "$1" "$said" >&2
            exit 1
        fi
        passed+=" ${command[*]} "
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
without outcomes $cancel "$unpaid$and$on_time" "$unpaid"
without outcomes $cancel "$and$young_enough"
without outcomes $cancel "$and$rule"
without outcomes $cancel "order_sweep_state = 'sweep'" false
without outcomes $cancel "$look_again" "${look_again/IF/IF false AND}"
without hostile $cancel "current_setting('timezone_abbreviations') <> 'Default'" \
    false
without hostile build_cancel 'pg_my_temp_schema() <> 0' false
without hostile build_cancel 'pg_get_userbyid(c.relowner) <> current_user' false
without hostile build_cancel 'pg_get_userbyid(t.typowner) <> current_user' false
without hostile build_cancel 'pg_get_userbyid(c.relowner) <> current_user' true
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

# --- Explain -----------------------------------------------------------------

without ../cli/explain cancel_unpaid_explain d.paused false

# --- What all definitions are made from --------------------------------------

without define clauses 'AND %s <= order_sweep_until' ''
without define clock_bound floor ceil
without define clauses "> ''-infinity''" 'IS NOT NULL'
without retyped clauses 'order_sweep.same_type(' '0 <= num_nonnulls('
# The settings of the caller.
without hostile pins "' SET IntervalStyle = postgres\n'" "''"

# What define and check read is not what the caller's settings make of it.
for function in define_row check; do
    without refusals $function " SET standard_conforming_strings TO 'on'"
done
# Who may define runs nothing with the rights of others.
without grants own_function 'p.prosecdef' true
without grants own_function 'pg_get_userbyid(p.proowner) = _owner' true
without grants guard_sweep 'IF FOUND THEN' 'IF false THEN'
without grants guard_sweep 'order_sweep.pinned_path(NEW.path)' NEW.search_path
without grants guard_sweep 'NEW := order_sweep.calls(NEW);'
without grants guard_sweep 'IS DISTINCT FROM _type' 'IS DISTINCT FROM format_type(to_regtype(_type), -1)'
without varieties moment '[[:space:]]*$' '\s*$'
without varieties moment '[Uu][Tt][Cc]' '[A-Za-z/]+'
without varieties moment "SET \"TimeZone\" TO 'UTC'"
# Row security with settings, where the orders have no policies.
without hostile pins 'AND order_sweep.is_bound(to_regclass(s.orders), s.owner)'

# The ways of the planner: off for orders that were never analysed, and only there.
without define by_index '< 0' '< -1'
without define by_index '< 0' 'IS NOT NULL'
without define index_pins '\n SET enable_sort = on'
survives define "SELECT testing.mutate('index_pins', x, replace(x, 'on', 'off'))
    FROM unnest('{SET enable_sort = on,SET enable_bitmapscan = on}'::text[]) AS x"

if [ "$survivors" != 0 ] || [ "$guards" = 0 ]; then
    exit 1
fi
echo "guards: ok, $guards guards taken out, each noticed"
