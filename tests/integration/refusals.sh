#!/bin/bash
# What define refuses, with which words, and that nothing of it ran or stayed;
# and what looks like it and passes.
set -euo pipefail

# shellcheck source=tests/support/db.sh
. "$ORDER_SWEEP_SOURCE/tests/support/db.sh"
# shellcheck source=tests/support/steps.sh
. "$ORDER_SWEEP_SOURCE/tests/support/steps.sh"

new_shop refusals

sql -f - <<'SQL'
CREATE TABLE shop.t (id int PRIMARY KEY, part int, status text, at timestamptz,
    local timestamp, day date, secs bigint, small smallint, note text,
    price numeric, j jsonb);
CREATE TABLE shop.lines (t_id int, amount int);
CREATE VIEW shop.grouped AS SELECT status, count(*) AS id, max(at) AS at
    FROM shop.t GROUP BY status;
CREATE SEQUENCE shop.numbers;
CREATE MATERIALIZED VIEW shop.copied AS SELECT * FROM shop.t;
CREATE TABLE shop.hacked (a int);
CREATE TABLE shop.odd (id int PRIMARY KEY, j json, x xml, p point,
    t xid, status text, at timestamptz);
-- define by named arguments given as text, so that one can be put in another's
-- place; the rest is a definition that is right.
CREATE FUNCTION testing.try(argument text DEFAULT NULL, value text DEFAULT NULL,
    more jsonb DEFAULT '{}')
RETURNS text LANGUAGE plpgsql AS $f$
DECLARE
    a jsonb := '{"sweep": "x", "orders": "shop.t", "key": "{id}",
        "unpaid": "status = ''open''", "since": "at", "after": "1 hour",
        "set": "status = ''closed''"}';
    types jsonb := '{"orders": "regclass", "key": "text[]",
        "after": "interval", "grace": "interval", "max_age": "interval",
        "unless": "json", "each": "text[]", "again": "boolean",
        "settings": "json", "run_as": "regrole"}';
    list text;
    said text;
    hint text;
BEGIN
    a := a || more;
    IF argument IS NOT NULL THEN
        a := a || jsonb_build_object(argument, value);
    END IF;
    SELECT string_agg(format('%I => %L::%s', key, v, coalesce(types ->> key, 'text')), ', ')
      INTO list FROM jsonb_each_text(a) AS e(key, v);
    EXECUTE 'SELECT order_sweep.define(' || list || ')';
    RETURN 'passed';
EXCEPTION WHEN OTHERS THEN
    GET STACKED DIAGNOSTICS said = MESSAGE_TEXT, hint = PG_EXCEPTION_HINT;
    RETURN format('%s %s%s', SQLSTATE, said, ' / ' || nullif(hint, ''));
END $f$;
SQL
is 'the definition that is right' "$(ask 'BEGIN; SELECT testing.try(); ROLLBACK')" \
    passed
before=$(fingerprint)

# refused ARGUMENT VALUE SAID [MORE]: so, and nothing changed.
refused()
{
    is "$1 => $2" "$(ask "SELECT testing.try('$1', $q$2$q, '${4:-{\}}')")" "$3"
}
q=\$q\$

# --- Names, tables, keys -----------------------------------------------------

mend='Write up to 40 lower case letters, digits and _, beginning with a letter.'
for name in '' 'Upper' '1st' '_x' 'a-b' 'a b' 'a"b' "a'b" 'ä' $'a\nb' 'a;' \
    "$(printf 'a%.0s' $(seq 41))"; do
    refused sweep "$name" "22023 sweep: \"$name\" cannot be the name of a sweep / $mend"
done
# build_due and its like are order-sweep's own functions.
refused sweep build '22023 sweep: "build" would replace functions of order-sweep itself / Choose another name.'
is 'sweep NULL' "$(ask "SELECT testing.try('sweep', NULL)" | cut -c 1-40)" \
    '22023 sweep: "" cannot be the name of a '
