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
indexed 'an alias in capitals' "unpaid => \$\$O.state = 'open'\$\$,
    since => 'O.At', after => '1 hour'" "$index (at, id)$open"
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
# What a rule sorts for itself is another matter, and so is its index.
change "INSERT INTO shop.t VALUES (1, 'closed', now()); ANALYZE shop.t"
rule="(SELECT l.what FROM shop.log l WHERE l.id = o.id ORDER BY l.at DESC LIMIT 1)"
define "unpaid => \$\$state = 'open' AND $rule IS DISTINCT FROM 'paid'\$\$,
    since => 'at', after => '1 hour',
    unless => json_build_object('logged', \$rule\$$rule = 'paid'\$rule\$)"
runs 1 check --format=json
is 'a rule with a sort of its own' "$(read_findings | cut -d '|' -f 1-4)" \
    'warn|tidy|foreign key|unpaid looks into shop.log, which no foreign key ties to shop.t
warn|tidy|foreign key|unless "logged" looks into shop.log, which no foreign key ties to shop.t'
change 'TRUNCATE shop.t'
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
# A partition that is partitioned itself.
change "CREATE TABLE shop.split3 (id int, state text, at timestamptz)
    PARTITION BY LIST (state);
    CREATE TABLE shop.split3_rest PARTITION OF shop.split3 DEFAULT"
change "SELECT FROM order_sweep.define(sweep => 'split', orders => 'shop.split',
    key => '{id,at}', unpaid => \$\$state = 'open'\$\$, since => 'at',
    after => '1 hour', set => \$\$state = 'closed'\$\$)"
change "ALTER TABLE shop.split DETACH PARTITION shop.split1;
    ALTER TABLE shop.split3 ALTER id SET NOT NULL, ALTER at SET NOT NULL;
    ALTER TABLE shop.split DROP CONSTRAINT split_pkey;
    ALTER TABLE shop.split ATTACH PARTITION shop.split3
    FOR VALUES FROM (MINVALUE) TO ('2020-01-01')"
finds 'the key of a partition of partitions' 1 \
    'warn|split|partition key|shop.split3 is partitioned by state, which set changes|Partition by a column that does not change.'
change 'DROP TABLE shop.split3, shop.split1;
    ALTER TABLE shop.split ADD PRIMARY KEY (id, at)'
change "SELECT FROM order_sweep.undefine('split')"
change "SELECT FROM order_sweep.define(sweep => 'seen', orders => 'shop.v',
    key => '{id}', unpaid => \$\$state = 'open'\$\$, since => 'at',
    after => '1 hour', set => \$\$state = 'closed'\$\$)"
clean 'a view, by the index of its table'
change 'DROP INDEX shop.split_open'
finds 'a view without' 78 "$(missing seen \
    'Create an index on the clock and the key of the table under the view.')"
change "CREATE INDEX split_open ON shop.split (at, id) WHERE state = 'open'"
clean 'a view, with its index again'
# What is told of a table is told of the one under a view.
breaks 'a trigger under a view' "CREATE FUNCTION shop.hook() RETURNS trigger
    LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
    CREATE TRIGGER hook BEFORE UPDATE ON shop.split2 FOR EACH ROW
    EXECUTE FUNCTION shop.hook()" \
    'warn|seen|trigger|trigger hook of shop.split2 may swallow or undo the update|See that it lets the update of set pass.' \
    'DROP FUNCTION shop.hook CASCADE'
breaks 'a rule under a view' \
    'CREATE RULE quiet AS ON UPDATE TO shop.split2 DO INSTEAD NOTHING' \
    'warn|seen|trigger|rule quiet of shop.split2 acts instead of the update|See that it lets the update of set pass.' \
    'DROP RULE quiet ON shop.split2'
change 'CREATE VIEW shop.w AS SELECT * FROM shop.v;
    CREATE TABLE shop.w_note (v_id int, at timestamptz,
        FOREIGN KEY (v_id, at) REFERENCES shop.split2 (id, at))'
change "SELECT FROM order_sweep.define(sweep => 'seen', orders => 'shop.w',
    key => '{id}', unpaid => \$\$state = 'open'\$\$, since => 'at',
    after => '1 hour', set => \$\$state = 'closed'\$\$,
    unless => json_build_object('noted',
        'EXISTS (SELECT FROM shop.w_note n WHERE n.v_id = o.id)'))"
clean 'a foreign key to the table under a view of a view'
change 'ALTER TABLE shop.w_note DROP CONSTRAINT w_note_v_id_at_fkey'
finds 'no foreign key to it' 1 "warn|seen|foreign key|unless \"noted\" looks into shop.w_note, which no foreign key ties to shop.w|Add a foreign key to the orders table, or let paying update the order's row under the condition that it is unpaid."
change "SELECT FROM order_sweep.define(sweep => 'seen', orders => 'shop.w',
    key => '{id}', unpaid => \$\$state = 'open'\$\$, since => 'at',
    after => '1 hour', set => \$\$state = 'closed'\$\$)"
