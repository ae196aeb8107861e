# shellcheck shell=bash
# Sourced by the scripts that take guards out of the SQL, one at a time, and see
# that the test that is there for it fails.
#
#     replacing FUNCTION OLD [NEW [SCHEMA]]
#                          the SQL that puts NEW (nothing) in the place of OLD
#                          in a function of order_sweep, or of SCHEMA
#     mutated SQL COMMAND [ARGUMENT...]
#                          runs a test with the SQL run on its shop; true if it
#                          fails, and not for a guard that is not there; what it
#                          wrote is in $said
#     guards               how many were taken out so far
#
# Then the guards, as they stand in the functions of the sample's definition.

guards=0

replacing()
{
    # shellcheck disable=SC2016  # the quotes of SQL
    printf 'SELECT testing.mutate($a$%s$a$, $a$%s$a$, $a$%s$a$, $a$%s$a$);' \
        "$1" "$2" "${3:-}" "${4:-order_sweep}"
}

mutated()
{
    guards=$((guards + 1))
    if said=$(ORDER_SWEEP_TEST_MUTATION=$1 "${@:2}" 2>&1); then
        return 1
    fi
    [[ $said != *'does not hold:'* ]]
}

# shellcheck disable=SC2034  # used by whoever sources this
{
    cancel=cancel_unpaid_cancel
    batch=cancel_unpaid_batch

    unpaid=$'(o.order_status = 1\n)'
    on_time=$'(created\n) <= order_sweep_to'
    young_enough=$'(created\n) >= order_sweep_from'
    rule=$'(EXISTS (SELECT FROM shop.payment p WHERE p.order_id = o.id)\n) IS NOT TRUE'
    and=$'\n       AND '
    lock='PERFORM FROM shop.orders o WHERE o.id = $1 FOR UPDATE OF o SKIP LOCKED;'
    look_again='IF EXISTS (SELECT FROM shop.orders o WHERE o.id = $1 AND'
    journal=$'INSERT INTO order_sweep.journal (sweep, order_key, run_id, payload)
    VALUES (\'cancel_unpaid\', order_sweep_key, $3, order_sweep_payload)'
    no_journal=$'IF NOT FOUND THEN\n        RAISE EXCEPTION USING ERRCODE = \'OS006\''
}
