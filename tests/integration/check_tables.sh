#!/bin/bash
# What order-sweep check finds about indexes, tables, rights and the backlog.
set -euo pipefail

# shellcheck source=tests/support/db.sh
. "$ORDER_SWEEP_SOURCE/tests/support/db.sh"
# shellcheck source=tests/support/steps.sh
. "$ORDER_SWEEP_SOURCE/tests/support/steps.sh"
# shellcheck source=tests/support/findings.sh
. "$ORDER_SWEEP_SOURCE/tests/support/findings.sh"

new_findings tables
clean 'a clean database'

# --- The index of the look ---------------------------------------------------

missing()
{
    printf '%s|%s|index|no index serves the look for due orders|%s' \
        "${3:-fail}" "$1" "$2"
}
open=" WHERE state = 'open';"
index='CREATE INDEX CONCURRENTLY ON shop.t'

# shop.t is empty, and has a primary key to scan: neither is an excuse.
breaks 'no index' 'DROP INDEX shop.t_open' \
    "$(missing tidy "$index (at, id)$open")"
breaks 'no index of the sample' 'DROP INDEX shop.orders_unpaid' \
    "$(missing cancel_unpaid 'CREATE INDEX CONCURRENTLY ON shop.orders (created, id) WHERE order_status = 1;')"
change 'DROP INDEX shop.t_at_id_idx; DROP INDEX shop.orders_created_id_idx'
change "CREATE INDEX t_open ON shop.t (at, id) WHERE state = 'open';
    CREATE INDEX ON shop.orders (created, id)"
clean 'the whole table in the index'
change 'DROP INDEX shop.t_open'
for index_of in "(id, at) WHERE state = 'open'" '(id)' '(state)' \
    "(at, id) WHERE state = 'closed'" "(at, id) WHERE lower(state) = 'open'" \
    '(local, id)' '((at IS NULL), id)'; do
    change "CREATE INDEX wrong ON shop.t $index_of"
    finds "an index on $index_of" 78 "$(missing tidy "$index (at, id)$open")"
    change 'DROP INDEX shop.wrong'
done
change "INSERT INTO shop.t SELECT n, 'closed', now() FROM generate_series(1, 5000) n;
    ANALYZE shop.t"
finds 'a table with rows' 78 "$(missing tidy "$index (at, id)$open")"
change "CREATE INDEX t_open ON shop.t (at) WHERE state = 'open'"
clean 'the clock alone: only its ties are sorted'
change 'TRUNCATE shop.t'

# indexed WHAT ARGUMENTS MEND [LEVEL]: without an index, MEND is the one.
indexed()
{
    local code=78
    if [ -n "${4:-}" ]; then
        code=1
    fi
    change 'DROP INDEX IF EXISTS shop.t_open'
    define "$2"
    finds "$1" "$code" "$(missing tidy "$3" "${4:-}")"
    change "$3"
    clean "$1: mended"
    change "DO \$\$ DECLARE i text; BEGIN
        FOR i IN SELECT indexrelid::regclass FROM pg_index
                  WHERE indrelid = 'shop.t'::regclass AND NOT indisprimary LOOP
            EXECUTE 'DROP INDEX ' || i; END LOOP; END \$\$"
}
change 'ALTER TABLE shop.t ADD COLUMN "Placed at" bigint, ADD COLUMN day date'
indexed 'qualified columns' "unpaid => \$\$o.state = 'open'\$\$,
    since => 'o.at', after => '1 hour'" "$index (at, id)$open"
indexed 'an expression' "unpaid => \$\$state = 'open'\$\$,
    since => 'coalesce(o.at, o.at)', after => '1 hour'" \
    "$index ((coalesce(at, at)), id)$open" warn
indexed 'a deadline' "unpaid => \$\$state = 'open'\$\$, deadline => 'at'" \
    "$index (at, id)$open"
