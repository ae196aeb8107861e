#!/bin/bash
# What order-sweep check finds about the work: windows, a backlog and its reason,
# a look that fails, orders that fail.
set -euo pipefail

# shellcheck source=tests/support/db.sh
. "$ORDER_SWEEP_SOURCE/tests/support/db.sh"
# shellcheck source=tests/support/steps.sh
. "$ORDER_SWEEP_SOURCE/tests/support/steps.sh"
# shellcheck source=tests/support/findings.sh
. "$ORDER_SWEEP_SOURCE/tests/support/findings.sh"

new_findings work
clean 'a clean database'

# --- Windows -----------------------------------------------------------------

define "unpaid => \$\$state = 'open'\$\$, since => 'at', after => '59 seconds'"
finds 'a window shorter than a minute' 1 "warn|tidy|window|the window of 00:00:59 is shorter than cron's minute|Lengthen after, or expect it."
define "unpaid => \$\$state = 'open'\$\$, since => 'at', after => '30 seconds',
    grace => '30 seconds'"
clean 'a window of a minute, with its grace'
define_as_before

# --- A backlog ---------------------------------------------------------------

# overdue WHAT MEND [WHY]: a backlog, and nothing else; WHY is a pattern.
overdue()
{
    runs 1 check --format=json
    is "$1" "$(read_findings | sed -E 's/for [0-9:]+\|/for ...|/')" \
        "warn|tidy|backlog|the oldest order to sweep, [1], is overdue for ...|$2"
    is "$1: why" "$(printf '%s\n' "$out" | grep -c -E \
        "\"item\":\"backlog\".*\"why\":\"${3:-}")" 1
}
cron='See that cron starts order-sweep, and what it says: SELECT * FROM order_sweep.run ORDER BY id DESC LIMIT 10;'
change "INSERT INTO shop.t VALUES (1, 'open', now() - interval '119 minutes')"
clean 'overdue for less than the window'
change "UPDATE shop.t SET at = now() - interval '121 minutes'"
overdue 'no run' "$cron" 'No run has come .* the last is not known\.'
change "INSERT INTO order_sweep.run (sweep, host, pid, started_at, ended_at, stopped)
    VALUES ('tidy', 'a', 1, now() - interval '62 minutes', now(), 'done')"
overdue 'none since it is due' "$cron" 'No run has come .* the last began at 20'
change "INSERT INTO order_sweep.run (sweep, host, pid, started_at)
    VALUES ('tidy', 'a', 1, now() - interval '4 minutes')"
overdue 'one that is at work' "$cron" 'No run has come .* the last began at 20'
change 'DELETE FROM order_sweep.run WHERE ended_at IS NULL'
change "SELECT FROM order_sweep.pause('tidy')"
mend="SELECT order_sweep.resume('tidy');"
overdue 'a pause' "$mend" 'The sweep is paused'
change "$mend"

# A shop that fails for all orders, by real runs.
see='See what it says: order-sweep -v --sweep=tidy, as the role in the crontab.'
change "INSERT INTO shop.t SELECT n, 'open', now() - interval '61 minutes'
      FROM generate_series(2, 120) n;
    CREATE FUNCTION shop.hook() RETURNS trigger LANGUAGE plpgsql
    AS 'BEGIN RAISE EXCEPTION \$\$closed today\$\$; END';
    CREATE TRIGGER hook AFTER UPDATE ON shop.t FOR EACH ROW
    EXECUTE FUNCTION shop.hook()"
runs 1 --sweep=tidy
overdue 'a run that fails' "$see" \
    'Runs come and fail: the last 1, .*, as too many orders in a row failed'
change "UPDATE order_sweep.run SET stopped = 'broken' WHERE id = (
    SELECT max(id) FROM order_sweep.run)"
overdue 'one whose look fails' "$see" \
    'Runs come and fail: the last 1, .*, as the look for due orders failed'
change "INSERT INTO order_sweep.run (sweep, host, pid, started_at)
    VALUES ('tidy', 'a', 1, now() - interval '6 minutes')"
overdue 'another that did not end' "$see" \
    'Runs come and fail: the last 2, .* on a, whose end is not known'

# Runs that do not keep up, and one that does not see the order.
change 'DROP FUNCTION shop.hook CASCADE'
change "UPDATE shop.t SET at = now() - interval '3 hours' WHERE id = 120"
runs 0 --sweep=tidy --max-orders=1
overdue 'a run that leaves a rest' 'Give it more time (--time-limit, --max-orders), or see what takes so long: triggers, other sessions'"'"' locks, an index that each needs.' \
    'Runs come, but do not keep up: the last one \(max orders\) swept 1 and left a rest'
hold 'BEGIN; SELECT FROM shop.t WHERE id = 1 FOR UPDATE' >/dev/null
runs 0 --sweep=tidy
let_go ROLLBACK
overdue 'an order that another session holds' "SELECT pid, usename, state, xact_start, query FROM pg_stat_activity WHERE xact_start < now() - interval '1 minute';" \
    'Runs come and pass it by: the last one, .*, swept 118 and found no more'
