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
#     without TEST FUNCTION OLD [NEW [NAME]]
#                          puts NEW (nothing) for OLD in a function and tells if
#                          the integration test does not notice; NAME is the
#                          test within races
#     survives TEST SQL [NAME]
#                          the same for any SQL
#     all_noticed          the end: fails if one was not
#
# Then the guards, as they stand in the functions of the sample's definition.

guards=0
survivors=0
passed=

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

# Run a test with the SQL run on its shop: it must fail, and without it pass.
survives()
{
    local command=("$ORDER_SWEEP_SOURCE/tests/integration/$1.sh")
    if [ "$1" = races ]; then
        command=("$ORDER_SWEEP_BUILD/tests/test_integration_races" "$3")
    fi
    if [[ $passed != *" ${command[*]} "* ]]; then
        if ! said=$("${command[@]}" 2>&1); then
            printf '%s fails as it is:\n%s\n' "$1" "$said" >&2
            exit 1
        fi
        passed+=" ${command[*]} "
    fi
    if ! mutated "$2" "${command[@]}"; then
        printf '%s does not notice: %s\n%s\n' "$1" "$2" "$said" >&2
        survivors=$((survivors + 1))
    fi
}

without()
{
    survives "$1" "$(replacing "$2" "$3" "${4:-}")" "${5:-}"
}

all_noticed()
{
    if [ "$survivors" != 0 ] || [ "$guards" = 0 ]; then
        exit 1
    fi
    echo "ok, $guards guards taken out, each noticed"
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
