#!/bin/bash
# What shops' tables look like besides the types that define.sh goes through,
# each swept by the program: domains, expressions, states, enums, missing clocks,
# names, policies, settings, owners; and values that no cast can take.
set -euo pipefail

# shellcheck source=tests/support/db.sh
. "$ORDER_SWEEP_SOURCE/tests/support/db.sh"
# shellcheck source=tests/support/steps.sh
. "$ORDER_SWEEP_SOURCE/tests/support/steps.sh"
# shellcheck source=tests/support/findings.sh
. "$ORDER_SWEEP_SOURCE/tests/support/findings.sh"

owner=varieties_owner_$$
runner=varieties_runner_$$
cron=varieties_cron_$$
new_shop varieties "$owner"
new_role "$runner"
new_role "$cron"
change "SELECT FROM order_sweep.undefine('cancel_unpaid');
    SELECT FROM order_sweep.grant_to('$cron')"
# sweeps NAME TABLE: runs the sweep as the role in the crontab, prints the ids
# that are closed, and those that are not.
sweeps()
{
    runs "${3:-0}" "--sweep=$1" -U "$cron"
    ask "SELECT string_agg(id::text, ' ' ORDER BY id)
            FILTER (WHERE state::text = 'closed'),
        string_agg(id::text, ' ' ORDER BY id)
            FILTER (WHERE state::text <> 'closed') FROM $2"
}
# states NAME: what the dry run says of each order.
states()
{
    ask "SELECT string_agg(order_key::text || ' ' || state, ', ' ORDER BY order_key)
        FROM order_sweep.$1_due(NULL)"
}
# checked [ARGUMENT...]: check finds nothing but orders that wait for a run.
checked()
{
    out=$("$ORDER_SWEEP_BIN" check --format=json "$@") || :
    is "check $*" "$(read_findings | grep -v '|backlog|' || :)" ''
}
# served NAME: check finds the index.
served()
{
    checked
    is "$1 has its index" "$(printf '%s\n' "$out" | grep '"item":"index"' |
        grep "\"sweep\":\"$1\"" | sed 's/.*"level":"\([a-z]*\)".*/\1/')" ok
}

# --- Keys --------------------------------------------------------------------

# Types that have one name as a column and another as a parameter.
change 'CREATE DOMAIN shop.code AS char(5)'
while read -r type value; do
    change "CREATE TABLE shop.keys (id $type PRIMARY KEY, state text, at timestamptz);
        CREATE INDEX ON shop.keys (at, id) WHERE state = 'open';
        INSERT INTO shop.keys VALUES ('$value', 'open', now() - interval '1 h');
        SELECT FROM order_sweep.define(sweep => 'keys', orders => 'shop.keys',
            key => '{id}', unpaid => \$\$state = 'open'\$\$, since => 'at',
            after => '30 min', set => \$\$state = 'closed'\$\$)"
    served keys
    is "a key of type $type" "$(sweeps keys shop.keys)" "$value|"
    change "DROP TABLE shop.keys; TRUNCATE order_sweep.journal"
done <<'TYPES'
char(5) ab
bpchar ab
shop.code ab
char(2)[] {ab}
bit(3) 010
bit(3)[] {010}
TYPES
change "SELECT FROM order_sweep.undefine('keys')"

# --- Clocks ------------------------------------------------------------------

sql -f - <<'SQL' >/dev/null
CREATE DOMAIN shop.moment AS timestamptz CHECK (VALUE > '2000-01-01');
CREATE DOMAIN shop.placed AS shop.moment;
CREATE DOMAIN shop.stamp AS bigint;
CREATE DOMAIN shop.number AS int CHECK (VALUE > 0);
CREATE TABLE shop.domains (id shop.number PRIMARY KEY, state text, at shop.placed,
    s shop.stamp);
CREATE INDEX ON shop.domains (at, id) WHERE state = 'open';
INSERT INTO shop.domains
SELECT n, 'open', m, extract(epoch FROM m) * 1000
  FROM (VALUES (1, now() - interval '31 minutes'),
               (2, now() - interval '29 minutes'), (3, NULL)) AS v(n, m);
SELECT order_sweep.define(sweep => 'domains', orders => 'shop.domains',
    key => '{id}', unpaid => $$state = 'open'$$, since => 'at',
    after => '30 minutes', set => $$state = 'closed'$$);
