#!/bin/bash
# What a definition can say: each argument, each type of clock and of key, each
# swept by the program; and that its index serves it.
set -euo pipefail

# shellcheck source=tests/support/db.sh
. "$ORDER_SWEEP_SOURCE/tests/support/db.sh"
# shellcheck source=tests/support/steps.sh
. "$ORDER_SWEEP_SOURCE/tests/support/steps.sh"

new_shop define
change "SELECT FROM order_sweep.undefine('cancel_unpaid')"

# sweeps NAME TABLE: runs the sweep, and prints the ids swept and not.
sweeps()
{
    runs 0 "--sweep=$1"
    if [ -n "$err" ]; then
        fail "sweep $1 said: $err"
    fi
    ask "SELECT string_agg(id::text, ' ' ORDER BY id) FILTER (WHERE state = 'closed'),
        string_agg(id::text, ' ' ORDER BY id) FILTER (WHERE state = 'open')
        FROM $2"
}

# --- Types of clocks ---------------------------------------------------------

# clock NAME TYPE DEFINITION: a table shop.NAME with a clock of TYPE, and its
# definition.
clock()
{
    change "CREATE TABLE shop.$1 (id int PRIMARY KEY,
        state text NOT NULL DEFAULT 'open', at $2)"
    change "CREATE INDEX ON shop.$1 (at, id) WHERE state = 'open'"
    change "SELECT FROM order_sweep.define(sweep => '$1', orders => 'shop.$1',
        key => '{id}', unpaid => \$\$state = 'open'\$\$, $3,
        set => \$\$state = 'closed'\$\$)"
}

# edge NAME BEFORE AT WINDOW: of two rows, in a transaction in which the time
# stands still, the one a step before its deadline and the one at it.
edge()
{
    is "$1: before and at the deadline" "$(ask "BEGIN;
        INSERT INTO shop.$1 (id, at) VALUES (901, $2), (902, $3);
        SELECT order_sweep.$1_cancel(901, NULL, 0),
               order_sweep.$1_cancel(902, NULL, 0),
               (SELECT string_agg(k1::text, ' ')
                  FROM order_sweep.$1_batch(NULL, NULL, NULL, 10)
                 WHERE k1 > 900);
        ROLLBACK")" 'changed|swept|'
    is "$1: batch" "$(ask "BEGIN;
        INSERT INTO shop.$1 (id, at) VALUES (901, $2), (902, $3);
        SELECT string_agg(k1::text, ' ')
          FROM order_sweep.$1_batch(NULL, NULL, NULL, 10) WHERE k1 > 900;
        ROLLBACK")" 902
}

window="since => 'at', after => '30 minutes'"
now='floor(extract(epoch FROM now()))::bigint'

clock stamp timestamptz "$window"
edge stamp "now() - interval '30 minutes' + interval '1 microsecond'" \
    "now() - interval '30 minutes'"
change "INSERT INTO shop.stamp (id, at) VALUES (1, now() - interval '31 minutes'),
    (2, now() - interval '29 minutes'), (3, NULL), (4, '-infinity'),
    (5, 'infinity'), (6, now() - interval '30 days 31 minutes'),
    (7, now() - interval '30 days 29 minutes')"
is 'timestamptz' "$(sweeps stamp shop.stamp)" '1 7|2 3 4 5 6'

clock seconds bigint "$window"
edge seconds "$now - 1799" "$now - 1800"
change "INSERT INTO shop.seconds (id, at) VALUES (1, $now - 1860),
    (2, $now - 1740), (3, NULL), (4, -9223372036854775808),
    (5, 9223372036854775807), (6, $now - 30 * 86400 - 1860),
    (7, $now - 30 * 86400 - 1740)"
is 'seconds' "$(sweeps seconds shop.seconds)" '1 7|2 3 4 5 6'
runs 0 --sweep=seconds --dry-run --format=json

clock ints integer "$window"
edge ints "$now - 1799" "$now - 1800"
clock millis bigint "$window, unit => 'ms'"
edge millis "floor(extract(epoch FROM now()) * 1000)::bigint - 1799999" \
    "floor(extract(epoch FROM now()) * 1000)::bigint - 1800000"
