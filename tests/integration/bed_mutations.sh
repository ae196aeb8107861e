#!/bin/bash
# Proves the test beds and their definitions: with its rules, its statements or
# its further assignments taken out, all of them or one, no definition passes
# its bed any more. See tests/beds/README.md.
set -euo pipefail

# shellcheck source=tests/support/db.sh
. "$ORDER_SWEEP_SOURCE/tests/support/db.sh"
# shellcheck source=tests/support/beds.sh
. "$ORDER_SWEEP_SOURCE/tests/support/beds.sh"

# among LINE LINES
among()
{
    grep -qxF -e "$1" <<<"$2"
}

# Prints, for each mutation of the bed, a line "~ name" and then what differs.
sweep_mutants()
{
    while IFS= read -r mutant; do
        printf '%s\n' "\\echo ~ $mutant" "\\set mutation '$mutant'" 'BEGIN;' \
            "\\i $support/bed_mutate.sql"
        print_comparison
        echo 'ROLLBACK;'
    done <<<"$mutants" | psql_bed -f -
}

judge()
{
    if [ "$1" = nothing ] || among "$1" "$unmutated"; then
        if [ "$2" != 0 ]; then
            fail "$name does not pass with $1 changed"
        fi
    else
        mutations=$((mutations + 1))
        if [ "$2" = 0 ]; then
            fail "$name passes with $1 changed"
        fi
    fi
}

prove_bed()
{
    local kind seen
    load_bed UTC
    mutants=$(sql -c 'SELECT name FROM bed.mutation ORDER BY name')
    for kind in rules each set; do
        if ! among "$kind" "$mutants"$'\n'"$unmutated"; then
            fail "$name: nothing to take out of $kind, and no line says why"
        fi
    done
    said=$(sweep_mutants) || fail "$name: $said"
    # The number of differences of each.
    seen=$(awk '/^~ / { if (n != "") print d, n; n = substr($0, 3); d = 0; next }
        NF { d++ } END { print d, n }' <<<"$said")
    if [ "$(cut -d ' ' -f 2- <<<"$seen")" != "$mutants" ]; then
        fail "$name: not all mutations were seen: $said"
    fi
    while read -r differences mutant; do
        judge "$mutant" "$differences"
    done <<<"$seen"
    drop_bed
}

mutations=0
for name in $(bed_names); do
    read_bed "$name"
    within_a_day prove_bed
done

echo "$mutations mutations"
finish
