#!/bin/bash
# A standby among the hosts, and a failover to it when it lags: what the old
# primary had swept is swept again there, with the same event ids, and what was
# paid is kept.
set -euo pipefail

# shellcheck source=tests/support/shop.sh
. "$ORDER_SWEEP_SOURCE/tests/support/shop.sh"

server()
{
    cluster_as_server "$(cluster_bindir)/pg_ctl" "$@" >/dev/null
}

own_server
standby=$cluster_dir/run/standby
stop_all()
{
    server -D "$standby" -m fast -w stop || :
    cluster_stop
}
trap stop_all EXIT
cluster_as_server "$(cluster_bindir)/pg_basebackup" -D "$standby" -h "$PGHOST" \
    -U "$PGUSER" -R -c fast
cluster_as_server sh -c "echo 'port = 5433' >>'$standby/postgresql.conf'"
server -D "$standby" -l "$cluster_dir/run/standby.log" -w -t 60 start
new_shop promotion 400 20

on_standby()
{
    PGPORT=5433 "$@"
}

caught_up()
{
    wait_until '(SELECT bool_and(replay_lsn >= pg_current_wal_lsn())
                   FROM pg_stat_replication)'
}

# --- The standby alone, and before the primary -------------------------------

caught_up
for command in '' migrate; do
    # shellcheck disable=SC2086  # empty: no argument
    on_standby run 69 $command
    grep -q 'session is read-only; name the primary, or all hosts; ' "$err" || die 'the standby is not told'
done
on_standby run 0 --dry-run
hosts="--host $PGHOST,$PGHOST"
# shellcheck disable=SC2086  # two words
run 0 $hosts --port 5433,5432 --max-orders 10
silent
value 10 'SELECT count(*) FROM order_sweep.journal'

# --- The standby lags --------------------------------------------------------

# It has seen these payments, of orders that are due.
sql -o /dev/null -c 'SELECT shop.pay_order(id, 1) FROM (SELECT id
    FROM shop.orders WHERE order_status = 1
    ORDER BY created, id LIMIT 20) AS due'
caught_up
on_standby sql -c "ALTER SYSTEM SET primary_conninfo = ''"
on_standby sql -o /dev/null -c 'SELECT pg_reload_conf()'
on_standby wait_until 'NOT EXISTS (SELECT FROM pg_stat_wal_receiver)'

# It has not seen this run.
run 0 --max-orders 50 --format json
grep -q '"swept":50,' "$out" || die 'the last run on the old primary failed'
events='SELECT order_sweep.event_id(sweep, order_key, ordinal)
          FROM order_sweep.journal ORDER BY 1'
sql -c "$events" >"$ORDER_SWEEP_TMP/before"
is 'events of the old primary' 60 "$(wc -l <"$ORDER_SWEEP_TMP/before")"
on_standby value 10 'SELECT count(*) FROM order_sweep.journal'

# --- The standby is the primary now ------------------------------------------

own_stop immediate
server -D "$standby" -w promote
# shellcheck disable=SC2086  # two words
run 0 $hosts --port 5432,5433
silent
PGPORT=5433
value 0 'SELECT count(*) FROM order_sweep.cancel_unpaid_due(NULL)'
value 20 'SELECT count(*) FROM shop.payment p JOIN shop.orders o
    ON o.id = p.order_id WHERE o.order_status = 2 AND p.amount = 1'
sql -c "$events" >"$ORDER_SWEEP_TMP/after"
is 'events of the old primary that the new one has not' '' \
    "$(comm -23 "$ORDER_SWEEP_TMP/before" "$ORDER_SWEEP_TMP/after")"
invariants