# never early: between the two stands the fraction of the now
clock local timestamp "$window, zone => 'Europe/Berlin'"
edge local \
    "(now() - interval '29 minutes 59 seconds') AT TIME ZONE 'Europe/Berlin'" \
    "(now() - interval '30 minutes') AT TIME ZONE 'Europe/Berlin'"
clock utc timestamp "$window, zone => 'UTC', grace => '10 minutes'"
edge utc "(now() - interval '39 minutes 59 seconds') AT TIME ZONE 'UTC'" \
    "(now() - interval '40 minutes') AT TIME ZONE 'UTC'"
clock days date "since => 'at', after => '1 day', zone => 'Asia/Tokyo'"
edge days "(now() AT TIME ZONE 'Asia/Tokyo')::date - 1" \
    "(now() AT TIME ZONE 'Asia/Tokyo')::date - 2"
clock expires timestamptz "deadline => 'at'"
edge expires "now() + interval '1 microsecond'" 'now()'
clock graced timestamptz "deadline => 'at', grace => '5 minutes',
    max_age => NULL"
edge graced "now() - interval '4 minutes 59 seconds'" \
    "now() - interval '5 minutes'"
change "INSERT INTO shop.graced (id, at) VALUES (1, '1970-01-01'), (2, NULL),
    (3, '-infinity'), (4, 'infinity')"
is 'max_age NULL' "$(sweeps graced shop.graced)" '1|2 3 4'

# The night on which Berlin's clocks go back: 02:15 comes twice, at 00:15 and at
# 01:15 UTC, and is read as the later one, for it must not be swept early.  At
# 01:18 UTC the local bound alone, 02:48 as it was half an hour ago, is past it.
change "DO \$\$ DECLARE f text; BEGIN
    FOR f IN SELECT pg_get_functiondef(oid) FROM pg_proc
              WHERE proname IN ('local_cancel', 'local_batch', 'local_due') LOOP
        EXECUTE replace(f, 'now()', 'current_setting(''test.now'')::timestamptz');
    END LOOP; END \$\$"
change "INSERT INTO shop.local (id, at) VALUES (1, '2025-10-26 02:15')"
for moment in 00:46 01:18 01:44:59; do
    is "autumn night, $moment UTC" "$(ask "SET test.now = '2025-10-26 $moment+00';
        SELECT order_sweep.local_cancel(1, NULL, 0),
               (SELECT count(*) FROM order_sweep.local_batch(NULL, NULL, NULL, 9)),
               (SELECT count(*) FROM order_sweep.local_due(NULL))")" 'changed|0|0'
done
is 'autumn night, 01:45 UTC' "$(ask "SET test.now = '2025-10-26 01:45+00';
    SELECT (SELECT count(*) FROM order_sweep.local_batch(NULL, NULL, NULL, 9)),
           (SELECT count(*) FROM order_sweep.local_due(NULL)),
           order_sweep.local_cancel(1, NULL, 0)")" '1|1|swept'
change 'DELETE FROM shop.local'
change "SELECT FROM order_sweep.regenerate()"

# --- Types of keys -----------------------------------------------------------

number=0
# keyed TYPE VALUE...: rows with such keys, each swept, each once; the journal
# has the keys as JSON.
keyed()
{
    local type=$1 name value
    shift
    number=$((number + 1))
    name=key$number
    change "CREATE TABLE shop.$name (id $type PRIMARY KEY,
        state text DEFAULT 'open', at timestamptz DEFAULT '2000-01-01')"
    change "CREATE INDEX ON shop.$name (at, id) WHERE state = 'open'"
    for value in "$@"; do
        change "INSERT INTO shop.$name (id) VALUES ($value)"
    done
    change "SELECT FROM order_sweep.define(sweep => '$name',
        orders => 'shop.$name', key => '{id}', unpaid => \$\$state = 'open'\$\$,
        since => 'at', after => '1 minute', max_age => NULL,
        set => \$\$state = 'closed'\$\$)"
    # A batch of one: the cursor goes from row to row.
    runs 0 "--sweep=$name" --batch-size=1 --format=json
    is "$type: swept" "$(ask "SELECT count(*) FROM shop.$name
        WHERE state = 'closed'")" $#
    is "$type: journal" "$(ask "SELECT count(*), bool_and(EXISTS (SELECT
        FROM shop.$name o WHERE jsonb_build_array(o.id) = j.order_key))
        FROM order_sweep.journal j WHERE sweep = '$name'")" "$#|t"
    is "$type: report" "$(printf '%s\n' "$out" |
        grep -c "\"swept\":$#,.*\"failed\":0")" 1
    runs 0 "--sweep=$name" --dry-run
    change "UPDATE shop.$name SET state = 'open'"
    runs 0 "--sweep=$name"
    is "$type: not twice" "$(ask "SELECT count(*) FROM shop.$name
        WHERE state = 'closed'")" 0
}

