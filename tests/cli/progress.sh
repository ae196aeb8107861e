#!/bin/bash
# Who watches a long run on a terminal sees how far it has come, and nothing of
# that stays; nobody else gets a byte of it.
set -euo pipefail

# shellcheck source=tests/support/shop.sh
. "$ORDER_SWEEP_SOURCE/tests/support/shop.sh"

# terminal COMMAND: what a terminal gets, in $out.
terminal()
{
    TERM=${term-xterm} script --quiet --return --command "$1" /dev/null \
        </dev/null >"$out"
}

# What stands on the terminal in the end, of what it got.
screen()
{
    awk '{
        line = ""
        column = 0
        for (i = 1; i <= length($0); i++) {
            c = substr($0, i, 1)
            if (c == "\r") {
                column = 0
            } else if (substr($0, i, 3) == "\033[K") {
                line = substr(line, 1, column)
                i += 2
            } else {
                line = substr(line, 1, column) c substr(line, column + 2)
                column++
            }
        }
        print line
    }' "$out"
}

# The lines that were drawn, each on one of its own.
drawn()
{
    tr '\r' '\n' <"$out" | grep -a $'\033\\[K$' | sed 's/\x1b\[K$//' |
        grep . || :
}

# Write the screen, with the numbers that change left out.
plain()
{
    screen | sed -E -e 's/^(order-sweep: )run [0-9]+: /\1/' \
        -e 's/[0-9]+\.[0-9]{3} s \([0-9]+\/s\)/TIME/' \
        -e 's/late p50 [^;]*;/LATE;/'
}

undrawn()
{
    if grep -a -q $'\033' "$1"; then
        die "something was drawn: $(cat -v "$1")"
    fi
}

role=osw_progress_$$
cleanup()
{
    drop_dbs
    sql -d postgres -c "DROP ROLE IF EXISTS $role"
}
trap cleanup EXIT

# One connection: several would sweep the orders before a second is over.
command="$ORDER_SWEEP_BIN --jobs=1"
line='order-sweep: cancel_unpaid: [0-9]+ swept, [0-9]+/s'

# all_like PATTERN: lines were drawn, and all are like this.
all_like()
{
    drawn >"$ORDER_SWEEP_TMP/drawn"
    if ! [ -s "$ORDER_SWEEP_TMP/drawn" ] ||
        grep -E -v "^$line, $1\$" "$ORDER_SWEEP_TMP/drawn"; then
        die "these lines are not like \"$1\": $(cat "$ORDER_SWEEP_TMP/drawn")"
    fi
}

# Each order takes a hundredth of a second, and fails if the time that it may
# take is not a quarter of a run's, 45 or 15 s.
new_shop progress 200 20
gate_orders
sql -o /dev/null -c "CREATE ROLE $role LOGIN" \
    -c "SELECT order_sweep.grant_to('$role')" -f - <<'SQL'
CREATE FUNCTION shop.be_slow() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_sleep(0.01);
    IF current_setting('statement_timeout') NOT IN ('11250ms', '3750ms') THEN
        RAISE EXCEPTION 'a limit of %', current_setting('statement_timeout');
    END IF;
    IF EXISTS (SELECT FROM shop.order_line l
                WHERE l.order_id = NEW.id AND l.goods_id = 100) THEN
        RAISE EXCEPTION 'goods 100 are cursed';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER slow BEFORE UPDATE ON shop.orders FOR EACH ROW
EXECUTE FUNCTION shop.be_slow();
SQL

# --- The line ----------------------------------------------------------------

# An order fails in the middle, when the line is there.
place 200 '50 hours' 101
place 1 '49 hours' 100
place 1700 '48 hours' 102
cursed=$(sql -c 'SELECT order_id FROM shop.order_line WHERE goods_id = 100')
status=0
terminal "$command --max-orders 300 --username $role" || status=$?
is 'exit code' 1 "$status"
all_like 'about [0-9]+ s left'
is 'the screen' "order-sweep: cancel_unpaid: order $cursed failed: goods 100 \
are cursed (SQLSTATE P0001)
cancel_unpaid: 300 swept, 1 failed in TIME; LATE; max orders, a rest is left" \
    "$(plain)"

