#!/bin/bash
# Who may do what: the role in the crontab can sweep what is due, and nothing
# else; whatever it sets, owns or calls.  The shop belongs to a role that is no
# superuser.
set -euo pipefail

# shellcheck source=tests/support/db.sh
. "$ORDER_SWEEP_SOURCE/tests/support/db.sh"
# shellcheck source=tests/support/steps.sh
. "$ORDER_SWEEP_SOURCE/tests/support/steps.sh"

owner=osw_owner_$$
cron=osw_cron_$$
reader=osw_reader_$$
nobody=osw_nobody_$$
definer=osw_definer_$$

new_shop grants "$owner"
for role in "$cron" "$reader" "$nobody" "$definer"; do
    new_role "$role"
done
change "SELECT FROM order_sweep.grant_to('$cron')"
change "SELECT FROM order_sweep.grant_read_to('$reader')"

# status ORDER: its status.
status()
{
    ask "SELECT order_status FROM shop.orders WHERE id = $1"
}

# --- It can run, and look ----------------------------------------------------

order=$(place '31 minutes')
runs 0 -U "$cron" --dry-run --format=json
is 'dry run' "$(printf '%s\n' "$out" | grep -c "\\[$order\\].*\"what\":\"sweep\"")" 1
runs 0 -U "$cron"
is 'messages' "$err" ''
is 'swept by the cron role' "$(status "$order")" 3
place '31 minutes' '[{"goods_id": 9, "quantity": 1}]' >/dev/null
change 'DELETE FROM shop.goods WHERE id = 9'
runs 1 -U "$cron"
is 'a failure booked by the cron role' "$(ask 'SELECT attempts FROM
    order_sweep.failure')" 1
change "INSERT INTO shop.goods VALUES (9, 'Goods 9', 10, 1000, 999)"
change 'DELETE FROM order_sweep.failure'
runs 0 -U "$cron"
invariants 'after runs of the cron role'

order=$(place '31 minutes')
runs 0 -U "$reader" --dry-run --format=json
is 'dry run of the reader' "$(printf '%s\n' "$out" |
    grep -c "\\[$order\\].*\"what\":\"sweep\"")" 1
before=$(fingerprint)
runs 78 -U "$reader"
is 'message to the reader' "$err" 'order-sweep: cancel_unpaid: permission denied for function calls_of; let the owner of schema order_sweep run order-sweep check --role NAME: it names the missing right; order_sweep.grant_to(role) gives those on order_sweep'
runs 78 -U "$nobody"
is 'message to nobody' "$err" 'order-sweep: permission denied for schema order_sweep; let the owner of schema order_sweep run order-sweep check --role NAME: it names the missing right; order_sweep.grant_to(role) gives those on order_sweep'
is 'the reader has swept nothing' "$(fingerprint)" "$before"

# --- Row security -------------------------------------------------------------

# Rows that a policy hides from the owner raise: they are not passed silently.
order=$(place '31 minutes')
before=$(fingerprint)
change 'ALTER TABLE shop.orders ENABLE ROW LEVEL SECURITY'
change 'ALTER TABLE shop.orders FORCE ROW LEVEL SECURITY'
is 'cancel of what a policy hides' "$(cancel "$order" | head -n 1)" \
    '42501: query would be affected by row-level security policy for table "orders"'
runs 78 -U "$cron" --sweep=cancel_unpaid
change 'ALTER TABLE shop.orders NO FORCE ROW LEVEL SECURITY'
change 'ALTER TABLE shop.orders DISABLE ROW LEVEL SECURITY'
is 'nothing changed' "$(fingerprint)" "$before"
runs 0 -U "$cron"
is 'swept without the policy' "$(status "$order")" 3

# --- It can do nothing else --------------------------------------------------

