#!/bin/bash
# --metrics-file: what a monitoring system is told, after runs of every kind,
# also without the database; that the file is whole; the alert rules and the
# dashboard that go with it.
set -euo pipefail

# shellcheck source=tests/support/shop.sh
. "$ORDER_SWEEP_SOURCE/tests/support/shop.sh"

promtool=$(command -v promtool ||
    echo "$ORDER_SWEEP_SOURCE/build/promtool/promtool")
for tool in "$promtool" strace; do
    if ! command -v "$tool" >/dev/null; then
        echo "metrics: $tool is not installed" >&2
        exit 77
    fi
done
folder=$ORDER_SWEEP_TMP/folder
file=$folder/shop.prom
all=$ORDER_SWEEP_TMP/names
mkdir "$folder"
: >"$all"

# sound: Prometheus takes the file, everybody may read it, nothing lies beside.
sound()
{
    "$promtool" check metrics <"$file" >"$ORDER_SWEEP_TMP/lint" 2>&1 ||
        die "promtool: $(cat "$ORDER_SWEEP_TMP/lint" "$file")"
    is 'what promtool says' '' "$(cat "$ORDER_SWEEP_TMP/lint")"
    is 'mode of the file' 644 "$(stat -c %a "$file")"
    is 'files in the folder' shop.prom "$(ls -A "$folder")"
    sed -n 's/^\([a-z][a-z_]*\){.*/\1/p' "$file" >>"$all"
}

# of NAME [LABELS]: the value of a metric of the run, or of a sweep.
of()
{
    sed -n "s/^order_sweep_$1{file=\"shop\"${2-}} //p" "$file"
}
sweep=',sweep="cancel_unpaid"'

# counted NAME WORDS VALUES: counters by their words.
counted()
{
    is "$1" "$3" "$(sed -n "s/^order_sweep_$1{.*,\($2\)=\"\(.*\)\"} /\2=/p" \
        "$file" | sed '/=0$/d' | paste -s -d ' ')"
}

# fresh NAME: a moment, of the last minutes.
fresh()
{
    local age=$(($(date +%s) - $(of "$1" "${2-}" | cut -d . -f 1)))
    if [ "$age" -lt -5 ] || [ "$age" -ge 300 ]; then
        die "$1 is $age s old"
    fi
}

# swept: the lines of the sweeps.
swept()
{
    sed -n '/^# The sweeps/,$p' "$file"
}

# --- One that lingers --------------------------------------------------------

# It is looked at below, when a minute is over.
lingers=$ORDER_SWEEP_TMP/lingers.prom
new_shop metrics_linger 40 4
start --linger --time-limit 2m --metrics-file "$lingers"

# --- A first run, busy, idle, with failures ----------------------------------

new_shop metrics 40 4
# Before the first run: the database cannot be reached, and there is no file.
run 69 --metrics-file "$file" -h "$ORDER_SWEEP_TMP"
sound
is up 0 "$(of up)"
is 'exit code' 69 "$(of last_exit_code)"
is 'never a success' 0 "$(of last_success_timestamp_seconds)"
fresh last_run_timestamp_seconds
is 'no sweep is known' '' "$(grep sweep= "$file" || :)"

due=$(sql -c "SELECT count(*) FROM order_sweep.preview('cancel_unpaid', NULL)
               WHERE state = 'sweep'")
[ "$due" -gt 5 ]
run 0 --metrics-file "$file" --max-orders 5
silent
sound
is up 1 "$(of up)"
is 'exit code' 0 "$(of last_exit_code)"
fresh last_success_timestamp_seconds
fresh last_work_timestamp_seconds "$sweep"
is backlog $((due - 5)) "$(of backlog_orders "$sweep")"
counted orders_total outcome swept=5
counted runs_total stopped 'max orders=1'
# As the books have it.
value t "SELECT $(of overdue_seconds "$sweep") BETWEEN x - 300 AND x
    FROM (SELECT max(extract(epoch FROM now() - deadline)) AS x
            FROM order_sweep.preview('cancel_unpaid', NULL)
           WHERE state = 'sweep') p"
for late in 50:late_p50 99:late_p99 100:late_max; do
    value t "SELECT extract(epoch FROM ${late#*:}) =
        $(of last_lateness_seconds "$sweep,percentile=\"${late%:*}\"")
        FROM order_sweep.run"
done
value t "SELECT abs(extract(epoch FROM order_sweep_deadline)
        - $(of next_deadline_timestamp_seconds "$sweep")) < 0.001
    FROM order_sweep.cancel_unpaid_next(NULL)"

