#!/bin/bash
# What order-sweep check finds about roles: the owner of a definition, the one in
# the crontab, and whoever checks.
set -euo pipefail

# shellcheck source=tests/support/db.sh
. "$ORDER_SWEEP_SOURCE/tests/support/db.sh"
# shellcheck source=tests/support/steps.sh
. "$ORDER_SWEEP_SOURCE/tests/support/steps.sh"
# shellcheck source=tests/support/findings.sh
. "$ORDER_SWEEP_SOURCE/tests/support/findings.sh"

new_findings roles
clean 'a clean database'

# --- The owner of a definition -----------------------------------------------

# His rights on the orders table, each taken alone.
lost()
{
    printf 'fail|%s|privileges|role %s has no %s|GRANT %s TO %s;' "$1" \
        "$owner" "$2" "$2" "$owner"
}
breaks 'the schema of the shop' "REVOKE USAGE ON SCHEMA shop FROM $owner" \
    "$(lost cancel_unpaid 'USAGE ON SCHEMA shop')
$(lost tidy 'USAGE ON SCHEMA shop')"
for right in SELECT UPDATE; do
    breaks "$right on the orders" "REVOKE $right ON shop.t FROM $owner" \
        "$(lost tidy "$right ON shop.t")"
done
change "REVOKE SELECT ON shop.t FROM $owner; GRANT SELECT (id, state) ON shop.t TO $owner"
runs 78 check --format=json
is 'a column of the orders' "$(read_findings | sed -n 's/:.*|/|/p' | sort -u)" \
    "fail|tidy|privileges|since|GRANT SELECT ON shop.t TO $owner; -- as role $owner"
change "GRANT SELECT ON shop.t TO $owner"
clean 'all columns'

# On other tables.
super "ALTER TABLE shop.log OWNER TO $superuser"
finds 'a table that the owner may not write' 78 "fail|tidy|privileges|each[1]: permission denied for table log|GRANT INSERT ON shop.log TO $owner; -- as role $superuser"
super "GRANT INSERT ON shop.log TO $owner"
clean 'a table that he may'
super "ALTER TABLE shop.log OWNER TO $owner"
change 'CREATE SCHEMA pay; CREATE TABLE pay.received (t_id int REFERENCES shop.t)'
define "unpaid => \$\$state = 'open'\$\$, since => 'at', after => '1 hour',
    unless => json_build_object('paid',
        'EXISTS (SELECT FROM pay.received r WHERE r.t_id = o.id)')"
breaks 'another schema' "REVOKE USAGE ON SCHEMA pay FROM $owner" \
    "fail|tidy|privileges|unless \"paid\": permission denied for schema pay|GRANT USAGE ON SCHEMA pay TO $owner; -- as role $owner" \
    "GRANT USAGE ON SCHEMA pay TO $owner"

# On the books.
super "GRANT $other TO $owner; GRANT USAGE ON SCHEMA shop TO $other;
    GRANT SELECT, UPDATE ON shop.t TO $other"
change "SELECT FROM order_sweep.grant_define_to('$other');
    SELECT FROM order_sweep.undefine('tidy')"
define "unpaid => \$\$state = 'open'\$\$, since => 'at', after => '1 hour',
    run_as => '$other'"
clean 'a definition of another role'
super "ALTER ROLE $owner NOINHERIT"
breaks 'a schema that it may use, and whoever checks may not' \
    "REVOKE USAGE ON SCHEMA shop FROM $owner" \
    "$(lost cancel_unpaid 'USAGE ON SCHEMA shop')"
super "ALTER ROLE $owner INHERIT"
# An update of order-sweep may bring functions that he has no right on yet.
change "REVOKE EXECUTE ON FUNCTION order_sweep.relation(text),
    order_sweep.check_unique(order_sweep.sweep) FROM $other;
    REVOKE SELECT ON order_sweep.run FROM $other"
runs 0 migrate
is 'migrate grants what is new to whoever may define' "$(ask "SELECT string_agg(
    p.proname, ' ') FROM pg_proc p WHERE pronamespace = 'order_sweep'::regnamespace
    AND NOT has_function_privilege('$other', p.oid, 'EXECUTE')")" ''
is 'and no right that was taken from him' "$(ask "SELECT
    has_table_privilege('$other', 'order_sweep.run', 'SELECT')")" f
