# shellcheck shell=bash
# Sourced by test scripts in bash: the sample shop in a database of its own,
# runs of the program in it, and checks.  The first check that fails ends the
# script.
#
# The shop
#     new_shop NAME [ORDERS [GOODS]]  a new database with schema, shop and
#                                     definition (1000 orders, 50 goods)
#     slow_orders SECONDS [CONDITION] each order takes so long, or those of
#                                     which this is true, such as OLD.id > 9
#     place N AGE [GOODS]             N more orders of one piece, as old as AGE,
#                                     of these goods (default 1), for new buyers
#     invariants                      shop and books agree
#     own_server                      from here on a server of the script's own,
#                                     that is durable;
#     own_stop MODE; own_start        stopped, started again
#
# The program
#     run STATUS [ARGUMENT...]        runs it; it must end so; the files $out
#                                     and $err hold what it wrote
#     start [ARGUMENT...]             runs it in the background, as $pid
#     finish STATUS [PID]             waits for the end of $pid; then $out and
#                                     $err are what it wrote
#     terminal COLUMNS [ARGUMENT...]  runs it on a terminal of this width; what
#                                     it wrote there is in $out
#     widest                          how many columns the widest line of $out has
#
# The network
#     proxy_start NAME [COMMAND...]   a proxy.c before the server; its port on
#                                     127.0.0.1 is ${proxy_port[NAME]}
#     proxy NAME COMMAND              tells it; what it answers is in $answer
#     proxy_stop NAME                 ends it, and with it its connections
#
# Checks
#     said                            writes $err without the ids of runs
#     says TEXT; says_like PATTERN    $err is one line, and which
#     silent                          $out and $err are empty
#     truthful                        the journal has what the report in $out,
#                                     as JSON, tells as swept, and no more than
#                                     it tells as unknown
#     is WHAT WANTED ACTUAL           two texts are the same
#     value WANTED SQL                a query gives this value
#     dump FILE; unchanged FILE       the whole database; it is the same still
#     reported FIELD...               fields of the report in $out, as JSON
#     ask_lines FILE SQL              a query of lines of JSON: the table line
#                                     has them, as column l
#     wait_until SQL                  waits till the condition holds
#     wait_sessions_gone              waits till the program has no session here
#     slots HELD WAITING              waits till so many slots are held here, and
#                                     so many waited for
#
# Gates: a run stops at a gate that is closed, until it is opened.
#     gate_orders                     one before each order, named by its id
#     gate_table TABLE EVENT [NAME]   one before each row of the bookkeeping,
#                                     such as: gate_table run INSERT; its name
#                                     is the table's unless given
#     close_gate NAME; open_gates
#     wait_at_gate; wait_at_gates N   until one or N sessions stand at one

support=$ORDER_SWEEP_SOURCE/tests/support
sample=$ORDER_SWEEP_SOURCE/sql/sample
out=$ORDER_SWEEP_TMP/out
err=$ORDER_SWEEP_TMP/err
started=()

# shellcheck source=tests/support/db.sh
. "$support/db.sh"

# With set -e a command that fails ends the script: say where.
set -E
trap 'echo "$(basename "$0" .sh): line $LINENO: failed: $BASH_COMMAND" >&2' ERR

die()
{
    trap - ERR
    echo "$(basename "$0" .sh): line ${BASH_LINENO[-2]}: $*" >&2
    for file in "$out" "$err"; do
        if [ -s "$file" ]; then
            echo "--- std$(basename "$file"):" >&2
            head -n 20 "$file" >&2
        fi
    done
    exit 1
}

# --- The shop ----------------------------------------------------------------

new_shop()
{
    new_db "$1"
    run 0 migrate
    sql -o /dev/null -f "$sample/shop.sql"
    sql -o /dev/null -v orders="${2:-1000}" -v goods="${3:-50}" \
        -f "$sample/data.sql"
    sql -o /dev/null -f "$sample/definition.sql"
    if [ -n "${ORDER_SWEEP_TEST_MUTATION:-}" ]; then
        sql -o /dev/null -f "$support/testing.sql" -c "$ORDER_SWEEP_TEST_MUTATION"
    fi
}

place()
{
    sql -o /dev/null -v n="$1" -v age="$2" -v goods="${3:-1}" <<'SQL'
INSERT INTO shop.goods AS g (id, name, price, offered, stock)
VALUES (:goods, 'Goods', 1, :n, :n)
ON CONFLICT (id) DO UPDATE SET offered = g.offered + :n, stock = g.stock + :n;
SELECT count(shop.place_order(
           b.last + i,
           jsonb_build_array(
               jsonb_build_object('goods_id', :goods, 'quantity', 1)),
           floor(extract(epoch FROM now() - :'age'::interval))::bigint))
  FROM (SELECT coalesce(max(buyer_id), 0) AS last FROM shop.orders) b,
       generate_series(1, :n) i;
SQL
}

