#!/bin/bash
# A run with nothing to do leaves no trace in the database: no WAL, no
# transaction id.  A run with work leaves no warning in the server's log.
set -euo pipefail

# shellcheck source=tests/support/shop.sh
. "$ORDER_SWEEP_SOURCE/tests/support/shop.sh"

# Nothing else on this server may write: no autovacuum, no checkpoint by the
# clock, and no snapshots for standbys.
ORDER_SWEEP_TEST_CONF="autovacuum = off
checkpoint_timeout = 1d
wal_level = minimal
max_wal_senders = 0"
own_server
log=$cluster_dir/run/server.log

new_shop idle 1000 20
run 0
silent
if grep -E 'WARNING|ERROR|FATAL|PANIC' "$log"; then
    die 'a run left this in the log of the server'
fi

sql -c VACUUM -c CHECKPOINT
trace()
{
    sql -c 'SELECT pg_current_wal_insert_lsn(),
                   pg_snapshot_xmax(pg_current_snapshot())'
}
before=$(trace)
for _ in $(seq 100); do
    run 0
    silent
done
is 'WAL position and next transaction' "$before" "$(trace)"
run 0 --dry-run
is 'the same after a dry run' "$before" "$(trace)"

# After five minutes of quiet one run gives a sign of life, the next does not.
sql -c "UPDATE order_sweep.life SET seen_at = now() - interval '6 minutes'"
run 0
silent
value t "SELECT seen_at > now() - interval '1 minute' FROM order_sweep.life"
before=$(trace)
run 0
is 'the same after a sign of life' "$before" "$(trace)"
value 1 'SELECT count(*) FROM order_sweep.run'

if grep -E 'WARNING|ERROR|FATAL|PANIC' "$log"; then
    die 'an idle run left this in the log of the server'
fi
invariants