# No more are counted than it is told.
value "3 $((due - 5))" "SELECT concat_ws(' ', a.order_sweep_orders,
                                        b.order_sweep_orders)
    FROM order_sweep.cancel_unpaid_backlog(3) a,
         order_sweep.cancel_unpaid_backlog(1000) b"

run 0 --metrics-file "$file"
sound
is backlog 0 "$(of backlog_orders "$sweep")"
is overdue 0 "$(of overdue_seconds "$sweep")"
kept=$(sql -c "SELECT coalesce(sum(kept), 0) FROM order_sweep.run")
is kept 0 "$kept"
counted orders_total outcome "swept=$due"
counted runs_total stopped 'done=1 max orders=1'

# Idle, and from the folder of the file.
(cd "$folder" && run 0 --metrics-file shop.prom)
sound
counted runs_total stopped 'done=1 max orders=1'

# Rows of runs are deleted, as every run does with the oldest.
sql -c 'DELETE FROM order_sweep.run'
run 0 --metrics-file "$file"
sound
counted orders_total outcome "swept=$due"
counted runs_total stopped 'done=1 max orders=1'
is 'no last run' '' "$(of last_work_timestamp_seconds "$sweep")"

# Orders that fail: one waits, one waits for a person.
place 2 '1 hour'
sql <<'SQL'
CREATE FUNCTION shop.fail() RETURNS trigger LANGUAGE plpgsql
AS $$ BEGIN RAISE 'no stock'; END $$;
CREATE TRIGGER fail BEFORE UPDATE ON shop.orders FOR EACH ROW
EXECUTE FUNCTION shop.fail();
SQL
run 1 --metrics-file "$file"
success=$(of last_success_timestamp_seconds)
sound
is 'exit code' 1 "$(of last_exit_code)"
fresh last_success_timestamp_seconds
is 'in back-off' 2 "$(of backoff_orders "$sweep")"
is backlog 0 "$(of backlog_orders "$sweep")"
counted orders_total outcome "swept=$due failed=2"
sql -c "UPDATE order_sweep.failure SET quarantined = true
         WHERE order_key = jsonb_build_array($(due_order 1))"
run 0 --metrics-file "$file"
sound
is 'in back-off' 1 "$(of backoff_orders "$sweep")"
is quarantined 1 "$(of quarantined_orders "$sweep")"
sql -c 'DROP TRIGGER fail ON shop.orders'
run 0 retry
run 0 --metrics-file "$file"
counted orders_total outcome "swept=$((due + 2)) failed=2"

# --- Without the database ----------------------------------------------------

sed -i 's/^\(order_sweep_last_success_timestamp_seconds{.*} \).*/\11234567890/' \
    "$file"
before=$(swept)
run 69 --metrics-file "$file" -h "$ORDER_SWEEP_TMP"
sound
is 'the sweeps are as they were' "$before" "$(swept)"
is up 0 "$(of up)"
is 'exit code' 69 "$(of last_exit_code)"
is 'the last success' 1234567890 "$(of last_success_timestamp_seconds)"
fresh last_run_timestamp_seconds
success=$(of last_success_timestamp_seconds)
run 69 --metrics-file "$file" -h "$ORDER_SWEEP_TMP"
sound
is 'and once more' "$before$success" \
    "$(swept)$(of last_success_timestamp_seconds)"