slow_orders()
{
    sql <<SQL
CREATE OR REPLACE FUNCTION shop.be_slow() RETURNS trigger LANGUAGE plpgsql
AS 'BEGIN PERFORM pg_sleep($1); RETURN NEW; END';
CREATE TRIGGER slow BEFORE UPDATE ON shop.orders FOR EACH ROW
WHEN (${2:-true}) EXECUTE FUNCTION shop.be_slow();
SQL
}

# The last run as its row has it.
last_run()
{
    sql -c "SELECT concat_ws(' ', stopped, swept, kept, locked, changed, gone,
                             failed, unknown, rest)
              FROM order_sweep.run ORDER BY id DESC LIMIT 1"
}

invariants()
{
    # A session that has just ended may still be listed.
    wait_sessions_gone
    sql -f "$support/invariants.sql" \
        >"$ORDER_SWEEP_TMP/broken"
    if [ -s "$ORDER_SWEEP_TMP/broken" ]; then
        die "$(cat "$ORDER_SWEEP_TMP/broken")"
    fi
}

own_server()
{
    # shellcheck source=tests/support/cluster.sh
    . "$support/cluster.sh"
    trap cluster_stop EXIT
    cluster_start keep
}

own_stop()
{
    cluster_as_server "$(cluster_bindir)/pg_ctl" -D "$cluster_dir/data" \
        -m "$1" -w stop >/dev/null
}

own_start()
{
    cluster_as_server "$(cluster_bindir)/pg_ctl" -D "$cluster_dir/data" \
        -l "$cluster_dir/run/server.log" -w -t 60 start >/dev/null
}

# --- The program -------------------------------------------------------------

run()
{
    local wanted=$1 status=0
    shift
    "$ORDER_SWEEP_BIN" "$@" >"$out" 2>"$err" </dev/null || status=$?
    if [ "$status" != "$wanted" ]; then
        die "order-sweep $* ended with $status, not $wanted"
    fi
}

start()
{
    local files=$ORDER_SWEEP_TMP/started.$((${#started[@]} + 1))
    # A job in the background ignores INT unless told otherwise.
    env --default-signal=INT "$ORDER_SWEEP_BIN" "$@" >"$files.out" \
        2>"$files.err" </dev/null &
    pid=$!
    started[pid]=$files
}

finish()
{
    local files=${started[${2:-$pid}]} status=0
    # Without the shell's own word on a run that was killed.
    { wait "${2:-$pid}" || status=$?; } 2>/dev/null
    cp "$files.out" "$out"
    cp "$files.err" "$err"
    if [ "$status" != "$1" ]; then
        die "the run ended with $status, not $1"
    fi
}

# --- The network -------------------------------------------------------------

# shellcheck disable=SC2034  # proxy_port is for whoever sources this
declare -A proxy_port proxy_in proxy_out

proxy_start()
{
    local name=$1 pipe=$ORDER_SWEEP_TMP/proxy.$1 in out
    shift
    rm -f "$pipe.in" "$pipe.out"
    mkfifo "$pipe.in" "$pipe.out"
    "$ORDER_SWEEP_PROXY" "$PGHOST/.s.PGSQL.$PGPORT" "$@" \
        <"$pipe.in" >"$pipe.out" &
    # Both ends: so it waits for nobody, and goes on till it is told to end.
    exec {in}<>"$pipe.in" {out}<"$pipe.out"
    proxy_in[$name]=$in
    proxy_out[$name]=$out
    read -r "proxy_port[$name]" <&"$out"
}

proxy()
{
    echo "$2" >&"${proxy_in[$1]}"
    read -r answer <&"${proxy_out[$1]}"
    case $answer in
    ok*) answer=${answer#ok} ;;
    *) die "the proxy answers $2 with $answer" ;;
    esac
    answer=${answer# }
}

proxy_stop()
{
    local in=${proxy_in[$1]} out=${proxy_out[$1]}
    proxy "$1" end
    exec {in}>&- {out}<&-
}

# --- Checks ------------------------------------------------------------------

is()
{
    if [ "$2" != "$3" ]; then
        die "$1: \"$3\", not \"$2\""
    fi
}

one_line()
{
    if [ "$(wc -l <"$err")" != 1 ]; then
        die "stderr is not one line"
    fi
    if [ -s "$out" ]; then
        die "stdout is not empty"
    fi
}

said()
{
    sed -E 's/^(order-sweep: ([a-z]+: )?)run [0-9]+: /\1/' "$err"
}

says()
{
    one_line
    is stderr "order-sweep: $1" "$(said)"
}

says_like()
{
    one_line
    # shellcheck disable=SC2254  # a pattern
    case $(said) in
    "order-sweep: "$1) ;;
    *) die "stderr is not like: $1" ;;
    esac
}

silent()
{
    if [ -s "$out" ] || [ -s "$err" ]; then
        die "not silent"
    fi
}

value()
{
    is "$2" "$1" "$(sql -c "$2")"
}

truthful()
{
    is 'the report is true' t "$(sql -v line="$(cat "$out")" <<'SQL'
SELECT count(j.*) BETWEEN (r->>'swept')::int
                      AND (r->>'swept')::int + (r->>'unknown')::int
  FROM (SELECT :'line'::jsonb) AS t(r)
  LEFT JOIN order_sweep.journal j ON j.run_id = (r->>'run')::bigint
 GROUP BY r;
SQL
)"
}