SQL
is 'a domain over a domain over timestamptz: list' "$(states domains)" \
    '[1] sweep, [3] keep: no clock'
is 'a domain over a domain over timestamptz' "$(sweeps domains shop.domains)" '1|2 3'
served domains
change "UPDATE shop.domains SET state = 'open' WHERE state <> 'open';
    TRUNCATE order_sweep.journal;
    SELECT FROM order_sweep.define(sweep => 'domains', orders => 'shop.domains',
        key => '{id}', unpaid => \$\$state = 'open'\$\$, since => 's', unit => 'ms',
        after => '30 minutes', set => \$\$state = 'closed'\$\$);
    CREATE INDEX ON shop.domains (s, id) WHERE state = 'open'"
is 'a domain over bigint' "$(sweeps domains shop.domains)" '1|2 3'
served domains
change "SELECT FROM order_sweep.undefine('domains')"

# The later of two columns, one of which is mostly NULL; a deadline in a column,
# and one that is computed.
sql -f - <<'SQL' >/dev/null
CREATE TABLE shop.clocks (id int PRIMARY KEY, state text DEFAULT 'open',
    placed timestamptz, moved timestamptz, expires timestamp, minutes int,
    local timestamp);
INSERT INTO shop.clocks
SELECT n, 'open', now() - p, now() - m, (now() + e) AT TIME ZONE 'UTC', x,
       (now() - p) AT TIME ZONE 'Asia/Kolkata'
  FROM (VALUES
    (1, interval '2 h', NULL::interval, interval '-1 min', 60),
    (2, interval '2 h', interval '5 min', interval '1 min', 180),
    (3, interval '2 h', interval '1 h', NULL, NULL),
    (4, NULL, NULL, interval '-1 min', 1),
    (5, interval '10 min', NULL, interval '1 day', 9)) AS v(n, p, m, e, x);
CREATE INDEX ON shop.clocks (coalesce(moved, placed), id) WHERE state = 'open';
CREATE INDEX ON shop.clocks (expires, id) WHERE state = 'open';
CREATE INDEX ON shop.clocks ((local + make_interval(mins => minutes)), id)
    WHERE state = 'open';
SQL
# clocks NAME ARGUMENTS WANTED: swept, each from the same rows.
clocks()
{
    change "SELECT FROM order_sweep.define(sweep => 'clocks',
        orders => 'shop.clocks', key => '{id}', unpaid => \$\$state = 'open'\$\$,
        set => \$\$state = 'closed'\$\$, $2)"
    served clocks
    is "$1" "$(sweeps clocks shop.clocks)" "$3"
    change "UPDATE shop.clocks SET state = 'open'; TRUNCATE order_sweep.journal"
}
clocks 'an expression' "since => 'coalesce(o.moved, o.placed)', after => '30 min'" \
    '1 3|2 4 5'
clocks 'a column with the deadline' "deadline => 'expires', zone => 'UTC'" \
    '1 4|2 3 5'
clocks 'the deadline and a grace' "deadline => 'expires', zone => 'UTC',
    grace => '2 minutes'" '|1 2 3 4 5'
clocks 'a computed deadline' "deadline => 'o.local + make_interval(mins => o.minutes)',
    zone => 'Asia/Kolkata'" '1 5|2 3 4'
is 'rows without a clock are listed' "$(states clocks)" \
    '[1] sweep, [3] keep: no clock, [4] keep: no clock, [5] sweep'
runs 0 --sweep=clocks --dry-run --format=json
is 'and counted by the dry run, but not as due' "$(printf '%s\n' "$out" |
    tail -n 1 | cut -d , -f 2-4)" '"due":2,"totals":{"sweep":2,"keep: no clock":2}'

# A text that mostly is a moment.
change "ALTER TABLE shop.clocks ADD COLUMN text text"
change "UPDATE shop.clocks SET text = CASE id WHEN 1 THEN '2020-01-01 10:00'
    WHEN 2 THEN 'soon' WHEN 3 THEN '2020-02-30' WHEN 4 THEN 'tomorrow'
    WHEN 5 THEN to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI') END"
change "SELECT FROM order_sweep.define(sweep => 'clocks', orders => 'shop.clocks',
    key => '{id}', unpaid => \$\$state = 'open'\$\$, max_age => NULL,
    since => 'order_sweep.moment(text)', after => '30 min',
    set => \$\$state = 'closed'\$\$)"
