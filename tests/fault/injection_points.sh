#!/bin/bash
# The matrix of faults: at each step of a run, the program exits, is killed, is
# stopped, loses its connection, or sees its server die. Then a plain run does
# the rest; what both told is true, and nothing is half done, lost or done
# twice: injection_points.sql has the rules.
set -euo pipefail

# shellcheck source=tests/support/shop.sh
. "$ORDER_SWEEP_SOURCE/tests/support/shop.sh"

# The rows: a point and its passing. Orders are listed 50 at a time, and up to
# 64 are in flight. Each row has a database of its own, so that all of a column
# can stand at the same time.
steps=(
    'before-connect 1'
    'before-sync 1'
    'after-sync 1'
    'after-probe 1'
    'after-lock 1'
    'after-batch 1'
    'after-order 1'
    'before-sync 40'
    'after-sync 40'
    'after-order 64'
    'after-batch 2'
    'after-order 120'
    'before-close 1'
    'before-report 1'
)
orders=120

# The columns. stop: for 5 s; late: for 5 s, and past the limits of the run;
# batch and each: the server is stopped immediately, with that --durability.
faults=(exit kill disconnect stop late batch each)

# For the last part: so many orders, and one more that fails.
few=3

# A server that flushes nothing by itself while its WAL writer is stopped: what
# no run has flushed when the server dies is gone.
ORDER_SWEEP_TEST_CONF='fsync = off
wal_buffers = 64MB
wal_writer_delay = 10s
wal_writer_flush_after = 1GB
autovacuum = off'
own_server
# Debian's psql is a script that looks for the real one; this goes there at once.
PATH=$(cluster_bindir):$PATH

# rest SECONDS: nobody writes into the pipe. A sleep is a process, and outlives
# the job it is in.
mkfifo "$ORDER_SWEEP_TMP/never"
rest()
{
    read -r -t "$1" <>"$ORDER_SWEEP_TMP/never" || :
}

# What stands is not left behind, and a server with it cannot be ended.
wal_writer=
clean_up()
{
    # shellcheck disable=SC2046  # numbers, or nothing
    kill -KILL $(jobs -p) 2>/dev/null || :
    # shellcheck disable=SC2086
    kill -CONT $wal_writer 2>/dev/null || :
    cluster_stop
}
trap clean_up EXIT

# Stop it while it waits: at work it has locks that a flush needs.
stop_wal_writer()
{
    wal_writer=$(sql -c "SELECT pid FROM pg_stat_activity
        WHERE backend_type = 'walwriter'")
    kill -STOP "$wal_writer"
    until [ "$(sql -c "SELECT wait_event FROM pg_stat_activity
        WHERE backend_type = 'walwriter'")" = WalWriterMain ]; do
        kill -CONT "$wal_writer"
        rest 0.01
        kill -STOP "$wal_writer"
    done
}

# A WAL writer that does not hear is killed by the server after 5 s.
kill_server()
{
    own_stop immediate
    wal_writer=
}

# By step.
declare -A pids codes last
# By "step:fault".
declare -A cells
red=0
undone=0

# --- A cell ------------------------------------------------------------------

# order STEP ORDERS: so many are due.
order()
{
    place "$2" '1 hour'
    last[$1]=$(sql -c 'DELETE FROM order_sweep.failure' \
        -c 'SELECT coalesce(max(id), 0) FROM order_sweep.run')
}

# begin STEP ACTION ARGUMENT...: start a run that meets its fault there; it
# stands at the point now, or has ended.
begin()
{
    local state
    ORDER_SWEEP_BIN=$ORDER_SWEEP_INJECTION_BIN \
        ORDER_SWEEP_INJECT=${1% *}:$2:${1#* } start --format json "${@:3}"
    pids[$1]=$pid
    while read -r state <"/proc/$pid/stat"; do
        case ${state##*) } in
        [TZ]*) break ;;
        esac
        rest 0.02
    done 2>/dev/null
}

# end STEP: wait until the run has ended.
end()
{
    codes[$1]=0
    { wait "${pids[$1]}" || codes[$1]=$?; } 2>/dev/null
}

# The session of a run that has died goes on until it notices.
wait_all_gone()
{
    wait_until "NOT EXISTS (SELECT FROM pg_stat_activity
        WHERE application_name LIKE 'order-sweep%')"
}

# settle STEP FAULT ORDERS FAILING CODE: the plain run, and the verdict. CODE is
# a pattern for the exit code of the run that met the fault.
settle()
{
    local files=${started[${pids[$1]}]} code=${codes[$1]} plain=0
    local died=f crash=f batch=t verdict cell lost problems
    case $2 in
    exit | kill) died=t ;;
    batch) crash=t ;;
    each) crash=t batch=f ;;
    esac
    "$ORDER_SWEEP_BIN" --format json >"$out" 2>"$err" </dev/null || plain=$?
    verdict=$(sql -v first="$(<"$files.out")" -v err="$(<"$files.err")" \
        -v code="$code" -v died=$died -v crash=$crash -v batch=$batch \
        -v plain="$(<"$out")" -v plain_code=$plain -v last="${last[$1]}" \
        -v due="$3" -v bad="$4" -f "${0%.sh}.sql" -f "$support/invariants.sql")
    # The invariants that are broken stand behind the problems.
    IFS='|' read -r -d '' cell lost problems <<<"$verdict" || :
    undone=$((undone + lost))
    cells[$1:$2]=$cell
    if [[ ! $code =~ ^($5)$ ]]; then
        problems="exit code $code, not $5; $problems"
    fi
    if [ -n "${problems//[[:space:]]/}" ]; then
        cells[$1:$2]+=' RED'
        red=$((red + 1))
        echo "$1, $2: $problems"
        cat "$files.out" "$files.err" "$out" "$err"
    fi
}