keyed bigint 0 -1 2147483648 9223372036854775807 -9223372036854775808
keyed smallint 1 32767
keyed numeric 1.50 12345678901234567890.123
keyed uuid "'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'" "gen_random_uuid()"
keyed 'char(10)' "'abc'" "' x'" "''" "'tenletters'"
keyed text "''" "' '" "e'it''s'" "'\"q\"'" "e'\\\\\\\\'" "'a\\b'" "'{a,b}'" \
    "'a, b'" "e'tab\\tnew\\nline'" "'Größe €'" "'; DROP TABLE x; --'" "'NULL'" \
    "'\$1'" "repeat('x', 2000)"
keyed 'varchar(20)' "'a'" "'it''s'"
keyed timestamptz "'2026-03-29 02:30:00.123456+01'" "'infinity'"
keyed date "'2026-01-31'" "'0044-03-15 BC'"
keyed boolean true false
keyed bytea "'\\xdeadbeef'" "'\\x'"
keyed 'int[]' "'{1,2}'" "'{}'"
change "CREATE DOMAIN shop.number AS text CHECK (VALUE ~ '^N');
    CREATE TYPE shop.colour AS ENUM ('red', 'deep blue')"
keyed shop.number "'N1'" "'N''2'"
keyed shop.colour "'red'" "'deep blue'"
keyed interval "'1 day 02:03:04'" "'-1 month'"
keyed inet "'10.0.0.1/8'" "'::1'"

# Several columns, one of them with a name to be quoted.
sql -f - <<'SQL' >/dev/null
CREATE TABLE shop.parts ("Region ""x" text, number bigint, "select" uuid,
    state text DEFAULT 'open', at timestamptz DEFAULT '2000-01-01',
    PRIMARY KEY ("Region ""x", number, "select"));
INSERT INTO shop.parts VALUES
    ('a, b', 1, '00000000-0000-0000-0000-000000000001'),
    ('a', 2147483649, '00000000-0000-0000-0000-000000000001'),
    ('a', 2147483649, '00000000-0000-0000-0000-000000000002'),
    ('b"''\', 1, '00000000-0000-0000-0000-000000000001');
SELECT order_sweep.define(sweep => 'parts', orders => 'shop.parts',
    key => ARRAY['Region "x', 'number', 'select'],
    unpaid => $$o.state = 'open'$$, since => 'o.at', after => '1 minute',
    max_age => NULL, set => $$state = 'closed'$$,
    each => ARRAY[$$UPDATE shop.parts SET number = number
                     WHERE "Region ""x" = $1 AND number = $2 AND "select" = $3$$]);
SQL
runs 0 --sweep=parts --batch-size=1
is 'a key of three columns' "$(ask "SELECT count(*) FROM shop.parts
    WHERE state = 'closed'")" 4
is 'its journal' "$(ask "SELECT string_agg(order_key::text, ' '
    ORDER BY order_key) FROM order_sweep.journal WHERE sweep = 'parts'
    AND payload ? 'Region \"x'" | head -c 60)" \
    '["a", 2147483649, "00000000-0000-0000-0000-000000000001"] ["'

# A key that nothing makes unique: a warning, and such an order fails whole.
is 'warning' "$(sql -f - <<'SQL' 2>&1 | sed -n 's/.*WARNING: *//p'
SET client_min_messages = warning;
CREATE TABLE shop.twins (id int, state text DEFAULT 'open',
    at timestamptz DEFAULT '2000-01-01');
INSERT INTO shop.twins VALUES (1), (1), (2);
SELECT order_sweep.define(sweep => 'twins', orders => 'shop.twins',
    key => '{id}', unpaid => $$state = 'open'$$, since => 'at',
    after => '1 minute', max_age => NULL, set => $$state = 'closed'$$);
SQL
)" 'key: no unique index of shop.twins lies within (id)'
runs 1 --sweep=twins
is 'twins' "$(ask "SELECT string_agg(id || state, ' ' ORDER BY id)
    FROM shop.twins")" '1open 1open 2closed'