is 'orders NULL' "$(ask "SELECT testing.try('orders', NULL)")" \
    '22023 orders: is missing / Name the orders table.'
refused orders 'shop.none' '42P01 relation "shop.none" does not exist'
# A table of another server has no rows that could be locked.
sql -c 'CREATE EXTENSION postgres_fdw;
    CREATE SERVER nowhere FOREIGN DATA WRAPPER postgres_fdw;
    CREATE FOREIGN TABLE shop.abroad (id int, status text, at timestamptz)
        SERVER nowhere;
    CREATE TABLE shop.spread (id int, status text, at timestamptz)
        PARTITION BY HASH (id);
    CREATE FOREIGN TABLE shop.spread1 PARTITION OF shop.spread
        FOR VALUES WITH (MODULUS 1, REMAINDER 0) SERVER nowhere;
    CREATE VIEW shop.far_view AS SELECT * FROM shop.abroad'
mend='A commit is of one server: define a sweep on each, for its own rows.'
refused orders shop.spread "22023 orders: of shop.spread the rows of shop.spread1 are on another server / $mend"
refused orders shop.far_view "22023 orders: of shop.far_view the rows of shop.abroad are on another server / $mend"
refused orders shop.abroad '22023 orders: shop.abroad is neither a table nor a view / Name a table, a partitioned table or an updatable view.'
for table in pg_class information_schema.tables order_sweep.journal; do
    refused orders "$table" "22023 orders: $table is a table of the system / Name a table of the shop."
done
refused orders shop.numbers '22023 orders: shop.numbers is neither a table nor a view / Name a table, a partitioned table or an updatable view.'
refused orders shop.copied '22023 orders: shop.copied is neither a table nor a view / Name a table, a partitioned table or an updatable view.'
refused orders shop.grouped '22023 orders: the view shop.grouped cannot be updated / Name the table under it.'
refused key '{}' "22023 key: is empty / Name the columns of the primary key, for example '{id}'."
is 'key NULL' "$(ask "SELECT testing.try('key', NULL)" | cut -c 1-20)" \
    '22023 key: is empty '
for column in none '"id"' ID 'id, part' ctid "id'"; do
    refused key "$(ask "SELECT ARRAY[${q}$column$q]")" "22023 key: shop.t has no column \"$column\" / Write the names as the catalog has them, without quotes."
done

refused key '{id,id}' '22023 key: names "id" twice / Name each column once.'
for column in j:json x:xml p:point t:xid; do
    refused key "{id,${column%:*}}" "22023 key: integer, ${column#*:} has no order / Name columns whose types have = and <, as a primary key has." \
        '{"orders": "shop.odd"}'
done
refused key '{id,NULL}' '22023 key: shop.t has no column "" / Write the names as the catalog has them, without quotes.'

list="22023 key: is no list of columns / Name up to 32 columns, for example '{shop,id}'."
refused key '{{id},{part}}' "$list"
refused key "{id$(printf ',id%.0s' $(seq 32))}" "$list"
for function in pause resume undefine; do
    is "$function of what is not defined" "$(ask "SELECT order_sweep.$function('none')" |
        sed -n 's/^ERROR:  //p; s/^HINT:  //p')" '22023: sweep: "none" is not defined
Defined are: cancel_unpaid.'
done

# --- Time --------------------------------------------------------------------

for argument in after grace max_age; do
    for length in '1 month' '1 year' '-1 year' '1 mon 2 days'; do
        refused "$argument" "$length" "22023 $argument: \"$(ask "SELECT interval '$length'")\" has months or years, whose length varies / Write days: 30 days, 365 days."
    done
    for length in '-1 second' '-30 minutes' '36526 days'; do
        refused "$argument" "$length" "22023 $argument: \"$(ask "SELECT interval '$length'")\" is out of range / Write a length of time from 0 to 36525 days."
    done