indexed 'a deadline that is computed' "unpaid => \$\$state = 'open'\$\$,
    deadline => \$\$o.local + interval '1 hour'\$\$, zone => 'UTC'" \
    "$index ((local + interval '1 hour'), id)$open" warn
indexed 'a name to be quoted' "unpaid => \$\$state = 'open'\$\$,
    since => '\"Placed at\"', unit => 'ms', after => '1 hour'" \
    "$index (\"Placed at\", id)$open"
indexed 'a date' "unpaid => \$\$state = 'open'\$\$, since => 'day',
    zone => 'UTC', after => '1 hour'" "$index (day, id)$open"
indexed 'a list of states' "unpaid => \$\$state IN ('open', 'new')\$\$,
    since => 'at', after => '1 hour'" \
    "$index (at, id) WHERE state IN ('open', 'new');"
indexed 'unpaid with a sub-select' "unpaid => \$\$state = 'open' AND NOT EXISTS
    (SELECT FROM shop.t x WHERE x.id = o.id + 1)\$\$, since => 'at',
    after => '1 hour'" "$index (at, id);"
# A comment at the end of a fragment must not swallow what follows.
indexed 'comments' "unpaid => \$\$state = 'open' -- waits\$\$,
    since => 'coalesce(o.at, o.at) -- placed', after => '1 hour',
    max_age => NULL" "$index ((coalesce(at, at) -- placed
), id) WHERE state = 'open' -- waits
;" warn
change 'ALTER TABLE shop.t DROP COLUMN "Placed at", DROP COLUMN day'
change "CREATE INDEX t_open ON shop.t (at, id) WHERE state = 'open'"
define_as_before
clean 'as before'

sql -f - <<'SQL' >/dev/null
CREATE TABLE shop.split (id int, state text, at timestamptz,
    PRIMARY KEY (id, at)) PARTITION BY RANGE (at);
CREATE TABLE shop.split1 PARTITION OF shop.split
    FOR VALUES FROM (MINVALUE) TO ('2020-01-01');
CREATE TABLE shop.split2 PARTITION OF shop.split
    FOR VALUES FROM ('2020-01-01') TO (MAXVALUE);
CREATE VIEW shop.v AS SELECT id, state, at FROM shop.split2;
SET client_min_messages = error;
SELECT order_sweep.define(sweep => 'split', orders => 'shop.split',
    key => '{id,at}', unpaid => $$state = 'open'$$, since => 'at',
    after => '1 hour', set => $$state = 'closed'$$);
SQL
finds 'a partitioned table' 78 "$(missing split \
    "CREATE INDEX ON shop.split (at, id) WHERE state = 'open';")"
change "CREATE INDEX split_open ON ONLY shop.split (at, id) WHERE state = 'open'"
finds 'an index that not all partitions have' 78 \
    "fail|split|invalid index|index shop.split_open is invalid|ALTER INDEX ... ATTACH PARTITION an index of each partition.
$(missing split "CREATE INDEX ON shop.split (at, id) WHERE state = 'open';")"
change 'DROP INDEX shop.split_open;'
change "CREATE INDEX split_open ON shop.split (at, id) WHERE state = 'open'"
clean 'an index of all partitions'
change "SELECT FROM order_sweep.define(sweep => 'split', orders => 'shop.split',
    key => '{id,at}', unpaid => \$\$state = 'open'\$\$, since => 'at',
    after => '1 hour', set => \$\$id = -id, (state, at) = ('closed', now())\$\$)"
finds 'a partition key that set changes' 1 \
    'warn|split|partition key|shop.split is partitioned by at, which set changes|Partition by a column that does not change.'
change "SELECT FROM order_sweep.define(sweep => 'split', orders => 'shop.split',
    key => '{id,at}', unpaid => \$\$state = 'open'\$\$, since => 'at',
    after => '1 hour', set => \$\$state = 'closed', at = o.at\$\$)"
finds 'a partition key that set names' 1 \
    'warn|split|partition key|shop.split is partitioned by at, which set changes|Partition by a column that does not change.'
