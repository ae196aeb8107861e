#!/bin/bash
# Where messages go, and what stands in them: stderr or the log of the system,
# text or JSON, the run that they belong to; and never a secret.  The log is
# that of a /dev of this script's own.
set -euo pipefail

# shellcheck source=tests/support/namespaces.sh
. "$ORDER_SWEEP_SOURCE/tests/support/namespaces.sh"
own_namespaces 'mounts' 'mount -t tmpfs dev /dev' --mount
# shellcheck source=tests/support/shop.sh
. "$ORDER_SWEEP_SOURCE/tests/support/shop.sh"

new=$ORDER_SWEEP_TMP/dev
mkdir "$new"
mount -t tmpfs dev "$new"
for device in null zero full random urandom tty; do
    touch "$new/$device"
    mount --bind "/dev/$device" "$new/$device"
done
mkdir "$new/shm"
mount --rbind /dev/shm "$new/shm"
ln -s /proc/self/fd "$new/fd"
mount --move "$new" /dev

# --- The listener ------------------------------------------------------------

log=$ORDER_SWEEP_TMP/log
lines=$ORDER_SWEEP_TMP/lines

# listen [deaf]: somebody listens from here on.
listen()
{
    rm -f "$ORDER_SWEEP_TMP/listener"
    mkfifo "$ORDER_SWEEP_TMP/listener"
    : >"$log"
    "$ORDER_SWEEP_LISTENER" /dev/log "$@" <"$ORDER_SWEEP_TMP/listener" >"$log" &
    listener=$!
    exec {ear}>"$ORDER_SWEEP_TMP/listener"
    until grep -q '^ready$' "$log"; do
        kill -0 "$listener"
        sleep 0.01
    done
}

# Nobody listens any more; $lines has what was heard.
stop_listening()
{
    echo end >&"$ear"
    exec {ear}>&-
    wait "$listener"
    sed 1d "$log" >"$lines"
}

# heard N: what was heard are N lines in the form of syslog(3), of these
# priorities.
heard()
{
    is 'lines heard' "$1" "$(wc -l <"$lines")"
    if grep -v -E '^<(27|28|30|31)>[A-Z][a-z]{2} [ 123][0-9] [0-9:]{8} '\
'order-sweep\[[1-9][0-9]*\]: ' "$lines"; then
        die 'not in the form of syslog'
    fi
}

# Write the messages of $1 with their priorities, as numbers, if they have any.
messages()
{
    sed -E 's/^(<[0-9]+>).* order-sweep\[[0-9]+\]: /\1 /' "$1"
}

# json FILE QUERY: asks the lines of JSON of a file, table l with columns
# priority, j and n; each line must be JSON.
json()
{
    messages "$1" | sed -E 's/^<([0-9]+)> /\1 /; t; s/^/- /' >"$1.json"
    sql -v file="$(cat "$1.json")" -v query="$2" <<'SQL'
CREATE TEMPORARY VIEW l AS
SELECT n, split_part(line, ' ', 1) AS priority,
       substr(line, strpos(line, ' ') + 1)::jsonb AS j
  FROM string_to_table(:'file', E'\n') WITH ORDINALITY AS t(line, n);
:query;
SQL
}

# --- A table with things to tell ---------------------------------------------

new_db log
run 0 migrate
sql -o /dev/null <<'SQL'
CREATE TABLE thing (
    id bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
    kind text, at timestamptz, state text, said text, does text);
CREATE FUNCTION act() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    CASE OLD.does
        WHEN 'fail' THEN RAISE EXCEPTION '%', OLD.said;
        WHEN 'warn' THEN RAISE WARNING '%', OLD.said;
        WHEN 'hold the next' THEN
            UPDATE thing SET said = 'held' WHERE id = OLD.id + 1;
        ELSE NULL;
    END CASE;
    RETURN NEW;