# Defined over other orders, or by another key, while the journal has rows: a
# warning, since its rows are known by their keys alone.
change "CREATE TABLE shop.again (id int PRIMARY KEY, state text DEFAULT 'open',
    at timestamptz DEFAULT '2000-01-01')"
change 'CREATE TABLE shop.other (LIKE shop.again INCLUDING ALL)'
# warned TABLE WANTED [KEY [MORE]]
warned()
{
    is "warning: $*" "$(ask "SELECT FROM order_sweep.define(sweep => 'again',
        orders => 'shop.$1', key => '${3:-{id\}}', max_age => NULL,
        unpaid => \$\$state = 'open'\$\$, $window, set => \$\$state = 'closed'\$\$
        ${4:-})" | sed -n 's/^WARNING:  *[0-9]*: //p')" "$2"
}
warned again ''
change 'INSERT INTO shop.again VALUES (1)'
warned other ''
warned again ''
runs 0 --sweep=again
warned again ''
warned other 'sweep: the journal has orders of again from table shop.again'
warned other ''
change 'ALTER TABLE shop.other ALTER id TYPE bigint'
warned other ''
change 'ALTER TABLE shop.other ALTER id TYPE text'
warned other 'key: the journal of again names orders by (id), of type bigint'
warned again '' '{id}' ', again => true'
warned again ''
warned other 'key: the journal of again names orders by (id), of type integer'
change 'ALTER TABLE shop.other ADD code text UNIQUE'
warned other 'key: the journal of again names orders by (id), of type text' '{code}'
change "SELECT FROM order_sweep.undefine('again')"
warned other 'sweep: the journal has orders of again from when it was defined before'
change "DELETE FROM order_sweep.journal WHERE sweep = 'again'"
warned again ''

# A superuser's sweep of tables that are not his: a warning.
new_role "rail_$$"
change "ALTER TABLE shop.again OWNER TO rail_$$"
warned again "sweep: again belongs to $superuser, a superuser: its SQL runs with\
 all rights, and only a superuser may look after it"
change "ALTER TABLE shop.again OWNER TO $superuser"
warned again ''

# --- All arguments at once ---------------------------------------------------

# Literals that look like the end of something are what they are; bare columns
# are the orders table's, whatever they are called.
sql -f - <<'SQL' >/dev/null
CREATE TABLE shop.full (id int PRIMARY KEY, state text, at timestamp,
    found text, sweep text, order_key text, k1 text, note text);
CREATE TABLE shop.log (id int, what text);
INSERT INTO shop.full
SELECT id, ';--$1', '2020-01-01', 'f', 's', 'k', 'k1',
       CASE id WHEN 2 THEN E'\\keep' WHEN 3 THEN '$1' END
  FROM generate_series(1, 4) AS id;
SELECT order_sweep.define(
    sweep => 'full', orders => 'shop.full', key => '{id}',
    unpaid => $q$state = ';--$1' AND found = 'f' AND sweep = 's'
        AND order_key = 'k' AND k1 = 'k1' -- a comment$q$,
    since => $q$at /* as it is */ -- and more$q$, after => '30 minutes',
    grace => '1 minute', zone => 'America/New_York', max_age => NULL,
    unless => $q${"it's / a--rule": "note = '\\keep' -- z",
                  "second": "o.note = '$1'"}$q$,
    set => $q$state = $s$$1;'--%s\$s$, sweep = o.sweep || 'x' -- y$q$,
    each => ARRAY[
        $q$INSERT INTO shop.log VALUES ($1, ';--$2') -- c$q$,
        $q$INSERT INTO shop.log SELECT $1, 'two' RETURNING what$q$,
        $q$SELECT set_config('a.b', $1::text, true)$q$,
        $q$WITH gone AS (DELETE FROM shop.log WHERE id = $1 AND what = 'two'
               RETURNING 1) INSERT INTO shop.log SELECT $1, 'three' FROM gone$q$],
    event => $q$json_build_object('k', o.state, 'sweep', sweep) -- e$q$,
    again => true,
    paid => $q$note = 'paid' -- p$q$);