done
refused after '0' "22023 after: is no time at all / Write a window above 0, for example '30 minutes'."
refused max_age '0' '22023 max_age: is no time at all / Write a length of time above 0, or NULL for no bound.'
is 'grace NULL' "$(ask "SELECT testing.try('grace', NULL)")" \
    "22023 grace: is NULL / Write '0'."
is 'after NULL' "$(ask "SELECT testing.try('after', NULL)")" \
    "22023 after: is missing / Write the window, for example '30 minutes'."
is 'since NULL' "$(ask "SELECT testing.try('since', NULL)")" \
    '22023 since: is missing / Name the column that the window is counted from.'
refused deadline at '22023 deadline: stands instead of since and after / Leave the one or the other out.'
refused since local "22023 zone: since is a timestamp without time zone, which says nothing about its zone / Name the time zone it is kept in, for example zone => 'UTC' or 'Europe/Berlin'."
refused since day "22023 zone: since is a date, which says nothing about its zone / Name the time zone it is kept in, for example zone => 'UTC' or 'Europe/Berlin'."
refused zone 'Nowhere/X' '22023 zone: "Nowhere/X" is no time zone / Take a name from pg_timezone_names.' '{"since": "local"}'
refused zone "UTC'" '22023 zone: "UTC'"'"'" is no time zone / Take a name from pg_timezone_names.' '{"since": "local"}'
refused zone UTC '22023 zone: since is a timestamp with time zone, which has no use for it / Leave zone out.'
refused unit s '22023 unit: since is a timestamp with time zone, which has no use for it / Leave unit out.'
refused zone UTC '22023 zone: since is a bigint, which has no use for it / Leave zone out.' '{"since": "secs"}'
refused zone UTC '22023 zone: deadline is a timestamp with time zone, which has no use for it / Leave zone out.' '{"since": null, "after": null, "deadline": "at"}'
refused unit ms '22023 unit: since is a timestamp without time zone, which has no use for it / Leave unit out.' '{"since": "local", "zone": "UTC"}'
refused unit '' "22023 unit: \"\" is not known / Write 's' or 'ms'." '{"since": "secs"}'
refused unit h "22023 unit: \"h\" is not known / Write 's' or 'ms'." '{"since": "secs"}'
refused deadline note '22023 deadline: is a text, neither a time nor an integer / Write an expression that is a timestamptz, a timestamp, a date or seconds since 1970.' '{"since": null, "after": null}'
refused deadline local "22023 zone: deadline is a timestamp without time zone, which says nothing about its zone / Name the time zone it is kept in, for example zone => 'UTC' or 'Europe/Berlin'." '{"since": null, "after": null}'
refused since note '22023 since: is a text, neither a time nor an integer / Write an expression that is a timestamptz, a timestamp, a date or seconds since 1970.'
refused since price '22023 since: is a numeric, neither a time nor an integer / Write an expression that is a timestamptz, a timestamp, a date or seconds since 1970.'
is 'again NULL' "$(ask "SELECT testing.try('again', NULL)")" \
    '22023 again: is NULL / Write true or false.'

# --- Rules -------------------------------------------------------------------

refused unless '[]' '22023 unless: is no JSON object / Write {"name of the rule": "SQL predicate", ...}.'
refused unless '"x"' '22023 unless: is no JSON object / Write {"name of the rule": "SQL predicate", ...}.'
refused unless 'null' '22023 unless: is no JSON object / Write {"name of the rule": "SQL predicate", ...}.'
mend="Write up to 60 letters, digits, blanks or _.,'/- beginning with a letter or digit, each name once; \"too old\", \"swept before\", \"no clock\" and \"no key\" are taken."
for name in 'too old' 'swept before' 'no clock' '' ' x' 'a:b' 'a;b' 'a\tb'; do
    refused unless "{\"$name\": \"true\"}" "22023 unless: \"$(printf '%b' "$name")\" cannot be the name of a rule / $mend"