# What is not ours, or damaged, is not taken.
good=$ORDER_SWEEP_TMP/good
cp "$file" "$good"
damages=0
for damage in 's/^order_sweep_up{/up{/' 's/file="shop"/file="other"/' \
    's/^\(order_sweep_backlog_orders.*\) .*/\1 many/' '$d' '1d' '5s/$/\x00/' \
    's/^order_sweep_paused{.*/& &/' 's/cancel_unpaid"/&"/' \
    '/The sweeps/a\\n' 's/\(percentile="[0-9]*\)"/\1\\"/'; do
    sed "$damage" "$good" >"$file"
    ! cmp -s "$file" "$good" || die "no damage: $damage"
    run 69 --metrics-file "$file" -h "$ORDER_SWEEP_TMP"
    sound
    is "after $damage" 0 "$(grep -c sweep= "$file" || :)"
    is "success after $damage" 0 "$(of last_success_timestamp_seconds)"
    damages=$((damages + 1))
done
is damages 10 "$damages"
head -c 5000000 /dev/zero >"$file"
run 69 --metrics-file "$file" -h "$ORDER_SWEEP_TMP"
sound

# It is there again.
run 0 --metrics-file "$file"
sound
is up 1 "$(of up)"
fresh last_success_timestamp_seconds
counted orders_total outcome "swept=$((due + 2)) failed=2"

# --- Sweeps that are broken, paused, odd; a role without the right -----------

sql -o /dev/null <<'SQL'
CREATE TABLE shop.hint (id bigint PRIMARY KEY, at timestamptz, state text);
SELECT order_sweep.define(
    sweep => 'another', orders => 'shop.hint', key => '{id}',
    unpaid => $$o.state = 'new'$$, deadline => 'at', set => $$state = 'old'$$);
SELECT order_sweep.pause('another');
SQL
run 0 --metrics-file "$file"
sound
is paused '1 0' "$(of paused ',sweep="another"') $(of paused "$sweep")"
sql -o /dev/null -c "SELECT order_sweep.resume('another')" \
    -c 'ALTER TABLE shop.hint RENAME at TO at_time'
run 78 --metrics-file "$file"
sound
is up 1 "$(of up)"
is 'exit code' 78 "$(of last_exit_code)"
is 'look failed' '1 0' \
    "$(of look_failed ',sweep="another"') $(of look_failed "$sweep")"
is 'of what is not known there is no line' '' \
    "$(of backlog_orders ',sweep="another"')"
counted orders_total outcome "swept=$((due + 2)) failed=2"
# With --sweep it is that one alone.
run 0 --metrics-file "$file" --sweep cancel_unpaid
sound
is 'other sweeps' '' "$(grep another "$file" || :)"
sql -o /dev/null -c "SELECT order_sweep.undefine('another')"

# A count takes its time, and no more of it than there is.
place 1 '1 hour'
sql -o /dev/null <<'SQL'
CREATE FUNCTION shop.dawdle(bigint) RETURNS boolean LANGUAGE plpgsql
AS $$ BEGIN PERFORM pg_sleep(60); RETURN true; END $$;
CREATE TABLE shop.slow (id bigint PRIMARY KEY, at timestamptz, state text);
SELECT order_sweep.define(
    sweep => 'slow', orders => 'shop.slow', key => '{id}',
    unpaid => $$o.state = 'new'$$, deadline => 'at', set => $$state = 'old'$$,
    unless => '{"dawdle": "shop.dawdle(o.id)"}');
SELECT order_sweep.pause('slow');
INSERT INTO shop.slow VALUES (1, now() - interval '1 hour', 'new');
SQL
run 0 --metrics-file "$file"
sound
is 'look failed' '1 0' \
    "$(of look_failed ',sweep="slow"') $(of look_failed "$sweep")"
is up 1 "$(of up)"
sql -o /dev/null -c "SELECT order_sweep.undefine('slow')"

# Values of labels are escaped.
sql <<'SQL'
CREATE OR REPLACE FUNCTION order_sweep.metrics(sweep text)
RETURNS TABLE (name text, type text, help text, label text, word text,
               value text)
LANGUAGE sql AS $$ SELECT 'order_sweep_odd', 'gauge', 'Odd.', 'word',
                          E'a"b\\c\nd', '1' $$;
SQL
run 0 --metrics-file "$file"
sound
is 'odd words' 1 "$(grep -c ',word="a\\"b\\\\c\\nd"} 1$' "$file")"
run 69 --metrics-file "$file" -h "$ORDER_SWEEP_TMP"
sound
is 'odd words, kept' 1 "$(grep -c ',word="a\\"b\\\\c\\nd"} 1$' "$file")"
sed -i '/_odd$/d' "$all"
run 0 migrate