change "SELECT FROM order_sweep.undefine('split')"
change "SELECT FROM order_sweep.define(sweep => 'seen', orders => 'shop.v',
    key => '{id}', unpaid => \$\$state = 'open'\$\$, since => 'at',
    after => '1 hour', set => \$\$state = 'closed'\$\$)"
clean 'a view, by the index of its table'
change 'DROP INDEX shop.split_open'
finds 'a view without' 78 "$(missing seen \
    'Create an index on the clock and the key of the table under the view.')"
change "SELECT FROM order_sweep.undefine('seen')"

change "INSERT INTO shop.t VALUES (1, 'x', now()), (2, 'x', now())"
ask 'CREATE UNIQUE INDEX CONCURRENTLY half ON shop.t (state)' >/dev/null
breaks 'an invalid index' 'DELETE FROM shop.t WHERE id = 2' \
    'fail|tidy|invalid index|index shop.half is invalid|REINDEX INDEX CONCURRENTLY shop.half;' \
    'DROP INDEX shop.half; TRUNCATE shop.t'

# --- Triggers, rules, row security -------------------------------------------

pass='See that it lets the update of set pass.'
trigger()
{
    printf 'warn|tidy|trigger|trigger hook of shop.t may swallow or undo the update|%s' "$pass"
}
for body in 'RETURN NULL;' 'RETURN OLD;' 'return  null;' \
    'NEW.state := OLD.state; RETURN NEW;' 'NEW = OLD; RETURN NEW;'; do
    breaks "a trigger: $body" "CREATE FUNCTION shop.hook() RETURNS trigger
        LANGUAGE plpgsql AS 'BEGIN $body END';
        CREATE TRIGGER hook BEFORE INSERT OR UPDATE ON shop.t FOR EACH ROW
        EXECUTE FUNCTION shop.hook()" \
        "$(trigger | sed 's/^$//')" 'DROP FUNCTION shop.hook CASCADE'
done
change "CREATE FUNCTION shop.hook() RETURNS trigger LANGUAGE plpgsql
    AS 'BEGIN NEW.note := now(); RETURN NEW; END'"
change "CREATE TRIGGER hook BEFORE UPDATE ON shop.t FOR EACH ROW
    EXECUTE FUNCTION shop.hook()"
clean 'a trigger that only writes'
change "CREATE OR REPLACE FUNCTION shop.hook() RETURNS trigger LANGUAGE plpgsql
    AS 'BEGIN RETURN NULL; END'"
finds 'one that swallows' 1 "$(trigger)"
change 'ALTER TABLE shop.t DISABLE TRIGGER hook'
clean 'a trigger that is disabled'
for when in 'AFTER UPDATE ON shop.t FOR EACH ROW' \
    'BEFORE INSERT OR DELETE ON shop.t FOR EACH ROW' \
    'BEFORE UPDATE ON shop.t FOR EACH STATEMENT'; do
    change "DROP TRIGGER hook ON shop.t;
        CREATE TRIGGER hook $when EXECUTE FUNCTION shop.hook()"
    clean "a trigger $when"
done
change 'DROP FUNCTION shop.hook CASCADE'
breaks 'a rule' 'CREATE RULE quiet AS ON UPDATE TO shop.t DO INSTEAD NOTHING' \
    "warn|tidy|trigger|rule quiet of shop.t acts instead of the update|$pass" \
    'DROP RULE quiet ON shop.t'

hidden='Call define with settings, if the policies are wanted, or with a run_as that they do not bind.'
breaks 'policies that bind the owner' 'ALTER TABLE shop.t ENABLE ROW LEVEL SECURITY;
    ALTER TABLE shop.t FORCE ROW LEVEL SECURITY' \
    "fail|tidy|row security|the policies of shop.t hide rows from role $owner|$hidden" \
    'ALTER TABLE shop.t NO FORCE ROW LEVEL SECURITY'
