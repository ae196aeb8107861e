#!/bin/bash
# Two limits: that of the role, and the run's own.  A role whose statements may
# take a quarter of a second, in a shop where an order takes half a second: the
# limit of a run is the run's own.  (An order that takes longer than that one is
# in fault/signals.)
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

# --- A look that takes too long keeps no other sweep from its turn ------------

# The second raises, and what asks for the reason takes too long; the third is
# sound.
place 3 '1 hour'
sql -o /dev/null <<'SQL'
CREATE FUNCTION shop.wait(double precision) RETURNS boolean LANGUAGE plpgsql AS
'BEGIN PERFORM pg_sleep($1); RETURN true; END';
CREATE TABLE shop.slow (id bigint PRIMARY KEY, state text, at text);
INSERT INTO shop.slow VALUES (1, 'open', now() AT TIME ZONE 'UTC' - interval '2 hours');
CREATE TABLE shop.bad (id bigint PRIMARY KEY, state text, at text);
INSERT INTO shop.bad SELECT n, 'open', '2020-01-01' FROM generate_series(1, 20) n;
SELECT order_sweep.define(sweep => name, orders => 'shop.' || name, key => '{id}',
    unpaid => format('o.state = ''open'' AND shop.wait(%s)', seconds),
    since => 'o.at::timestamp', zone => 'UTC', after => '1 hour',
    set => 'state = ''closed''')
  FROM (VALUES ('bad', 0.2), ('slow', 3)) AS t(name, seconds);
UPDATE shop.bad SET at = 'soon';
SQL
sed 's/unpaid *=> *.*/unpaid => $$o.order_status = 1$$,/;
     s/sweep *=> *.*/sweep => $$the_sound$$,/' \
    "$sample/definition.sql" >"$ORDER_SWEEP_TMP/definition.sql"
sql -o /dev/null -f "$ORDER_SWEEP_TMP/definition.sql" \
    -c "SELECT order_sweep.undefine('cancel_unpaid')"
run 78 --time-limit 4s # a second each
is 'messages' 'order-sweep: bad: invalid input syntax for type timestamp: "soon"
order-sweep: slow: canceling statement due to statement timeout' \
    "$(sed 's/;.*//' "$err")"
value 3 "SELECT count(*) FROM order_sweep.journal WHERE sweep = 'the_sound'"
# With the time to find it out, the argument is named.
run 78 --sweep bad
grep -q '^order-sweep: bad: since: invalid input' "$err" || die 'no argument'
