#!/bin/bash
# The test beds: tables of real shops with orders of every kind, each swept by
# the program, as the role for cron, under the definition that its users would
# write; in three time zones. See tests/beds/README.md.
set -euo pipefail

# shellcheck source=tests/support/db.sh
. "$ORDER_SWEEP_SOURCE/tests/support/db.sh"
# shellcheck source=tests/support/beds.sh
. "$ORDER_SWEEP_SOURCE/tests/support/beds.sh"

# is WHAT GOT WANTED
is()
{
    if [ "$2" != "$3" ]; then
        fail "$name in $zone: $1"$'\n'"  got:    $2"$'\n'"  wanted: $3"
    fi
}

# Runs order-sweep check. In $findings are those that a bed must not have:
# failures, and warnings of its index.
find_faults()
{
    local code=0
    findings=$("$ORDER_SWEEP_BIN" check --role="$cron" --format=json) || code=$?
    case $findings in
    *'"level":"fail"'*) is 'exit code of check' "$code" 78 ;;
    *) is 'exit code of check, 0 or 1' $((code < 2)) 1 ;;
    esac
    findings=$(grep -e '"level":"fail"' -e '"level":"warn".*"item":"index"' \
        <<<"$findings" || :)
}

# Checks, mends what is expected to want it as check says, checks again.
check_bed()
{
    find_faults
    is 'faults found by check' "$(printf '%s' "$findings" |
        sed 's/.*"item":"\([^"]*\)".*/\1/')" "$mended"
    sql -v findings="$findings" -f - <<'SQL'
SELECT line::json->>'mend'
  FROM string_to_table(nullif(:'findings', ''), E'\n') AS u(line) \gexec
SQL
    find_faults
    is 'faults found after mending' "$findings" ''
}

sweep_bed()
{
    load_bed "$zone"
    if [ "$zone" = UTC ]; then
        check_bed
    fi
    run_bed
    is "exit code of the first run ($said)" "$code" $((${#failed} > 0))
    run_bed
    is 'the second run' "$code: $said" '0: '
    is 'the bed' "$(print_comparison | psql_bed -f -)" ''
    drop_bed
}

for name in $(bed_names); do
    read_bed "$name"
    for zone in UTC Asia/Tokyo America/Los_Angeles; do
        within_a_day sweep_bed
    done
done

# Whoever writes to the shop runs what stands in its indexes, such as moment():
# that takes no right on the schema order_sweep.
name=casdoor zone=UTC
read_bed "$name"
load_bed "$zone"
check_bed
sql -c "REVOKE ALL ON SCHEMA order_sweep FROM $cron" \
    -c "REVOKE ALL ON ALL FUNCTIONS IN SCHEMA order_sweep FROM $cron" \
    -c "GRANT INSERT ON \"order\" TO $cron"
is 'a clerk writing an order' "$(sql -U "$cron" -c "INSERT INTO \"order\" (owner,
    name, created_time, state) VALUES ('org', 'o9', '', 'Created')" 2>&1)" ''
drop_bed

finish