SQL
runs 0 --sweep=full
is 'rows' "$(ask "SELECT string_agg(id || ' ' || state || ' ' || sweep, ', '
    ORDER BY id) FROM shop.full")" \
    "1 \$1;'--%s\\ sx, 2 ;--\$1 s, 3 ;--\$1 s, 4 \$1;'--%s\\ sx"
is 'effects, in their order' "$(ask "SELECT string_agg(id || what, ' '
    ORDER BY id, what) FROM shop.log")" '1;--$2 1three 4;--$2 4three'
is 'payload' "$(ask "SELECT payload FROM order_sweep.journal
    WHERE sweep = 'full' AND order_key = '[1]'")" \
    '{"k": "$1;'"'"'--%s\\", "sweep": "sx"}'
is 'states' "$(ask "SELECT string_agg(order_key || state, ', '
    ORDER BY order_key) FROM order_sweep.full_due(NULL)")" \
    "[2]keep: it's / a--rule, [3]keep: second"
is 'cancel of a kept one' "$(ask 'SELECT order_sweep.full_cancel(2, NULL, 0)')" \
    "kept: it's / a--rule"
is 'late' "$(ask "UPDATE shop.full SET note = 'paid' WHERE id = 4;
    SELECT string_agg(order_key::text, ' ') FROM order_sweep.full_late()")" '[4]'
change "UPDATE shop.full SET state = ';--\$1', sweep = 's' WHERE id = 1"
runs 0 --sweep=full
is 'again' "$(ask "SELECT string_agg(ordinal::text, ' ' ORDER BY ordinal)
    FROM order_sweep.journal WHERE sweep = 'full' AND order_key = '[1]'")" '1 2'
# Called anew without paid: the list of late ones goes.
change "SELECT FROM order_sweep.define(sweep => 'full', orders => 'shop.full',
    key => '{id}', unpaid => 'false', since => 'at', zone => 'UTC',
    after => '1 hour', set => 'note = 1')"
is 'late is gone' "$(ask "SELECT to_regproc('order_sweep.full_late') IS NULL")" t
is 'each function says what it is' "$(ask "SELECT count(*) FROM pg_proc
    WHERE pronamespace = 'order_sweep'::regnamespace
      AND obj_description(oid) IS NULL")" 0

# Names in fragments mean the path of the one who defines.
sql -f - <<'SQL' >/dev/null
SET search_path = shop;
CREATE TABLE "Odd name" (id int PRIMARY KEY, state text, at timestamptz);
INSERT INTO "Odd name" VALUES (1, 'open', now() - interval '1 hour');
SELECT order_sweep.define(sweep => 'odd', orders => '"Odd name"',
    key => '{id}', unpaid => $$state = 'open'$$, since => 'at',
    after => '1 minute', set => $$state = 'closed'$$,
    each => ARRAY['INSERT INTO log VALUES ($1, $$odd$$)']);
SQL
is 'a path' "$(sweeps odd 'shop."Odd name"')" '1|'
is 'its effect' "$(ask "SELECT id FROM shop.log WHERE what = 'odd'")" 1
# The table made anew is found again.
change 'DROP TABLE shop."Odd name"'
change "CREATE TABLE shop.\"Odd name\" (id int PRIMARY KEY, state text,
    at timestamptz)"
change "INSERT INTO shop.\"Odd name\" VALUES (2, 'open', now() - interval '1 h')"
is 'a table made anew' "$(sweeps odd 'shop."Odd name"')" '2|'

# A partitioned table, and a view of a table.
sql -f - <<'SQL' >/dev/null
CREATE TABLE shop.split (id int, state text, at timestamptz,
    PRIMARY KEY (id, at)) PARTITION BY RANGE (at);
CREATE TABLE shop.split1 PARTITION OF shop.split
    FOR VALUES FROM (MINVALUE) TO ('2020-01-01');
CREATE TABLE shop.split2 PARTITION OF shop.split
    FOR VALUES FROM ('2020-01-01') TO (MAXVALUE);