is 'moment(text)' "$(sweeps clocks shop.clocks)" '1|2 3 4 5'
is 'no moment is no clock' "$(states clocks)" \
    '[2] keep: no clock, [3] keep: no clock, [4] keep: no clock'
# The beginning of time is none either, of whatever type.
change "UPDATE shop.clocks SET placed = '-infinity', expires = '-infinity',
    local = '-infinity' WHERE id = 4; ALTER TABLE shop.clocks ADD COLUMN day date;
    UPDATE shop.clocks SET day = '-infinity' WHERE id = 4;
    UPDATE shop.clocks SET day = '2020-01-01' WHERE id = 1"
for clock in "since => 'placed'" "since => 'expires', zone => 'UTC'" \
    "since => 'day', zone => 'UTC'"; do
    change "SELECT FROM order_sweep.define(sweep => 'clocks',
        orders => 'shop.clocks', key => '{id}', unpaid => \$\$state = 'open'\$\$,
        after => '30 min', set => \$\$state = 'closed'\$\$, $clock)"
    is "-infinity: $clock" "$(states clocks | grep -o '\[4\] [^,]*')" \
        '[4] keep: no clock'
    runs 0 explain --sweep=clocks 4
    is "-infinity: $clock: explain" "$(printf '%s\n' "$out" | tail -n 1)" \
        '    not swept: no clock'
done
change "SELECT FROM order_sweep.undefine('clocks')"
# It may stand in an index: what a text means depends on no setting.
texts="'2020-01-01 10:00', '2020-01-01T10:00:00.5Z', ' 2020-1-1 10:00 utc',
    '2020-01-01 10:00:00-03:30', '2020-01-01T10:00+08', '2020-01-01',
    '2020-01-01 10:00 PM', '2020-01-01 10:00 CET', '2020-01-01 10:00 Europe/Berlin',
    '2020-01-01 10:00 SAT', 'now', '12:00', '20200101', '2020-02-30', ''"
for settings in '' 'SET standard_conforming_strings = off; SET datestyle = german;' \
    "SET timezone = 'Asia/Tokyo'; SET timezone_abbreviations = 'Australia';"; do
    is "moments under: $settings" "$(sql -c "$settings" \
        -c "SELECT string_agg(coalesce(to_char(order_sweep.moment(t) AT TIME ZONE
        'UTC', 'YYYY-MM-DD HH24:MI:SS.MS'), '-'), ', ' ORDER BY n)
        FROM unnest(ARRAY[$texts]) WITH ORDINALITY AS u(t, n)" 2>&1)" \
        "$(printf '2020-01-01 %s, ' 10:00:00.000 10:00:00.500 10:00:00.000 \
            13:30:00.000 02:00:00.000 00:00:00.000 22:00:00.000)-, -, -, -, -, -, -, -"
done

# --- States ------------------------------------------------------------------

sql -f - <<'SQL' >/dev/null
CREATE TYPE shop.state AS ENUM ('open', 'wait for it', 'closed');
CREATE TABLE shop.enums (id int PRIMARY KEY, state shop.state, paid text,
    shipped boolean, at timestamptz DEFAULT now() - interval '1 hour');
INSERT INTO shop.enums VALUES (1, 'open', 'no', false), (2, 'wait for it', 'no', NULL),
    (3, 'open', 'yes', false), (4, 'open', 'no', true), (5, 'open', 'partly', false),
    (6, NULL, 'no', false), (7, 'open', NULL, false);
CREATE INDEX ON shop.enums (at, id) WHERE state IN ('open', 'wait for it')
    AND paid = 'no' AND shipped IS NOT TRUE;
SELECT order_sweep.define(sweep => 'enums', orders => 'shop.enums', key => '{id}',
    unpaid => $$state IN ('open', 'wait for it') AND paid = 'no'
        AND shipped IS NOT TRUE$$, since => 'at', after => '30 minutes',
    set => $$state = 'closed', paid = 'void'$$);
SQL
is 'an enum, and two columns beside it' "$(sweeps enums shop.enums)" '1 2|3 4 5 7'
served enums
is 'all columns are set' "$(ask "SELECT string_agg(DISTINCT paid, ' ')
    FROM shop.enums WHERE state = 'closed'")" void
