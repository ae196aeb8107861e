#!/bin/bash
# A role whose statements may take a quarter of a second, in a shop where an
# order takes half a second: the limit of a run is the run's own.  (An order
# that takes longer than that one is in fault/signals.)
set -euo pipefail

# shellcheck source=tests/support/shop.sh
. "$ORDER_SWEEP_SOURCE/tests/support/shop.sh"

new_shop statement_timeout 20 4
role=osw_timeout_$$
sql -c "CREATE ROLE $role LOGIN"
trap 'drop_dbs; sql -d postgres -c "DROP ROLE IF EXISTS $role"' EXIT
sql -o /dev/null -c "SELECT order_sweep.grant_to('$role')"
sql -c "ALTER ROLE $role SET statement_timeout = '250ms'"
slow_orders 0.5

run 0 --username "$role"
silent
is 'the run' 'done 10 0 0 0 0 0 0 f' "$(last_run)"
invariants

# Not even the first look is cut short by it, nor the dry run.
place 3 '1 hour'
sql -c "CREATE FUNCTION shop.look(bigint) RETURNS boolean LANGUAGE plpgsql AS
    'BEGIN PERFORM pg_sleep(0.4); RETURN true; END'"
sed "s/unpaid *=> *.*/unpaid => \$\$o.order_status = 1 AND shop.look(o.id)\$\$,/" \
    "$sample/definition.sql" >"$ORDER_SWEEP_TMP/definition.sql"
sql -o /dev/null -f "$ORDER_SWEEP_TMP/definition.sql"
sql -c 'DROP TRIGGER slow ON shop.orders'
run 0 --username "$role" --dry-run
grep -q '^  total: 3 due; 3 sweep$' "$out" || die 'the dry run is not whole'
run 0 --username "$role"
silent
is 'the run with slow looks' 'done 3 0 0 0 0 0 0 f' "$(last_run)"
invariants
