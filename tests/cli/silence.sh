#!/bin/bash
# What a run prints, and when: nothing if all is well, unless it is asked to or
# somebody looks on.  The surroundings cron gives make no difference.
set -euo pipefail

# shellcheck source=tests/support/shop.sh
. "$ORDER_SWEEP_SOURCE/tests/support/shop.sh"

# Write the answer of a run, as text, with the numbers that change left out.
plain()
{
    sed -E -e 's/[0-9]+\.[0-9]{3} s( \([0-9]+\/s\))?/TIME/' \
        -e 's/late p50 [^;]*;/LATE;/' \
        -e 's/[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9:]{8}\+00/MOMENT/' "$1"
}

swept='cancel_unpaid: 1 swept in TIME; LATE; max orders, a rest is left'
new_shop silence 200 20

# --- Without a terminal ------------------------------------------------------

run 0 migrate
silent
run 0 --max-orders 1
silent
run 0 --max-orders 1 --quiet
silent
value 2 'SELECT count(*) FROM order_sweep.journal'

run 0 --max-orders 1 --verbose
is 'the report of -v' "$swept" "$(plain "$out")"
is 'stderr of -v' '' "$(cat "$err")"
run 0 --max-orders 1 --format text
is 'the report as text' "$swept" "$(plain "$out")"
is 'stderr with --format text' '' "$(cat "$err")"
run 0 --max-orders 1 --format json --quiet
is 'stderr with --format json' '' "$(cat "$err")"
is 'lines of JSON' 1 "$(wc -l <"$out")"
is 'the report as JSON' '1 max orders true 0' \
    "$(reported swept stopped rest exit)"
run 0 --verbose migrate
is 'the answer of migrate -v' 1 "$(wc -l <"$out")"
value 5 'SELECT count(*) FROM order_sweep.journal'

# A question is answered even so, and a quiet one too.
run 0 --dry-run --quiet
grep -q '^  total: 95 due; 95 sweep$' "$out" || die 'no dry run'

# Warnings are not errors.
sql -c "CREATE RULE noise AS ON INSERT TO shop.buyer_mark DO ALSO NOTHING"
run 0 --max-orders 1
silent

# --- On a terminal -----------------------------------------------------------

# terminal ARGUMENT...: what a person sees, in $out.
terminal()
{
    script --quiet --return --command "$ORDER_SWEEP_BIN $*" /dev/null \
        </dev/null | tr -d '\r' >"$out"
}

terminal --max-orders 1
is 'the report on a terminal' "$swept" "$(plain "$out")"
terminal --max-orders 1 --quiet
is 'the report on a terminal with -q' '' "$(cat "$out")"
terminal migrate
is 'the answer of migrate on a terminal' 1 "$(wc -l <"$out")"

# --- As cron calls it --------------------------------------------------------

# in_env WANTED VARIABLE...: a run in an environment of these alone, and what
# run-test's tool needs, where it runs under one.
in_env()
{
    local wanted=$1 name tool=()
    shift
    for name in "${!ORDER_SWEEP_TOOL@}" "${!ORDER_SWEEP_POOL@}"; do
        tool+=("$name=${!name}")
    done
    (
        cd /
        env -i "PGHOST=$PGHOST" "PGPORT=$PGPORT" "PGUSER=$PGUSER" \
            "PGDATABASE=$PGDATABASE" "${tool[@]}" "$@" \
            >"$out" 2>"$err" </dev/null
    ) || die "a run in a bare environment ended with $?"
    is "a run in a bare environment: $*" "$wanted" "$(plain "$out")"
    is 'its stderr' '' "$(cat "$err")"
}

in_env '' "$ORDER_SWEEP_BIN" --max-orders 1
for locale in C C.UTF-8 POSIX de_DE.UTF-8 no_SUCH.locale; do
    in_env "$swept" LC_ALL=$locale TZ=Asia/Kolkata \
        "$ORDER_SWEEP_BIN" --max-orders 1 -v
done
# Settings of the caller's that would change what times and keys look like.
in_env "$swept" PGDATESTYLE='German, DMY' PGTZ=Asia/Kolkata \
    PGCLIENTENCODING=LATIN1 PGOPTIONS='-c intervalstyle=iso_8601' \
    "$ORDER_SWEEP_BIN" --max-orders 1 -v

run 0
silent
run 0 --verbose
is 'the report of an idle run' \
    'cancel_unpaid: nothing to sweep; next deadline MOMENT' "$(plain "$out")"
run 0
silent
invariants
