#!/bin/bash
# The server dies while a run, whose commits are asynchronous, has not closed
# its books, and a relay works beside it: whatever was told was cancelled, and
# still is.
set -euo pipefail

# shellcheck source=tests/support/shop.sh
. "$ORDER_SWEEP_SOURCE/tests/support/shop.sh"

# A server that flushes nothing by itself.
# shellcheck disable=SC2034  # for own_server
ORDER_SWEEP_TEST_CONF='wal_writer_delay = 10s
wal_writer_flush_after = 1GB
autovacuum = off'
own_server
new_shop crash 10
run 0
sql -o /dev/null -c "SELECT order_sweep.publish('cancel_unpaid')"
gate_orders
told=$ORDER_SWEEP_TMP/told
export told

# The server dies, and with it what was not flushed, as when the power fails:
# what it wrote without is in the system's memory only.
lose_power()
{
    local file offset
    read -r file offset < <(sql -F ' ' -c "SELECT * FROM
        pg_walfile_name_offset(pg_current_wal_flush_lsn())")
    own_stop immediate
    # shellcheck disable=SC2154  # of cluster.sh
    file=$cluster_dir/data/pg_wal/$file
    truncate -s "$offset" "$file"
    truncate -s 16M "$file"
}

# crash: 199 orders of 200 were swept and told of when the server dies; $undone
# is how many of these nobody has cancelled.
crash()
{
    local tries=600 sweeper
    place 200 '1 hour'
    : >"$told"
    close_gate "$(due_order 200)"
    sql -c CHECKPOINT
    start --time-limit 1m
    sweeper=$pid
    wait_at_gate
    start relay --linger --look-every 100ms --time-limit 1m -- sh -c 'cat >>"$told"'
    while [ "$(wc -l <"$told")" -lt 199 ]; do
        tries=$((tries - 1))
        [ $tries -gt 0 ] || die "only $(wc -l <"$told") events were told"
        sleep 0.05
    done
    lose_power
    finish 69 "$sweeper"
    finish 69 "$pid"
    own_start
    open_gates
    undone=$(ask_lines "$told" "SELECT count(*)
        FROM line LEFT JOIN shop.orders o
          ON o.id = (l->>'aggregateid')::int AND o.order_status = 3
       WHERE o.id IS NULL")
}

crash
is 'told, and not cancelled' 0 "$undone"
run 0
sql -c 'UPDATE order_sweep.delivery SET next_try = now()'
run 0 relay -- sh -c 'cat >>"$told"'
value 0 "SELECT count(*) FROM order_sweep.journal WHERE published_at IS NULL
    AND swept_at >= (SELECT publish_since FROM order_sweep.sweep)"
invariants

# Without the flush, somebody is told of a cancel that never was.
sql <<'SQL'
DO $$
BEGIN
    EXECUTE replace(pg_get_functiondef('order_sweep.claim_events'::regproc),
                    '''synchronous_commit'', ''on''',
                    '''synchronous_commit'', ''off''');
END $$;
SQL
crash
[ "$undone" -gt 0 ] || die 'the flush makes no difference'