runs 0
clean 'the backlog swept'
change "INSERT INTO shop.t VALUES (201, 'open', now() - interval '1 year'),
    (202, 'open', NULL)"
clean 'too old, or without a clock'
# So many that the list takes longer than a statement may; the look does not.
change "INSERT INTO shop.t SELECT n, 'open', now() - interval '2 hours'
      FROM generate_series(301, 500) n;
    CREATE FUNCTION shop.slow(int) RETURNS boolean LANGUAGE plpgsql AS
    'BEGIN PERFORM pg_sleep(0.05); RETURN false; END'"
define "unpaid => \$\$state = 'open'\$\$, since => 'at', after => '1 hour',
    unless => json_build_object('slow', 'shop.slow(o.id)')"
is 'a list that takes too long' "$(ask "BEGIN; SET LOCAL statement_timeout = '3s';
    SELECT level, item, what FROM order_sweep.sweep s, order_sweep.check_look(s)
     WHERE name = 'tidy'; COMMIT")" 'warn|backlog|the due orders were not listed: canceling statement due to statement timeout'
define_as_before
change 'DROP FUNCTION shop.slow'
change 'TRUNCATE shop.t, order_sweep.run, order_sweep.journal'

# --- Orders that fail --------------------------------------------------------

tried="SELECT * FROM order_sweep.failure WHERE sweep = 'tidy' ORDER BY failed_at;"
# failing NUMBER OLDEST: the finding.
failing()
{
    printf 'warn|tidy|failures|failing orders: %s; the oldest is %s|%s' "$1" "$2" "$tried"
}
change "INSERT INTO shop.t SELECT n, 'open', now() - interval '1 hour' - n * interval '1 s'
      FROM generate_series(1, 3) n;
    CREATE FUNCTION shop.hook() RETURNS trigger LANGUAGE plpgsql
    AS 'BEGIN IF NEW.id < 3 THEN RAISE EXCEPTION \$\$order % refused\$\$, NEW.id; END IF;
        RETURN NEW; END';
    CREATE TRIGGER hook AFTER UPDATE ON shop.t FOR EACH ROW
    WHEN (NEW.state = 'closed') EXECUTE FUNCTION shop.hook()"
runs 1 --sweep=tidy
change "UPDATE order_sweep.failure SET failed_at = failed_at - interval '1 minute'
    WHERE order_key = '[2]'"
finds 'orders that fail' 1 "$(failing 2 '[2]: P0001: order 2 refused')"
change "UPDATE shop.t SET state = 'paid' WHERE id = 2"
finds 'one of them paid meanwhile' 1 "$(failing 1 '[1]: P0001: order 1 refused')"
change "SELECT FROM order_sweep.pause('tidy')"
finds 'in a pause' 1 "$(failing 1 '[1]: P0001: order 1 refused')"
change "SELECT FROM order_sweep.resume('tidy')"
change "UPDATE order_sweep.failure SET next_try = now()"
finds 'one whose next try has come' 1 "$(failing 1 '[1]: P0001: order 1 refused')"
change "UPDATE order_sweep.failure SET attempts = 9, next_try = now()"
runs 1 --sweep=tidy
mend="DELETE FROM order_sweep.failure WHERE sweep = 'tidy' AND quarantined;"
finds 'a tenth failure' 1 \
    "warn|tidy|quarantine|quarantined orders: 1; the oldest is [1]: P0001: order 1 refused|$mend"
change "UPDATE shop.t SET state = 'open' WHERE id = 2"
finds 'of both kinds' 1 \
    "warn|tidy|quarantine|quarantined orders: 1; the oldest is [1]: P0001: order 1 refused|$mend
$(failing 1 '[2]: P0001: order 2 refused')"
change "DELETE FROM shop.t WHERE id = 2"
change "UPDATE shop.t SET state = 'paid'"
clean 'quarantined, and paid since'
change "UPDATE shop.t SET state = 'open' WHERE id = 1"
# Only the last 200 are asked for: more may be in the table than in the shop.
change "INSERT INTO order_sweep.failure SELECT 'tidy', jsonb_build_array(n), 1, 0,
    now(), false, 'P0001', 'old', now() - interval '1 year'
    FROM generate_series(1001, 1200) n"
finds 'more than are asked for' 1 \
    "warn|tidy|quarantine|quarantined orders: at least 1; the oldest is [1]: P0001: order 1 refused|$mend"
change "DELETE FROM order_sweep.failure WHERE message = 'old'"
change 'DROP FUNCTION shop.hook CASCADE'
change "$mend"
clean 'to be tried again'
change "INSERT INTO order_sweep.failure
    SELECT 'tidy', k, 10, 0, now(), true, 'P0001', 'old key', now()
      FROM unnest(ARRAY['[1, 2]', '[\"A-17\"]']::jsonb[]) k"
clean 'keys of an earlier definition end no check'
change "DELETE FROM order_sweep.failure WHERE message = 'old key'"
change "INSERT INTO order_sweep.failure VALUES ('tidy', '[1]', 0, 2, now(), false,
    '55P03', 'canceling statement due to lock timeout', now())"
