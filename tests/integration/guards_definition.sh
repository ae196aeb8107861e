#!/bin/bash
# Takes the guards out of what makes a definition, one at a time, and sees that
# the test that is there for it fails.
set -euo pipefail

# shellcheck source=tests/support/guards.sh
. "$ORDER_SWEEP_SOURCE/tests/support/guards.sh"

without define clauses 'AND %s <= order_sweep_until' ''
without define clock_bound floor ceil
without refusals check_orders "order_sweep.foreign_part(orders)" "NULL::regclass"
without check_tables check_table "order_sweep.foreign_part(_orders)" "NULL::regclass"
without define clauses "> ''-infinity''" 'IS NOT NULL'
without retyped clock_is_typed 'order_sweep.same_type(' '0 <= num_nonnulls('

# What define and check read is not what the caller's settings make of it.
for function in define_row check; do
    without refusals $function " SET standard_conforming_strings TO 'on'"
done
without varieties moment '[[:space:]]*$' '\s*$'
without varieties moment '[Uu][Tt][Cc]' '[A-Za-z/]+'
without varieties moment "SET \"TimeZone\" TO 'UTC'"

# The ways of the planner: off, but for a rule that needs them, on orders that
# were analysed.
without define by_index 'ELSE' 'ELSE never_analysed ||'
without define by_index '< 0' '< -1'
without define by_index '< 0' 'IS NOT NULL'
without define index_pins '\n SET enable_sort = on'
survives define "SELECT testing.mutate('index_pins', x, replace(x, 'on', 'off'))
    FROM unnest('{SET enable_sort = on,SET enable_bitmapscan = on}'::text[]) AS x"

all_noticed