order=$(place '31 minutes')
young=$(place '29 minutes')
paid=$(place '31 minutes')
change "SELECT FROM shop.pay_order($paid, 10)"
kept=$(place '31 minutes')
change "INSERT INTO shop.payment (order_id, amount) VALUES ($kept, 1)"
before=$(fingerprint)
cat >"$scratch/tries.sql" <<SQL
SELECT FROM shop.orders;
SELECT id FROM shop.orders FOR UPDATE;
UPDATE shop.orders SET order_status = 3;
DELETE FROM shop.orders;
SELECT FROM shop.goods;
UPDATE shop.goods SET stock = 0;
SELECT FROM shop.buyer_mark;
SELECT FROM shop.payment;
SELECT shop.pay_order($order, 1);
SELECT FROM order_sweep.version;
SELECT FROM order_sweep.sweep;
UPDATE order_sweep.sweep SET unpaid = 'true';
DELETE FROM order_sweep.sweep;
SELECT FROM order_sweep.life;
UPDATE order_sweep.life SET seen_at = now();
SELECT FROM order_sweep.run;
INSERT INTO order_sweep.run (sweep, host, pid) VALUES ('a', 'b', 1);
DELETE FROM order_sweep.run;
SELECT FROM order_sweep.journal;
INSERT INTO order_sweep.journal (sweep, order_key, run_id, payload) VALUES ('cancel_unpaid', '[1]', 0, '{}');
UPDATE order_sweep.journal SET published_at = now();
DELETE FROM order_sweep.journal;
TRUNCATE order_sweep.journal;
SELECT FROM order_sweep.failure;
DELETE FROM order_sweep.failure;
SELECT order_sweep.define(sweep => 'mine', orders => 'shop.orders', key => '{id}', unpaid => 'true', since => 'created', unit => 's', after => '1 second', set => 'order_status = 3');
SELECT order_sweep.undefine('cancel_unpaid');
SELECT order_sweep.pause('cancel_unpaid');
SELECT order_sweep.resume('cancel_unpaid');
SELECT order_sweep.grant_to('$nobody');
SELECT order_sweep.grant_read_to('$nobody');
SELECT order_sweep.grant_functions('$nobody', '{probe}', '{_cancel}');
SELECT order_sweep.regenerate();
SELECT order_sweep.drop_function('cancel_unpaid_cancel');
SELECT order_sweep.try_body('a', 'sql', '{}', 'void', 'pg_catalog', 'SELECT 1');
CREATE OR REPLACE FUNCTION order_sweep.preview(sweep text, "window" interval) RETURNS TABLE (order_key jsonb, since timestamptz, deadline timestamptz, state text) LANGUAGE sql AS 'SELECT null::jsonb, now(), now(), null';
CREATE FUNCTION order_sweep.mine() RETURNS int LANGUAGE sql AS 'SELECT 1';
CREATE TABLE order_sweep.mine (a int);
CREATE TABLE public.mine (a int);
CREATE SCHEMA mine;
ALTER FUNCTION order_sweep.cancel_unpaid_cancel(bigint, interval, bigint) RESET search_path;
DROP FUNCTION order_sweep.cancel_unpaid_cancel(bigint, interval, bigint);
ALTER TABLE order_sweep.journal DISABLE TRIGGER ALL;
DROP SCHEMA order_sweep CASCADE;
SET ROLE $owner;
SQL
for role in "$cron" "$reader" "$nobody"; do
    # Without ON_ERROR_STOP: all of them, a line of answer each.
    psql -X -q -A -t -U "$role" -v VERBOSITY=sqlstate \
        -f "$scratch/tries.sql" >"$scratch/said" 2>&1 || :
    is "$role: what is not refused" "$(sed 's/^.*ERROR: *//' "$scratch/said" |
        paste -d '|' - "$scratch/tries.sql" | grep -v '^42501|')" ''
    is "$role: tries" "$(grep -c 42501 "$scratch/said")" \
        "$(grep -c . "$scratch/tries.sql")"
done
# Granting on what was granted without the option for it grants nothing.
sql -U "$cron" -c "GRANT EXECUTE ON FUNCTION
    order_sweep.cancel_unpaid_cancel(bigint, interval, bigint) TO $nobody" \
    >/dev/null 2>&1 || :
is 'all tries changed nothing' "$(fingerprint)" "$before"
# But the one that may stand in an index of the shop's, and the constant that
# stands in the texts of definitions.
everybodys=$'moment\nsame_type'
is 'no function is for everybody' "$(ask "SELECT p.proname FROM pg_proc p
    WHERE p.pronamespace = 'order_sweep'::regnamespace
      AND has_function_privilege('$nobody', p.oid, 'EXECUTE') ORDER BY 1")" \
    "$everybodys"

