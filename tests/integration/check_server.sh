#!/bin/bash
# What order-sweep check finds about the server: a standby, what is set for all,
# a database that takes no connections, and who holds back vacuum.  On a server of
# its own.
set -euo pipefail

# shellcheck source=tests/support/db.sh
. "$ORDER_SWEEP_SOURCE/tests/support/db.sh"
# shellcheck source=tests/support/steps.sh
. "$ORDER_SWEEP_SOURCE/tests/support/steps.sh"
# shellcheck source=tests/support/findings.sh
. "$ORDER_SWEEP_SOURCE/tests/support/findings.sh"

standby=
server()
{
    cluster_as_server "$(cluster_bindir)/pg_ctl" "$@" >/dev/null
}
stop_all()
{
    tidy_up
    if [ -n "$standby" ]; then
        server -D "$standby" -m fast -w stop
    fi
    cluster_stop
}
trap stop_all EXIT
# A session that is terminated here may be gone before it is let go.
trap '' PIPE
ORDER_SWEEP_TEST_CONF='max_prepared_transactions = 2' cluster_start ''

new_findings server
clean 'a clean server'

# --- Read only, for all -------------------------------------------------------

only=default_transaction_read_only
# becomes SETTING VALUE: once the server has read its files again.
becomes()
{
    super 'SELECT pg_reload_conf()' >/dev/null
    until_true "SELECT reset_val = '$2' FROM pg_settings WHERE name = '$1'"
}
# pasted MEND: as a superuser does it.
pasted()
{
    PGUSER=$superuser sql -f - <<<"$1" >/dev/null
}
change "SELECT FROM order_sweep.grant_to('$cron')"
super "ALTER SYSTEM SET $only = on"
becomes "$only" on
mend="ALTER SYSTEM RESET $only; SELECT pg_reload_conf();"
finds 'a server that is read only' 78 "fail||read only|$only is on|$mend"
super "BEGIN READ WRITE; ALTER ROLE $cron IN DATABASE $PGDATABASE SET $only = off; COMMIT"
finds 'not for a role that says otherwise' 0 '' --role="$cron"
pasted "$mend"
becomes "$only" off
clean 'it is no more'
super "ALTER ROLE ALL SET $only = on"
mend="BEGIN READ WRITE; ALTER ROLE ALL RESET $only; COMMIT;"
finds 'all roles' 78 "fail||read only|$only is on|$mend"
pasted "$mend"
clean 'none of them'

# --- A database that takes no connections -------------------------------------

# Who is in already sees it; and a superuser, of a limit.
database()
{
    ask "SELECT concat_ws('|', level, what, mend) FROM order_sweep.check()
        WHERE item = 'database'"
}
# closed CHANGE WHAT MEND SAID: what check finds, and what one who comes is told.
closed()
{
    sql -d postgres -U "$superuser" -c "ALTER DATABASE $PGDATABASE $1"
    is "$1" "$(database)" "fail|database $PGDATABASE $2|ALTER DATABASE $PGDATABASE $3;"
    runs 69 check
    is "$1: who comes" "$(printf '%s' "$err" | grep -c "$4")" 1
    sql -d postgres -U "$superuser" -c "ALTER DATABASE $PGDATABASE $3"
    clean "$1: no more"
}
closed 'CONNECTION LIMIT 0' 'has a connection limit of 0' 'CONNECTION LIMIT -1' \
    'too many connections'
closed 'ALLOW_CONNECTIONS false' 'takes no connections' 'ALLOW_CONNECTIONS true' \
    'not currently accepting connections'

# --- Sessions of others ------------------------------------------------------

PGUSER=$superuser hold "SET application_name = 'a report';
    BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM shop.t" >/dev/null
pid=$(converse 5 6 'SELECT pg_backend_pid()')
clean 'a snapshot of another, and not much came after it'
ask "DO 'BEGIN FOR n IN 1..10000 LOOP
    BEGIN INSERT INTO shop.t (id) VALUES (n); EXCEPTION WHEN OTHERS THEN NULL; END;
    END LOOP; END'" >/dev/null
mend="GRANT pg_monitor TO $owner;"
finds 'a snapshot of another that is old' 1 "warn||vacuum|session $pid (a report) holds back vacuum for more than 10000 transactions, and role $owner cannot see since when|$mend"
# From here on he sees them.
super "$mend"
clean 'one of less than five minutes'
let_go COMMIT
change 'TRUNCATE shop.t'

# --- Isolation ---------------------------------------------------------------

mend='ALTER SYSTEM RESET default_transaction_isolation; SELECT pg_reload_conf();'
super "ALTER SYSTEM SET default_transaction_isolation = 'serializable'"
becomes default_transaction_isolation serializable
finds 'isolation of the server' 1 \
    "warn||isolation|default_transaction_isolation is serializable|$mend"
pasted "$mend"
becomes default_transaction_isolation 'read committed'
clean 'isolation reset'
# He who sees all settings is told the file.
conf=$cluster_dir/data/postgresql.conf
cluster_as_server sh -c "echo '$only = on' >>'$conf'"
becomes "$only" on
finds 'read only in the file' 78 "fail||read only|$only is on|Take it out of $conf, line $(wc -l <"$conf"), and SELECT pg_reload_conf()."
cluster_as_server sed -i '$d' "$conf"
becomes "$only" off
clean 'the file without it'

# --- Vacuum ------------------------------------------------------------------

