#!/bin/bash
# What order-sweep check finds about tables: partitions and views,
# keys, columns, triggers, row security, foreign keys.
set -euo pipefail

# shellcheck source=tests/support/db.sh
. "$ORDER_SWEEP_SOURCE/tests/support/db.sh"
# shellcheck source=tests/support/steps.sh
. "$ORDER_SWEEP_SOURCE/tests/support/steps.sh"
# shellcheck source=tests/support/findings.sh
. "$ORDER_SWEEP_SOURCE/tests/support/findings.sh"

new_findings tables
clean 'a clean database'

# --- Partitions and views ----------------------------------------------------

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
odd='warn|split|partition key|shop.split3 is partitioned by state, which set changes|Partition by a column that does not change.
warn|split|key|no unique index of shop.split lies within (id, at)|Call order_sweep.define with a key that holds the columns that the table is partitioned by, and make it unique.'
finds 'the key of a partition of partitions' 1 "$odd"
sql -U "$superuser" -c 'CREATE EXTENSION postgres_fdw;
    GRANT USAGE ON FOREIGN DATA WRAPPER postgres_fdw TO PUBLIC'
change 'CREATE SERVER abroad FOREIGN DATA WRAPPER postgres_fdw;
    CREATE FOREIGN TABLE shop.split4 PARTITION OF shop.split3
        FOR VALUES IN ($$abroad$$) SERVER abroad'
finds 'a partition on another server' 78 \
    "fail|split|foreign table|of shop.split the rows of shop.split4 are on another server|Detach it, and define a sweep on the server that has its rows.
$odd"
change 'DROP SERVER abroad CASCADE'
change 'DROP TABLE shop.split3, shop.split1;
    ALTER TABLE shop.split ADD PRIMARY KEY (id, at)'
change "SELECT FROM order_sweep.undefine('split')"
change "SELECT FROM order_sweep.define(sweep => 'seen', orders => 'shop.v',
    key => '{id}', unpaid => \$\$state = 'open'\$\$, since => 'at',
    after => '1 hour', set => \$\$state = 'closed'\$\$)"
clean 'a view, by the index of its table'
change 'DROP INDEX shop.split_open'
finds 'a view without' 78 "$(missing seen \
    'Create an index on shop.split2, under the view, on the columns that the view shows as at, id.')"
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
finds 'no foreign key to it' 0 "note|seen|foreign key|the look for due orders reads shop.w_note, which no foreign key ties to shop.w|Add a foreign key to the orders table, or let paying update the order's row under the condition that it is unpaid."
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

# --- The key -----------------------------------------------------------------

not_unique="warn|tidy|key|no unique index of shop.t lies within (id)|CREATE UNIQUE INDEX CONCURRENTLY ON shop.t (id);"
breaks 'the primary key dropped' 'ALTER TABLE shop.t DROP CONSTRAINT t_pkey' \
    "$not_unique" 'DROP INDEX shop.t_id_idx;
    ALTER TABLE shop.t ADD CONSTRAINT t_pkey PRIMARY KEY (id)'
for instead in "UNIQUE INDEX instead ON shop.t (id) WHERE state = 'open'" \
    'UNIQUE INDEX instead ON shop.t (id, at)' \
    'UNIQUE INDEX instead ON shop.t (id, length(note))' \
    'INDEX instead ON shop.t (id)'; do
    breaks "only $instead" "ALTER TABLE shop.t DROP CONSTRAINT t_pkey;
        CREATE $instead" "$not_unique" 'DROP INDEX shop.t_id_idx, shop.instead;
        ALTER TABLE shop.t ADD CONSTRAINT t_pkey PRIMARY KEY (id)'
done
change 'ALTER TABLE shop.t DROP CONSTRAINT t_pkey;
    INSERT INTO shop.t (id) VALUES (1), (1)'