change 'INSERT INTO shop.split SELECT 1, $$open$$, now() - n * interval $$1 hour$$
    FROM generate_series(0, 1) n'
ask 'CREATE UNIQUE INDEX CONCURRENTLY half ON shop.split2 (id)' >/dev/null
breaks 'an invalid index under a view' 'TRUNCATE shop.split CASCADE' \
    'fail|seen|invalid index|index shop.half is invalid|REINDEX INDEX CONCURRENTLY shop.half;' \
    'DROP INDEX shop.half'
change "SELECT FROM order_sweep.undefine('seen');
    DROP VIEW shop.w; DROP TABLE shop.w_note"

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
    'NEW.state := OLD.state; RETURN NEW;' 'NEW = OLD; RETURN NEW;' \
    "NEW.state := 'open'; RETURN NEW;" \
    "IF OLD.state = 'open' THEN new.state = 'open'; END IF; RETURN NEW;" \
    $'RAISE DEBUG \'x\'; -- so\nNEW.state := \'open\'; RETURN NEW;'; do
    breaks "a trigger: $body" "CREATE FUNCTION shop.hook() RETURNS trigger
        LANGUAGE plpgsql AS \$hook\$BEGIN $body END\$hook\$;
        CREATE TRIGGER hook BEFORE INSERT OR UPDATE ON shop.t FOR EACH ROW
        EXECUTE FUNCTION shop.hook()" \
        "$(trigger)" 'DROP FUNCTION shop.hook CASCADE'
done
change "CREATE FUNCTION shop.hook() RETURNS trigger LANGUAGE plpgsql
    AS 'BEGIN RETURN NEW; END'"
change "CREATE TRIGGER hook BEFORE UPDATE ON shop.t FOR EACH ROW
    EXECUTE FUNCTION shop.hook()"
for body in 'NEW.note := now();' 'NEW.note := OLD.note;' \
    'IF NEW.state = OLD.state THEN NEW.note := now(); END IF;' \
    'IF NEW.state = OLD.state AND NEW = OLD THEN NEW.at := OLD.at; END IF;' \
    $'-- never: RETURN NULL;\n/* NEW := OLD; */'; do
    change "CREATE OR REPLACE FUNCTION shop.hook() RETURNS trigger
        LANGUAGE plpgsql AS \$hook\$BEGIN $body RETURN NEW; END\$hook\$"
    clean "a trigger that does neither: $body"
done
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
    "fail|cancel_unpaid|row security|paid: query would be affected by row-level security policy for table \"payment\"|Call order_sweep.define with a run_as that the policies do not bind.
fail|cancel_unpaid|row security|unless \"payment received\": query would be affected by row-level security policy for table \"payment\"|Call order_sweep.define with a run_as that the policies do not bind." \
    'ALTER TABLE shop.payment NO FORCE ROW LEVEL SECURITY;
    ALTER TABLE shop.payment DISABLE ROW LEVEL SECURITY'

# --- Rights ------------------------------------------------------------------

# Of the owner on the books.
super "GRANT $other TO $owner; GRANT USAGE ON SCHEMA shop TO $other;
    GRANT SELECT, UPDATE ON shop.t TO $other"
change "SELECT FROM order_sweep.grant_define_to('$other');
    SELECT FROM order_sweep.undefine('tidy')"
define "unpaid => \$\$state = 'open'\$\$, since => 'at', after => '1 hour',
    run_as => '$other'"
clean 'a definition of another role'
# without RIGHT ON WHAT: the right revoked.
without()
{
    breaks "an owner without $1 on $2" "REVOKE $1 ON ${3:-}$2 FROM $other" \
        "fail|tidy|books|role $other has no $1 on $2|SELECT order_sweep.grant_define_to('$other');"
}
without SELECT order_sweep.journal
without INSERT order_sweep.journal
without SELECT order_sweep.failure
without EXECUTE 'order_sweep.record_failure(text,jsonb,text,text,boolean)' \
    'FUNCTION '
super "REVOKE USAGE, CREATE ON SCHEMA order_sweep FROM $other"
runs 78 check --format=json
mend="SELECT order_sweep.grant_define_to('$other');"
is 'an owner without USAGE' "$(read_findings | sed -n 1p)" \
    "fail|tidy|books|role $other has no USAGE on schema order_sweep|$mend"
change "$mend"
clean 'an owner with all'
super "REVOKE $other FROM $owner"
mend="GRANT $other TO $owner;"
# The schema public belongs to him.
finds 'an owner whom one is no member of' 78 \
    "fail|tidy|owner|cannot look as role $other: role $owner is no member of it|$mend
