#!/bin/bash
# What order-sweep check finds about the index of the look for due orders.
set -euo pipefail

# shellcheck source=tests/support/db.sh
. "$ORDER_SWEEP_SOURCE/tests/support/db.sh"
# shellcheck source=tests/support/steps.sh
. "$ORDER_SWEEP_SOURCE/tests/support/steps.sh"
# shellcheck source=tests/support/findings.sh
. "$ORDER_SWEEP_SOURCE/tests/support/findings.sh"

new_findings index
clean 'a clean database'

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

# One made from rows that were updated in place serves when the transactions
# that are older than it have ended.
change "DROP INDEX shop.t_open; TRUNCATE shop.t;
    INSERT INTO shop.t SELECT n, 'closed', now() FROM generate_series(1, 9) n"
hold 'BEGIN; SELECT txid_current()' >/dev/null
change "UPDATE shop.t SET state = state;
    CREATE INDEX t_open ON shop.t (at, id) WHERE state = 'open'"
finds 'an index that is too young' 1 "warn|tidy|index|no index serves the look for due orders yet: shop.t_open cannot be used|SELECT pid, usename, state, xact_start, query FROM pg_stat_activity WHERE xact_start IS NOT NULL ORDER BY xact_start;"
let_go ROLLBACK
# Transactions of other databases count, too.
until_true "SELECT age(xmin) > age(pg_snapshot_xmin(pg_current_snapshot())::xid)
    FROM pg_index WHERE indexrelid = 'shop.t_open'::regclass"
clean 'no older transaction'
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
change 'ALTER TABLE shop.t ADD COLUMN "Placed at" bigint, ADD COLUMN day date,
    ADD COLUMN "user" text, ADD COLUMN "Q" text;
    CREATE FUNCTION shop.always(int) RETURNS boolean LANGUAGE plpgsql IMMUTABLE
    AS $$BEGIN RETURN true; END$$;
    CREATE FUNCTION shop.same(timestamptz) RETURNS timestamptz LANGUAGE plpgsql
    IMMUTABLE AS $$BEGIN RETURN $1; END$$;
    CREATE FUNCTION shop.sometimes(int) RETURNS boolean LANGUAGE plpgsql STABLE
    AS $$BEGIN RETURN true; END$$'
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
    after => '1 hour'" "$index (at, id)$open"
# A comment at the end of a fragment must not swallow what follows.
indexed 'comments' "unpaid => \$\$state = 'open' -- waits\$\$,
    since => 'coalesce(o.at, o.at) -- placed', after => '1 hour',
    max_age => NULL" "$index ((coalesce(at, at)), id)$open" warn
# What cannot stand in the predicate of an index is left out of it.
for part in 'at < now()' 'current_user <> note' 'local < at' \
    "at::date < '2999-01-01'" "note <> at::text" "(o) IS NOT DISTINCT FROM o" \
    "o.* IS NOT NULL" "(SELECT true)" "shop.sometimes(id)"; do
    indexed "unpaid with $part" "unpaid => \$\$o.state = 'open' AND $part\$\$,
        since => 'at', after => '1 hour'" "$index (at, id)$open"
done
indexed 'unpaid with an OR over such a part' "unpaid => \$\$state = 'open'
    AND id > 0 OR state = 'new' AND at < now()\$\$, since => 'at',
    after => '1 hour'" "$index (at, id);"
# Names mean what they mean to the definition.
change 'SET search_path = shop'
indexed 'a function that is found by the path' \
    "unpaid => \$\$state = 'open' AND always(id)\$\$, since => 'at', after => '1 hour'" \
    "SET search_path = pg_catalog, shop, pg_temp; $index (at, id) WHERE state = 'open' AND always(id);"
change 'SET search_path = shop'
indexed 'one in an expression' "unpaid => \$\$state = 'open'\$\$,
    since => 'same(at)', after => '1 hour'" \
    "SET search_path = pg_catalog, shop, pg_temp; $index ((same(at)), id)$open" warn
