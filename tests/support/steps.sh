# shellcheck shell=bash
# Sourced by test scripts, after db.sh: the sample shop under order-sweep, and
# the words that the tests are written in.
#
#     new_shop NAME [OWNER]
#                          an empty database with schema order_sweep, the sample
#                          shop with goods 1 to 9, and its definition; all of it
#                          belongs to OWNER, a role made and dropped for it
#     ask SQL              what the SQL says, rows or errors, each line's end
#                          kept; in a session that stays, so it is quick
#     change SQL           runs it there; an error fails the test
#     place AGE [LINES]    places an order that long ago ('31 minutes'), prints
#                          its number; LINES as shop.place_order takes them
#     cancel ORDER [WINDOW [RUN]]
#                          what cancel_unpaid_cancel says of it, or the SQLSTATE
#                          and the message that it raised
#     fingerprint          a hash of all that a sweep may change, and of all
#                          definitions: equal means that nothing was changed
#     raised SQL [ARGUMENT...]
#                          the SQLSTATE and the message that the SQL raised, in
#                          a session of its own; ARGUMENTs are psql's
#     is WHAT GOT WANTED   compares; a difference fails the test in the end
#     invariants [WHEN]    tests/support/invariants.sql must find nothing
#     runs CODE [ARGUMENT...]
#                          runs order-sweep, whose exit code must be CODE; its
#                          output is in $out, its messages in $err
#     hold SQL             runs the SQL in a second session that stays
#     let_go [SQL]         runs the SQL in it, such as COMMIT, and ends it
#     finish               ends the script: 1 if anything failed
#
# ORDER_SWEEP_TEST_MUTATION may hold SQL that is run on a new shop: a guard taken
# away, which must make the test fail, and then at once (guards.sh).

support=$ORDER_SWEEP_SOURCE/tests/support
# Debian's psql is a script that looks for the real one; this goes there at once.
# shellcheck source=tests/support/cluster.sh
. "$support/cluster.sh"
PATH=$(cluster_bindir):$PATH
superuser=$PGUSER
roles=
failures=0
checks=0

fail()
{
    printf '%s: %s\n' "${0##*/}" "$*" >&2
    failures=$((failures + 1))
    if [ -n "${ORDER_SWEEP_TEST_MUTATION:-}" ]; then
        exit 1
    fi
}

finish()
{
    if [ "$failures" != 0 ] || [ "$checks" = 0 ]; then
        printf '%s: %s of %s checks failed\n' "${0##*/}" "$failures" \
            "$checks" >&2
        exit 1
    fi
    printf '%s: ok, %s checks\n' "${0##*/}" "$checks"
    exit 0
}

is()
{
    checks=$((checks + 1))
    if [ "$2" != "$3" ]; then
        fail "$1"$'\n'"  got:    $2"$'\n'"  wanted: $3"
    fi
}

# Open a session of psql that reads from descriptor $2 and writes to $3, of
# name $1.  Not a coprocess: its descriptors would be closed in $(...).
open_session()
{
    rm -f "$scratch/$1.in" "$scratch/$1.out"
    mkfifo "$scratch/$1.in" "$scratch/$1.out"
    psql -X -q -A -t -v VERBOSITY=verbose <"$scratch/$1.in" \
        >"$scratch/$1.out" 2>&1 5>&- 6<&- 7>&- 8<&- &
    eval "exec $2>\"$scratch/$1.in\" $3<\"$scratch/$1.out\""
}

# Have the session behind descriptors $1 and $2 run SQL, print what it says.
converse()
{
    local line said=
    printf '%s\n;\n\\echo ~end~\n' "$3" >&"$1"
    # Never without end: an open quote in the SQL would keep psql waiting.
    while :; do
        IFS= read -r -t 60 -u "$2" line || {
            printf 'no answer to: %s\n' "$3"
            return
        }
        if [ "$line" = '~end~' ]; then
            break
        fi
        case $line in
        'LOCATION: '* | 'CONTEXT: '*) ;;
        *) said+=$line$'\n' ;;
        esac
    done
    printf '%s' "$said"
}