# Cancel, called past the program, with any argument: nothing that is not due.
for window in NULL "'0'" "'1 second'" "'-1 year'" "'-178000000 years'"; do
    for id in "$young" "$paid" "$kept" 0 NULL; do
        said=$(sql -U "$cron" -c "SELECT
            order_sweep.cancel_unpaid_cancel($id, $window, 0)" 2>&1) || :
        case $said in
        changed | gone | 'kept: payment received' | *'out of range'*) ;;
        *) fail "cancel of $id under $window said: $said" ;;
        esac
    done
    for name in "batch($window, NULL, NULL, 10)" "newest($window, 10)"; do
        is "$name" "$(sql -U "$cron" -c "SELECT count(*) FROM
            order_sweep.cancel_unpaid_$name WHERE k1 <> $order" 2>&1 |
            sed -n 's/.*out of range.*/0/; 1p')" 0
    done
done
is 'other orders than the due one' "$(fingerprint)" "$before"

# --- What the caller owns and sets changes nothing ----------------------------

# A schema of its own, first in its path, with its own now(), = and orders.
sql -U "$superuser" -c "CREATE SCHEMA hostile AUTHORIZATION $cron"
sql -U "$cron" -f - <<'SQL'
GRANT USAGE ON SCHEMA hostile TO PUBLIC;
SET search_path = hostile;
CREATE FUNCTION now() RETURNS timestamptz LANGUAGE sql AS
$$SELECT pg_catalog.now() + interval '1 hour'$$;
CREATE FUNCTION yes(smallint, integer) RETURNS boolean LANGUAGE sql AS
$$SELECT $1 OPERATOR(pg_catalog.<>) 3$$;
CREATE FUNCTION yes(bigint, bigint) RETURNS boolean LANGUAGE sql AS
$$SELECT true$$;
CREATE OPERATOR = (LEFTARG = smallint, RIGHTARG = integer, FUNCTION = yes);
CREATE OPERATOR <= (LEFTARG = bigint, RIGHTARG = bigint, FUNCTION = yes);
CREATE FUNCTION "coalesce"(interval, interval) RETURNS interval LANGUAGE sql AS
$$SELECT '0'::interval$$;
CREATE TABLE orders (id bigint, created bigint, order_status smallint);
CREATE TABLE payment (order_id bigint);
SQL
path='SET search_path = hostile, pg_catalog;'
hostile="$path CREATE TEMPORARY TABLE orders (id bigint);
    CREATE TEMPORARY TABLE payment (order_id bigint);"
for id in "$young" "$paid" "$kept"; do
    is "hostile path: cancel of $id" "$(sql -U "$cron" -c "$path" -c "SELECT
        order_sweep.cancel_unpaid_cancel($id, NULL, 0)" 2>&1 |
        sed 's/kept: payment received/changed/')" changed
    is "tables of the caller: cancel of $id" "$(raised "$hostile SELECT
        order_sweep.cancel_unpaid_cancel($id, NULL, 0)" -U "$cron")" \
        'OS007: the session has temporary objects of another role'
done
is 'hostile path: batch' "$(sql -U "$cron" -c "$hostile" -c 'SELECT
    string_agg(k1::text, $$ $$)
    FROM order_sweep.cancel_unpaid_batch(NULL, NULL, NULL, 10)' 2>&1)" "$order"
is 'hostile path: due' "$(sql -U "$cron" -c "$hostile" -c "SELECT count(*)
    FROM order_sweep.preview('cancel_unpaid', NULL)" 2>&1)" 2
sql -U "$superuser" -c "ALTER ROLE $cron SET search_path = hostile, pg_catalog"
runs 0 -U "$cron"
is 'hostile path: the program' "$(status "$order") $(status "$young") \
$(status "$paid") $(status "$kept")" '3 1 2 1'
invariants 'after a hostile path'
# The same without the pinned path: then it does harm, so this test can fail.
change 'ALTER FUNCTION order_sweep.cancel_unpaid_cancel(bigint, interval,
    bigint) RESET search_path'