# As check does it, but with no patience.
vacuum()
{
    ask "SELECT regexp_replace(concat_ws('|', level, item, what, mend),
            'for [0-9:]+', 'for ...', 'g')
        FROM order_sweep.check(NULL, '0') WHERE item = 'vacuum'"
}
is 'nobody holds back vacuum' "$(vacuum)" ''

hold "SET application_name = 'a report'; BEGIN ISOLATION LEVEL REPEATABLE READ;
    SELECT count(*) FROM shop.t" >/dev/null
pid=$(converse 5 6 'SELECT pg_backend_pid()')
is 'an open snapshot' "$(vacuum)" "warn|vacuum|session $pid (a report) has held back vacuum for ...|SELECT pg_terminate_backend($pid);"
clean 'one of less than five minutes'
super "SELECT pg_terminate_backend($pid)" >/dev/null
let_go >/dev/null 2>&1 || :
until_true "SELECT NOT EXISTS (SELECT FROM pg_stat_activity WHERE pid = $pid)"
is 'the session is gone' "$(vacuum)" ''

hold "SET application_name = 'a writer'; BEGIN; INSERT INTO shop.t (id) VALUES (9)" \
    >/dev/null
pid=$(converse 5 6 'SELECT pg_backend_pid()')
is 'an open transaction' "$(vacuum)" "warn|vacuum|session $pid (a writer) has held back vacuum for ...|SELECT pg_terminate_backend($pid);"
let_go ROLLBACK

# A VACUUM that takes its time.
change "CREATE TABLE shop.big AS SELECT n, repeat('x', 1000) FROM
    generate_series(1, 5000) n; DELETE FROM shop.big"
hold "SET vacuum_cost_limit = 1; SET vacuum_cost_delay = 100" >/dev/null
pid=$(converse 5 6 'SELECT pg_backend_pid()')
printf 'VACUUM shop.big;\n' >&5
until_true "SELECT EXISTS (SELECT FROM pg_stat_progress_vacuum v
    JOIN pg_stat_activity a USING (pid)
    WHERE pid = $pid AND a.backend_xmin IS NOT NULL)"
is 'a VACUUM at work' "$(vacuum)" ''
super "SELECT pg_terminate_backend($pid)" >/dev/null
let_go >/dev/null 2>&1 || :
until_true "SELECT NOT EXISTS (SELECT FROM pg_stat_activity WHERE pid = $pid)"
change 'DROP TABLE shop.big'

psql -X -q -d postgres -U "$superuser" -c 'BEGIN' -c 'SELECT txid_current()' \
    -c "PREPARE TRANSACTION 'other'" >/dev/null
is 'a transaction of another database' "$(vacuum)" ''
psql -X -q -d postgres -U "$superuser" -c "ROLLBACK PREPARED 'other'"
change "BEGIN; INSERT INTO shop.t (id) VALUES (9);
    PREPARE TRANSACTION 'it''s left'"
mend="ROLLBACK PREPARED 'it''s left';"
is 'a prepared transaction' "$(vacuum)" "warn|vacuum|prepared transaction 'it''s left' has held back vacuum for ...|$mend"
change "$mend"
is 'it is gone' "$(vacuum)" ''

# A slot tells no age: one that nobody uses is found at once.
super "SELECT pg_create_physical_replication_slot('left_over', true)" >/dev/null
is 'a slot that holds no snapshot' "$(vacuum)" ''

# --- A standby ---------------------------------------------------------------

# It sends the snapshots of its sessions through the slot.
cluster_as_server mkdir -m 700 "$cluster_dir/run/standby"
standby=$cluster_dir/run/standby
cluster_as_server env PGHOST="$PGHOST" PGUSER="$superuser" \
    "$(cluster_bindir)/pg_basebackup" -D "$standby" -R -S left_over -c fast \
    >/dev/null
cluster_as_server sh -c "printf '%s\n' 'port = 5433' \
    'hot_standby_feedback = on' 'wal_receiver_status_interval = 1' \
    >>'$standby/postgresql.conf'"
server -D "$standby" -l "$cluster_dir/run/standby.log" -w -t 60 start

finds 'a standby' 78 'fail||standby|this server is a standby|Name the primary, or all hosts: --host a,b.' \
    --port 5433
clean 'its primary'
runs 78 check --port 5433 --probe
is 'the probe needs a primary' "$(printf '%s' "$err" | grep -c read-only)" 1
runs 0 check --host "$PGHOST,$PGHOST" --port 5433,5432 --probe
order=$(place '31 minutes')
until_true "SELECT bool_and(replay_lsn >= pg_current_wal_lsn())
    FROM pg_stat_replication"
runs 0 explain --port 5433 --sweep=cancel_unpaid "$order"
is 'explain on a standby' "$(printf '%s\n' "$out" | tail -n 1)" \
    '    the next run sweeps it'
runs 0 --port 5433 --dry-run --format=json
runs 69 --port 5433

# Its snapshot stays in the slot when it dies.
until_true "SELECT xmin IS NOT NULL FROM pg_replication_slots"
server -D "$standby" -m immediate -w stop
standby=
until_true 'SELECT NOT active FROM pg_replication_slots'
mend="SELECT pg_drop_replication_slot('left_over');"
finds 'a slot that nobody uses' 1 \
    "warn||vacuum|replication slot left_over holds back vacuum|$mend"
super "$mend"
clean 'the slot is gone'

finish
