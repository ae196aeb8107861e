# shellcheck shell=bash
# Sourced by test scripts, after db.sh: the test beds of tests/beds.
#
#     bed_names            prints the names of all beds
#     read_bed NAME        reads the comment lines of a bed that are meant for
#                          this, and of its definition, into variables
#     load_bed ZONE        puts the bed into a database of its own: loaded,
#                          migrated, defined, granted, all in that time zone
#     drop_bed             drops that database
#     run_bed              a run of the program under the role for cron; sets
#                          $code and $said
#     print_comparison     the commands for psql_bed that print how the bed
#                          differs from what is expected
#     psql_bed             psql with what these commands need
#     within_a_day FUNCTION
#                          calls it, again if the day of the bed's dates ended
#                          meanwhile
#     fail TEXT            the test fails in the end
#     finish               ends the script: 1 if anything failed
#
# The beds belong to a role that is no superuser; it is PGUSER from here on.

support=$ORDER_SWEEP_SOURCE/tests/support
beds=$ORDER_SWEEP_SOURCE/tests/beds
# Debian's psql is a script that looks for the real one; this goes there at once.
# shellcheck source=tests/support/cluster.sh
. "$support/cluster.sh"
PATH=$(cluster_bindir):$PATH
export PGOPTIONS=--client-min-messages=warning

superuser=$PGUSER
owner=osw_bed_owner_$$
cron=osw_bed_cron_$$
failures=0

fail()
{
    printf '%s: %s\n' "${0##*/}" "$*" >&2
    failures=$((failures + 1))
}

finish()
{
    exit $((failures > 0))
}

tidy_up()
{
    PGUSER=$superuser
    drop_dbs
    sql -d postgres -c "DROP ROLE IF EXISTS $owner, $cron"
}
trap tidy_up EXIT

sql -d postgres -c "CREATE ROLE $owner LOGIN; CREATE ROLE $cron LOGIN"
# A database as servers from 15 on make it for an owner.
new_db bed_empty
empty=$PGDATABASE
sql -c "REVOKE CREATE ON SCHEMA public FROM PUBLIC;
    ALTER SCHEMA public OWNER TO $owner"
PGUSER=$owner

within_a_day()
{
    local before=$failures day
    day=$(TZ=${load_in:-UTC} date +%F)
    "$1"
    if [ "$(TZ=${load_in:-UTC} date +%F)" != "$day" ]; then
        failures=$before
        "$1"
    fi
}

bed_names()
{
    local file
    for file in "$beds"/*.sql; do
        basename "$file" .sql
    done
}

# The lines "-- KIND | text" of a file, without what stands before the text.
lines()
{
    sed -n "s/^-- $1 | *//p" "$2"
}

# shellcheck disable=SC2034  # used by whoever sources this
read_bed()
{
    bed=$beds/$1.sql
    definition=$(lines definition "$bed")
    definition=$beds/definitions/${definition:-$1}.sql
    load_in=$(lines 'load in' "$bed")
    cancelled=$(lines cancelled "$bed")
    expected=$(lines 'expect cancelled' "$bed" | paste -s -d ,)
    failed=$(lines 'expect failed' "$bed" | paste -s -d ,)
    verify=$(lines verify "$bed")
    mended=$(lines check "$definition" | sed 's/ *|.*//')
    unmutated=$(lines 'no mutation' "$definition" | sed 's/ *|.*//')
    if [ -z "$cancelled" ] || [ -z "$expected" ] || [ -z "$verify" ]; then
        echo "$bed: no line cancelled, expect cancelled or verify" >&2
        exit 1
    fi
}

# shellcheck disable=SC2034  # db.sh drops the databases
load_bed()
{
    PGDATABASE=osw_bed_$$
    databases="$empty $PGDATABASE"
    sql -U "$superuser" -d postgres \
        -c "CREATE DATABASE $PGDATABASE OWNER $owner TEMPLATE $empty" \
        -c "ALTER DATABASE $PGDATABASE SET timezone = '$1'"
    PGTZ=${load_in:-$1} sql -f "$bed" >/dev/null
    PGTZ=$1 "$ORDER_SWEEP_BIN" migrate
    PGTZ=$1 psql_bed -f "$definition" -f "$support/bed_before.sql" \
        -c "SELECT order_sweep.grant_to('$cron')" >/dev/null
}

# shellcheck disable=SC2034  # db.sh drops the databases
drop_bed()
{
    sql -U "$superuser" -d postgres -c "DROP DATABASE $PGDATABASE WITH (FORCE)"
    databases=$empty
}

# shellcheck disable=SC2034  # used by whoever sources this
run_bed()
{
    code=0
    said=$("$ORDER_SWEEP_BIN" -U "$cron" 2>&1 </dev/null) || code=$?
}

psql_bed()
{
    sql -v expected="$expected" -v failed="$failed" -v cancelled="$cancelled" \
        "$@" 2>&1
}

print_comparison()
{
    printf '%s\n' "\\i $support/bed_compare.sql" "$verify"
}
