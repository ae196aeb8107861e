#!/bin/bash
# Standard streams that are closed, or on a full disk: the work is done all the
# same, nothing goes where it does not belong, and the exit code says it.
set -euo pipefail

# shellcheck source=tests/support/shop.sh
. "$ORDER_SWEEP_SOURCE/tests/support/shop.sh"

new_shop streams 200 20
swept=0

# ends STATUS WHAT: the last command, with what is in $status, swept one more.
ends()
{
    is "$2: status" "$1" "$status"
    swept=$((swept + 1))
    value $swept 'SELECT count(*) FROM order_sweep.journal'
    is "$2: the run row" 'max orders 1 0 0 0 0 0 0 t' "$(last_run)"
}

one=(--max-orders 1)
lost='the report could not be written: '

# --- Standard output ---------------------------------------------------------

: >"$out"
status=0
"$ORDER_SWEEP_BIN" "${one[@]}" --format json >/dev/full 2>"$err" || status=$?
ends 74 'a full disk'
says "${lost}No space left on device"
status=0
"$ORDER_SWEEP_BIN" "${one[@]}" --format json >&- 2>"$err" || status=$?
ends 74 'stdout closed'
says "${lost}Bad file descriptor"
# Where there is no report, none is missed.
status=0
"$ORDER_SWEEP_BIN" "${one[@]}" >&- 2>"$err" || status=$?
ends 0 'stdout closed, no report'
silent

# --- Standard error ----------------------------------------------------------

# Each of these runs has a message for it, and a report for standard output.
sql <<SQL
CREATE FUNCTION shop.fail() RETURNS trigger LANGUAGE plpgsql
AS 'BEGIN RAISE EXCEPTION ''cursed''; END';
CREATE TRIGGER fail BEFORE UPDATE ON shop.orders FOR EACH ROW
WHEN (OLD.id = $(due_order 1)) EXECUTE FUNCTION shop.fail();
SQL
again()
{
    sql -c 'DELETE FROM order_sweep.failure'
    status=0
}

# failed WHAT: like ends, beside the order that failed.
failed()
{
    is "$1: status" 1 "$status"
    swept=$((swept + 1))
    value $swept 'SELECT count(*) FROM order_sweep.journal'
    is "$1: the run row" 'max orders 1 0 0 0 0 1 0 t' "$(last_run)"
    is "$1: lines on stdout" 1 "$(wc -l <"$out")"
    grep -q '^{"sweep":"cancel_unpaid",.*"failed":1,.*"exit":1,' "$out" ||
        die "$1: the report is wrong"
}

again
"$ORDER_SWEEP_BIN" "${one[@]}" --format json >"$out" 2>&- || status=$?
failed 'stderr closed'
again
"$ORDER_SWEEP_BIN" "${one[@]}" --format json >"$out" 2>/dev/full || status=$?
failed 'stderr on a full disk'
sql -c 'DROP TRIGGER fail ON shop.orders' -c 'DELETE FROM order_sweep.failure'

# --- All of them -------------------------------------------------------------

status=0
"$ORDER_SWEEP_BIN" "${one[@]}" <&- >"$out" 2>"$err" || status=$?
ends 0 'stdin closed'
silent
status=0
"$ORDER_SWEEP_BIN" "${one[@]}" <&- >&- 2>&- || status=$?
ends 0 'all closed'
status=0
"$ORDER_SWEEP_BIN" "${one[@]}" --format json <&- >&- 2>&- || status=$?
ends 74 'all closed, and a report'

# A reader that is gone is no death either.
exec {gone}> >(exec true)
wait $!
status=0
"$ORDER_SWEEP_BIN" "${one[@]}" --format json 1>&"$gone" 2>"$err" || status=$?
: >"$out"
ends 74 'a reader that is gone'
says "${lost}Broken pipe"
invariants
