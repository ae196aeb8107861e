#!/bin/bash
# What a run has called done stays done, even if the server dies at once.
set -euo pipefail

# shellcheck source=tests/support/shop.sh
. "$ORDER_SWEEP_SOURCE/tests/support/shop.sh"

# A server that by itself flushes nothing for ten seconds.
ORDER_SWEEP_TEST_CONF='wal_writer_delay = 10s
wal_writer_flush_after = 1GB
autovacuum = off'
own_server
new_shop durable 400 20
due=200

# Where the WAL stood when the run, all its orders done, closed its books.
sql <<'SQL'
CREATE TABLE shop.closing (at pg_lsn);
CREATE FUNCTION shop.note() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO shop.closing VALUES (pg_current_wal_insert_lsn());
    RETURN NEW;
END $$;
CREATE TRIGGER note BEFORE UPDATE ON order_sweep.run
FOR EACH ROW EXECUTE FUNCTION shop.note();
SQL

for durability in batch each; do
    sql -c CHECKPOINT -c 'DELETE FROM shop.closing'
    # A server, database or role that is careless on its own account.
    for setting in on off; do
        sql -c "ALTER DATABASE $PGDATABASE SET synchronous_commit = $setting"
        run 0 --durability $durability
        silent
        value t 'SELECT pg_current_wal_flush_lsn() >= max(at) FROM shop.closing'
        own_stop immediate
        own_start
        value $due 'SELECT count(*) FROM order_sweep.journal'
        value 0 "SELECT count(*) FROM order_sweep.run WHERE ended_at IS NULL"
        value 0 "SELECT count(*) FROM order_sweep.cancel_unpaid_due(NULL)"
        invariants
        place 200 '1 hour'
        sql -c CHECKPOINT
        due=$((due + 200))
    done
done

# Somebody empties the table of runs meanwhile: nothing is flushed at the end,
# and the run says so.
place 20 '1 hour'
gate_orders
close_gate "$(due_order 20)"
start --format json
wait_at_gate
sql -c 'DELETE FROM order_sweep.run'
open_gates
finish 78
grep -q 'the row of run [0-9]* is closed or gone' "$err" || die 'no word on the row'
grep -q '20 orders were swept, but are not known to be durable' "$err" ||
    die 'no word on the orders'
invariants