is 'hostile path, mutated' "$(sql -U "$cron" -c "BEGIN" -c "SELECT
    order_sweep.cancel_unpaid_cancel($young, NULL, 0)" -c ROLLBACK 2>&1)" swept
sql -U "$superuser" -c "ALTER ROLE $cron RESET search_path"
sql -f "$ORDER_SWEEP_SQL/sample/definition.sql" >/dev/null

# Settings that change what a text means.
sql -f - <<'SQL' >/dev/null
CREATE TABLE shop.memo (id int PRIMARY KEY, state text, note text, nil int,
    since timestamptz DEFAULT now() - interval '1 day');
INSERT INTO shop.memo VALUES (1, 'open', 'keep1'), (2, 'open', 'go');
SELECT order_sweep.define(sweep => 'close_memo', orders => 'shop.memo',
    key => '{id}', unpaid => $$state = 'open'$$, since => 'since',
    after => '1 hour', set => $$state = 'closed'$$,
    unless => $${"noted": "o.note ~ '^keep\\d$'", "never": "o.nil = NULL",
        "date": "'01/02/2020'::date <> '2020-01-02'"}$$);
SQL
settings='SET standard_conforming_strings = off;
    SET transform_null_equals = on; SET backslash_quote = on;
    SET DateStyle = "SQL, DMY"; SET TimeZone = "Pacific/Kiritimati";
    SET IntervalStyle = sql_standard; SET check_function_bodies = off;'
is 'settings of the caller' "$(sql -U "$cron" -c "$settings" -c "SELECT
    order_sweep.close_memo_cancel(1, NULL, 0),
    order_sweep.close_memo_cancel(2, NULL, 0)" 2>&1)" 'kept: noted|swept'
change "UPDATE shop.memo SET state = 'open'; DELETE FROM order_sweep.journal
    WHERE sweep = 'close_memo'"
for setting in standard_conforming_strings transform_null_equals DateStyle; do
    change "ALTER FUNCTION order_sweep.close_memo_cancel(integer, interval,
        bigint) RESET $setting"
    is "settings of the caller, $setting not pinned" "$(sql -U "$cron" \
        -c "$settings" -c BEGIN -c "SELECT
        order_sweep.close_memo_cancel(1, NULL, 0),
        order_sweep.close_memo_cancel(2, NULL, 0)" -c ROLLBACK 2>&1 |
        grep -cx 'kept: noted|swept')" 0
done

# --- Whoever may define ------------------------------------------------------

# His SQL runs with his rights, never with those of who calls it.
change "SELECT FROM order_sweep.grant_define_to('$definer');
    GRANT USAGE ON SCHEMA shop TO $definer;
    GRANT SELECT, UPDATE ON shop.memo TO $definer"
sql -U "$definer" -c 'SET search_path = pg_catalog' -c "SELECT FROM order_sweep.define(
    sweep => 'mine', orders => 'shop.memo', key => '{id}', unpaid => 'false',
    since => 'since', after => '1 hour', set => 'nil = 1')"
# tampered SUFFIX CALL: the call says so once the function is its caller's.
tampered()
{
    local name=mine$1 change said
    said="function $name is not as define made it; see order-sweep check"
    for change in 'SECURITY INVOKER' "OWNER TO $nobody"; do
        sql -U "$superuser" -c "ALTER FUNCTION order_sweep.$name $change"
        is "$name, $change: $2" "$(raised "$2" |
            sed -n "s/.*\($said\).*/\1/p")" "$said"
        sql -U "$superuser" -c "ALTER FUNCTION order_sweep.$name SECURITY DEFINER" \
            -c "ALTER FUNCTION order_sweep.$name OWNER TO $definer"
    done
    is "$name as it was: $2" "$(raised "$2" | head -n 1 | cut -c 1-8)" 'nothing:'
}
for suffix in _batch _newest _cancel _fail; do
    tampered $suffix "SELECT order_sweep.calls_of('mine')"
done
tampered _next "DO \$\$DECLARE e text; BEGIN
    SELECT error_message INTO e FROM order_sweep.probe('mine', NULL);
    IF e IS NOT NULL THEN RAISE '%', e; END IF; END\$\$"