change "SELECT FROM order_sweep.undefine('enums')"

# --- Names -------------------------------------------------------------------

sql -f - <<'SQL' >/dev/null
CREATE SCHEMA "My ""Shop""; --";
CREATE TABLE "My ""Shop""; --"."ORDER's" ("ID" int PRIMARY KEY, "select" text,
    "Placed at ""UTC""" timestamptz, o int, "$1" text);
CREATE TABLE "My ""Shop""; --"."table" ("user" int, "group" text);
INSERT INTO "My ""Shop""; --"."ORDER's" VALUES
    (1, 'open', now() - interval '1 h', 7, 'x'), (2, 'open', now(), 7, 'x');
SELECT order_sweep.define(sweep => 'names',
    orders => '"My ""Shop""; --"."ORDER''s"', key => '{ID}',
    unpaid => $$"select" = 'open' AND o.o = 7 AND "$1" = 'x'$$,
    since => '"Placed at ""UTC"""', after => '30 minutes',
    unless => $${"Größe 1/2, it's": "o.\"ID\" = 3"}$$,
    set => $$"select" = 'closed', o = o.o + 1$$,
    each => ARRAY[$$INSERT INTO "My ""Shop""; --"."table" ("user", "group")
        VALUES ($1, 'x')$$]);
SQL
runs 78 check --format=json
mend=$(ask "SELECT ('$(printf '%s\n' "$out" | grep '"item":"index"' |
    sed "s/'/''/g")'::json)->>'mend'")
is 'the index of odd names' "$mend" 'CREATE INDEX CONCURRENTLY ON "My ""Shop""; --"."ORDER'"'"'s" ("Placed at ""UTC""", "ID") WHERE "select" = '"'open'"' AND o = 7 AND "$1" = '"'x'"';'
change "$mend"
checked
runs 0 --sweep=names -U "$cron"
is 'names to be quoted' "$(ask "SELECT string_agg(format('%s %s %s', \"ID\", \"select\", o),
    ', ' ORDER BY \"ID\") FROM \"My \"\"Shop\"\"; --\".\"ORDER's\"")" \
    '1 closed 8, 2 open 7'
runs 0 explain 1
change "SELECT FROM order_sweep.undefine('names')"

# Schemas first in the path with a now, an = and an orders table of their own:
# what was defined without them means what it did.
sql -f - <<'SQL' >/dev/null
CREATE TABLE shop.plain (id int PRIMARY KEY, state varchar(10), at timestamptz);
CREATE INDEX ON shop.plain (at, id) WHERE state = 'open';
INSERT INTO shop.plain VALUES (1, 'open', now() - interval '1 h'),
    (2, 'paid', now() - interval '1 h'), (3, 'open', now());
SELECT order_sweep.define(sweep => 'plain', orders => 'shop.plain',
    key => '{id}', unpaid => $$state = 'open'$$, since => 'at',
    after => '30 minutes', set => $$state = 'closed'$$);
SQL
super "CREATE SCHEMA hostile AUTHORIZATION $cron"
PGUSER=$cron sql -f - <<'SQL' >/dev/null
CREATE FUNCTION hostile.now() RETURNS timestamptz LANGUAGE sql AS
    $$SELECT timestamptz '2100-01-01'$$;
CREATE FUNCTION hostile.yes(varchar, varchar) RETURNS boolean LANGUAGE sql AS
    'SELECT true';
CREATE FUNCTION hostile.yes(text, text) RETURNS boolean LANGUAGE sql AS
    'SELECT true';
CREATE OPERATOR hostile.= (LEFTARG = varchar, RIGHTARG = varchar, FUNCTION = hostile.yes);
CREATE OPERATOR hostile.= (LEFTARG = text, RIGHTARG = text, FUNCTION = hostile.yes);
CREATE TABLE hostile.orders (id int);
CREATE TABLE hostile.plain (id int, state varchar, at timestamptz);
CREATE TABLE hostile.sweep (LIKE hostile.plain);
CREATE FUNCTION hostile.set_config(text, text, boolean) RETURNS text LANGUAGE sql
    AS 'SELECT $2';
SQL
for path in 'hostile' 'hostile, shop, public' 'hostile, pg_catalog' ''; do
    super "ALTER ROLE $cron IN DATABASE $PGDATABASE SET search_path = $(
        printf '%s' "${path:-''}")"
    is "hostile path $path" "$(sweeps plain shop.plain)" '1|2 3'
    runs 0 --sweep=plain -U "$cron" --dry-run --format=json
    runs 0 explain --sweep=plain 1 -U "$cron"
    change "UPDATE shop.plain SET state = 'open' WHERE id = 1;
        TRUNCATE order_sweep.journal"