role=osw_metrics_$$
cleanup()
{
    drop_dbs
    sql -d postgres -c "DROP ROLE IF EXISTS $role"
}
trap cleanup EXIT
sql -o /dev/null -c "CREATE ROLE $role LOGIN" \
    -c "SELECT order_sweep.grant_to('$role')"
run 0 --metrics-file "$file" -U "$role"
silent
is up 1 "$(of up)"
sql -c "REVOKE ALL ON FUNCTION order_sweep.metrics(text) FROM $role"
run 0 --metrics-file "$file" -U "$role"
says 'warning: --metrics-file: the database does not tell how the sweeps are:'\
' permission denied for function metrics'
sound
is up 0 "$(of up)"
sql -c "DROP OWNED BY $role"

# --- The file ----------------------------------------------------------------

# Refused before anything is touched.
place 1 '1 hour'
dump "$ORDER_SWEEP_TMP/before"
run 64 --metrics-file "$folder/none/a.prom" -h "$ORDER_SWEEP_TMP"
says "--metrics-file: $folder/none/a.prom cannot be written: No such file or \
directory; make its folder, and let this user write there"
mkdir "$folder/dir.prom"
run 64 --metrics-file "$folder/dir.prom"
says_like "*dir.prom cannot be written: Is a directory; *"
rmdir "$folder/dir.prom"
run 64 --metrics-file "$file/a.prom"
says_like "*a.prom cannot be written: Not a directory; *"
# root may write everywhere, unless it gives that right up.
powerless=()
if [ "$(id -u)" = 0 ]; then
    powerless=(setpriv --bounding-set=-all)
fi
chmod 555 "$folder"
status=0
"${powerless[@]}" "$ORDER_SWEEP_BIN" --metrics-file "$file" >"$out" 2>"$err" ||
    status=$?
chmod 755 "$folder"
is 'exit code' 64 "$status"
says_like '*shop.prom cannot be written: Permission denied; *'
unchanged "$ORDER_SWEEP_TMP/before"

# Written beside, on disk before it has its name; so says the kernel.
# (What looks for leaks cannot be traced.)
trace=$ORDER_SWEEP_TMP/trace
ASAN_OPTIONS=${ASAN_OPTIONS:-}:detect_leaks=0 strace -f -o "$trace" \
    -e trace=openat,write,fsync,fchmod,close,rename,renameat,renameat2 \
    "$ORDER_SWEEP_BIN" --metrics-file "$file"
sed -n '/shop\.prom\.[A-Za-z0-9]*", O_RDWR/,$p' "$trace" |
    sed 's/^[0-9]* *//; s/(.*//; /^[-+]/d' | uniq |
    paste -s -d ' ' >"$ORDER_SWEEP_TMP/calls"
case $(cat "$ORDER_SWEEP_TMP/calls") in
'openat write fchmod fsync close rename'*) ;;
*) die "calls: $(cat "$ORDER_SWEEP_TMP/calls")" ;;
esac
sound

# What cannot be written is told, and the order is swept all the same.  A limit
# on the size of files stands for a disk that is full; the old
# file stays.
place 1 '1 hour'
before=$(cat "$file")
swept_before=$(sql -c 'SELECT count(*) FROM order_sweep.journal')
status=0
(
    ulimit -f 1
    trap '' XFSZ
    exec "$ORDER_SWEEP_BIN" --metrics-file "$file" >"$out" 2>"$err"
) || status=$?
is 'exit code' 74 "$status"
says "--metrics-file: $file could not be written: File too large; make room or \
mend its folder; the sweep is not concerned"
is 'the old file stays' "$before" "$(cat "$file")"
sound
value $((swept_before + 1)) 'SELECT count(*) FROM order_sweep.journal'
invariants

# Who reads while others write sees a whole file each time.
writers=()
for _ in 1 2 3; do
    (
        for _ in 1 2 3 4 5 6 7 8; do
            "$ORDER_SWEEP_BIN" --metrics-file "$file"
        done
    ) &
    writers+=($!)