END $$;
CREATE TRIGGER act BEFORE UPDATE OF state ON thing FOR EACH ROW
EXECUTE FUNCTION act();
SELECT order_sweep.define(sweep => kind, orders => 'thing', key => '{id}',
    unpaid => format('o.state = %L AND o.kind = %L', 'new', kind),
    deadline => 'at', set => $$state = 'old'$$,
    unless => json_build_object('it is held', $$o.said = 'held'$$))
  FROM unnest('{one,two}'::text[]) kind;
SQL

make_gate
sql -c "CREATE TRIGGER gate BEFORE UPDATE ON thing FOR EACH ROW
    WHEN (OLD.does = 'gate') EXECUTE FUNCTION gate.pass('thing')"

# things N DOES SAID [KIND [AFTER]]: N that do and say this, due AFTER.
things()
{
    sql -v n="$1" -v does="$2" -v said="$3" -v kind="${4:-one}" \
        -v after="${5:--1 hour}" <<'SQL'
INSERT INTO thing (kind, at, state, said, does)
SELECT :'kind', now() + :'after'::interval, 'new', :'said', :'does'
  FROM generate_series(1, :n);
SQL
}

# Forget all things.
forget()
{
    sql -c 'TRUNCATE order_sweep.failure' -c 'TRUNCATE thing'
}

# --- Nobody listens ----------------------------------------------------------

nobody='warning: --log: the log of the system takes nothing at /dev/log: No such
 file or directory; messages go to stderr from here on; see that its daemon runs,
 or leave --log out'
