#!/bin/bash
# What order-sweep check finds about definitions and their tables: each item is
# broken alone and found alone, and gone once it is mended.  What it finds about
# a server is in check_server.sh.
set -euo pipefail

# shellcheck source=tests/support/db.sh
. "$ORDER_SWEEP_SOURCE/tests/support/db.sh"
# shellcheck source=tests/support/steps.sh
. "$ORDER_SWEEP_SOURCE/tests/support/steps.sh"
# shellcheck source=tests/support/findings.sh
. "$ORDER_SWEEP_SOURCE/tests/support/findings.sh"

new_findings check

clean 'a clean database'
runs 0 check --format=json
is 'what is right is told too' "$(printf '%s\n' "$out" | sed -E \
    's/.*"level":"(.*)","sweep":"?(\w+)"?,"item":"(.*)","what":"(.*)","why":null,"mend":null\}$/\1 \2 \3 \4/')" \
"ok null schema the schema is the program's
ok cancel_unpaid functions the functions are those this version generates
ok tidy functions the functions are those this version generates
ok cancel_unpaid index the look for due orders is served by orders_unpaid
ok tidy index the look for due orders is served by t_open"
before=$(fingerprint)
runs 0 check -v --role "$owner"
is 'check changes nothing' "$(fingerprint)" "$before"

# --- The schema --------------------------------------------------------------

change 'INSERT INTO order_sweep.version (version) VALUES (999)'
finds 'a newer schema' 78 "fail||schema|the database is newer: schema order_sweep has version 999, this program needs 6|install the newer order-sweep"
change 'DELETE FROM order_sweep.version WHERE version = 999'
change 'UPDATE order_sweep.version SET version = version - 6'
finds 'an older schema' 78 "fail||schema|the database is older: schema order_sweep has version 0, this program needs 6|run order-sweep migrate"
change 'UPDATE order_sweep.version SET version = version + 6'
shop_database=$PGDATABASE
PGUSER=$superuser new_db check_empty
PGUSER=$superuser finds 'no schema' 78 'fail||schema|schema "order_sweep" does not exist|run order-sweep migrate on this database'
PGUSER=$superuser runs 78 check --probe
is 'no probe without a schema' "$err" ''
PGDATABASE=$shop_database
runs 69 check -h /nowhere

# --- The generated functions -------------------------------------------------

drifted='not what this version generates|order-sweep migrate'
signature='order_sweep.tidy_cancel(integer, interval, bigint)'
breaks 'a changed body' "DO \$do\$ BEGIN
    EXECUTE replace(pg_get_functiondef('$signature'::regprocedure),
        'FOR UPDATE OF o SKIP LOCKED', 'FOR UPDATE OF o'); END \$do\$" \
    "fail|tidy|functions|tidy_cancel: $drifted"
breaks 'a dropped function' "DROP FUNCTION $signature" \
    "fail|tidy|functions|tidy_cancel: $drifted"
breaks 'two dropped functions' "DROP FUNCTION $signature,
    order_sweep.tidy_due(interval)" \
    "fail|tidy|functions|tidy_due, tidy_cancel: $drifted"
breaks 'a second function of the name' "CREATE FUNCTION order_sweep.tidy_cancel()
    RETURNS int LANGUAGE sql AS 'SELECT 1'" \
    "fail|tidy|functions|tidy_cancel: $drifted"
for change in 'SET row_security = on' 'SET search_path = public' \
    'RESET lock_timeout' 'RESET ALL' 'SET enable_seqscan = off' \
    'SECURITY INVOKER' 'IMMUTABLE' 'STRICT'; do
    breaks "$change" "ALTER FUNCTION $signature $change" \
        "fail|tidy|functions|tidy_cancel: $drifted"
done
breaks 'PUBLIC may execute' "GRANT EXECUTE ON FUNCTION $signature TO PUBLIC" \
    "fail|tidy|functions|tidy_cancel: $drifted"
breaks 'another language' "DO \$do\$ BEGIN
    SET LOCAL check_function_bodies = off;
    EXECUTE replace(pg_get_functiondef('$signature'::regprocedure),
        'LANGUAGE plpgsql', 'LANGUAGE sql'); END \$do\$" \
    "fail|tidy|functions|tidy_cancel: $drifted"
breaks 'other parameters' "DO \$do\$ DECLARE text text := pg_get_functiondef('$signature'::regprocedure);
    BEGIN DROP FUNCTION $signature;
        EXECUTE replace(text, '(integer, interval, bigint)',
            '(bigint, interval, bigint)'); END \$do\$" \
    "fail|tidy|functions|tidy_cancel: $drifted"
super "GRANT CREATE ON SCHEMA order_sweep TO $other;
    ALTER FUNCTION $signature OWNER TO $other"
wanted="fail|tidy|functions|tidy_cancel belongs to role $other, not to $owner"
wanted+="|ALTER FUNCTION ${signature//, /,} OWNER TO $owner;"
finds 'another owner' 78 "$wanted"
super "ALTER FUNCTION $signature OWNER TO $owner;
    REVOKE CREATE ON SCHEMA order_sweep FROM $other"
clean 'the owner again'

