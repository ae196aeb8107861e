#!/bin/bash
# Runs a spec with PostgreSQL's isolationtester, in a database with the sample
# shop, and compares what it says with what is expected:
#
#     spec.sh NAME         NAME.spec, and expected/NAME.out
#
# setup.sql is loaded into the shop before, and NAME.sql where there is one:
# what this spec needs and a step could not make.
#
# For mutations.sh: ORDER_SWEEP_TEST_MUTATION may hold SQL that is run on the
# shop then, a guard taken away, which must make the test fail, and
# ORDER_SWEEP_TEST_SHOP name a database with the shop, which is then copied.
set -euo pipefail

name=$1
here=$ORDER_SWEEP_SOURCE/tests/isolation
expected=$here/expected/$name.out
result=$ORDER_SWEEP_TMP/$name.out

# shellcheck source=tests/support/db.sh
. "$ORDER_SWEEP_SOURCE/tests/support/db.sh"
# shellcheck source=tests/support/isolation.sh
. "$ORDER_SWEEP_SOURCE/tests/support/isolation.sh"

new_db isolation "${ORDER_SWEEP_TEST_SHOP:-}"
if [ -z "${ORDER_SWEEP_TEST_SHOP:-}" ]; then
    load_shop
fi
changes=(-c "${ORDER_SWEEP_TEST_MUTATION:-}")
if [ -e "$here/$name.sql" ]; then
    changes=(-f "$here/$name.sql" "${changes[@]}")
fi
sql -o /dev/null "${changes[@]}"

# A step that waits in vain is cancelled after so many seconds.
export PGISOLATIONTIMEOUT=60
"$isolationtester" "dbname=$PGDATABASE" <"$here/$name.spec" >"$result"
if ! diff -u "$expected" "$result"; then
    echo "isolation: $name: not as expected; if it is right:" >&2
    echo "    cp $result $expected" >&2
    exit 1
fi
echo "isolation: $name: ok, $(grep -c '^starting permutation' "$result")" \
    "permutations"