done
super "ALTER ROLE $cron IN DATABASE $PGDATABASE RESET search_path"
super "ALTER ROLE $owner IN DATABASE $PGDATABASE SET search_path = hostile, shop"
checked
super "GRANT USAGE ON SCHEMA hostile TO $owner"
checked
runs 0 migrate
super "ALTER ROLE $owner IN DATABASE $PGDATABASE RESET search_path"
is 'migrated and checked by a hostile path' "$(sweeps plain shop.plain)" '1|2 3'
change "SELECT FROM order_sweep.undefine('plain')"

# --- Policies and settings ---------------------------------------------------

sql -f - <<'SQL' >/dev/null
CREATE TABLE shop.tenants (id int PRIMARY KEY, tenant int, state text DEFAULT 'open',
    at timestamptz DEFAULT now() - interval '1 hour');
CREATE INDEX ON shop.tenants (at, id) WHERE state = 'open';
INSERT INTO shop.tenants VALUES (1, 1), (2, 2), (3, 1);
CREATE TABLE shop.audit (id int, who text, tenant text);
CREATE FUNCTION shop.audits() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN
    INSERT INTO shop.audit VALUES (NEW.id, current_user,
        current_setting('app.tenant'));
    RETURN NULL;
END$$;
CREATE CONSTRAINT TRIGGER audits AFTER UPDATE ON shop.tenants
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION shop.audits();
ALTER TABLE shop.tenants ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON shop.tenants
    USING (tenant = current_setting('app.tenant')::int);
SQL
change "GRANT USAGE ON SCHEMA shop TO $runner;
    GRANT SELECT, UPDATE ON shop.tenants TO $runner;
    GRANT INSERT ON shop.audit TO $runner"
tenants="sweep => 'tenants', orders => 'shop.tenants', key => '{id}',
    unpaid => \$\$state = 'open'\$\$, since => 'at', after => '30 minutes',
    set => \$\$state = 'closed'\$\$"
wanted='{"app.tenant": "1"}'

is 'a superuser must name a role' "$(raised "SELECT order_sweep.define($tenants)" \
    -U "$superuser" | head -n 1)" "22023: run_as: shop.tenants has row security, which $superuser is not subject to"
is 'a role that one is no member of' "$(raised "SELECT order_sweep.define($tenants,
    run_as => '$runner', settings => '$wanted')" | head -n 1)" \
    "22023: run_as: $owner is no member of role $runner"
super "GRANT $runner TO $owner"
is 'a role that may not define' "$(raised "SELECT order_sweep.define($tenants,
    run_as => '$runner', settings => '$wanted')" | head -n 1)" \
    "22023: run_as: role $runner may not define sweeps"
is 'the mend of it' "$(ask "DO \$\$ DECLARE h text; BEGIN
    PERFORM order_sweep.define($(printf '%s' "$tenants" | sed 's/\$\$/$x$/g'),
        run_as => '$runner');
    EXCEPTION WHEN OTHERS THEN GET STACKED DIAGNOSTICS h = PG_EXCEPTION_HINT;
    RAISE WARNING '%', h; END \$\$" | sed -n 's/^WARNING:  *//p')" \
    "01000: SELECT order_sweep.grant_define_to('$runner')."
change "SELECT FROM order_sweep.grant_define_to('$runner')"
is 'nobody is defined yet' "$(ask 'SELECT count(*) FROM order_sweep.sweep')" 0
change "SELECT FROM order_sweep.define($tenants, run_as => '$runner',
    settings => '$wanted')"
is 'its functions belong to the role' "$(ask "SELECT string_agg(DISTINCT
    pg_get_userbyid(proowner)::text, ' ') FROM pg_proc
    WHERE proname LIKE 'tenants\\_%' AND pronamespace = 'order_sweep'::regnamespace")" \
    "$runner"