ask 'CREATE UNIQUE INDEX CONCURRENTLY instead ON shop.t (id)' >/dev/null
finds 'an invalid one' 78 \
    "fail|tidy|invalid index|index shop.instead is invalid|REINDEX INDEX CONCURRENTLY shop.instead;
$not_unique"
change 'TRUNCATE shop.t; DROP INDEX shop.instead;
    ALTER TABLE shop.t ADD CONSTRAINT instead UNIQUE (id) DEFERRABLE INITIALLY DEFERRED'
clean 'a deferrable one: what is committed is unique'
change 'ALTER TABLE shop.t DROP CONSTRAINT instead;
    ALTER TABLE shop.t ADD CONSTRAINT t_pkey PRIMARY KEY (id)'

# --- Columns that take no NULL -----------------------------------------------

# set_to ASSIGNMENTS [ORDERS [KEY [SWEEP]]]
set_to()
{
    change "SELECT FROM order_sweep.define(sweep => '${4:-tidy}',
        orders => '${2:-shop.t}', key => '{${3:-id}}', set => \$set\$$1\$set\$,
        unpaid => \$\$state = 'open'\$\$, since => 'at', after => '1 hour')"
}
# taken COLUMN [TABLE [SWEEP [LEVEL]]]: the finding.
taken()
{
    printf '%s|%s|not null|set makes %s of %s NULL, which is not null|Let set leave %s alone, or give it a value; or ALTER TABLE %s ALTER %s DROP NOT NULL.' \
        "${4:-fail}" "${3:-tidy}" "$1" "${2:-shop.t}" "$1" "${2:-shop.t}" "$1"
}
needed='ALTER TABLE shop.t ALTER note SET NOT NULL'
needless='ALTER TABLE shop.t ALTER note DROP NOT NULL'
for set in "note = NULL, state = 'closed'" "state = 'closed', note = DEFAULT" \
    "(note, state) = (NULL, 'closed')" "state = 'closed', NOTE = nullif('a', 'a')" \
    "state = 'closed', note = NULL::text || 'x'" \
    "state = coalesce('a, local = ', note), note = NULL, at = at" \
    "state = 'a, at = ', note = NULL" \
    "state = concat('closed', id = 1, 'local' = 'x'), note = NULL" \
    "state = 'closed', /* local = */ note = NULL -- , at = now()"; do
    set_to "$set"
    breaks "set: $set" "$needed" "$(taken note)" "$needless"
done
set_to "state = 'closed', note = NULL, local = NULL"
breaks 'two of them' "$needed; ALTER TABLE shop.t ALTER local SET NOT NULL" \
    "$(taken local)
$(taken note)" "$needless; ALTER TABLE shop.t ALTER local DROP NOT NULL"
set_to "state = 'closed', note = NULL"
change "CREATE FUNCTION shop.hook() RETURNS trigger LANGUAGE plpgsql
    AS 'BEGIN NEW.note := now(); RETURN NEW; END'"
change "CREATE TRIGGER hook BEFORE UPDATE ON shop.t FOR EACH ROW
    EXECUTE FUNCTION shop.hook()"
breaks 'a trigger may fill it in' "$needed" "$(taken note shop.t tidy warn)" "$needless"
change 'DROP FUNCTION shop.hook CASCADE'
change "$needed"
for set in "state = 'closed', note = 'NULL::text'" "state = 'closed', note = o.state" \
    "state = NULL, note = 'x'" "state = 'closed', local = NULL"; do
    set_to "$set"
    clean "set: $set"
done
change "$needless"
define_as_before
# Of a partition alone, in another order of columns; under a view.
change "CREATE TABLE shop.old (note text, more text, state text, id int NOT NULL,
        at timestamptz NOT NULL);
    ALTER TABLE shop.split ADD COLUMN note text, ADD COLUMN more text;
    ALTER TABLE shop.split ATTACH PARTITION shop.old
        FOR VALUES FROM (MINVALUE) TO ('2020-01-01');
    CREATE VIEW shop.v2 AS SELECT id, at, note, state FROM shop.split2;
    CREATE VIEW shop.v3 AS SELECT id, at, note AS said, state, more
    FROM shop.split2"
