#!/bin/sh
# The test server and the helpers of tests/support/db.sh are there, and the
# program can be started.
set -eu

# shellcheck source=tests/support/db.sh
. "$ORDER_SWEEP_SOURCE/tests/support/db.sh"

new_db support
[ "$(sql -c 'SELECT current_database()')" = "$PGDATABASE" ]
[ "$(sql -c 'SELECT count(*) FROM pg_class WHERE relnamespace =
    (SELECT oid FROM pg_namespace WHERE nspname = $$public$$)')" = 0 ]
[ -x "$ORDER_SWEEP_BIN" ]