clean 'policies that do not bind the owner'
change 'ALTER TABLE shop.t FORCE ROW LEVEL SECURITY'
define "unpaid => \$\$state = 'open'\$\$, since => 'at', after => '1 hour',
    settings => '{\"app.tenant\": \"1\"}'"
change "CREATE POLICY mine ON shop.t USING (note = current_setting('app.tenant'))"
clean 'policies that are wanted'
change 'ALTER TABLE shop.t DISABLE ROW LEVEL SECURITY;
    ALTER TABLE shop.t NO FORCE ROW LEVEL SECURITY; DROP POLICY mine ON shop.t'
define_as_before
breaks 'policies of a table that a rule looks into' \
    'ALTER TABLE shop.payment ENABLE ROW LEVEL SECURITY;
    ALTER TABLE shop.payment FORCE ROW LEVEL SECURITY' \
    "fail|cancel_unpaid|privileges|paid: query would be affected by row-level security policy for table \"payment\"|Let the table's owner GRANT it to role $owner.
fail|cancel_unpaid|privileges|unless \"payment received\": query would be affected by row-level security policy for table \"payment\"|Let the table's owner GRANT it to role $owner." \
    'ALTER TABLE shop.payment NO FORCE ROW LEVEL SECURITY;
    ALTER TABLE shop.payment DISABLE ROW LEVEL SECURITY'

# --- Rights ------------------------------------------------------------------

# Of the owner of the definition.
super "ALTER TABLE shop.log OWNER TO $superuser"
finds 'a table that the owner may not write' 78 "fail|tidy|privileges|each[1]: permission denied for table log|Let the table's owner GRANT it to role $owner."
super "GRANT INSERT ON shop.log TO $owner"
clean 'a table that he may'
super "ALTER TABLE shop.log OWNER TO $owner"

# Of the role in the crontab.
functions_of_a_run()
{
    printf 'order_sweep.%s\n' begin_run blame calls_of explain finish_run preview \
        probe schema_version sign_of_life \
        {cancel_unpaid,tidy}_{due,next,fault,explain,batch,newest,cancel,fail} \
        cancel_unpaid_late | sort
}
grant="SELECT order_sweep.grant_to('$cron');"
runs 78 check --role=nobody_$$ --format=json
is 'an unknown role' "$(read_findings)" "fail||grants|there is no role \"nobody_$$\"|CREATE ROLE nobody_$$ LOGIN; SELECT order_sweep.grant_to('nobody_$$');"
runs 78 check --role="$cron" --format=json
is 'a role without any right' "$(read_findings | sed -n '1p; $=')" \
    "fail||grants|role $cron has no USAGE on schema order_sweep|$grant
$(($(functions_of_a_run | wc -l) + 1))"
change "$grant"
finds 'a role with all' 0 '' --role="$cron"
runs 0 check -v --role="$cron"
is 'so it is told' "$(printf '%s\n' "$out" | sed -n 2p)" \
    "ok    grants: role $cron may run every sweep"
