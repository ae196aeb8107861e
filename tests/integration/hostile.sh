#!/bin/bash
# What a hostile or clumsy shop, caller or server can do, and what comes of it.
set -euo pipefail

# shellcheck source=tests/support/db.sh
. "$ORDER_SWEEP_SOURCE/tests/support/db.sh"
# shellcheck source=tests/support/steps.sh
. "$ORDER_SWEEP_SOURCE/tests/support/steps.sh"

owner=hostile_owner_$$
cron=hostile_cron_$$
new_shop hostile "$owner"
new_role "$cron"
change "SELECT order_sweep.grant_to('$cron')"

# unchanged ANSWER ORDER: cancel says so, and changes nothing.
unchanged()
{
    local before
    before=$(fingerprint)
    is "cancel of order $2" "$(cancel "$2")" "$1"
    is "cancel of order $2 changes nothing" "$(fingerprint)" "$before"
}

# define NAME=SQL...: the table shop.t under the name t, with these arguments.
define()
{
    ask "SELECT FROM order_sweep.define(sweep => 't', orders => 'shop.t',
        key => '{id}', unpaid => 'o.paid IS NULL', since => 'at',
        after => '30 minutes', set => 'paid = false'$(printf ', %s' "$@"))"
}

change "CREATE TABLE shop.t (id int UNIQUE, paid boolean, at timestamptz
    DEFAULT now() - interval '1 hour', kind text)"

# --- An update that does not last ---------------------------------------------

order=$(place '31 minutes')
change "CREATE FUNCTION shop.reopen() RETURNS trigger LANGUAGE plpgsql AS
    'BEGIN UPDATE shop.orders SET order_status = 1 WHERE id = NEW.id
       AND order_status = 3; RETURN NULL; END';
    CREATE TRIGGER reopen AFTER UPDATE ON shop.orders FOR EACH ROW
    EXECUTE FUNCTION shop.reopen()"
unchanged 'OS003: the order is unpaid as before after the update' "$order"
change 'DROP TRIGGER reopen ON shop.orders;
    CREATE CONSTRAINT TRIGGER reopen AFTER UPDATE ON shop.orders
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION shop.reopen()'
unchanged 'OS003: the order is unpaid as before after the update' "$order"
change 'DROP TRIGGER reopen ON shop.orders'
is 'without the trigger' "$(cancel "$order")" swept

change 'INSERT INTO shop.t VALUES (1)'
define "each => ARRAY['UPDATE shop.t SET paid = NULL WHERE id = \$1']"
is 'each that undoes set' "$(ask 'SELECT order_sweep.t_cancel(1, NULL, 0)' |
    sed -n 's/^ERROR:  //; 1p')" \
    'OS003: the order is unpaid as before after the update'
change "SELECT FROM order_sweep.define(sweep => 't', orders => 'shop.t',
    key => '{id}', unpaid => 'o.paid IS NULL', since => 'at',
    after => '30 minutes', set => 'paid = false, id = id + 100')"
is 'set that changes the key' "$(ask 'SELECT order_sweep.t_cancel(1, NULL, 0)' |
    sed -n 's/^ERROR:  //; 1p')" \
    'OS004: the update changed the key of the order'
is 'nothing of them stays' "$(ask 'SELECT * FROM shop.t')" \
    "$(ask 'SELECT 1, NULL, at, NULL FROM shop.t')"

# --- An error without a word --------------------------------------------------

bad=$(place '45 minutes')
good=$(place '40 minutes')
change "CREATE FUNCTION shop.mute() RETURNS trigger LANGUAGE plpgsql AS
    \$\$BEGIN IF NEW.id = $bad THEN RAISE EXCEPTION E' \\n'; END IF;
    RETURN NEW; END\$\$;
    CREATE TRIGGER mute BEFORE UPDATE ON shop.orders FOR EACH ROW
    EXECUTE FUNCTION shop.mute()"
runs 1 --sweep=cancel_unpaid
is 'the order that raises it' "$err" \
    "order-sweep: cancel_unpaid: order $bad failed: (no message) (SQLSTATE P0001)"
is 'the one behind it' "$(ask "SELECT order_status FROM shop.orders
    WHERE id = $good")" 3
is 'it is booked' "$(ask 'SELECT order_key, attempts FROM order_sweep.failure')" \
    "[$bad]|1"

# --- Quarantine is announced --------------------------------------------------

change "UPDATE order_sweep.failure SET attempts = 9, next_try = now()"
runs 1 --sweep=cancel_unpaid
is 'the tenth attempt' "$(printf '%s\n' "$err" | tail -n 1)" \
    'order-sweep: cancel_unpaid: 1 order failed for the tenth time and is quarantined; see order_sweep.failure, then order-sweep retry'