CREATE INDEX ON shop.split (at, id) WHERE state = 'open';
INSERT INTO shop.split VALUES (1, 'open', '2010-01-01'),
    (2, 'open', now() - interval '1 hour'), (3, 'open', now());
CREATE VIEW shop.split_view AS SELECT * FROM shop.split WHERE id <> 4;
SQL
for table in split split_view; do
    change "SELECT FROM order_sweep.define(sweep => '$table',
        orders => 'shop.$table', key => '{id}', unpaid => \$\$state = 'open'\$\$,
        since => 'at', after => '1 minute', max_age => NULL,
        set => \$\$state = 'closed'\$\$)" 2>/dev/null
    is "$table" "$(sweeps "$table" shop.split)" '1 2|3'
    change "UPDATE shop.split SET state = 'open'"
done

# --- The index serves it -----------------------------------------------------

# plans TABLE CLOCK [SQL]: the plans of the two pages of the batch, without the
# costs, and of what else is asked.
plans()
{
    ask "LOAD 'auto_explain'; SET auto_explain.log_min_duration = 0;
        SET auto_explain.log_nested_statements = on;
        SET auto_explain.log_level = notice; SET client_min_messages = notice;
        SET plan_cache_mode = force_generic_plan;
        SELECT count(*) FROM order_sweep.$1_batch(NULL, NULL, NULL, 500);
        SELECT count(*) FROM order_sweep.$1_batch(NULL, $2, 0, 500);
        ${3-}
        RESET auto_explain.log_min_duration; RESET client_min_messages;
        SET auto_explain.log_min_duration = -1; RESET plan_cache_mode"
}

# served WHAT TABLE CLOCK: all go by the index, in its order.
served()
{
    local text
    text=$(plans "$2" "$3" "SELECT FROM order_sweep.$2_backlog(500);")
    is "$1: all by the index of the clock" "$(printf '%s\n' "$text" |
        grep -cE "Index (Only )?Scan using ${2}_at_id_idx on ")" 3
    is "$1: the clock is in the index condition, and the row comparison" \
        "$(printf '%s\n' "$text" | grep -E 'Index Cond:.*at' |
            sed -E 's/.*(\(ROW\(o?\.?at, o?\.?id\) > ROW).*/\1/; s/.*\(?at <= .*/at/' |
            sed 's/o\.//g' | sort | paste -s -d ' ')" \
        '(ROW(at, id) > ROW at at'
    is "$1: nothing is sorted" "$(printf '%s\n' "$text" |
        grep -cE 'Sort|Seq Scan|Bitmap')" 0
}

# A new cluster may be busy with autovacuum: these tables are left alone.
declare -A clocks=(
    [stamp]="'2000-01-01'" [seconds]=0 [ints]=0 [millis]=0
    [local]="'2000-01-01'" [utc]="'2000-01-01'" [days]="'2000-01-01'"
    [expires]="'2000-01-01'" [graced]="'2000-01-01'")
for table in stamp seconds millis local days expires; do
    served "$table, empty" "$table" "${clocks[$table]}"
done
declare -A values=(
    [stamp]="now() - n * interval '1 second'" [seconds]="$now - n"
    [local]="now() AT TIME ZONE 'Europe/Berlin' - n * interval '1 second'")
for table in stamp seconds local; do
    change "TRUNCATE shop.$table"
    change "ALTER TABLE shop.$table SET (autovacuum_enabled = off)"
    change "INSERT INTO shop.$table SELECT n, CASE WHEN n % 100 = 0 THEN 'open'
        ELSE 'closed' END, ${values[$table]} FROM generate_series(1, 200000) n"
    served "$table, 200000 rows, never analysed" "$table" "${clocks[$table]}"
    change "ANALYZE shop.$table"
    served "$table, 200000 rows" "$table" "${clocks[$table]}"
done

# Whole indexes instead of a partial one, and one on the status: then PostgreSQL
# would rather sort all due rows for each batch, were it not kept from it.
change "CREATE TABLE shop.plain (id int PRIMARY KEY, state text,
    at timestamptz) WITH (autovacuum_enabled = off)"