done
refused unless '{"a": "true", "a": "false"}' "22023 unless: \"a\" cannot be the name of a rule / $mend"
refused unless '{"a": 1}' '22023 unless "a": is no string / Write the predicate as a JSON string.'
refused unless '{"a": null}' '22023 unless "a": is no string / Write the predicate as a JSON string.'
is 'unless that is no JSON' "$(ask "SELECT testing.try('unless', '{')" |
    cut -c 1-5)" 22P02

# --- Settings and roles ------------------------------------------------------

for value in '[]' '"x"' 'null' 1; do
    refused settings "$value" '22023 settings: is no JSON object / Write {"app.tenant": "1", ...}.'
done
for name in row_security search_path app '' . app. .x 'app x.y' "app.x'" \
    "x') OR true --" 'app."x"'; do
    refused settings "$(ask "SELECT json_build_object(${q}$name$q, '1')")" \
        "22023 settings: \"$name\" is no setting of the shop / Write names with a dot in them, such as app.tenant."
done
for value in 1 null true '{"a": 1}'; do
    refused settings "{\"app.x\": $value}" \
        '22023 settings: the value of "app.x" is no string / Write the value as a JSON string.'
done
# Of a module of the server's own.
refused settings '{"app.x": "1", "plpgsql.check_asserts": "maybe"}' '22023 settings: parameter "plpgsql.check_asserts" requires a Boolean value / Write names and values that SET takes, such as app.tenant.'
is 'settings are not set by that' "$(ask "SELECT current_setting('app.x', true)")" ''
refused run_as nobody_at_all '42704 role "nobody_at_all" does not exist'

# --- Fragments ---------------------------------------------------------------

empty='is empty / Write the SQL, or leave the argument out.'
for argument in unpaid set since event paid; do
    for fragment in '' ' ' $'\n\t'; do
        refused "$argument" "$fragment" "22023 $argument: $empty"
    done
done
refused unless '{"a": " "}' "22023 unless \"a\": $empty"
refused each '{"SELECT 1", ""}' "22023 each[2]: $empty"
refused each '{NULL}' "22023 each[1]: $empty"
is 'unpaid NULL' "$(ask "SELECT testing.try('unpaid', NULL)")" \
    "22023 unpaid: $empty"
is 'set NULL' "$(ask "SELECT testing.try('set', NULL)")" "22023 set: $empty"

end='ends in a semicolon / Leave the semicolon out; for more than one statement there is each, an array.'
refused unpaid 'true;' "22023 unpaid: $end"
refused set "status = 'closed' ; " "22023 set: $end"
refused set "status = 'closed' -- so
;" "22023 set: $end"
refused each '{"SELECT 1", "SELECT 1;"}' "22023 each[2]: $end"
is 'a semicolon in a comment at the end' "$(ask "BEGIN;
    SELECT testing.try('unpaid', 'true -- so;'); ROLLBACK")" passed
for grant in grant_to grant_read_to grant_define_to; do
    is "$grant(NULL)" "$(raised "SELECT order_sweep.$grant(NULL)" | head -n 1)" \
        '22023: role: is NULL'
done

# SAID of a fragment is the argument's name and PostgreSQL's own words.
mend='Write SQL that stands by itself where the argument is put; o is the row of the orders table.'
refused unpaid 'statuss = 1' "22023 unpaid: column \"statuss\" does not exist / $mend"
refused unpaid 'status = 1' "22023 unpaid: operator does not exist: text = integer / $mend"
refused unpaid status "22023 unpaid: argument of WHERE must be type boolean, not type text / $mend"
refused set 'statuss = 1' "22023 set: column \"statuss\" of relation \"t\" does not exist / $mend"
refused each '{"DELETE FROM shop.nothing WHERE id = $1"}' "22023 each[1]: relation \"shop.nothing\" does not exist / $mend"