nobody=${nobody//$'\n'/}
run 0 --log syslog
says "$nobody"
run 0 --log journald
says "$nobody"
run 0 --log stderr
silent
# Errors come in any case.
things 1 fail cursed
run 1 --log syslog --quiet
says_like 'one: order * failed: cursed (SQLSTATE P0001)'
forget
things 1 fail cursed
run 1 --log syslog --log-format json
is 'the lines of a failure without a listener' 'warning null error number' \
    "$(json "$err" "SELECT string_agg(concat_ws(' ', j->>'level',
        jsonb_typeof(j->'run')), ' ' ORDER BY n) FROM l")"
# A socket that nobody has, and a file.
forget
listen
kill -KILL "$listener"
{ wait "$listener" || :; } 2>/dev/null
exec {ear}>&-
run 0 --log syslog
says_like 'warning: --log: *: Connection refused; *'
rm /dev/log
: >/dev/log
run 0 --log syslog
says_like 'warning: --log: *: Connection refused; *'
rm /dev/log
for command in run check 'explain 1' status retry late migrate; do
    # shellcheck disable=SC2086  # words
    run 69 $command --log syslog --log-format json -h /nowhere
    is "the lines of $command" 'warning error' \
        "$(json "$err" "SELECT string_agg(j->>'level', ' ' ORDER BY n) FROM l")"
done

# --- As text -----------------------------------------------------------------

# What was said, with the numbers of things as N.
numbered()
{
    messages "$1" | sed -E 's/order [0-9]+/order N/' | sort
}

# Each level with its priority, and nothing on stderr.
things 1 fail cursed
things 1 warn 'a warning'
things 1 'hold the next' ''
things 1 nothing ''
listen
run 1 --log syslog -vv
is stderr '' "$(cat "$err")"
stop_listening
heard 3
id=$(sql -c "SELECT max(id) FROM order_sweep.run")
is 'what was heard' "<27> run $id: one: order N failed: cursed (SQLSTATE P0001)
<30> info: run $id: one: order N kept: it is held
<31> debug: run $id: server: a warning" "$(numbered "$lines")"
is 'who said it' "$(sql -c "SELECT pid FROM order_sweep.run WHERE id = $id")" \
    "$(sed -E 's/.* order-sweep\[([0-9]+)\]: .*/\1/' "$lines" | uniq)"
# The same on stderr.
forget
things 1 fail cursed
run 1 --log stderr
id=$((id + 1))
is stderr "order-sweep: run $id: one: order N failed: cursed (SQLSTATE P0001)" \
    "$(numbered "$err")"

# Errors of the command line go to stderr: the option may be one of them.
listen
run 64 --log syslog --window 0
says_like '--window: *'
run 64 --log=syslog --foo
says_like 'unknown option "--foo"; *'
# All else goes there, whatever the command is.
for command in run check 'explain 1' status retry late migrate; do
    # shellcheck disable=SC2086  # words
    run 69 $command --log journald -h /nowhere
    silent
done
# A message outside of a run has none.
close_gate thing
forget
things 1 gate ''
start
wait_at_gate
run 75 --fail-if-busy --log syslog
silent
open_gates
finish 0
stop_listening
heard 8
is 'what each command said' 7 \
    "$(grep -c ']: connection to server on socket "/nowhere/' "$lines")"
is 'what the last one said' '<27> one: another run is working on it' \
    "$(messages "$lines" | tail -n 1)"

# --- As JSON -----------------------------------------------------------------

# fields EXPRESSION...: of all lines heard, in the order of their messages.
fields()
{
    json "$lines" "SELECT string_agg(concat_ws(' ', $1), E'\n'
        ORDER BY j->>'message' COLLATE \"C\") FROM l"
}

listen
close_gate thing
things 1 gate ''
start --sweep one
wait_at_gate
run 75 --fail-if-busy --log syslog --log-format json
silent
open_gates
finish 0
forget
things 1 fail cursed
things 1 warn $'a "warning"\n\t\e[1m\\ \u0085 \u00fc'
run 1 --log syslog --log-format json -vv
is stderr '' "$(cat "$err")"
run 69 --log syslog --log-format json -h $'/nowhere/\xff\n\x01x'
silent
stop_listening
heard 4
id=$(sql -c "SELECT max(id) FROM order_sweep.run")
is 'the fields' "27 error - one another run is working on it
27 error - - connection to server
27 error $id one order N failed: cursed (SQLSTATE P0001)
31 debug $id one server: a \"warning\" [1m\\ ü" "$(fields "priority, j->>'level',
    coalesce(j->>'run', '-'), coalesce(j->>'sweep', '-'),
    substr(regexp_replace(j->>'message', 'order \\d+', 'order N'), 1,
        CASE WHEN j->>'message' LIKE 'connection%' THEN 20 ELSE 100 END)")"
is 'the others' t "$(json "$lines" "SELECT bool_and(
        abs(extract(epoch FROM now() - (j->>'time')::timestamptz)) < 300
        AND (j->>'time') ~ '^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z\$'
        AND (j->>'pid')::int > 0
        AND (SELECT count(*) FROM jsonb_object_keys(j)) = 6)
    FROM l")"
is 'what is no UTF-8' t "$(json "$lines" "SELECT bool_or(
        strpos(j->>'message', U&'/nowhere/\FFFD') > 0) FROM l")"

# --- Several sweeps ----------------------------------------------------------

# As many runs, each with its messages, and none but its own.
own_runs="SELECT concat_ws(' ', count(*), count(DISTINCT j->>'run'),
        bool_and(r.sweep = j->>'sweep' AND j->>'run' IS NOT NULL
                 AND r.pid = (j->>'pid')::int))
    FROM l LEFT JOIN order_sweep.run r ON r.id = (j->>'run')::bigint
    WHERE j->>'level' = 'error'"
forget
things 3 fail cursed one
things 3 fail cursed two
listen
run 1 --log syslog --log-format json
stop_listening
is 'in one run' '6 2 t' "$(json "$lines" "$own_runs")"

# Their rows are open at the same time.
forget
listen
for second in 1 2 3; do
    things 1 fail cursed one "$((second * 2)) seconds"
    things 1 fail cursed two "$((second * 2 + 1)) seconds"
done
run 1 --linger --time-limit 9s --look-every 1s --log syslog --log-format json \
    -vv
stop_listening
is 'in one that lingers' '6 2 t' "$(json "$lines" "$own_runs")"
is 'before it has runs' 'one two' "$(json "$lines" "SELECT string_agg(
        j->>'sweep', ' ' ORDER BY j->>'sweep') FROM l
    WHERE j->>'message' LIKE 'lingers in slot%' AND j->'run' = 'null'")"