fail|tidy|search path|$owner may create in schema public|REVOKE CREATE ON SCHEMA public FROM $owner;"
super "$mend"
clean 'a member again'
super "DROP OWNED BY $other; ALTER ROLE $other RENAME TO ${other}_gone"
mend="SELECT order_sweep.undefine('tidy');"
finds 'an owner that is gone' 78 "fail|tidy|owner|role $other, which it belongs to, does not exist|$mend"
runs 0 migrate -vv
is 'an owner that is gone: migrate' "$(printf '%s\n' "$err" | grep -c \
    "tidy belongs to role $other, which does not exist")" 1
change "BEGIN; SELECT FROM order_sweep.grant_to('$cron'); ROLLBACK"
change "$mend"
clean 'the sweep is gone too'
super "ALTER ROLE ${other}_gone RENAME TO $other"
define_as_before
clean 'the owner again'
# A module that is loaded later may take what was free.
change "UPDATE order_sweep.sweep SET settings = '{\"plpgsql.check_asserts\": \"maybe\"}'
    WHERE name = 'tidy'"
runs 0 migrate
finds 'settings that are taken no longer' 78 'fail|tidy|settings|parameter "plpgsql.check_asserts" requires a Boolean value|Call order_sweep.define anew, with names and values that SET takes.'
define_as_before
clean 'settings as before'

# Of the role in the crontab.
functions_of_a_run()
{
    printf 'order_sweep.%s\n' begin_run blame calls_of explain finish_run preview \
        probe schema_version sign_of_life \
        {cancel_unpaid,tidy}_{due,next,fault,clock,explain,batch,newest,cancel,fail} \
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
is 'check as the role in the crontab' "$out|$err" "ok    schema: the schema is the program's|order-sweep: permission denied for table sweep; run check as the role that owns schema order_sweep, as migrate is run"
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

# untied ARGUMENT TABLE ORDERS [SWEEP]: the finding.
untied()
{
    printf "warn|%s|foreign key|%s looks into %s, which no foreign key ties to %s|Add a foreign key to the orders table, or let paying update the order's row under the condition that it is unpaid." \
        "${4:-tidy}" "$1" "$2" "$3"
}
change 'CREATE TABLE shop.note (id int PRIMARY KEY, t_id int)'
define "unpaid => \$\$state = 'open'\$\$, since => 'at', after => '1 hour',
    unless => json_build_object('noted',
        'EXISTS (SELECT FROM shop.note n WHERE n.t_id = o.id)')"
breaks 'a rule without a foreign key' '' \
    "$(untied 'unless "noted"' shop.note shop.t)" \
    'ALTER TABLE shop.note ADD FOREIGN KEY (t_id) REFERENCES shop.t'
define "unpaid => \$\$state = 'open' AND NOT EXISTS
    (SELECT FROM shop.note n WHERE n.t_id = o.id)\$\$, since => 'at',
    after => '1 hour'"
breaks 'unpaid that looks into a table without a foreign key' \
    'ALTER TABLE shop.note DROP CONSTRAINT note_t_id_fkey' \
    "$(untied 'unpaid' shop.note shop.t)" \
    'ALTER TABLE shop.note ADD FOREIGN KEY (t_id) REFERENCES shop.t'
breaks 'the foreign key of payments dropped' \
    'ALTER TABLE shop.payment DROP CONSTRAINT payment_order_id_fkey' \
    "$(untied paid shop.payment shop.orders cancel_unpaid)
$(untied 'unless "payment received"' shop.payment shop.orders cancel_unpaid)" \
    'ALTER TABLE shop.payment ADD FOREIGN KEY (order_id) REFERENCES shop.orders'
breaks 'the foreign key of payments deferred' \
    'ALTER TABLE shop.payment ALTER CONSTRAINT payment_order_id_fkey
        DEFERRABLE INITIALLY DEFERRED' \
    "warn|cancel_unpaid|foreign key|paid looks into shop.payment, whose foreign key to shop.orders is deferred|Make it INITIALLY IMMEDIATE, or let paying update the order's row under the condition that it is unpaid.
warn|cancel_unpaid|foreign key|unless \"payment received\" looks into shop.payment, whose foreign key to shop.orders is deferred|Make it INITIALLY IMMEDIATE, or let paying update the order's row under the condition that it is unpaid." \
    'ALTER TABLE shop.payment ALTER CONSTRAINT payment_order_id_fkey
        DEFERRABLE INITIALLY IMMEDIATE'
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

# --- No definition; the probe ------------------------------------------------

before=$(fingerprint)
finds 'the probe' 0 '' --probe
runs 0 check --probe
is 'what it tells' "$(printf '%s\n' "$out" | tail -n 2)" \
    'ok    segment: two statements are one transaction
ok    lock: two connections exclude each other'
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