change 'DROP TRIGGER mute ON shop.orders; DELETE FROM order_sweep.failure'

# --- A broken definition quarantines nobody -----------------------------------

change 'ALTER TABLE shop.buyer_mark RENAME TO gone'
runs 1 --sweep=cancel_unpaid
is 'no attempt' "$(ask 'SELECT attempts, postponed, sqlstate
    FROM order_sweep.failure')" '0|1|42P01'
change 'ALTER TABLE shop.gone RENAME TO buyer_mark;
    DELETE FROM order_sweep.failure'
runs 0 --sweep=cancel_unpaid

# --- Failures are booked for due orders only ----------------------------------

young=$(place '1 minute')
is 'a young order' "$(ask "SELECT order_sweep.cancel_unpaid_fail($young,
    'XX000', 'x', true), (SELECT count(*) FROM order_sweep.failure)")" 'f|0'
is 'no such order' "$(ask "SELECT order_sweep.cancel_unpaid_fail(-1,
    'XX000', 'x', true), (SELECT count(*) FROM order_sweep.failure)")" 'f|0'
is 'what the role may not call' "$(raised "SELECT order_sweep.record_failure(
    'cancel_unpaid', '[1]', 'XX000', 'x', true)" -U "$cron")" \
    '42501: permission denied for function record_failure'
is 'a run that ended is closed' "$(raised "SELECT order_sweep.finish_run(
    max(id), 'forged', true, '0', '0', '0', 9, 0, 0, 0, 0, 0, 0) FROM order_sweep.run" |
    sed 's/run [0-9]*/run N/')" '55000: the row of run N is closed or gone'

# --- Keys ---------------------------------------------------------------------

change 'DELETE FROM shop.t; INSERT INTO shop.t SELECT n FROM
    generate_series(1, 7) n; INSERT INTO shop.t VALUES (NULL)'
define 'max_age => NULL'
runs 0 --sweep=t --batch-size=3 --format=json
is 'a row without a key is passed' "$(ask 'SELECT count(*),
    count(*) FILTER (WHERE paid IS NULL) FROM shop.t')" '8|1'
runs 0 --sweep=t --dry-run --format=json
is 'and shown' "$(printf '%s\n' "$out" | grep -c '"rule":"no key"')" 1
change "CREATE TYPE shop.channel AS ENUM ('web', 'app');
    CREATE TABLE shop.e (ch shop.channel, id int, done boolean,
        at timestamptz DEFAULT now() - interval '1 hour', PRIMARY KEY (ch, id));
    INSERT INTO shop.e VALUES ('web', 1), ('app', 1);
    SELECT FROM order_sweep.define(sweep => 'e', orders => 'shop.e',
        key => '{ch,id}', unpaid => 'o.done IS NULL', since => 'at',
        after => '30 minutes', set => 'done = true')"
PGUSER=$cron runs 0 --sweep=e --batch-size=1 --format=json
is 'a type of the shop, for a role without rights on it' \
    "$(ask 'SELECT count(*) FROM shop.e WHERE done')" 2

# --- Settings of the caller ---------------------------------------------------

order=$(place '31 minutes')
change "SET timezone_abbreviations = 'Australia'"
unchanged 'OS005: timezone_abbreviations must be Default' "$order"
change 'RESET timezone_abbreviations'
change "INSERT INTO shop.t VALUES (50, NULL, now() - interval '10 hours')"
define "unless => '{\"old\": \"o.at < now() + ''-1 22:00''::interval\"}'"
for style in postgres sql_standard; do
    # 2 hours ago in the one style, 46 in the other
    is "a rule under IntervalStyle $style" "$(raised "SET intervalstyle = $style;
        DO \$\$ BEGIN RAISE '%', order_sweep.t_cancel(50, NULL, 0); END \$\$")" \
        'P0001: kept: old'
done

# --- A payment that a policy hides --------------------------------------------

change "CREATE TABLE shop.hidden (t_id int, tenant int);
    INSERT INTO shop.hidden VALUES (55, 1);
    ALTER TABLE shop.hidden ENABLE ROW LEVEL SECURITY;
    ALTER TABLE shop.hidden FORCE ROW LEVEL SECURITY;
    CREATE POLICY own ON shop.hidden
        USING (tenant = current_setting('app.tenant', true)::int);
    INSERT INTO shop.t VALUES (55, NULL, now() - interval '1 hour')"
define "settings => '{\"app.user\": \"sweeper\"}'" "unless => '{\"paid\":
    \"EXISTS (SELECT FROM shop.hidden h WHERE h.t_id = o.id)\"}'"
