#!/bin/bash
# Takes the guards out of what deletes from the books, one at a time, and sees
# that retention.sh fails.
set -euo pipefail

# shellcheck source=tests/support/guards.sh
. "$ORDER_SWEEP_SOURCE/tests/support/guards.sh"

# Off by default.
survives retention "$(replacing prune ' AND s.keep_journal IS NOT NULL')
    $(replacing prune 's.keep_journal' "coalesce(s.keep_journal, '1 day')")"
# Only what is old and was published, both for long.
without retention prune 'j.swept_at < _before' true
without retention prune 'AND j.published_at < _before'
without retention prune 'AND j.published_at < _before' \
    'AND coalesce(j.published_at, j.swept_at) < _before'
without retention prune 'AND j.published_at < _before' \
    'AND j.published_at IS NOT NULL'
# Only what carries nothing.
without retention prune 'j.order_key = ANY (_gone)' true
without retention prune 'n.ordinal > j.ordinal' true
without retention prune 'n.ordinal > j.ordinal' 'n.ordinal <> j.ordinal'
without retention prune 'AND n.order_key = j.order_key'
without retention prune 'n.sweep = j.sweep' true
without retention prune 'WHERE j.sweep = _sweep AND j.order_key = u.order_key' \
    'WHERE j.order_key = u.order_key'
# One at a time, past what others hold, and looked at behind the lock.
without retention prune 'NOT pg_try_advisory_xact_lock' \
    'false AND pg_try_advisory_xact_lock'
without retention prune 'SKIP LOCKED'
without retention prune 'FOR UPDATE SKIP LOCKED'
# A part at a time, and round.
without retention prune '_rows := _rows - _page;'
without retention prune ' + 2 * r.swept'
without retention prune 'OR clock_timestamp() >= _until'
without retention prune '_key := _keys[_page];'
without retention prune $'_key := _start;\n            _ordinal := 0;\n            EXIT' \
    EXIT

# Its failure is not that of the run.
without retention finish_run '-- A part at a time' \
    $'PERFORM order_sweep.prune($1);\n    -- A part at a time'

# Orders that are not seen are not gone.
without retention build_gone 's.settings := NULL;'
without retention build_gone "'VOLATILE '" "'STABLE '"
without retention pins "ELSE 'off'" "ELSE 'on'"
without retention build_gone "('r', 'p')" "('r', 'p', 'v')"
without retention build_gone '(%s) = order_sweep_key' '(%s) IS NOT NULL'
without retention build_gone 'WHEN data_exception' 'WHEN division_by_zero'
without retention build_gone "' AND ' ORDER BY n" "' OR ' ORDER BY n"

# Another table, or another key.
for kept in 's.orders, d.key, d.key_types' 'd.orders, s.key, d.key_types' \
    'd.orders, d.key, s.key_types'; do
    without retention define_row '(d.orders, d.key, d.key_types)' "($kept)"
done
without retention define_row 'THEN d.keep_journal END' 'THEN NULL END'

# Runs.
without retention finish_run 'SELECT s.keep_runs' 'SELECT 1000'
without retention finish_run 'WHERE o.sweep = _sweep' 'WHERE true'
without retention finish_run 'LIMIT 1000 OFFSET' OFFSET

# What retain takes, and what check says.
without retention retain "journal < '1 day'" false
without retention retain 'order_sweep.exact(' coalesce\(NULL,
without retention retain '(runs BETWEEN 100 AND 100000) IS NOT TRUE' false
without retention check_retention '_published = 0' true
without retention check_retention 'j.swept_at < now() - s.keep_journal' true

all_noticed
