# shellcheck shell=bash
# Sourced after shop.sh: events, and who is told of them.
#
#     $take                a command for sh -c that appends what it gets to $told
#     $unpublished         SQL: how many events wait
#     again                all events wait once more, and nobody was told
#     each_told EVENTS     so many different ones were told, in whole lines
#     relayed PUBLISHED REFUSED PARKED
#                          by the report in $out

told=$ORDER_SWEEP_TMP/told
export told

# shellcheck disable=SC2034,SC2016  # for the shell that appends
take='cat >>"$told"'

# shellcheck disable=SC2034
unpublished='SELECT count(*) FROM order_sweep.journal WHERE published_at IS NULL'

again()
{
    sql -c 'UPDATE order_sweep.journal SET published_at = NULL' \
        -c 'TRUNCATE order_sweep.delivery'
    : >"$told"
}

each_told()
{
    is 'different events' "$1" "$(ask_lines "$told" \
        "SELECT count(DISTINCT l->>'id') FROM line")"
}

relayed()
{
    # shellcheck disable=SC2154  # of shop.sh
    is 'the report' "events: $1 published, $2 refused, $3 of them parked" \
        "$(cat "$out")"
}