tampered _due "SELECT order_sweep.preview('mine', NULL)"
tampered _explain "SELECT order_sweep.explain('mine', '[\"1\"]')"
sql -U "$definer" -c "CREATE FUNCTION order_sweep.none_due(interval) RETURNS TABLE (
    order_key jsonb, since timestamptz, deadline timestamptz, state text)
    LANGUAGE sql AS 'SELECT NULL::jsonb, now(), now(), current_user::text'"
is 'the function of no sweep' "$(raised "SELECT order_sweep.preview('none', NULL)" \
    -U "$reader")" '22023: sweep: "none" is not defined'
sql -U "$definer" -c 'DROP FUNCTION order_sweep.none_due'

# Nor does he write what is not his, or what define would not.
before=$(fingerprint)
other="42501: sweep cancel_unpaid belongs to role $owner, which $definer is no member of"
for statement in "UPDATE order_sweep.sweep SET each = '{DELETE FROM shop.orders}'
        WHERE name = 'cancel_unpaid'" \
    "DELETE FROM order_sweep.sweep WHERE name = 'cancel_unpaid'" \
    "SELECT order_sweep.pause('cancel_unpaid')"; do
    is "$statement" "$(raised "$statement" -U "$definer")" "$other"
done
is 'a row in the name of another' "$(raised "UPDATE order_sweep.sweep
    SET owner = '$owner' WHERE name = 'mine'" -U "$definer")" \
    "42501: sweep mine belongs to role $owner, which $definer is no member of"
for type in int4 'integer, integer' 'int) RETURNS int LANGUAGE sql RETURN 1; --'; do
    for column in key_types clock_type; do
        case $(raised "UPDATE order_sweep.sweep SET $column = $(case $column in
            key_types) printf "ARRAY[\$t\$%s\$t\$]" "$type" ;;
            *) printf "\$t\$%s\$t\$" "$type" ;; esac) WHERE name = 'mine'" -U "$definer") in
        22023:* | 42601:*) checks=$((checks + 1)) ;;
        *) fail "$column = $type passed" ;;
        esac
    done
done
sql -U "$definer" -c "UPDATE order_sweep.sweep SET search_path = 'pg_catalog; RESET ROLE',
    batch_call = 'SELECT 1', newest_call = '', cancel_call = '', fail_call = ''
    WHERE name = 'mine'"
is 'all tries changed nothing' "$(fingerprint)" "$before"
sql -U "$definer" -c "SELECT FROM order_sweep.pause('mine');
    SELECT FROM order_sweep.undefine('mine')"
sql -U "$superuser" -c "DROP OWNED BY $definer"

# --- Grants last -------------------------------------------------------------

# A later definition, here that of the memos, was covered from the start; a
# definition called anew, and a migration, keep them.
change "SELECT FROM order_sweep.undefine('close_memo')"
sql -f "$ORDER_SWEEP_SQL/sample/definition.sql" >/dev/null
# What runs call since the role was let run, by an older version.
change "REVOKE EXECUTE ON FUNCTION order_sweep.left_over(bigint) FROM $cron"
place '31 minutes' >/dev/null
runs 0 -U "$cron"
is 'message' "$err" 'order-sweep: warning: cancel_unpaid: what others hold is not known: permission denied for function left_over'
runs 0 migrate
order=$(place '31 minutes')
runs 0 -U "$reader" --dry-run
runs 0 -U "$cron"
is 'message' "$err" ''
is 'swept after define and migrate' "$(status "$order")" 3
# A definition whose functions have other parameters now keeps them too.
change 'CREATE VIEW shop.orders_by_text AS SELECT id::text AS number, * FROM
    shop.orders'
change "SELECT FROM order_sweep.define(sweep => 'other', orders => 'shop.memo',
    key => '{id}', unpaid => 'false', since => 'since', after => '1 hour',
    set => 'nil = 1')"
change "SELECT FROM order_sweep.define(sweep => 'other', orders => 'shop.memo',
    key => '{id,note}', unpaid => 'false', since => 'since', after => '1 hour',
    set => 'nil = 1')"
is 'functions of other' "$(ask "SELECT count(*), bool_and(
    has_function_privilege('$cron', oid, 'EXECUTE')) FROM pg_proc
    WHERE proname ~ '^other_' AND proname <> 'other_lines'")" '11|t'