# leaves ARGUMENT: each line of the input is a fragment that leaves its place.
leaves()
{
    local fragment said
    while IFS= read -r fragment; do
        said=$(ask "SELECT testing.try('$1', ${2%%%s*}$fragment${2#*%s})")
        case $said in
        "22023 ${3:-$1}: "*"/ $mend") checks=$((checks + 1)) ;;
        *) fail "$1 => $fragment"$'\n'"  got: $said" ;;
        esac
    done
}

expressions=$(cat <<'LINES'
true) OR (true
true) OR true --
x') OR true --
true); DROP TABLE shop.hacked; PERFORM (true
true); INSERT INTO shop.hacked VALUES (1); SELECT (true
true]; DROP TABLE shop.hacked; PERFORM ARRAY[true
true /*
true */
true -- ) ]
; true
true; DROP TABLE shop.hacked
SELECT true
1, 2
true, true
$1 = 1
count(*) > 1
bool_or(true)
generate_series(1, 2) = 1
row_number() OVER () = 1
o.none
p.id = 1
'open
E'\'
$$true
$x$true
(true
true)
[true
true]
true END
true LOOP
nothing(1)
true::nothing
CASE WHEN true THEN
true LIMIT 1
true FOR UPDATE
true UNION SELECT true
true GROUP BY 1
true INTO x
LINES
)
for argument in unpaid paid; do
    # a trailing comment is no harm
    printf '%s\n' "$expressions" | grep -vx 'true -- ) \]' |
        leaves "$argument" '$q$%s$q$'
done
# The same as a rule, in JSON.
printf '%s\n' "$expressions" | grep -vx 'true -- ) \]' |
    leaves unless 'json_build_object($q$a$q$, $q$%s$q$)::text' 'unless "a"'
# An event may have any type: "1, 2" is a row there, and stays in its place.
printf '%s\n' "$expressions" | grep -vxE 'true -- \) \]|.*, (2|true)' |
    leaves event '$q$%s$q$'