set_to "state = 'closed', note = NULL" shop.split id,at split
clean 'in partitions'
breaks 'in one of them' 'ALTER TABLE shop.old ALTER note SET NOT NULL' \
    "$(taken note shop.split split)" 'ALTER TABLE shop.old ALTER note DROP NOT NULL'
change "SELECT FROM order_sweep.undefine('split')"
set_to "state = 'closed', note = NULL" shop.v2 id seen
breaks 'under a view' 'ALTER TABLE shop.split2 ALTER note SET NOT NULL' \
    "$(taken note shop.split2 seen)" 'ALTER TABLE shop.split2 ALTER note DROP NOT NULL'
set_to "state = 'closed', said = NULL, more = 'x'" shop.v3 id seen
change 'ALTER TABLE shop.split2 ALTER note SET NOT NULL, ALTER more SET NOT NULL'
clean 'under a view that renames it nothing can be said'
change "SELECT FROM order_sweep.undefine('seen'); DROP VIEW shop.v2, shop.v3"

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

# --- Unlogged tables ---------------------------------------------------------

for table in journal failure run; do
    breaks "unlogged $table" "ALTER TABLE order_sweep.$table SET UNLOGGED" \
        "fail||unlogged|table order_sweep.$table is unlogged|ALTER TABLE order_sweep.$table SET LOGGED;"
done

# --- Payments without a foreign key ------------------------------------------

# untied TABLE ORDERS [SWEEP]: the finding.
untied()
{
    printf "note|%s|foreign key|the look for due orders reads %s, which no foreign key ties to %s|Add a foreign key to the orders table, or let paying update the order's row under the condition that it is unpaid." \
        "${3:-tidy}" "$1" "$2"
}
change 'CREATE TABLE shop.note (id int PRIMARY KEY, t_id int)'
define "unpaid => \$\$state = 'open'\$\$, since => 'at', after => '1 hour',
    unless => json_build_object('noted',
        'EXISTS (SELECT FROM shop.note n WHERE n.t_id = o.id)')"
breaks 'a rule without a foreign key' '' \
    "$(untied shop.note shop.t)" \
    'ALTER TABLE shop.note ADD FOREIGN KEY (t_id) REFERENCES shop.t'
define "unpaid => \$\$state = 'open' AND NOT EXISTS
    (SELECT FROM shop.note n WHERE n.t_id = o.id)\$\$, since => 'at',
    after => '1 hour'"
breaks 'unpaid that looks into a table without a foreign key' \
    'ALTER TABLE shop.note DROP CONSTRAINT note_t_id_fkey' \
    "$(untied shop.note shop.t)" \
    'ALTER TABLE shop.note ADD FOREIGN KEY (t_id) REFERENCES shop.t'
breaks 'the foreign key of payments dropped' \
    'ALTER TABLE shop.payment DROP CONSTRAINT payment_order_id_fkey' \
    "$(untied shop.payment shop.orders cancel_unpaid)" \
    'ALTER TABLE shop.payment ADD FOREIGN KEY (order_id) REFERENCES shop.orders'
breaks 'the foreign key of payments deferred' \
    'ALTER TABLE shop.payment ALTER CONSTRAINT payment_order_id_fkey
        DEFERRABLE INITIALLY DEFERRED' \
    "note|cancel_unpaid|foreign key|the look for due orders reads shop.payment, whose foreign key to shop.orders is deferred|Make it INITIALLY IMMEDIATE, or let paying update the order's row under the condition that it is unpaid." \
    'ALTER TABLE shop.payment ALTER CONSTRAINT payment_order_id_fkey
        DEFERRABLE INITIALLY IMMEDIATE'
define_as_before
change 'DROP TABLE shop.note'

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
