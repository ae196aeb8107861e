#!/bin/bash
# The storm without a guard of the sweep, one after the other: it must notice.
# It ends at the first thing that it sees, mostly within seconds; the minute is
# for a slow machine, on which few payments fall into the gap.
set -euo pipefail

storm=$ORDER_SWEEP_SOURCE/tests/fault/storm.sh

# notices MUTATION PATTERN: the storm says so, among what is violated.
notices()
{
    local folder=$ORDER_SWEEP_TMP/$1 status=0
    mkdir "$folder"
    ORDER_SWEEP_TMP=$folder "$storm" --seconds 60 --seed 1 --mutate "$1" \
        >"$folder/said" 2>&1 || status=$?
    if [ "$status" != 1 ] || ! grep -q "^violated: .*$2" "$folder/said"; then
        echo "storm_mutations: the storm notices nothing of $1:" >&2
        cat "$folder/said" >&2
        exit 1
    fi
    echo "$1: $(grep -m 1 '^violated: ' "$folder/said")"
}

notices no-row-lock 'closed, though paid'
notices one-statement 'closed, though paid'
notices no-journal 'closed, without journal'