# --- A listener that ends ----------------------------------------------------

# Another one takes its place: what follows goes there.
forget
listen
start --linger --time-limit 1m --look-every 500ms --log syslog
slots 2 0
stop_listening
listen
things 1 fail first
wait_until "(SELECT count(*) = 1 FROM order_sweep.failure)"
stop_listening
is 'the next listener' 1 "$(grep -c 'failed: first ' "$lines")"
# Nobody does: what follows goes to stderr.
things 1 fail second
wait_until "(SELECT count(*) = 2 FROM order_sweep.failure)"
things 1 fail third
wait_until "(SELECT count(*) = 3 FROM order_sweep.failure)"
kill "$pid"
finish 1
is 'the warning' 1 "$(grep -c ': warning: run [0-9]*: --log: .*: Connection refused' \
        "$err")"
is 'what was said on stderr' 'second third' \
    "$(sed -n 's/.* failed: \([a-z]*\) .*/\1/p' "$err" | paste -s -d ' ')"

# --- A listener that does not read -------------------------------------------

# No run waits for it, nothing is lost.  (One that waits hears no TERM.)
forget
things 300 warn slow
listen deaf
timeout -k 5 45 "$ORDER_SWEEP_BIN" --sweep one --log syslog -vv --format json \
    >"$out" 2>"$err" || die "a run ended with $?"
is 'what is swept' 300 "$(reported swept)"
stop_listening
is 'the warning' 1 \
    "$(grep -c ' --log: .* takes nothing at /dev/log: Resource temporarily' \
        "$err")"
if [ ! -s "$lines" ] || [ "$(grep -c 'server: slow' "$err")" -lt 100 ]; then
    die 'the queue was not full'
fi
is 'all that was said' 300 "$(cat "$lines" "$err" | grep -c 'server: slow')"
# One that is only busy loses nothing, and nothing goes elsewhere.
forget
things 300 warn slow
listen
run 0 --log syslog -vv --format json
is stderr '' "$(cat "$err")"
stop_listening
is 'all that was said' 300 "$(grep -c 'server: slow' "$lines")"

# --- Secrets -----------------------------------------------------------------

# Whatever is done with a password, nothing tells of it.
said=$ORDER_SWEEP_TMP/said
: >"$said"
export PGPASSWORD=s3cret
forget
things 1 fail "cannot reach postgresql://u:s3cret@h/db or 'password=s3cret'"
listen
# try STATUS ARGUMENT...
try()
{
    local status=$1 format target
    shift
    for format in text json; do
        for target in stderr syslog; do
            sql -c 'TRUNCATE order_sweep.failure'
            run "$status" --log $target --log-format $format -vv "$@"
            cat "$out" "$err" >>"$said"
        done
    done
}
here="host=$PGHOST port=$PGPORT user=$PGUSER dbname=$PGDATABASE"
try 1 -d "$here password=s3cret"
try 69 -d 'host=/nowhere password=s3cret'
try 69 -d 'postgresql://u:s3cret@127.0.0.1:1/db'
try 69 -d 'postgresql://u:s3cret@127.0.0.1:1/db?application_name=a'
try 69 -d "$here password=s3cret dbname=no_such_database"
try 64 -d 'postgresql://u:a@s3cret@h/db'
try 64 -d 'postgresql://u:a/s3cret@h/db'
try 64 -d 'postgresql://u:s3cret%zz@h/db'
try 64 -d 'postgres:/u:s3cret@h/db'
try 64 -d 'host=h password=my s3cret'
try 64 --dbnmae=postgresql://u:s3cret@h/db
try 64 --sweep postgresql://u:s3cret@h/db
try 64 postgresql://u:s3cret@h/db
try 64 run 'host=h password=my s3cret'
try 64 -h postgresql://u:s3cret@h/db
stop_listening
[ "$(wc -l <"$lines")" -ge 8 ]
if grep -E 's3cret|postgresql://[^ *]' "$said" "$lines"; then
    die 'a secret is told'
fi