is 'whoever defines is himself again' "$(ask 'SELECT current_user')" "$owner"
checked --role "$cron"
is 'one tenant only' "$(sweeps tenants shop.tenants)" '1 3|2'
is 'its deferred trigger sees the setting, and the owner' \
    "$(ask "SELECT string_agg(id || who || tenant, ' ' ORDER BY id)
    FROM shop.audit")" "1${runner}1 3${runner}1"
runs 0 migrate
is 'migrate regenerates as the role' "$(ask "SELECT string_agg(DISTINCT
    pg_get_userbyid(proowner)::text, ' ') FROM pg_proc
    WHERE proname LIKE 'tenants\\_%' AND pronamespace = 'order_sweep'::regnamespace")" \
    "$runner"
PGUSER=$superuser runs 78 migrate
is 'a superuser who is not the owner is refused' "$err" "order-sweep: schema order_sweep belongs to role $owner; run migrate as that role, with --username"
PGUSER=$superuser runs 78 check
is 'nor does he check: that would run what others wrote' "$err" "order-sweep: schema order_sweep belongs to role $owner; run check as that role, with --username"
super "ALTER SCHEMA order_sweep OWNER TO $superuser"
PGUSER=$superuser runs 78 check
is 'also in a schema of his own' "$err" "order-sweep: sweep tenants belongs to role $runner; run check as that role, with --username"
super "ALTER SCHEMA order_sweep OWNER TO $owner"
change "SET app.tenant = 1; UPDATE shop.tenants SET state = 'open' WHERE id = 3;
    RESET app.tenant"
is 'swept before, and another tenant' "$(sweeps tenants shop.tenants)" '1|2 3'
is 'whatever the caller sets' "$(PGOPTIONS='-c app.tenant=2 -c row_security=on' \
    sweeps tenants shop.tenants)" '1|2 3'
is 'another owner may not take it over' "$(raised "SET ROLE $cron;
    SELECT order_sweep.define($tenants)" -U "$superuser" | head -n 1 |
    cut -c 1-5)" 42501
change "SELECT FROM order_sweep.undefine('tenants');
    DROP TABLE shop.tenants, shop.audit"
change "REVOKE ALL ON ALL TABLES IN SCHEMA shop FROM $runner"
super "DROP OWNED BY $runner"

# Settings that only a trigger wants, and payments that a policy hides: what is
# hidden raises, until the orders have policies too, and then check tells.
sql -f - <<'SQL' >/dev/null
CREATE TABLE shop.hiding (id int PRIMARY KEY, state text DEFAULT 'open',
    at timestamptz DEFAULT now() - interval '1 hour');
CREATE INDEX ON shop.hiding (at, id) WHERE state = 'open';
CREATE TABLE shop.hidden (hiding_id int REFERENCES shop.hiding, tenant int);
INSERT INTO shop.hiding VALUES (1);
INSERT INTO shop.hidden VALUES (1, 1);
ALTER TABLE shop.hidden ENABLE ROW LEVEL SECURITY;
ALTER TABLE shop.hidden FORCE ROW LEVEL SECURITY;
CREATE POLICY own ON shop.hidden
    USING (tenant = current_setting('app.tenant', true)::int);
SQL
hiding="sweep => 'hiding', orders => 'shop.hiding', key => '{id}',
    unpaid => \$\$state = 'open'\$\$, since => 'at', after => '30 minutes',
    set => \$\$state = 'closed'\$\$, unless => '{\"paid\":
        \"EXISTS (SELECT FROM shop.hidden h WHERE h.hiding_id = o.id)\"}'"
change "SELECT FROM order_sweep.define($hiding,
    settings => '{\"app.user\": \"sweeper\"}')"
is 'a payment that a policy hides' "$(sweeps hiding shop.hiding 78)" '|1'
is 'its cancel' "$(ask 'SELECT order_sweep.hiding_cancel(1, NULL, 0)' |
    sed -n 's/^ERROR:  //; 1p')" \
    '42501: query would be affected by row-level security policy for table "hidden"'
change "ALTER TABLE shop.hiding ENABLE ROW LEVEL SECURITY;
    ALTER TABLE shop.hiding FORCE ROW LEVEL SECURITY;
    CREATE POLICY own ON shop.hiding USING (true);
    SELECT FROM order_sweep.define($hiding, settings => '{\"app.tenant\": \"1\"}')"