clean 'a definition of another role, after migrate'
# without RIGHT ON WHAT: the right revoked.
without()
{
    breaks "an owner without $1 on $2" "REVOKE $1 ON ${3:-}$2 FROM $other" \
        "fail|tidy|books|role $other has no $1 on $2|SELECT order_sweep.grant_define_to('$other');"
}
without SELECT order_sweep.journal
without INSERT order_sweep.journal
without SELECT order_sweep.failure
without EXECUTE 'order_sweep.record_failure(text,jsonb,text,text,boolean)' \
    'FUNCTION '
super "REVOKE USAGE, CREATE ON SCHEMA order_sweep FROM $other"
runs 78 check --format=json
mend="SELECT order_sweep.grant_define_to('$other');"
is 'an owner without USAGE' "$(read_findings | sed -n 1p)" \
    "fail|tidy|books|role $other has no USAGE on schema order_sweep|$mend"
change "$mend"
clean 'an owner with all'
super "REVOKE $other FROM $owner"
mend="GRANT $other TO $owner;"
# The schema public belongs to him.
finds 'an owner whom one is no member of' 78 \
    "fail|tidy|owner|cannot look as role $other: role $owner is no member of it|$mend
fail|tidy|search path|$owner may create in schema public|REVOKE CREATE ON SCHEMA public FROM $owner;"
super "$mend"
clean 'a member again'
super "ALTER ROLE $other SUPERUSER; REVOKE $other FROM $owner"
mend="SELECT order_sweep.undefine('tidy');"
runs 78 check --format=json
is 'an owner who is a superuser' "$(read_findings | sed -n 1p)" \
    "fail|tidy|owner|cannot look as role $other: role $owner is no member of it|$mend then call order_sweep.define as the role that owns the tables."
change "$mend"
define_as_before
clean 'defined by the owner of the tables'
super "ALTER ROLE $other NOSUPERUSER; GRANT $other TO $owner"
change "$mend"
define "unpaid => \$\$state = 'open'\$\$, since => 'at', after => '1 hour',
    run_as => '$other'"
clean 'defined for another role again'
super "DROP OWNED BY $other; ALTER ROLE $other RENAME TO ${other}_gone"
mend="SELECT order_sweep.undefine('tidy');"
finds 'an owner that is gone' 78 "fail|tidy|owner|role $other, which it belongs to, does not exist|$mend"
runs 0 migrate -vv
is 'an owner that is gone: migrate' "$(printf '%s\n' "$err" | grep -c \
    "tidy belongs to role $other, which does not exist")" 1
change "BEGIN; SELECT FROM order_sweep.grant_to('$cron'); ROLLBACK"
change "$mend"
clean 'the sweep is gone too'
super "ALTER ROLE ${other}_gone RENAME TO $other"
define_as_before
clean 'the owner again'
# A module that is loaded later may take what was free.
change "UPDATE order_sweep.sweep SET settings = '{\"plpgsql.check_asserts\": \"maybe\"}'
    WHERE name = 'tidy'"
runs 0 migrate
finds 'settings that are taken no longer' 78 'fail|tidy|settings|parameter "plpgsql.check_asserts" requires a Boolean value|Call order_sweep.define anew, with names and values that SET takes.'
define_as_before
clean 'settings as before'

# --- The role in the crontab -------------------------------------------------

functions_of_a_run()
{
    printf 'order_sweep.%s\n' begin_run blame calls_of claim_events events \
        explain finish_run key_text last_runs late left_over metrics preview \
        postpone_events probe prune publish_events publishing refuse_event \
        release_events retry \
        schema_version sign_of_life status take_events take_slot \
        {cancel_unpaid,tidy}_{due,next,backlog,fault,clock,explain,gone,batch,newest,cancel,fail} \
        cancel_unpaid_late | sort
}
grant="SELECT order_sweep.grant_to('$cron');"
runs 78 check --role=nobody_$$ --format=json
is 'an unknown role' "$(read_findings)" "fail||grants|there is no role \"nobody_$$\"|CREATE ROLE nobody_$$ LOGIN; SELECT order_sweep.grant_to('nobody_$$');"
runs 78 check --role="$cron" --format=json
is 'a role without any right' "$(read_findings | sed -n '1p; $=')" \
    "fail||grants|role $cron has no USAGE on schema order_sweep|$grant