reported()
{
    sql -v line="$(cat "$out")" -v fields="$*" <<'SQL'
SELECT string_agg(:'line'::jsonb->>f, ' ' ORDER BY n)
  FROM string_to_table(:'fields', ' ') WITH ORDINALITY AS t(f, n);
SQL
}

dump()
{
    # Sorted, for an update that changes nothing moves a row all the same.
    # Newer versions of pg_dump write a key of their own making.
    pg_dump | grep -v -E '^\\(un)?restrict ' | LC_ALL=C sort >"$1"
}

unchanged()
{
    dump "$ORDER_SWEEP_TMP/after"
    if ! diff "$1" "$ORDER_SWEEP_TMP/after" >"$ORDER_SWEEP_TMP/diff"; then
        die "the database changed: $(head -n 20 "$ORDER_SWEEP_TMP/diff")"
    fi
}

terminal()
{
    local columns=$1
    shift
    script -qec "stty cols $columns; exec '$ORDER_SWEEP_BIN' $*" /dev/null \
        </dev/null | tr -d '\r' >"$out"
}

# A wide character is three bytes, and takes two columns.
widest()
{
    LC_ALL=C awk '{ gsub(/\033\[[0-9]*m/, ""); bytes = gsub(/[\200-\377]/, "")
        columns = length($0) + bytes / 3 * 2
        if (columns > most) most = columns } END { print most }' "$out"
}
ask_lines()
{
    # No character of JSON text is taken for a quote or an escape.
    cat >"$ORDER_SWEEP_TMP/load.sql" <<'SQL'
CREATE TEMPORARY TABLE line (l jsonb);
\copy line FROM pstdin (FORMAT csv, DELIMITER E'\x02', QUOTE E'\x01')
SQL
    sql -f "$ORDER_SWEEP_TMP/load.sql" -c "$2" <"$1"
}

wait_until()
{
    local tries=600
    while [ "$(sql -c "SELECT $1")" != t ]; do
        tries=$((tries - 1))
        if [ "$tries" = 0 ]; then
            die "waited in vain until $1"
        fi
        sleep 0.05
    done
}

wait_sessions_gone()
{
    wait_until "NOT EXISTS (SELECT FROM pg_stat_activity
        WHERE datname = current_database()
          AND application_name LIKE 'order-sweep%')"
}

slots()
{
    wait_until "(SELECT (count(*) FILTER (WHERE l.granted),
                         count(*) FILTER (WHERE NOT l.granted)) = ($1, $2)
        FROM pg_locks l JOIN pg_database d ON d.oid = l.database
        WHERE d.datname = current_database() AND l.locktype = 'advisory'
          AND l.classid BETWEEN 1869838192 + 1 AND 1869838192 + 256)"
}

# --- Gates -------------------------------------------------------------------

make_gate()
{
    sql -c 'SET client_min_messages = warning' -f - <<'SQL'
CREATE SCHEMA IF NOT EXISTS gate;
CREATE TABLE IF NOT EXISTS gate.closed (name text);
CREATE OR REPLACE FUNCTION gate.pass() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    _name text := TG_ARGV[0];
BEGIN
    IF _name IS NULL THEN
        _name := NEW.id::text;
    END IF;
    WHILE EXISTS (SELECT FROM gate.closed c WHERE c.name = _name) LOOP
        PERFORM pg_sleep(0.01);
    END LOOP;
    RETURN NEW;
END $$;
SQL
}

gate_orders()
{
    make_gate
    sql -c 'CREATE TRIGGER gate BEFORE UPDATE ON shop.orders FOR EACH ROW
            EXECUTE FUNCTION gate.pass()'
}

gate_table()
{
    make_gate
    sql -c "CREATE TRIGGER ${3:-gate} BEFORE $2 ON order_sweep.$1 FOR EACH ROW
            EXECUTE FUNCTION gate.pass('${3:-$1}')"
}

close_gate()
{
    sql -c "INSERT INTO gate.closed VALUES ('$1')"
}

open_gates()
{
    sql -c 'DELETE FROM gate.closed'
}

wait_at_gate()
{
    wait_at_gates 1
}

wait_at_gates()
{
    wait_until "(SELECT count(*) = $1 FROM pg_stat_activity
        WHERE datname = current_database()
          AND application_name LIKE 'order-sweep%' AND wait_event = 'PgSleep')"
}

# The id of the due order that is swept as the n-th.
due_order()
{
    sql -c "SELECT id FROM shop.orders WHERE order_status = 1
            ORDER BY created, id OFFSET $1 - 1 LIMIT 1"
}
