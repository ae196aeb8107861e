#!/bin/bash
# A dry run into a pipe that nobody reads: it waits, but holds no session, let
# alone a transaction, in the database.
set -euo pipefail

# shellcheck source=tests/support/shop.sh
. "$ORDER_SWEEP_SOURCE/tests/support/shop.sh"

new_shop reader 4000 20 # some 2000 lines, more than a pipe holds
mkfifo "$ORDER_SWEEP_TMP/pipe"
"$ORDER_SWEEP_BIN" --dry-run --limit 1000000 >"$ORDER_SWEEP_TMP/pipe" &
pid=$!
exec {pipe}<"$ORDER_SWEEP_TMP/pipe"
until read -r -t 0 <&"$pipe"; do
    sleep 0.05
done
wait_sessions_gone
kill -0 "$pid" || die 'the dry run did not wait for its reader'

# When the reader goes on, all of it is there.
cat <&"$pipe" >"$out"
wait "$pid"
is 'lines of the dry run' 2000 "$(grep -c '  sweep$' "$out")"
is 'its last line' '  oldest:' "$(tail -n 1 "$out" | grep -o '^  oldest:')"
invariants
