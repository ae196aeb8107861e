#!/bin/bash
# Takes the guards out of what a relay takes and books, one at a time, and sees
# that relay.sh fails.
set -euo pipefail

# shellcheck source=tests/support/guards.sh
. "$ORDER_SWEEP_SOURCE/tests/support/guards.sh"

# Which events are taken.
without relay claim_events 'j.published_at IS NULL' true
without relay claim_events 'AND j.swept_at >= _since' ''
without relay claim_events $'AND (SELECT true FROM order_sweep.delivery d
                     WHERE d.sweep = j.sweep AND d.order_key = j.order_key
                       AND d.ordinal = j.ordinal) IS NULL'
without relay claim_events 'j.ordinal = 1 OR NOT order_sweep.has_older(j, _since)' true
without relay claim_events 'NOT d.parked' true
without relay claim_events 'AND d.next_try <= now()'
without relay claim_events 'SET attempts = d.attempts + 1,' SET
without relay claim_events "now() + interval '5 seconds'" "now()"
without relay has_older 'o.published_at IS NULL' false
without relay publish 'coalesce(since, d.publish_since, now())' 'coalesce(since, now())'
without relay publish 'coalesce(since, d.publish_since, now())' \
    "coalesce(since, d.publish_since, '-infinity')"

# What is taken is locked, and still to be published.
without relay take_events 'AND j.published_at IS NULL'
without relay take_events 'FOR UPDATE SKIP LOCKED'

# A line for each, however many raise.
without relay take_events 'strpos(l.line' 'strpos(left(l.line, 0)'
without relay try_line $'EXCEPTION WHEN OTHERS THEN\n    problem := \'line: \' || SQLERRM;'

# What becomes of them.
without relay publish_events 'SET published_at = now()' 'SET published_at = NULL'
without relay publish_events 'DELETE FROM order_sweep.delivery d WHERE d.ctid = ANY (_places);'
without relay refuse_event 'd.attempts >= 10' false
without relay refuse_event 'd.attempts >= 10' 'd.attempts >= 9'
without relay refuse_event 'least(d.attempts - 1, 10)' '(-20)'
without relay release_events 'd.attempts = 1' false
without relay postpone_events 'd.attempts - 1' 'd.attempts'
without relay define_row 'd.id, d.line INTO _id, s.line' 'd.id INTO _id'

all_noticed