$(($(functions_of_a_run | wc -l) + 1))"
change "$grant"
finds 'a role with all' 0 '' --role="$cron"
runs 0 check -v --role="$cron"
is 'so it is told' "$(printf '%s\n' "$out" | sed -n 2p)" \
    "ok    grants: role $cron may run every sweep"
change "REVOKE USAGE ON SCHEMA order_sweep FROM $cron"
finds 'without usage' 78 "fail||grants|role $cron has no USAGE on schema order_sweep|$grant" --role="$cron"
change "$grant"
super "REVOKE CONNECT ON DATABASE $PGDATABASE FROM PUBLIC"
finds 'without connect' 78 "fail||grants|role $cron has no CONNECT on database $PGDATABASE|GRANT CONNECT ON DATABASE $PGDATABASE TO $cron;" --role="$cron"
super "GRANT CONNECT ON DATABASE $PGDATABASE TO $cron, $other"
functions=$(ask "SELECT p.oid::regprocedure FROM pg_proc p
    WHERE pronamespace = 'order_sweep'::regnamespace
      AND has_function_privilege('$cron', oid, 'EXECUTE')
      AND proname NOT IN ('moment', 'same_type') -- everybody's
    ORDER BY 1")
is 'what a run needs, and no more' \
    "$(printf '%s\n' "$functions" | sed 's/(.*//' | sort)" "$(functions_of_a_run)"
# Each one is named.
change "REVOKE EXECUTE ON ALL FUNCTIONS IN SCHEMA order_sweep FROM $cron"
runs 78 check --role="$cron" --format=json
is 'without any function' "$(read_findings | sort)" \
    "$(while IFS= read -r function; do
        echo "fail||grants|role $cron has no EXECUTE on $function|$grant"
    done <<<"$functions" | sort)"
change "$grant"
finds 'with all again' 0 '' --role="$cron"