ask()
{
    converse 7 8 "$1"
}

change()
{
    local said
    said=$(ask "$1")
    case $said in
    *ERROR:*) fail "$1"$'\n'"$said" ;;
    esac
}

# A role that may log in, dropped when the script ends.
new_role()
{
    sql -U "$superuser" -d postgres -c "CREATE ROLE $1 LOGIN"
    roles="$roles $1"
}

new_shop()
{
    export PGOPTIONS=--client-min-messages=warning
    new_db "$1"
    # As servers from 15 on have it.
    sql -c 'REVOKE CREATE ON SCHEMA public FROM PUBLIC'
    if [ -n "${2:-}" ]; then
        new_role "$2"
        sql -c "ALTER DATABASE $PGDATABASE OWNER TO $2"
        PGUSER=$2
    fi
    "$ORDER_SWEEP_BIN" migrate
    sql -f "$ORDER_SWEEP_SOURCE/sql/sample/shop.sql" >/dev/null
    sql -f "$ORDER_SWEEP_SOURCE/sql/sample/definition.sql" >/dev/null
    sql -f - <<'SQL'
INSERT INTO shop.goods (id, name, price, offered, stock)
SELECT id, 'Goods ' || id, 10, 1000, 1000 FROM generate_series(1, 9) AS id;
CREATE SEQUENCE shop.buyer;
SQL
    sql -f "$support/testing.sql"
    if [ -n "${ORDER_SWEEP_TEST_MUTATION:-}" ]; then
        sql -c "$ORDER_SWEEP_TEST_MUTATION" >/dev/null
    fi
    open_session ask 7 8
}

place()
{
    local one='[{"goods_id": 1, "quantity": 1}]'
    ask "SELECT shop.place_order(nextval('shop.buyer'), '${2:-$one}',
        floor(extract(epoch FROM now() - interval '$1'))::bigint)"
}

raised()
{
    local said
    if said=$(sql -v VERBOSITY=verbose "${@:2}" -c "$1" 2>&1); then
        printf 'nothing: %s\n' "$said"
    else
        printf '%s\n' "$said" | sed -n 's/^.*ERROR:  //p'
    fi
}

cancel()
{
    ask "SELECT order_sweep.cancel_unpaid_cancel(${1:-NULL}, ${2:-NULL},
        ${3:-0})" | sed -n 's/^ERROR:  //; 1p'
}

fingerprint()
{
    ask 'SELECT testing.fingerprint()'
}

invariants()
{
    is "invariants ${1:-}" "$(sql -f "$support/invariants.sql" 2>&1)" ''
}

runs()
{
    local code=0
    # shellcheck disable=SC2034  # used by whoever sources this
    out=$("$ORDER_SWEEP_BIN" "${@:2}" 2>"$scratch/err" </dev/null) || code=$?
    # Without the id of the run.
    err=$(sed -E 's/^(order-sweep: ([a-z]+: )?)run [0-9]+: /\1/' \
        "$scratch/err")
    is "exit code of order-sweep ${*:2} (${err:-no message})" "$code" "$1"
}

hold()
{
    open_session hold 5 6
    hold_process=$!
    converse 5 6 "$1"
}

let_go()
{
    converse 5 6 "${1:-}"
    exec 5>&- 6<&-
    wait "$hold_process"
}

# Waits until a condition of the database holds: an SQL that says true.
until_true()
{
    local start=$SECONDS
    while [ "$(ask "$1")" != t ]; do
        if [ $((SECONDS - start)) -gt 60 ]; then
            fail "waited in vain for: $1"
            return
        fi
    done
}

scratch=$(mktemp -d "$ORDER_SWEEP_TMP/shop.XXXXXX")
tidy_up()
{
    exec 7>&- 8<&- 5>&- 6<&-
    PGUSER=$superuser
    drop_dbs
    for role in $roles; do
        sql -d postgres -c "DROP ROLE $role"
    done
    rm -rf "$scratch"
}
trap tidy_up EXIT