# --- The shop's migrations ---------------------------------------------------

anew='Call order_sweep.define anew, with SQL that fits.'
statement()
{
    printf 'fail|%s|statement|%s|%s' "$1" "$2" "$anew"
}
breaks 'the status column renamed' \
    'ALTER TABLE shop.orders RENAME COLUMN order_status TO state' \
    "$(statement cancel_unpaid 'set: column "order_status" of relation "orders" does not exist')
$(statement cancel_unpaid 'unpaid: column o.order_status does not exist')" \
    'ALTER TABLE shop.orders RENAME COLUMN state TO order_status'
breaks 'the status column dropped' \
    'ALTER TABLE shop.orders DROP COLUMN order_status' \
    "$(statement cancel_unpaid 'set: column "order_status" of relation "orders" does not exist')
$(statement cancel_unpaid 'unpaid: column o.order_status does not exist')" \
    'ALTER TABLE shop.orders ADD COLUMN order_status smallint NOT NULL DEFAULT 1;
    CREATE INDEX orders_unpaid ON shop.orders (created, id) WHERE order_status = 1'
breaks 'the status of another type' \
    "DROP INDEX shop.t_open; ALTER TABLE shop.t ALTER state TYPE int USING 1" \
    "$(statement tidy 'set: invalid input syntax for type integer: "closed"')
$(statement tidy 'unpaid: invalid input syntax for type integer: "open"')" \
    "ALTER TABLE shop.t ALTER state TYPE text;
    CREATE INDEX t_open ON shop.t (at, id) WHERE state = 'open'"
breaks 'a table of each dropped' 'DROP TABLE shop.log' \
    "$(statement tidy 'each[1]: relation "shop.log" does not exist')" \
    'CREATE TABLE shop.log (id int, what text)'
breaks 'a table of each renamed, of several' \
    'ALTER TABLE shop.buyer_mark RENAME TO mark' \
    "$(statement cancel_unpaid 'each[3]: relation "shop.buyer_mark" does not exist')" \
    'ALTER TABLE shop.mark RENAME TO buyer_mark'
breaks 'a table of a rule renamed' 'ALTER TABLE shop.payment RENAME TO money' \
    "$(statement cancel_unpaid 'paid: relation "shop.payment" does not exist')
$(statement cancel_unpaid 'unless "payment received": relation "shop.payment" does not exist')" \
    'ALTER TABLE shop.money RENAME TO payment'
breaks 'a function of each dropped' 'DROP FUNCTION shop.refuse' \
    "$(statement cancel_unpaid 'each[2]: function shop.refuse(text) does not exist')" \
    "CREATE FUNCTION shop.refuse(text) RETURNS void LANGUAGE plpgsql AS
    'BEGIN RAISE EXCEPTION \$\$%\$\$, \$1; END'"
breaks 'a column of the event renamed' \
    'ALTER TABLE shop.order_line RENAME COLUMN quantity TO pieces' \
    "$(statement cancel_unpaid 'each[2]: column l.quantity does not exist')
$(statement cancel_unpaid 'event: column l.quantity does not exist')" \
    'ALTER TABLE shop.order_line RENAME COLUMN pieces TO quantity'
breaks 'the clock renamed' 'ALTER TABLE shop.t RENAME COLUMN at TO placed' \
    "$(statement tidy 'since: column "at" does not exist')" \
    'ALTER TABLE shop.t RENAME COLUMN placed TO at'
breaks 'the key renamed' 'ALTER TABLE shop.t RENAME COLUMN id TO number' \
    "$(statement tidy 'key: column o.id does not exist')" \
    'ALTER TABLE shop.t RENAME COLUMN number TO id'
breaks 'the orders table renamed' 'ALTER TABLE shop.t RENAME TO u' \
    "fail|tidy|orders|there is no table shop.t|Call order_sweep.define with its new name, or order_sweep.undefine('tidy')." \
    'ALTER TABLE shop.u RENAME TO t'
retyped='Call order_sweep.define anew.'
breaks 'the clock without its zone' \
    'ALTER TABLE shop.t ALTER at TYPE timestamp' \
    "fail|tidy|types|since: the type was timestamp with time zone and is timestamp without time zone|$retyped" \
    'ALTER TABLE shop.t ALTER at TYPE timestamptz'
breaks 'a longer key' 'ALTER TABLE shop.t ALTER id TYPE bigint' \
    "fail|tidy|types|key: the type was integer and is bigint|$retyped" \
    'ALTER TABLE shop.t ALTER id TYPE int'
breaks 'a key of another type' 'ALTER TABLE shop.t ALTER id TYPE text' \
    "fail|tidy|types|key: the type was integer and is text|$retyped
$(statement tidy 'key: operator does not exist: text = integer')" \
    'ALTER TABLE shop.t ALTER id TYPE int USING id::int'
breaks 'a column more, not null, where each inserts' \
    "ALTER TABLE shop.log ADD COLUMN who text NOT NULL" \
    'fail|tidy|not null|each[1] inserts into shop.log without who, which is not null|Let each[1] write who, or give the column a default.' \
    "ALTER TABLE shop.log ALTER who SET DEFAULT 'sweep'"
finish