# barred WHAT CHANGE CODE FINDING: ALTER ROLE CHANGE, and what ends it.
barred()
{
    super "ALTER ROLE $cron $2"
    finds "$1" "$3" "$4" --role="$cron"
    clean "$1: of whoever checks nothing is said"
    is "$1: the mend" "$(PGUSER=$superuser sql -c "${4##*|}" 2>&1)" ''
    finds "$1: mended" 0 '' --role="$cron"
}
barred 'no login' NOLOGIN 78 \
    "fail||login|role $cron may not log in|ALTER ROLE $cron LOGIN;"
barred 'a limit of no connections' 'CONNECTION LIMIT 0' 78 \
    "fail||login|role $cron has a connection limit of 0|ALTER ROLE $cron CONNECTION LIMIT -1;"
finds 'a limit of some' 0 '' --role="$cron"
barred 'a password that was' "VALID UNTIL '2020-01-01'" 1 \
    "warn||login|role $cron has a password that is valid no more|ALTER ROLE $cron VALID UNTIL 'infinity';"
super "ALTER ROLE $cron NOLOGIN CONNECTION LIMIT 0"
runs 78 check --role="$cron"
is 'not told that it may run' "$(printf '%s\n' "$out" | grep -c '^ok    grants')" 0
PGUSER=$cron runs 69
super "ALTER ROLE $cron LOGIN CONNECTION LIMIT -1 VALID UNTIL '2999-01-01'"
finds 'a password that is' 0 '' --role="$cron"
super "ALTER ROLE $other SUPERUSER CONNECTION LIMIT 0"
finds 'a superuser, whom no limit binds' 0 '' --role="$other"
super "ALTER ROLE $other NOSUPERUSER CONNECTION LIMIT -1"

# --- Read only ---------------------------------------------------------------

only=default_transaction_read_only
# read_only WHOSE WHERE: the finding.
read_only()
{
    printf 'fail||read only|%s is on%s|BEGIN READ WRITE; ALTER %s RESET %s; COMMIT;' \
        "$only" "$1" "$2" "$only"
}
# mend_all FINDINGS: their mends, as pasted into a session of a superuser.
mend_all()
{
    is 'the mends' "$(cut -d '|' -f 5 <<<"$1" | PGUSER=$superuser sql -f - 2>&1)" ''
}
super "ALTER DATABASE $PGDATABASE SET $only = yes"
wanted=$(read_only '' "DATABASE $PGDATABASE")
finds 'a database that is read only' 78 "$wanted"
finds 'for the role in the crontab too' 78 "$wanted" --role="$cron"
PGUSER=$cron runs 69
super "BEGIN READ WRITE; ALTER ROLE $cron SET $only = off; COMMIT"
finds 'not for the role that says otherwise' 0 '' --role="$cron"
PGUSER=$cron runs 0
super "BEGIN READ WRITE; ALTER ROLE $cron IN DATABASE $PGDATABASE SET $only = on; COMMIT"
finds 'but it does not say so here' 78 \
    "$(read_only " for role $cron" "ROLE $cron IN DATABASE $PGDATABASE")" --role="$cron"
super "BEGIN READ WRITE; ALTER ROLE $cron SET $only = on; COMMIT"
wanted="$(read_only " for role $cron" "ROLE $cron IN DATABASE $PGDATABASE")
$(read_only " for role $cron" "ROLE $cron")
$(read_only '' "DATABASE $PGDATABASE")"
finds 'all that is in the way' 78 "$wanted" --role="$cron"
mend_all "$wanted"
finds 'out of the way' 0 '' --role="$cron"
clean 'for whoever checks too'
super "ALTER ROLE $owner SET $only = on"
wanted=$(read_only " for role $owner" "ROLE $owner")
finds 'whoever checks' 78 "$wanted"
finds 'he is not the one in the crontab' 0 '' --role="$cron"
mend_all "$wanted"
export PGOPTIONS="$PGOPTIONS -c $only=on"
finds 'an option of the session' 78 \
    "fail||read only|$only is on|Take it out of PGOPTIONS, or of the options of the connection string or service."
finds 'which says nothing of others' 0 '' --role="$cron"
PGOPTIONS=--client-min-messages=warning
clean 'no option'

# --- Who may check -----------------------------------------------------------

# The role in the crontab cannot, and is told who can.
before=$(fingerprint)
PGUSER=$cron runs 78 check
is 'check as the role in the crontab' "$out|$err" "ok    schema: the schema is the program's|order-sweep: permission denied for table sweep; run check as the role that owns schema order_sweep, as migrate is run"
PGUSER=$other runs 78 check
is 'check as a stranger' "$out|$err" "fail  schema: permission denied for schema order_sweep
      why:  A run is refused.
      mend: let the owner of schema order_sweep run order-sweep check --role NAME: it names the missing right; order_sweep.grant_to(role) gives those on order_sweep|"
is 'nothing changed' "$(fingerprint)" "$before"

# --- Search path, isolation --------------------------------------------------

breaks 'a schema where PUBLIC may create' 'GRANT CREATE ON SCHEMA public TO PUBLIC' \
    "fail|cancel_unpaid|search path|PUBLIC may create in schema public|REVOKE CREATE ON SCHEMA public FROM PUBLIC;
fail|tidy|search path|PUBLIC may create in schema public|REVOKE CREATE ON SCHEMA public FROM PUBLIC;"
breaks 'a schema where another may create' "GRANT CREATE ON SCHEMA public TO $other" \
    "fail|cancel_unpaid|search path|$other may create in schema public|REVOKE CREATE ON SCHEMA public FROM $other;
fail|tidy|search path|$other may create in schema public|REVOKE CREATE ON SCHEMA public FROM $other;"
breaks 'isolation of the database' "ALTER DATABASE $PGDATABASE
    SET default_transaction_isolation = 'repeatable read'" \
    "warn||isolation|default_transaction_isolation is repeatable read|ALTER DATABASE $PGDATABASE RESET default_transaction_isolation;"
super "ALTER ROLE $cron SET default_transaction_isolation = serializable;
    ALTER ROLE $other SET default_transaction_isolation = serializable"
finds 'isolation of a role that sweeps' 1 "warn||isolation|default_transaction_isolation is serializable for role $cron|ALTER ROLE $cron RESET default_transaction_isolation;"
super "ALTER ROLE $cron RESET default_transaction_isolation;
    ALTER ROLE $cron IN DATABASE $PGDATABASE
    SET default_transaction_isolation = serializable"
wanted="ALTER ROLE $cron IN DATABASE $PGDATABASE RESET default_transaction_isolation;"
finds 'isolation of a role here' 1 "warn||isolation|default_transaction_isolation is serializable for role $cron|$wanted"
super "$wanted"
clean 'isolation of others'
finish