# --- The matrix --------------------------------------------------------------

# all COMMAND...: run it for each step, in the step's database; the last steps
# first, for what a run flushes at its end must not help the others.
all()
{
    local i
    for ((i = ${#steps[@]} - 1; i >= 0; i--)); do
        PGDATABASE=step_$i
        "$@" "${steps[i]}"
    done
}

order_many()
{
    order "$1" $orders
}

meet_fault()
{
    case $fault in
    exit | kill | disconnect)
        begin "$1" "$fault" --batch-size 50
        ;;
    stop)
        begin "$1" stop --batch-size 50
        go_on_later "$1"
        ;;
    late)
        begin "$1" stop --batch-size 50 --time-limit 4s --hard-limit 5s
        go_on_later "$1"
        ;;
    batch | each)
        begin "$1" stop --batch-size 50 --durability "$fault"
        ;;
    esac
}

go_on()
{
    kill -CONT "${pids[$1]}"
}

go_on_later()
{
    {
        rest 5
        go_on "$1"
    } &
}

# A fault hits nothing where there is no connection yet, and where all is done
# and flushed.
expected()
{
    case $fault:$1 in
    exit:*) echo 3 ;;
    kill:*) echo 137 ;;
    stop:*) echo 0 ;;
    late:*) echo '0|1|69' ;; # as its report says
    *:'before-report 1' | disconnect:'before-connect 1') echo 0 ;;
    *) echo 69 ;;
    esac
}

settle_many()
{
    settle "$1" "$fault" $orders 0 "$(expected "$1")"
}

column()
{
    local fault=$1
    all order_many
    case $fault in
    batch | each)
        stop_wal_writer
        all meet_fault
        kill_server
        all go_on
        all end
        own_start
        ;;
    *)
        all meet_fault
        all end
        ;;
    esac
    wait_all_gone
    undone=0
    all settle_many
}

print_matrix()
{
    local step fault
    echo 'exit code; swept+unknown as told / in the journal'
    printf '%-18s' '' "${faults[@]}"
    echo
    for step in "${steps[@]}"; do
        printf '%-18s' "$step"
        for fault in "${faults[@]}"; do
            printf '%-18s' "${cells[$step:$fault]}"
        done
        echo
    done
}

new_shop template 20 4
run 0
for i in "${!steps[@]}" few; do
    sql -d postgres -c "CREATE DATABASE step_$i TEMPLATE $PGDATABASE"
done
# A sequence logs each 32nd value only. In a copy of a database that would be
# forgotten by the crash; the first value after a checkpoint is logged again.
sql -c CHECKPOINT

for fault in "${faults[@]}"; do
    began=$SECONDS
    column "$fault"
    echo "$fault: $((SECONDS - began)) s"
    if [ "$fault" = batch ]; then
        echo "the crash undid $undone orders that were told as swept"
        [ "$undone" -gt 0 ] || die 'the crash undid nothing'
    fi
done
print_matrix

# --- Every Sync --------------------------------------------------------------

# With an order that fails, the oldest, so that its booking is among the Syncs.
PGDATABASE=step_few
place 1 '2 hours' 100
sql -c 'DELETE FROM shop.goods WHERE id = 100'

# meet_at POINT PASSING ACTION CODE
meet_at()
{
    local step="$1 $2"
    order "$step" $few
    begin "$step" "$3"
    end "$step"
    wait_all_gone
    settle "$step" "$3" $((few + 1)) 1 "$4"
}

began=$SECONDS
for point in before-sync after-sync; do
    n=0
    code=137
    while [ "$code" = 137 ]; do
        n=$((n + 1))
        meet_at $point $n kill '137|1'
        code=${codes[$point $n]}
    done
    # The last run was not hit. The last Sync of a run gives its lock back,
    # when all is done.
    syncs=$((n - 1))
    for ((n = 1; n < syncs; n++)); do
        meet_at $point $n disconnect 69
    done
    meet_at $point $syncs disconnect 1
    echo "$point: killed and disconnected at each of $syncs"
    # Of each order, of its failure's booking, of the books: lock to closing.
    [ $syncs -gt $((few + 5)) ] || die 'too few Syncs'
done
echo "$((SECONDS - began)) s"

[ "$red" = 0 ] || die "$red are red"