clean 'one that met a lock twice'
change 'UPDATE order_sweep.failure SET postponed = 3'
finds 'one that others hold time and again' 1 \
    "$(failing 1 '[1]: 55P03: canceling statement due to lock timeout')"
runs 0 --sweep=tidy
clean 'swept'
change 'TRUNCATE shop.t, order_sweep.failure'

# --- Events ------------------------------------------------------------------

change 'TRUNCATE order_sweep.journal'
change "SELECT FROM order_sweep.publish('tidy', since => '-infinity')"
change "INSERT INTO order_sweep.journal (sweep, order_key, run_id, payload, swept_at)
    SELECT 'tidy', jsonb_build_array(n), 1, '{}', now() - interval '9 minutes'
      FROM generate_series(1, 2) n"
clean 'events that a relay will see to'
change "UPDATE order_sweep.journal SET swept_at = now() - interval '11 minutes'"
finds 'events that nobody sees to' 1 "warn|tidy|events|2 events wait, the oldest since $(ask \
    "SELECT date_trunc('second', min(swept_at)) FROM order_sweep.journal")|See what order-sweep relay says; where no events are wanted, SELECT order_sweep.unpublish('tidy');"
change "INSERT INTO order_sweep.delivery (sweep, order_key, ordinal, attempts,
        next_try, parked, message, failed_at)
    SELECT 'tidy', order_key, 1, 10, now(), true, 'no', now()
      FROM order_sweep.journal"
finds 'parked events' 1 'warn|tidy|events|2 parked: the command of the relay refused each of them ten times|order-sweep retry --sweep tidy, once the command takes them.'
runs 0 retry --sweep=tidy
change "SELECT FROM order_sweep.unpublish('tidy')"
clean 'events that nobody wants'
change 'TRUNCATE order_sweep.journal, order_sweep.delivery'

# --- A look that fails -------------------------------------------------------

# The message names the argument, and the mend.
change "INSERT INTO shop.t (id, state, note) VALUES (1, 'open', 'soon')"
change 'CREATE INDEX t_note ON shop.t (note)'
define "unpaid => \$\$state = 'open'\$\$, since => 'note::timestamptz',
    after => '1 hour'"
runs 78 check --format=json
is 'a look that fails' "$(read_findings | grep '|look|')" 'fail|tidy|look|since: invalid input syntax for type timestamp with time zone: "soon"|Guard a cast in since, unpaid or unless by CASE WHEN ... THEN ... END, or use order_sweep.moment(text).'
change 'DROP INDEX shop.t_note; TRUNCATE shop.t'

# Whatever else it fails with.
raises='See that since, unpaid and unless raise for no order, and take no long time.'
sql -f - <<'SQL'
CREATE TABLE shop.part (t_id int REFERENCES shop.t, state text);
INSERT INTO shop.t VALUES (11, 'open', now() - interval '2 hours');
INSERT INTO shop.part VALUES (11, 'paid'), (11, 'failed');
CREATE FUNCTION shop.ask(int) RETURNS boolean LANGUAGE plpgsql AS
    $$BEGIN RETURN EXISTS (SELECT FROM shop.part WHERE t_id = $1 AND NOT failed); END$$;
SQL
# looks WHAT RULE SAID: check says so of a rule, and so does a run.
looks()
{
    define "unpaid => \$\$state = 'open'\$\$, since => 'at', after => '1 hour',
        unless => json_build_object('paid', \$rule\$$2\$rule\$)"
    finds "$1" 78 "fail|tidy|look|$3|$raises"
    runs 78 --sweep=tidy
    is "$1: the run" "${err%%; *}" "order-sweep: tidy: $3"
}
looks 'two rows where one is wanted' \
    "(SELECT p.state FROM shop.part p WHERE p.t_id = o.id) <> 'failed'" \
    'unless "paid": more than one row returned by a subquery used as an expression'
looks 'a function of the shop that a migration broke' 'shop.ask(o.id)' \
    'column "failed" does not exist'
change "CREATE OR REPLACE FUNCTION shop.ask(int) RETURNS boolean LANGUAGE plpgsql
    AS 'BEGIN RAISE EXCEPTION \$\$not now\$\$; END'"
looks 'a function of the shop that raises' 'shop.ask(o.id)' 'not now'
change 'DROP FUNCTION shop.ask; DROP TABLE shop.part; TRUNCATE shop.t CASCADE'
# The next deadline is beyond what a timestamptz can hold: no reason to fail.
define_as_before
change "INSERT INTO shop.t VALUES (11, 'open', now() - interval '2 hours'),
    (12, 'open', '294276-12-31 23:50')"
runs 0 --sweep=tidy
is 'swept beside a clock at the end of time' \
    "$(ask 'SELECT order_key FROM order_sweep.journal WHERE sweep = $$tidy$$
        ORDER BY swept_at DESC LIMIT 1')" '[11]'
clean 'a clock at the end of time'
change 'TRUNCATE shop.t, order_sweep.journal'

finish