is 'settings for a trigger show no payment, and hide none' "$(ask \
    'SELECT order_sweep.t_cancel(55, NULL, 0)' | sed -n 's/^ERROR:  //; 1p')" \
    '42501: query would be affected by row-level security policy for table "hidden"'
change 'DELETE FROM shop.t WHERE id = 55'

# --- Temporary objects of the caller ------------------------------------------

# A rule's table is renamed: what the caller calls so does not take its place.
change "CREATE TABLE shop.pay (t_id int); CREATE SEQUENCE shop.ids;
    SET search_path = shop;
    INSERT INTO shop.t VALUES (60, NULL, now() - interval '1 hour')
        ON CONFLICT (id) DO NOTHING"
define "unless => '{\"paid\": \"EXISTS (SELECT FROM pay WHERE t_id = o.id)\"}'"
change 'RESET search_path; ALTER TABLE shop.pay RENAME TO payments;
    INSERT INTO shop.payments VALUES (60)'
before=$(fingerprint)
other='OS007: the session has temporary objects of another role'
for object in 'TABLE pay (t_id int); GRANT SELECT ON pay TO public' \
    'VIEW pay AS SELECT 1 AS t_id WHERE false; GRANT SELECT ON pay TO public' \
    'SEQUENCE pay; GRANT SELECT ON pay TO public'; do
    is "CREATE TEMPORARY $object" "$(raised "CREATE TEMPORARY $object;
        SELECT order_sweep.t_cancel(60, NULL, 0)" -U "$cron")" "$other"
done
is 'a type there' "$(raised 'CREATE DOMAIN pg_temp.pay AS int;
    SELECT order_sweep.t_cancel(60, NULL, 0)' -U "$cron")" "$other"
is 'without them' "$(raised 'SELECT order_sweep.t_cancel(60, NULL, 0)' \
    -U "$cron")" '42P01: relation "pay" does not exist'
is 'nothing of it changed anything' "$(fingerprint)" "$before"
# Those of the shop's own triggers are no harm, nor is the schema that is left.
change 'ALTER TABLE shop.payments RENAME TO pay; DELETE FROM shop.pay'
change "CREATE FUNCTION shop.collect() RETURNS trigger LANGUAGE plpgsql AS
    'BEGIN CREATE TEMPORARY TABLE IF NOT EXISTS seen (id int);
     INSERT INTO seen VALUES (NEW.id); RETURN NEW; END';
    CREATE TRIGGER collect BEFORE UPDATE ON shop.t FOR EACH ROW
    EXECUTE FUNCTION shop.collect();
    INSERT INTO shop.t VALUES (61, NULL, now() - interval '1 hour')"
is 'temporary tables of the owner' "$(sql -U "$cron" \
    -c 'CREATE TEMPORARY TABLE gone (); DROP TABLE gone' \
    -c 'SELECT order_sweep.t_cancel(60, NULL, 0)' \
    -c 'SELECT order_sweep.t_cancel(61, NULL, 0)' 2>&1 | paste -s -d ' ')" \
    'swept swept'
change 'DROP FUNCTION shop.collect CASCADE'

# --- All forms of the reasons to keep an order --------------------------------

for again in true false; do
    for age in NULL "'30 days'"; do
        for unless in NULL "'{\"a\": \"false\"}'"; do
            is "again $again, max_age $age, unless $unless" \
                "$(define "again => $again" "max_age => $age" \
                    "unless => $unless")" ''
        done
    done
done

# --- A path that others own ---------------------------------------------------

is 'a superuser over a path of somebody else' "$(raised "SET search_path = public;
    SELECT FROM order_sweep.define(sweep => 'p', orders => 'shop.t',
    key => '{id}', unpaid => 'o.paid IS NULL', since => 'at',
    after => '30 minutes', set => 'paid = false')" -U "$superuser")" \
    "22023: search_path: $owner may create in schema public and so change what the definition does"
PGUSER=$superuser runs 78 migrate
is 'a superuser migrates what is not his' "$err" \
    "order-sweep: schema order_sweep belongs to role $owner; run migrate as that role, with --username"
invariants 'at the end'

# --- Another encoding ---------------------------------------------------------

latin=hostile_latin_$$
sql -U "$superuser" -d postgres -c "CREATE DATABASE $latin TEMPLATE template0
    ENCODING latin1 LOCALE 'C'"
PGUSER=$superuser runs 0 migrate -d "$latin"
sql -U "$superuser" -d postgres -c "DROP DATABASE $latin WITH (FORCE)"

finish