is 'a payment that the settings show' "$(sweeps hiding shop.hiding)" '|1'
out=$("$ORDER_SWEEP_BIN" check --format=json) || :
is 'check names the table' "$(read_findings | grep -v '|backlog|')" \
    "warn|hiding|row security|unless \"paid\" looks into shop.hidden, whose policies bind role $owner|See that with settings the policies show all that the rule must see."
change "SELECT FROM order_sweep.undefine('hiding');
    DROP TABLE shop.hiding, shop.hidden"

# --- Values that no cast can take --------------------------------------------

sql -f - <<'SQL' >/dev/null
CREATE TABLE shop.texts (id int PRIMARY KEY, state text DEFAULT 'open',
    at timestamptz DEFAULT now() - interval '1 hour', n text, count int);
CREATE INDEX ON shop.texts (at, id) WHERE state = 'open';
INSERT INTO shop.texts (id, n) VALUES (1, '1'), (2, 'two'), (3, '3');
CREATE TABLE shop.numbers (n int);
SQL
# texts ARGUMENTS: the definition with these, over the same rows.
texts()
{
    change "UPDATE shop.texts SET state = 'open'; TRUNCATE order_sweep.journal,
        order_sweep.failure"
    change "SELECT FROM order_sweep.define(sweep => 'texts',
        orders => 'shop.texts', key => '{id}', $1)"
}
open="unpaid => \$\$state = 'open'\$\$"
since="since => 'at', after => '30 minutes'"
closed="set => \$\$state = 'closed'\$\$"
alone='order-sweep: texts: order 2 failed: invalid input syntax for type integer: "two" (SQLSTATE 22P02)'
texts "$open, $since, set => \$\$state = 'closed', count = n::int\$\$"
is 'a cast in set fails its row alone' "$(sweeps texts shop.texts 1)" '1 3|2'
runs 0 --sweep=texts -U "$cron"
texts "$open, $since, $closed, each => ARRAY[
    \$\$INSERT INTO shop.numbers SELECT n::int FROM shop.texts WHERE id = \$1\$\$]"
is 'a cast in each' "$(sweeps texts shop.texts 1)" '1 3|2'
texts "$open, $since, $closed, event => 'o.n::int'"
runs 1 --sweep=texts -U "$cron"
is 'a cast in event' "$err" "$alone"

# all ARGUMENT ARGUMENTS [TYPE VALUE]: the look fails for all, 78, by the argument's name.
all()
{
    texts "$2"
    runs 78 --sweep=texts -U "$cron"
    is "a cast in $1" "$err" "order-sweep: texts: $1: invalid input syntax for type ${3:-integer}: \"${4:-two}\"; a value is none of its type: guard a cast by CASE WHEN ... THEN ... END, or use order_sweep.moment(text); if the type changed, call order_sweep.define anew"
    runs 78 --sweep=texts -U "$cron" --dry-run
    is "a cast in $1: dry run" "$(printf '%s' "$err" | grep -c ": $1: invalid input")" 1
    is "a cast in $1: nothing is swept" "$(ask "SELECT count(*) FROM shop.texts
        WHERE state = 'closed'")" 0
    runs 78 check --format=json
    is "a cast in $1: check names it, and the mend" "$(printf '%s\n' "$out" |
        sed -n 's/.*"item":"look","what":"\([^:]*\):.*"mend":"\(.*\)"}/\1: \2/p')" \
        "$(printf '%s' "$1" | sed 's/"/\\"/g'): Guard a cast in since, unpaid or unless by CASE WHEN ... THEN ... END, or use order_sweep.moment(text)."
}
all unpaid "unpaid => \$\$state = 'open' AND n::int > 0\$\$, $since, $closed"
all since "$open, since => 'n::timestamptz', after => '1 hour', $closed" \
    'timestamp with time zone' 1
all deadline "$open, deadline => 'n::timestamptz', $closed" \
    'timestamp with time zone' 1
all 'unless "few"' "$open, $since, $closed,
    unless => '{\"few\": \"n::int > 5\", \"many\": \"false\"}'"
texts "$open, $since, $closed, unless => json_build_object('few',
    'CASE WHEN n ~ ''^[0-9]+\$'' THEN n::int > 2 END')"
is 'the mend mends it' "$(sweeps texts shop.texts)" '1 2|3'
finish