done
looks=0
while kill -0 "${writers[@]}" 2>/dev/null; do
    cp "$file" "$ORDER_SWEEP_TMP/seen"
    is 'the ends of what was seen' '# Written by order-sweep. # The end.' \
        "$(sed -n '1p;$p' "$ORDER_SWEEP_TMP/seen" | paste -s -d ' ')"
    looks=$((looks + 1))
done
wait "${writers[@]}"
[ "$looks" -gt 10 ] || die "only $looks looks"
sound

# A run that lingers and ends tells the totals of its rows.
place 1 '1 hour'
number=$(of orders_total "$sweep,outcome=\"swept\"")
run 0 --metrics-file "$file" --linger --time-limit 2s
sound
is 'swept by one that lingers' $((number + 1)) \
    "$(of orders_total "$sweep,outcome=\"swept\"")"

# Events, where there are any.
grep -q '_events_' "$file" && die 'events that nobody wants'
sql -o /dev/null -c "SELECT order_sweep.publish('cancel_unpaid')"
place 3 '1 hour'
run 0 --metrics-file "$file"
sound
is 'events' '3 0 0' "$(of events_waiting "$sweep") $(of events_refused "$sweep") $(of \
    events_parked "$sweep")"
run 0 relay -- sh -c 'cat >/dev/null'
run 0 --metrics-file "$file"
is 'events' 0 "$(of events_waiting "$sweep")"

# After a minute it tells while it is at work, and once more at its end.
tries=900
while [ ! -e "$lingers" ]; do
    tries=$((tries - 1))
    [ "$tries" -gt 0 ] || die 'the one that lingers tells nothing'
    sleep 0.1
done
kill -0 "$pid" || die 'the one that lingers told at its end only'
cp "$lingers" "$ORDER_SWEEP_TMP/seen"
grep -q '_last_exit_code{.*} 0$' "$ORDER_SWEEP_TMP/seen" || die 'a fault'
grep -q '_backlog_orders{.*} 0$' "$ORDER_SWEEP_TMP/seen" || die 'a backlog'
kill "$pid"
finish 75
grep -q '_last_exit_code{.*} 75$' "$lingers" || die 'not of its end'
grep -q '_runs_total{.*,stopped="signal"} 1$' "$lingers" || die 'no signal'

# --- Rules and dashboard -----------------------------------------------------

monitoring=$ORDER_SWEEP_SOURCE/cmd/order-sweep/monitoring
"$promtool" check rules "$monitoring/order-sweep.rules.yml" \
    >"$ORDER_SWEEP_TMP/rules" || die "$(cat "$ORDER_SWEEP_TMP/rules")"
(cd "$monitoring" && "$promtool" test rules order-sweep.test.yml) \
    >"$ORDER_SWEEP_TMP/rules" 2>&1 || die "$(cat "$ORDER_SWEEP_TMP/rules")"
sed -n 's/.*- alert: //p' "$monitoring/order-sweep.rules.yml" |
    while read -r alert; do
        grep -q "alertname: $alert\$" "$monitoring/order-sweep.test.yml" ||
            die "no test of $alert"
    done
value "1" "SELECT count(*) FROM (SELECT CAST(\$j\$$(cat \
    "$monitoring/order-sweep.dashboard.json")\$j\$ AS jsonb)) d"
# Every name in them, and in README, is one that was seen; and the reverse.
sort -u -o "$all" "$all"
names()
{
    grep -h -o 'order_sweep_[a-z_]*' "$@" | sort -u
}
names "$monitoring"/order-sweep.{rules.yml,dashboard.json} |
    comm -23 - "$all" >"$ORDER_SWEEP_TMP/unknown"
is 'names that no file has' '' "$(cat "$ORDER_SWEEP_TMP/unknown")"
sed -n 's/^| `\(order_sweep_[a-z_]*\)`.*/\1/p' \
    "$ORDER_SWEEP_SOURCE/README.md" | sort -u >"$ORDER_SWEEP_TMP/readme"
diff "$all" "$ORDER_SWEEP_TMP/readme" >&2 || die 'README lists others'