leaves set '$q$%s$q$' <<'LINES'
status = 'closed' WHERE true --
status = 'closed' WHERE true
status = 'closed' FROM shop.lines
status = 'closed' RETURNING 1
status = 'closed'; DELETE FROM shop.hacked
status = 'closed'; DELETE FROM shop.hacked --
status = 'closed', c = DEFAULT WHERE false) SELECT; DROP TABLE shop.hacked; --
status = 'closed' /*
status
status = 'closed',
o.status = 'closed'
status = count(*)
status = $1
none = 1
id = 'x'
status = 'closed') SELECT
LINES

leaves each 'ARRAY[$q$%s$q$]::text' 'each[1]' <<'LINES'
DELETE FROM shop.lines; DELETE FROM shop.hacked
DELETE FROM shop.lines; --
DROP TABLE shop.hacked
CREATE TABLE shop.more (a int)
TRUNCATE shop.hacked
COMMIT
ROLLBACK
SAVEPOINT a
EXECUTE 'DROP TABLE shop.hacked'
EXECUTE prepared
RETURN
RETURN 1
CALL nothing()
PERFORM 1
NULL
RAISE 'x'
COPY shop.hacked FROM STDIN
SELECT 1 INTO shop.more
SELECT * INTO more FROM shop.lines
DELETE FROM shop.lines WHERE t_id = $3
DELETE FROM shop.lines WHERE t_id = $2
DELETE FROM shop.lines WHERE t_id = o.id
UPDATE shop.lines SET none = 1
SELECT 1 LOOP END LOOP; DROP TABLE shop.hacked; FOR r IN SELECT 1
SELECT 1 /*
SELECT 'x
SELECT $x$
(SELECT 1
SELECT 1)
x := 1
IF true THEN DELETE FROM shop.lines; END IF
BEGIN DELETE FROM shop.lines; END
LOCK TABLE shop.lines
SET search_path = public
VACUUM shop.lines
EXPLAIN SELECT 1
LINES

for fragment in 'at) FROM shop.t o; DROP TABLE shop.hacked; --' \
    'at, at' 'at AS x' '(SELECT at' 'now()) AS clock, (at' 'max(at)' 'none'; do
    said=$(ask "SELECT testing.try('since', ${q}$fragment$q)")
    case $said in
    "22023 since: "*) checks=$((checks + 1)) ;;
    *) fail "since => $fragment"$'\n'"  got: $said" ;;
    esac
done

# Text that is one thing under the caller's standard_conforming_strings and
# another without: define reads it as the functions will.
set_off='SET standard_conforming_strings = off; SET escape_string_warning = off;'
is 'a clock that ends elsewhere under the setting of the caller' "$(raised "$set_off
    SELECT order_sweep.define(sweep => 'x', orders => 'shop.t', key => '{id}',
        unpaid => 'true', after => '1 hour', set => 'part = 1', since =>
        \$f\$CASE concat('\\', ') WHEN \$x\$\$x\$ THEN at END) AS clock FROM shop.t o; DROP TABLE shop.hacked; SELECT (1 -- ') WHEN '' THEN at ELSE at END\$f\$);
    DO \$\$BEGIN RAISE 'it is %, a %', to_regclass('shop.hacked'),
        order_sweep.x_clock(); END\$\$")" \
    'P0001: it is shop.hacked, a timestamp with time zone'
is 'a setting of the server under it' "$(raised "$set_off
    DO \$\$BEGIN RAISE '%', testing.try('settings', '{\"row_security\": \"off\"}');
    END\$\$" | cut -c 1-56)" 'P0001: 22023 settings: "row_security" is no setting of t'
for setting in on off; do
    is "define under standard_conforming_strings $setting" "$(ask "
        SET standard_conforming_strings = $setting;
        SELECT testing.try('unless', \$\${\"a\": \"note ~ '^\\\\\\\\d\\\\\\\\.'\"}\$\$);
        RESET standard_conforming_strings")" passed
    code=0
    PGOPTIONS="$PGOPTIONS -c standard_conforming_strings=$setting" \
        "$ORDER_SWEEP_BIN" check --format=json >"$scratch/check" || code=$?
    is "its check, $code" "$(grep '"item":"functions"' "$scratch/check" |
        grep -c '"level":"ok"')" 2
    change "SELECT FROM order_sweep.undefine('x')"
done

is 'nothing of all this ran or stayed' "$(fingerprint)" "$before"
is 'nothing was made' "$(ask "SELECT count(*) FROM pg_class c
    WHERE relnamespace = 'shop'::regnamespace AND relname IN ('more')")" 0
is 'no fragment is left' "$(ask "SELECT count(*) FROM pg_class, pg_proc
    WHERE relname = 'fragment' OR proname = 'fragment'")" 0

# --- What looks like it, and passes ------------------------------------------

passes()
{
    local fragment said
    while IFS= read -r fragment; do
        said=$(ask "BEGIN; SELECT testing.try('$1',
            ${2%%%s*}$fragment${2#*%s}); ROLLBACK" | tail -n 1)
        is "$1 => $fragment" "$said" passed
    done
}

for argument in unpaid paid; do
    passes "$argument" '$q$%s$q$' <<'LINES'
status = '--'
status = '; DROP TABLE shop.hacked; --'
status = '$1' AND o.id > 0 -- a comment
status = $x$;--)$1]$x$
status = E'\'); --'
status = '/*' OR status = '*/'
status = '%s %I $$'
"status" = 'open' /* ) ] */
status IN (SELECT 'open')
EXISTS (SELECT FROM shop.lines l WHERE l.t_id = o.id)
(SELECT count(*) FROM shop.lines) > 1
status ~ '^[)\]]'
true -- ) ]
LINES
done
# The longest windows, all at once: no sum of them overflows.
is 'the longest windows' "$(ask "BEGIN; SELECT testing.try('grace', '36525 days',
    '{\"after\": \"36525 days\", \"max_age\": \"36525 days\"}');
    SELECT count(*) FROM order_sweep.x_due(NULL);
    SELECT order_sweep_due FROM order_sweep.x_next('36525 days'); ROLLBACK" | paste -s -d ' ')" \
    'passed 0 f'