# Not before a second is over, then five times a second at most.
seconds=$(screen | sed -n -E 's/.* in ([0-9]+)\.[0-9]{3} s .*/\1/p')
times=$(wc -l <"$ORDER_SWEEP_TMP/drawn")
if [ "$times" -gt $((5 * seconds + 1)) ]; then
    die "drawn $times times in $seconds s"
fi
swept=$(sed -n -E '1s/.* ([0-9]+) swept.*/\1/p' "$ORDER_SWEEP_TMP/drawn")
if [ "$swept" -lt 10 ]; then
    die "drawn when $swept were swept"
fi

# The report goes elsewhere.
terminal "$command --max-orders 130 --format json >$ORDER_SWEEP_TMP/report"
all_like 'about [0-9]+ s left'
is 'the screen without a report' '' "$(screen)"
undrawn "$ORDER_SWEEP_TMP/report"

# --- Not for everybody -------------------------------------------------------

run 0 --jobs=1 --max-orders 130 --verbose
undrawn "$out"
is 'stderr in a file' '' "$(cat "$err")"
terminal "$command --max-orders 130 2>$ORDER_SWEEP_TMP/messages"
undrawn "$out"
is 'stderr in a file, stdout a terminal' '' "$(cat "$ORDER_SWEEP_TMP/messages")"
terminal "$command --max-orders 130 --quiet"
is 'a quiet run' '' "$(cat "$out")"
term=dumb terminal "$command --max-orders 130"
undrawn "$out"
is 'lines on a dumb terminal' 1 "$(wc -l <"$out")"

# --- Runs that end early -----------------------------------------------------

# begin: a run that has its line on the terminal, and will not get far.
begin()
{
    local tries=600
    close_gate "$(due_order 250)"
    : >"$out"
    terminal "$command" || exit "$?" &
    terminal_pid=$!
    until grep -a -q ' swept, ' "$out"; do
        tries=$((tries - 1))
        [ "$tries" != 0 ] || die 'waited in vain for a line'
        sleep 0.05
    done
}

# end STATUS: it ends so.
end()
{
    local status=0
    wait "$terminal_pid" || status=$?
    is 'exit code' "$1" "$status"
    is 'what is left of the line' '' "$(screen | grep -a ' swept, .*/s, ' || :)"
}

begin
kill -TERM "$(sql -c 'SELECT pid FROM order_sweep.run WHERE ended_at IS NULL')"
open_gates
end 75
is 'the message' 1 "$(screen | grep -c '^order-sweep: .* stopped by a signal')"

begin
sql -o /dev/null -c "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE application_name LIKE 'order-sweep%' AND datname = current_database()"
end 69
open_gates
is 'the report' 1 "$(screen | grep -c '^cancel_unpaid: .*; lost, a rest is left$')"
wait_sessions_gone

# --- Without a count ---------------------------------------------------------

# count_does STATEMENT: instead of counting.
count_does()
{
    sql <<SQL
CREATE OR REPLACE FUNCTION order_sweep.preview(sweep text, "window" interval)
RETURNS TABLE (order_key jsonb, since timestamptz, deadline timestamptz,
               state text)
LANGUAGE plpgsql AS 'BEGIN $1; END';
SQL
}

# uncounted ARGUMENT...: the run goes on, and knows its time limit only.
uncounted()
{
    terminal "$command --max-orders 130 $*"
    all_like 'time limit in [0-9]+ s'
    is 'the screen' \
        'cancel_unpaid: 130 swept in TIME; LATE; max orders, a rest is left' \
        "$(plain)"
}

count_does 'RAISE division_by_zero'
uncounted
# It may take 2 s, or a tenth of the time that the sweep has.
limit="current_setting(''statement_timeout'')"
hang="PERFORM pg_sleep(600); END IF; PERFORM pg_terminate_backend(pg_backend_pid())"
count_does "IF $limit = ''2s'' THEN $hang"
uncounted
count_does "IF $limit::interval <= ''1500 ms'' THEN $hang"
uncounted --time-limit=15s
count_does 'PERFORM pg_terminate_backend(pg_backend_pid())'
status=0
terminal "$command --max-orders 130" || status=$?
is 'exit code without a connection' 69 "$status"
is 'lines of its message' 1 "$(wc -l <"$out")"
if grep -q 'no connection to the server' "$out"; then
    die 'the reason is not told'
fi
invariants