change "REVOKE USAGE ON SCHEMA order_sweep FROM $cron"
finds 'without usage' 78 "fail||grants|role $cron has no USAGE on schema order_sweep|$grant" --role="$cron"
change "$grant"
super "REVOKE CONNECT ON DATABASE $PGDATABASE FROM PUBLIC"
finds 'without connect' 78 "fail||grants|role $cron has no CONNECT on database $PGDATABASE|GRANT CONNECT ON DATABASE $PGDATABASE TO $cron;" --role="$cron"
super "GRANT CONNECT ON DATABASE $PGDATABASE TO $cron, $other"
functions=$(ask "SELECT p.oid::regprocedure FROM pg_proc p
    WHERE pronamespace = 'order_sweep'::regnamespace
      AND has_function_privilege('$cron', oid, 'EXECUTE')
      AND proname NOT IN ('moment', 'same_type') -- everybody's
    ORDER BY 1")
is 'what a run needs, and no more' \
    "$(printf '%s\n' "$functions" | sed 's/(.*//' | sort)" "$(functions_of_a_run)"
while IFS= read -r function; do
    change "REVOKE EXECUTE ON FUNCTION $function FROM $cron"
    runs 78 check --role="$cron" --format=json
    is "without $function" "$(read_findings)" "fail||grants|role $cron has no EXECUTE on $function|$grant"
    change "$grant"
done <<<"$functions"
finds 'with all again' 0 '' --role="$cron"

# The role in the crontab cannot check, and is told who can.
before=$(fingerprint)
PGUSER=$cron runs 78 check
is 'check as the role in the crontab' "$out|$err" "ok    schema: the schema is the program's|order-sweep: permission denied for function check; run check as the role that owns schema order_sweep, as migrate is run"
PGUSER=$other runs 78 check
is 'check as a stranger' "$out|$err" "fail  schema: permission denied for schema order_sweep
      why:  A run is refused.
      mend: let the owner of schema order_sweep run order-sweep check --role NAME: it names the missing right; order_sweep.grant_to(role) gives those on order_sweep|"
is 'nothing changed' "$(fingerprint)" "$before"

# --- Search path, isolation, unlogged tables ---------------------------------

breaks 'a schema where PUBLIC may create' 'GRANT CREATE ON SCHEMA public TO PUBLIC' \
    "fail|cancel_unpaid|search path|PUBLIC may create in schema public|REVOKE CREATE ON SCHEMA public FROM PUBLIC;
fail|tidy|search path|PUBLIC may create in schema public|REVOKE CREATE ON SCHEMA public FROM PUBLIC;"
breaks 'a schema where another may create' "GRANT CREATE ON SCHEMA public TO $other" \
    "fail|cancel_unpaid|search path|$other may create in schema public|REVOKE CREATE ON SCHEMA public FROM $other;
fail|tidy|search path|$other may create in schema public|REVOKE CREATE ON SCHEMA public FROM $other;"
breaks 'isolation of the database' "ALTER DATABASE $PGDATABASE
    SET default_transaction_isolation = 'repeatable read'" \
    "warn||isolation|default_transaction_isolation is repeatable read|ALTER DATABASE $PGDATABASE RESET default_transaction_isolation;"
super "ALTER ROLE $cron SET default_transaction_isolation = serializable;
    ALTER ROLE $other SET default_transaction_isolation = serializable"
finds 'isolation of a role that sweeps' 1 "warn||isolation|default_transaction_isolation is serializable for role $cron|ALTER ROLE $cron RESET default_transaction_isolation;"
super "ALTER ROLE $cron RESET default_transaction_isolation;
    ALTER ROLE $cron IN DATABASE $PGDATABASE
    SET default_transaction_isolation = serializable"
wanted="ALTER ROLE $cron IN DATABASE $PGDATABASE RESET default_transaction_isolation;"
finds 'isolation of a role here' 1 "warn||isolation|default_transaction_isolation is serializable for role $cron|$wanted"
super "$wanted"
clean 'isolation of others'
for table in journal failure run; do
    breaks "unlogged $table" "ALTER TABLE order_sweep.$table SET UNLOGGED" \
        "fail||unlogged|table order_sweep.$table is unlogged|ALTER TABLE order_sweep.$table SET LOGGED;"
done

# --- Payments without a foreign key ------------------------------------------

change 'CREATE TABLE shop.note (id int PRIMARY KEY, t_id int)'
define "unpaid => \$\$state = 'open'\$\$, since => 'at', after => '1 hour',
    unless => json_build_object('noted',
        'EXISTS (SELECT FROM shop.note n WHERE n.t_id = o.id)')"
breaks 'a rule without a foreign key' '' \
    "warn|tidy|foreign key|unless \"noted\" looks into shop.note, which no foreign key ties to shop.t|Add a foreign key to the orders table, or let paying update the order's row under the condition that it is unpaid." \
    'ALTER TABLE shop.note ADD FOREIGN KEY (t_id) REFERENCES shop.t'
breaks 'the foreign key of payments dropped' \
    'ALTER TABLE shop.payment DROP CONSTRAINT payment_order_id_fkey' \
    "warn|cancel_unpaid|foreign key|paid looks into shop.payment, which no foreign key ties to shop.orders|Add a foreign key to the orders table, or let paying update the order's row under the condition that it is unpaid.
warn|cancel_unpaid|foreign key|unless \"payment received\" looks into shop.payment, which no foreign key ties to shop.orders|Add a foreign key to the orders table, or let paying update the order's row under the condition that it is unpaid." \
    'ALTER TABLE shop.payment ADD FOREIGN KEY (order_id) REFERENCES shop.orders'
define_as_before
change 'DROP TABLE shop.note'

# --- Windows, backlog --------------------------------------------------------

define "unpaid => \$\$state = 'open'\$\$, since => 'at', after => '59 seconds'"
finds 'a window shorter than a minute' 1 "warn|tidy|window|the window of 00:00:59 is shorter than cron's minute|Lengthen after, or expect it."
define "unpaid => \$\$state = 'open'\$\$, since => 'at', after => '30 seconds',
    grace => '30 seconds'"
clean 'a window of a minute, with its grace'
define_as_before

late()
{
    sed -E 's/overdue for .*\|/overdue for ...|/'
}
log='See that cron starts order-sweep, and what it says: SELECT * FROM order_sweep.run ORDER BY id DESC LIMIT 10;'
change "INSERT INTO shop.t VALUES (1, 'open', now() - interval '119 minutes')"
clean 'overdue for less than the window'
change "UPDATE shop.t SET at = now() - interval '121 minutes'"
runs 1 check --format=json
is 'overdue for more than the window' "$(read_findings | late)" \
    "warn|tidy|backlog|the oldest order to sweep is overdue for ...|$log"
change "SELECT FROM order_sweep.pause('tidy')"
runs 1 check --format=json
mend="SELECT order_sweep.resume('tidy');"
is 'overdue in a pause' "$(read_findings | late)" \
    "warn|tidy|backlog|the oldest order to sweep is overdue for ...|$mend"
change "$mend"
runs 0
clean 'the backlog swept'
change "INSERT INTO shop.t VALUES (2, 'open', now() - interval '1 year'),
    (3, 'open', NULL)"
clean 'too old, or without a clock'
change 'TRUNCATE shop.t'

# A look that fails: the message names the argument, and the mend.
change "INSERT INTO shop.t (id, state, note) VALUES (1, 'open', 'soon')"
change 'CREATE INDEX t_note ON shop.t (note)'
define "unpaid => \$\$state = 'open'\$\$, since => 'note::timestamptz',
    after => '1 hour'"
runs 78 check --format=json
is 'a look that fails' "$(read_findings | grep '|look|')" 'fail|tidy|look|since: invalid input syntax for type timestamp with time zone: "soon"|Guard a cast in since, unpaid or unless by CASE WHEN ... THEN ... END, or use order_sweep.moment(text).'
change 'DROP INDEX shop.t_note; TRUNCATE shop.t'
define_as_before

# --- No definition; the probe ------------------------------------------------

before=$(fingerprint)
finds 'the probe' 0 '' --probe
runs 0 check --probe
is 'what it tells' "$(printf '%s\n' "$out" | tail -n 2)" \
    'ok    lock: two connections exclude each other
ok    segment: two statements are one transaction'
is 'the probe leaves nothing' "$(fingerprint)" "$before"
# A lock that should be free is not.
hold 'SELECT pg_advisory_lock(1869838192, -1)' >/dev/null
runs 78 check --probe
is 'a lock that another holds' "$(printf '%s\n' "$out" | grep -c '^fail  lock')" 1
let_go ''
runs 0 check --probe

change "SELECT FROM order_sweep.undefine('tidy');
    SELECT FROM order_sweep.undefine('cancel_unpaid')"
finds 'no definition' 78 'fail||sweep|no sweep is defined|Call order_sweep.define in this database.'

finish