change 'RESET search_path'
# The row has no name in an index; in a literal it is no name.
for part in "note <> 'o.at'" "note <> E'\\'o.at'" 'note <> $x$o.at$x$' 'note <> $$o.at$$' \
    "id BETWEEN 1 AND 9" "CASE WHEN id > 1 AND id < 9 THEN id < 8 ELSE true END" \
    'shop.always(id)'; do
    indexed "unpaid with $part" "unpaid => \$fragment\$o.state = 'open'
        AND $part\$fragment\$, since => 'at', after => '1 hour'" \
        "$index (at, id) WHERE state = 'open' AND $part;"
done
indexed 'the row in brackets, and names that are words of SQL' \
    "unpaid => \$\$(o).state = 'open' AND o . user IS NULL AND o.\"Q\" IS NULL\$\$,
    since => '( o ).At', after => '1 hour'" \
    "$index (at, id) WHERE state = 'open' AND \"user\" IS NULL AND \"Q\" IS NULL;"
# A clock that can stand in none.
for clock in "at + interval '1 day'" \
    '(SELECT max(l.at) FROM shop.log l WHERE l.id = o.id)'; do
    define "unpaid => \$\$state = 'open'\$\$, since => \$\$$clock\$\$, after => '1 hour'"
    finds "since $clock" 1 "$(missing tidy 'since cannot stand in an index (it is not immutable, or has a sub-select): keep the moment in a column of its own, with an index on it and id.' warn)"
done
define "unpaid => \$\$state = 'open'\$\$, deadline => 'greatest(at, now())'"
finds 'deadline' 1 "$(missing tidy 'deadline cannot stand in an index (it is not immutable, or has a sub-select): keep the moment in a column of its own, with an index on it and id.' warn)"
# A part is planned, which runs what is immutable in it, as its owner.
super "GRANT $other TO $owner; GRANT USAGE ON SCHEMA shop TO $other;
    GRANT SELECT, UPDATE ON shop.t TO $other"
change "SELECT FROM order_sweep.grant_define_to('$other');
    SELECT FROM order_sweep.undefine('tidy')"
ask "CREATE FUNCTION shop.his() RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS
    \$\$BEGIN ASSERT current_user = '$other'; RETURN true; END\$\$" >/dev/null
define "unpaid => \$\$state = 'open' AND shop.his()\$\$, since => 'at',
    after => '1 hour', run_as => '$other'"
finds 'a definition of another' 78 \
    "$(missing tidy "$index (at, id) WHERE state = 'open' AND shop.his();")"
change "SELECT FROM order_sweep.undefine('tidy'); DROP FUNCTION shop.his"
super "DROP OWNED BY $other"
# Nothing of a definition is run for it, whatever its row was made to hold.
define_as_before
is 'one statement only' "$(ask "SELECT order_sweep.may_index(s,
    'true); CREATE TABLE shop.made (); SELECT (true', 'shop'),
    to_regclass('shop.made')
    FROM order_sweep.sweep s WHERE name = 'tidy'")" 'f|'
change 'ALTER TABLE shop.t DROP COLUMN "Placed at", DROP COLUMN day,
    DROP COLUMN "user", DROP COLUMN "Q";
    DROP FUNCTION shop.always, shop.same, shop.sometimes'
change "CREATE INDEX t_open ON shop.t (at, id) WHERE state = 'open'"
# What a rule sorts for itself is another matter, and so is its index.
change "INSERT INTO shop.t VALUES (1, 'closed', now()); ANALYZE shop.t"
rule="(SELECT l.what FROM shop.log l WHERE l.id = o.id ORDER BY l.at DESC LIMIT 1)"
define "unpaid => \$\$state = 'open' AND $rule IS DISTINCT FROM 'paid'\$\$,
    since => 'at', after => '1 hour',
    unless => json_build_object('logged', \$rule\$$rule = 'paid'\$rule\$)"
runs 0 check --format=json
is 'a rule with a sort of its own' "$(read_findings | cut -d '|' -f 1-4)" \
    'note|tidy|foreign key|the look for due orders reads shop.log, which no foreign key ties to shop.t'
change 'TRUNCATE shop.t'
define_as_before
clean 'as before'

finish
