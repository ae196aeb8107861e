#!/bin/bash
# What fails with --format json is told in JSON too: a line with the exit code
# and the message that stands on stderr.
set -euo pipefail

# shellcheck source=tests/support/shop.sh
. "$ORDER_SWEEP_SOURCE/tests/support/shop.sh"

# tells LINES STATUS SWEEP STOPPED ERROR ARGUMENT...: with --format json it ends
# so, with so many lines, of which the last says this.  ERROR is a pattern.
tells()
{
    local lines=$1 status=$2 sweep=$3 stopped=$4 error=$5 told
    shift 5
    run "$status" --format json "$@"
    is "lines of $*" "$lines" "$(wc -l <"$out")"
    told=$(sql -d postgres -v line="$(tail -n 1 "$out")" <<'SQL'
SELECT concat_ws('|', coalesce(r->>'sweep', '-'), coalesce(r->>'run', '-'),
                 r->>'stopped', r->>'rest', r->>'exit', r->>'error')
  FROM (SELECT :'line'::jsonb) AS t(r);
SQL
    )
    # shellcheck disable=SC2254  # a pattern
    case $told in
    "$sweep|-|$stopped|true|$status|"$error) ;;
    *) die "$* tells $told" ;;
    esac
    told=${told#*|*|*|*|*|}
    if [ "$sweep" != - ]; then
        told="$sweep: $told"
    fi
    is "lines on stderr of $*" 1 "$(wc -l <"$err")"
    case $(said) in
    "order-sweep: $told" | "order-sweep: $told; "*) ;;
    *) die "$* tells $told, but not on stderr" ;;
    esac
}

# --- Nothing to work with ----------------------------------------------------

new_db json
for command in run '--dry-run' 'explain 1'; do
    # shellcheck disable=SC2086  # words
    {
        tells 1 69 - lost 'connection to server on socket "/nowhere/*' \
            $command --host /nowhere
        tells 1 78 - broken 'schema "order_sweep" does not exist' $command
    }
done
tells 1 69 - lost 'connection to server on socket "/nowhere/*' \
    check --host /nowhere
run 0 migrate
tells 1 78 - broken 'no sweep is defined'
tells 1 78 - broken 'no sweep is defined' --dry-run
tells 1 78 - broken 'no sweep is defined' explain 1
tells 1 78 - broken '--sweep: "one" is not defined in this database' --sweep one

# --- A definition that is broken ---------------------------------------------

new_shop json_shop 200 20
sql -o /dev/null <<'SQL'
CREATE TABLE shop.cart (id int PRIMARY KEY, open boolean, since timestamptz);
SELECT order_sweep.define(sweep => 'a_cart', orders => 'shop.cart',
    key => '{id}', unpaid => 'open', since => 'since', after => '1 minute',
    set => 'open = false');
ALTER TABLE shop.cart RENAME since TO opened;
SQL
missing='column "since" does not exist'
tells 1 78 a_cart broken "$missing" --dry-run --sweep a_cart
tells 1 78 a_cart broken "$missing" --sweep a_cart
# What a run would do with the others is told all the same.
run 78 --dry-run --format json
is 'lines of all' 102 "$(wc -l <"$out")"
is 'the broken one' 1 "$(grep -c '^{"sweep":"a_cart",.*"exit":78,' "$out")"
is 'the other' 1 "$(grep -c '^{"sweep":"cancel_unpaid","due":100,' "$out")"
run 78 --dry-run
is 'as text' "order-sweep: a_cart: $missing; look for a column that was \
renamed or dropped" "$(cat "$err")"
grep -q '^  total: 100 due' "$out" || die 'nothing of the other, as text'
tells 1 64 - broken '--window: there are 2 sweeps; *' --window 1h
tells 1 64 - broken 'explain: there are 2 sweeps; *' explain 1

# --- A role that may not -----------------------------------------------------

# A run that may look, and not begin.
role=osw_json_$$
cleanup()
{
    drop_dbs
    sql -d postgres -c "DROP ROLE IF EXISTS $role"
}
trap cleanup EXIT
sql -o /dev/null -c "CREATE ROLE $role LOGIN" \
    -c "SELECT order_sweep.grant_read_to('$role')"
tells 1 78 cancel_unpaid broken 'permission denied for function calls_of' \
    --sweep cancel_unpaid --username "$role"
# What check found before is told too.
tells 2 78 - broken 'permission denied for table sweep' check \
    --username "$role"