# Hostile text in the value of a setting is only a value.
is 'the value of a setting' "$(ask "BEGIN; SELECT testing.try('settings',
    json_build_object('app.x', \$v\$x'); DROP TABLE shop.hacked; --\$v\$)::text);
    SELECT count(*) FROM order_sweep.x_due(NULL); SELECT current_setting('app.x');
    ROLLBACK" | paste -s -d ' ')" "passed 0 x'); DROP TABLE shop.hacked; --"
passes set '$q$%s$q$' <<'LINES'
status = 'closed; WHERE true --'
status = 'closed', note = o.note || '$1' -- comment
(status, note) = ('closed', 'x')
(status, note) = (SELECT 'closed', note FROM shop.lines LIMIT 1)
j = j || '{"a": "--"}', small = DEFAULT
LINES
passes each 'ARRAY[$q$%s$q$]::text' <<'LINES'
DELETE FROM shop.lines WHERE t_id = $1
DELETE FROM shop.lines WHERE t_id = $1 RETURNING *
DELETE FROM shop.lines WHERE t_id = $1 -- ; comment
INSERT INTO shop.lines VALUES ($1, length('; $2 --'))
WITH l AS (DELETE FROM shop.lines WHERE t_id = $1 RETURNING amount) SELECT sum(amount) FROM l
SELECT pg_notify('a', $1::text)
VALUES (1), (2)
LINES
is 'nothing of these ran or stayed' "$(fingerprint)" "$before"

# --- Hostile text in every argument ------------------------------------------

# Refused, with nothing done: none of these is a value of any argument.
while IFS= read -r hostile; do
    for argument in sweep orders key unpaid since after grace zone unit deadline \
        max_age unless set each event again paid settings run_as; do
        more='{}'
        case $argument in
        zone) more='{"since": "local"}' ;;
        unit) more='{"since": "secs"}' ;;
        deadline) more='{"since": null, "after": null}' ;;
        esac
        value=$hostile
        case $argument in
        key | each) value=$(ask "SELECT ARRAY[${q}$hostile$q]") ;;
        unless) value=$(ask "SELECT json_build_object('a', ${q}$hostile$q)") ;;
        settings) value=$(ask "SELECT json_build_object(${q}$hostile$q, 'x')") ;;
        esac
        said=$(ask "SELECT testing.try('$argument', ${q}$value$q, '$more')")
        case $said in
        passed* | '') fail "$argument => $hostile"$'\n'"  got: $said" ;;
        *) checks=$((checks + 1)) ;;
        esac
    done
done <<'LINES'
x') OR true --
x'); DROP TABLE shop.hacked; --
'); DELETE FROM shop.hacked; SELECT ('
"; DROP TABLE shop.hacked; --
%s %I $1 \
LINES
is 'nothing of all these ran or stayed' "$(fingerprint)" "$before"
# On the command line, where they are bound or refused.
define_x='BEGIN; SELECT testing.try(); COMMIT'
is 'a definition to be asked about' "$(ask "$define_x")" passed
before=$(fingerprint)
while IFS= read -r hostile; do
    runs 64 --sweep "$hostile"
    runs 64 explain --sweep x "$hostile"
    runs 64 --window "$hostile"
    runs 78 check --role "$hostile" --format=json
    is "check --role $hostile" "$(printf '%s' "$out" | grep -c 'there is no role')" 1
    runs 69 --dbname "$hostile"
    runs 69 --username "$hostile"
done <<'LINES'
x') OR true --
'; DROP TABLE shop.hacked; --
LINES
is 'nothing changed' "$(fingerprint)" "$before"

finish