change 'CREATE INDEX ON shop.plain (at, id)'
change 'CREATE INDEX ON shop.plain (state)'
change "INSERT INTO shop.plain SELECT n, CASE WHEN n % 100 = 0 THEN 'open'
    ELSE 'closed' END, ${values[stamp]} FROM generate_series(1, 200000) n"
change "SELECT FROM order_sweep.define(sweep => 'plain', orders => 'shop.plain',
    key => '{id}', unpaid => \$\$state = 'open'\$\$, $window,
    set => \$\$state = 'closed'\$\$)"
served 'whole indexes, never analysed' plain "'2000-01-01'"
# The same in partitions, with a rule that sorts.
change "CREATE TABLE shop.steps (id int PRIMARY KEY, t_id int, parent int,
    state text) WITH (autovacuum_enabled = off)"
change "INSERT INTO shop.steps SELECT n, n / 3, -n, 'unpaid'
    FROM generate_series(1, 60000) n"
change 'CREATE INDEX ON shop.steps (t_id); CREATE INDEX ON shop.steps (parent)'
change 'ANALYZE shop.steps'
latest="(SELECT s.state FROM shop.steps s WHERE s.t_id = o.id
    ORDER BY s.id DESC LIMIT 1) <> 'unpaid'"
change "CREATE TABLE shop.pieces (id int, state text, at timestamptz)
    PARTITION BY RANGE (at)"
change "CREATE TABLE shop.piece PARTITION OF shop.pieces DEFAULT
    WITH (autovacuum_enabled = off)"
change 'CREATE INDEX ON shop.pieces (at, id); CREATE INDEX ON shop.pieces (state)'
change 'INSERT INTO shop.pieces SELECT * FROM shop.plain'
sql -c "SELECT FROM order_sweep.define(sweep => 'pieces', orders => 'shop.pieces',
    key => '{id}', unpaid => \$\$state = 'open'\$\$, $window,
    set => \$\$state = 'closed'\$\$,
    unless => json_build_object('rule', \$\$$latest\$\$))" 2>/dev/null
is 'a partition that was never analysed' "$(plans pieces "'2000-01-01'" |
    grep -cE -- '->  (Index Scan using piece_at_id_idx|Sort|Bitmap)')" 2

# What one sweep is kept from another is not.
is 'the ways of the planner after it' "$(ask "BEGIN;
    SELECT count(*) FROM order_sweep.plain_batch(NULL, NULL, NULL, 1);
    SHOW enable_sort; SHOW enable_bitmapscan; COMMIT" | paste -s -d ' ')" '1 on on'
# ruled TABLE PREDICATE PATTERN: so many nodes of the two plans match.
ruled()
{
    change "SELECT FROM order_sweep.define(sweep => '$1',
        orders => 'shop.$1', key => '{id}', unpaid => \$\$state = 'open'\$\$,
        $window, set => \$\$state = 'closed'\$\$,
        unless => json_build_object('rule', \$\$$2\$\$))"
    plans "$1" "'2000-01-01'" | grep -cE -- "->  ($3)" || :
}
looks='EXISTS (SELECT FROM shop.steps s WHERE s.t_id = o.id)'
joins='EXISTS (SELECT FROM shop.steps s WHERE s.t_id = o.id OR s.parent = o.id)'
by_clock='Index Scan using plain_at_id_idx'
is 'orders with a rule that sorts, never analysed' \
    "$(ruled plain "$latest" "$by_clock")" 2
change 'ANALYZE shop.plain'
is 'orders with a rule that only looks' \
    "$(ruled plain "$looks" "$by_clock|Sort|Bitmap")" 2
# By the index that the README asks for they go whatever the rule needs.
by_clock='Index Scan using stamp_at_id_idx'
for rule in "$looks" "$latest" "$joins"; do
    is "orders with a rule: $rule" "$(ruled stamp "$rule" "$by_clock")" 2
done

# Where a rule needs to sort, or to join two indexes, it may.
is 'a rule that sorts' "$(ruled plain "$latest" 'Index Scan.* steps_t_id_idx')" 2
is 'it walks no other index' "$(ruled plain "$latest" 'Index Scan.* steps_pkey')" 0
is 'a rule over two indexes' "$(ruled plain "$joins" BitmapOr)" 2
finish
