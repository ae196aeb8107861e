#!/bin/bash
# A clock whose type changes under its definition: nothing is swept by what the
# functions took it for, neither in a run nor in a direct call.
set -euo pipefail

# shellcheck source=tests/support/db.sh
. "$ORDER_SWEEP_SOURCE/tests/support/db.sh"
# shellcheck source=tests/support/steps.sh
. "$ORDER_SWEEP_SOURCE/tests/support/steps.sh"

new_shop retyped
sql -c "SELECT order_sweep.undefine('cancel_unpaid');
    CREATE DOMAIN shop.moment AS timestamptz CHECK (value > '-infinity')" >/dev/null

# clock TYPE VALUE ARGUMENT...: a table with order 1, whose clock has that value,
# and its sweep; the arguments of define follow.
clock()
{
    sql -f - <<SQL >/dev/null
DROP TABLE IF EXISTS shop.t;
CREATE TABLE shop.t (id int PRIMARY KEY, state text, at $1);
CREATE INDEX ON shop.t (at, id) WHERE state = 'open';
INSERT INTO shop.t VALUES (1, 'open', $2);
SELECT order_sweep.define(sweep => 'x', orders => 'shop.t', key => '{id}',
    unpaid => \$\$state = 'open'\$\$, set => \$\$state = 'closed'\$\$, $3);
SQL
}

# stops FROM TO USING VALUE ARGUMENTS: once the clock has another type, nothing
# takes the order for due that was not due before, nor any other.
stops()
{
    local name says
    clock "$1" "$4" "$5"
    is "$1: cancel, before" "$(ask 'SELECT order_sweep.x_cancel(1, NULL, 0)')" \
        changed
    sql -c "SET TimeZone = 'America/New_York';
        ALTER TABLE shop.t ALTER at TYPE $2 $3;
        INSERT INTO shop.t SELECT 2, 'open', min(at) FROM shop.t"
    name="$2, which was $1"
    runs 78
    says="${5%% *}: the type of at was $1 and is $2"
    is "$name: what the run says" "${err%%;*}" \
        "order-sweep: x: $says"
    for call in 'x_cancel(1, NULL, 0)' 'x_cancel(2, NULL, 0)' \
        "x_fail(1, 'P0001', '', true)" 'x_due(NULL)' 'x_next(NULL)' \
        'x_batch(NULL, NULL, NULL, 10)' 'x_newest(NULL, 10)'; do
        is "$name: $call" "$(ask "SELECT order_sweep.$call" |
            sed -n 's/^ERROR:  \([0-9]*\): function order_sweep.same_type(.*/\1/p')" \
            42883
    done
    runs 78 explain 1
    is "$name: explain" "$(printf '%s\n' "$out" | tail -n 1)" \
        "    error: $says"
    runs 78 status
    is "$name: status" "$(grep -c -F "$says" <<<"$out$err")" 1
    is "$name: the orders" "$(ask "SELECT count(*) FROM shop.t
        WHERE state = 'open'")" 2
    runs 78 check
    is "$name: check" "$(printf '%s\n' "$out" | grep -c \
        "types: .*: the type was $1 and is $2")" 1
    # Defined anew it works; how old the order is, only the shop can know.
    define_again "${6:-$5}"
    runs 0
}

define_again()
{
    sql -c "SELECT order_sweep.define(sweep => 'x', orders => 'shop.t',
        key => '{id}', unpaid => \$\$state = 'open'\$\$,
        set => \$\$state = 'closed'\$\$, $1)" >/dev/null
}

since="since => 'at', after => '30 minutes'"
deadline="deadline => 'at'"
young="now() - interval '2 minutes'"
zone="zone => 'America/New_York'"
stops 'timestamp with time zone' 'timestamp without time zone' '' "$young" \
    "$since" "$since, $zone"
stops 'timestamp with time zone' date '' "$young" "$since" "$since, $zone"
stops 'timestamp without time zone' 'timestamp with time zone' \
    '' "localtimestamp" "$since, zone => 'UTC'" "$since"
stops bigint numeric '' "extract(epoch FROM $young)" "$since" \
    "since => 'at::bigint', after => '30 minutes'"
stops integer bigint '' "extract(epoch FROM $young)" "$since"
stops 'timestamp with time zone' 'timestamp without time zone' '' \
    "now() + interval '2 minutes'" "$deadline" "$deadline, $zone"

# --- What stays as it was ----------------------------------------------------

clock shop.moment "now() - interval '31 minutes'" "$since"
is 'a clock of a domain: next' "$(ask 'SELECT order_sweep_due FROM order_sweep.x_next(NULL)')" t
sql -c 'ALTER TABLE shop.t ALTER at TYPE timestamptz'
is 'a domain that became the type under it' \
    "$(ask 'SELECT order_sweep.x_cancel(1, NULL, 0)')" swept

# The planner knows it for true: nothing of it is left in a plan.
clock timestamptz "now() - interval '31 minutes'" "$since"
plan="EXPLAIN SELECT FROM shop.t o WHERE state = 'open' AND (at) <= now()"
same='order_sweep.same_type(coalesce((at), NULL), NULL::timestamptz)'
is 'the plan of the look' "$(ask "$plan AND $same")" "$(ask "$plan")"
finish