is 'lines of other' "$(ask "SELECT has_function_privilege('$cron', oid, 'EXECUTE')
    FROM pg_proc WHERE proname = 'other_lines'")" f
is 'functions of other, of the reader' "$(ask "SELECT string_agg(proname, ' '
    ORDER BY proname) FROM pg_proc WHERE proname ~ '^other_'
    AND has_function_privilege('$reader', oid, 'EXECUTE')")" 'other_backlog other_clock other_due other_explain other_fault other_gone other_next'
change "SELECT FROM order_sweep.undefine('other')"

change "REVOKE ALL ON ALL FUNCTIONS IN SCHEMA order_sweep FROM $cron"
order=$(place '31 minutes')
before=$(ask 'SELECT md5(string_agg(o::text, $$ $$ ORDER BY id)) FROM
    shop.orders AS o')
runs 78 -U "$cron"
is 'message' "$err" 'order-sweep: permission denied for function schema_version; let the owner of schema order_sweep run order-sweep check --role NAME: it names the missing right; order_sweep.grant_to(role) gives those on order_sweep'
sql -f "$ORDER_SWEEP_SQL/sample/definition.sql" >/dev/null
runs 78 -U "$cron"
runs 0 migrate
runs 78 -U "$cron"
is 'rights after REVOKE' "$(ask "SELECT proname FROM pg_proc
    WHERE pronamespace = 'order_sweep'::regnamespace
      AND has_function_privilege('$cron', oid, 'EXECUTE') ORDER BY 1")" \
    "$everybodys"
is 'nothing swept after REVOKE' "$(ask 'SELECT md5(string_agg(o::text, $$ $$
    ORDER BY id)) FROM shop.orders AS o')" "$before"
runs 0 -U "$reader" --dry-run

# --- Paths that others may write to ------------------------------------------

sql -U "$superuser" -c 'GRANT CREATE ON SCHEMA public TO PUBLIC'
before=$(fingerprint)
is 'grant_to with an open path' "$(raised "SELECT
    order_sweep.grant_to('$cron')")" '22023: search_path: PUBLIC may create in schema public and so change what the definition does'
is 'grant_read_to with an open path' "$(raised "SELECT
    order_sweep.grant_read_to('$cron')" | sed 's/:.*//')" 22023
is 'define with an open path' "$(raised "$(cat \
    "$ORDER_SWEEP_SQL/sample/definition.sql")" | sed 's/:.*//')" 22023
is 'nothing changed' "$(fingerprint)" "$before"
# With a path that is closed it works.
change "SET search_path = shop; $(cat "$ORDER_SWEEP_SQL/sample/definition.sql")
    ; RESET search_path"
change "SELECT FROM order_sweep.grant_to('$cron')"
change "GRANT CREATE ON SCHEMA shop TO $reader"
is 'grant_to with a path open to a role' "$(raised "SELECT
    order_sweep.grant_to('$cron')")" "22023: search_path: $reader may create in schema shop and so change what the definition does"
change "REVOKE CREATE ON SCHEMA shop FROM $reader"
is 'grant_to no role' "$(raised "SELECT
    order_sweep.grant_to('osw_no_role')")" '42704: role "osw_no_role" does not exist'
runs 0 -U "$cron"
is 'swept once granted anew' "$(status "$order")" 3

# --- Another owner -----------------------------------------------------------

sql -U "$superuser" -c "GRANT CREATE ON SCHEMA order_sweep TO $nobody;
    GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA order_sweep TO $nobody;
    GRANT ALL ON ALL TABLES IN SCHEMA order_sweep TO $nobody;
    GRANT USAGE ON SCHEMA order_sweep TO $nobody;
    GRANT USAGE ON SCHEMA shop TO $nobody;
    GRANT SELECT, UPDATE ON shop.orders TO $nobody" 2>/dev/null
is 'define of a sweep of another owner' "$(raised "SET search_path = pg_catalog;
    SELECT order_sweep.define(sweep => 'cancel_unpaid', orders => 'shop.orders',
    key => '{id}', unpaid => 'false', since => 'created', after => '1 hour',
    set => 'order_status = 3')" -U "$nobody")" \
    "22023: sweep: cancel_unpaid belongs to role $owner"
invariants 'at the end'
finish
