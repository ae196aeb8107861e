#!/bin/bash
# migrate: from nothing, again, printed; whole or not at all; definitions and
# grants are as they were.
set -euo pipefail

# shellcheck source=tests/support/shop.sh
. "$ORDER_SWEEP_SOURCE/tests/support/shop.sh"

before=$ORDER_SWEEP_TMP/before
role=osw_migrate_$$
owner=osw_owner_$$

# The schema alone, without the moment at which it was made.
schema()
{
    pg_dump --schema-only | grep -v -E '^\\(un)?restrict ' >"$1"
}

# --- From nothing, again, and by hand ----------------------------------------

new_db migrate_by_hand
script=$ORDER_SWEEP_TMP/script.sql
"$ORDER_SWEEP_BIN" migrate --print --host /nowhere >"$script"
sql -f "$script"
schema "$ORDER_SWEEP_TMP/by_hand"

new_db migrate
run 0 migrate
silent
schema "$ORDER_SWEEP_TMP/migrated"
diff "$ORDER_SWEEP_TMP/by_hand" "$ORDER_SWEEP_TMP/migrated" ||
    die 'migrate --print makes another schema than migrate'

dump "$before"
run 0 migrate -v
is 'the second time' \
    'schema order_sweep: version 6, was 6; 0 definitions generated anew' \
    "$(cat "$out")"
unchanged "$before"

# By hand a second time: refused, nothing changed.
if sql -f "$script" 2>/dev/null; then
    die 'the printed script ran twice'
fi
unchanged "$before"

# --- Over a released version -------------------------------------------------

# CREATE OR REPLACE changes neither the arguments of a function nor its result:
# where they were another's, migrate would fail on every installation there is.
# A function that is to have others needs another name.
released=$ORDER_SWEEP_SOURCE/tests/cli/functions_0.1.0.tsv
[ -s "$released" ] || die "no functions in $released"
sql -f - <<SQL >"$out"
SET search_path = pg_catalog;
CREATE TEMP TABLE released (function text, arguments text, result text);
\copy released from '$released'
SELECT r.function
  FROM released r
  JOIN pg_proc p ON p.oid = to_regprocedure(r.function)
 WHERE r.arguments <> pg_get_function_arguments(p.oid)
    OR r.result <> pg_get_function_result(p.oid);
SQL
is 'released functions that migrate cannot replace' '' "$(cat "$out")"

# --- Definitions and grants --------------------------------------------------

new_shop migrate_shop 100 10
cleanup()
{
    drop_dbs
    sql -d postgres -c "DROP ROLE IF EXISTS $role" \
        -c "DROP ROLE IF EXISTS $owner"
}
trap cleanup EXIT
sql -o /dev/null -v role="$role" -v owner="$owner" <<'SQL'
CREATE ROLE :role LOGIN;
CREATE ROLE :owner LOGIN;
GRANT USAGE, CREATE ON SCHEMA order_sweep TO :owner;
GRANT ALL ON ALL TABLES IN SCHEMA order_sweep TO :owner;
GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA order_sweep TO :owner;
GRANT USAGE ON SCHEMA shop TO :owner;
GRANT ALL ON ALL TABLES IN SCHEMA shop TO :owner;
SET ROLE :owner;
SELECT order_sweep.define(
    sweep => 'of_another', orders => 'shop.orders', key => '{id}',
    unpaid => 'o.order_status = 9', since => 'created', after => '30 minutes',
    set => 'order_status = 3, closed_at = now()');
RESET ROLE;
SELECT order_sweep.grant_to(:'role');
SELECT order_sweep.pause('of_another');
SQL
value "$owner" "SELECT proowner::regrole FROM pg_proc
                WHERE proname = 'of_another_cancel'"
dump "$before"

run 0 migrate -v
is 'with definitions' \
    'schema order_sweep: version 6, was 6; 2 definitions generated anew' \
    "$(cat "$out")"
unchanged "$before"

# A function of ours that somebody changed is as it should be again, and one
# that is missing is there, with its owner and its grants.
sql <<'SQL'
CREATE OR REPLACE FUNCTION order_sweep.schema_version() RETURNS integer
LANGUAGE sql STABLE SECURITY DEFINER AS 'SELECT 6';
DROP FUNCTION order_sweep.of_another_due(interval);
DROP FUNCTION order_sweep.cancel_unpaid_due(interval);
SQL
run 0 migrate
unchanged "$before"
run 0 --username "$role"
silent
invariants

# --- Whole or not at all -----------------------------------------------------

# A definition that cannot be generated any more: what comes before it in the
# same migrate is undone too.
sql <<'SQL'
CREATE OR REPLACE FUNCTION order_sweep.schema_version() RETURNS integer
LANGUAGE sql STABLE SECURITY DEFINER AS 'SELECT 6';
UPDATE order_sweep.sweep SET paid = 'no or' WHERE name = 'of_another';
SQL
dump "$before"
run 78 migrate
says_like '*syntax error*'
unchanged "$before"
sql <<'SQL'
UPDATE order_sweep.sweep SET paid = NULL WHERE name = 'of_another';
SQL
run 0 migrate

# A database that knows more than the program.
sql -c 'INSERT INTO order_sweep.version VALUES (7)'
dump "$before"
run 78 migrate
says_like 'the database is newer: *install the newer order-sweep'
unchanged "$before"
sql -c 'DELETE FROM order_sweep.version WHERE version = 7'

# Not for the role that sweeps.
dump "$before"
run 78 migrate --username "$role"
says_like '*belongs to role*'
unchanged "$before"

# --- Without a right ---------------------------------------------------------

new_db migrate_rights
dump "$before"
run 78 migrate --username "$owner"
grant="GRANT CREATE ON DATABASE $PGDATABASE TO $owner"
says "role $owner has no right CREATE ON DATABASE $PGDATABASE; let role \
$PGUSER, the owner, or a superuser $grant"
unchanged "$before"
sql -c "$grant"
run 0 migrate --username "$owner"
for right in USAGE CREATE; do
    sql -c "REVOKE $right ON SCHEMA order_sweep FROM $owner"
    dump "$before"
    run 78 migrate --username "$owner"
    grant="GRANT $right ON SCHEMA order_sweep TO $owner"
    says "role $owner has no right $right ON SCHEMA order_sweep; let role \
$owner, the owner, or a superuser $grant"
    unchanged "$before"
    sql -c "$grant"
done
run 0 migrate --username "$owner"
