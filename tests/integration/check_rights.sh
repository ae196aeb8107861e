#!/bin/bash
# What order-sweep check says where the owner of a definition may not do what
# its SQL does: the GRANT that mends it, and who may give it.
set -euo pipefail

# shellcheck source=tests/support/db.sh
. "$ORDER_SWEEP_SOURCE/tests/support/db.sh"
# shellcheck source=tests/support/steps.sh
. "$ORDER_SWEEP_SOURCE/tests/support/steps.sh"
# shellcheck source=tests/support/findings.sh
. "$ORDER_SWEEP_SOURCE/tests/support/findings.sh"

new_findings rights
super 'ALTER TABLE shop.log OWNER TO CURRENT_USER;
    CREATE TABLE shop.ledger (id int, n int, log text);
    CREATE TABLE shop."Order ""Log""" (id int);
    CREATE TABLE shop.log_old (id int);
    CREATE VIEW shop.seen AS SELECT id FROM shop.log_old;
    CREATE SCHEMA vault; CREATE TABLE vault.gold (id int);
    GRANT INSERT ON vault.gold TO PUBLIC; GRANT SELECT ON shop.seen TO PUBLIC;
    CREATE FUNCTION shop.secret(int) RETURNS int LANGUAGE plpgsql
        AS $$BEGIN RETURN $1; END$$;
    REVOKE EXECUTE ON FUNCTION shop.secret(int) FROM PUBLIC'

# denied MESSAGE RIGHT-ON-WHAT STATEMENT: an each of tidy that its owner may not
# run, until he gets that right.
denied()
{
    local grant="GRANT $2 TO $owner; -- as role $superuser"
    define "unpaid => \$\$state = 'open'\$\$, since => 'at', after => '1 hour',
        each => ARRAY[\$each\$$3\$each\$]"
    finds "$3" 78 "fail|tidy|privileges|each[1]: permission denied for $1|$grant"
    super "$grant"
    clean "$3: mended"
    super "REVOKE ALL ON ${2#* ON } FROM $owner"
}

denied 'table log' 'INSERT ON shop.log' \
    "INSERT INTO shop.log (id, what) VALUES (\$1, 'closed')"
denied 'table log' 'INSERT, SELECT ON shop.log' \
    'INSERT INTO shop.log (id, what) SELECT l.id, l.what FROM shop.log l WHERE l.id = $1'
denied 'table ledger' 'UPDATE, SELECT ON shop.ledger' \
    'update only shop.ledger SET n = 0 WHERE id = $1'
denied 'table ledger' 'DELETE, SELECT ON shop.ledger' \
    'DELETE  FROM "shop" . "ledger" WHERE id = $1'
denied 'table ledger' 'SELECT ON shop.ledger' \
    "UPDATE shop.t SET note = 'x' WHERE id IN (SELECT id FROM shop.ledger WHERE log = 'log')"
denied 'table Order "Log"' 'INSERT ON shop."Order ""Log"""' \
    'INSERT INTO shop."Order ""Log""" VALUES ($1)'
denied 'function secret' 'EXECUTE ON FUNCTION shop.secret(integer)' \
    'SELECT shop.secret($1)'
# What he has is not named.
super "GRANT SELECT ON shop.ledger TO $owner"
denied 'table ledger' 'UPDATE ON shop.ledger' \
    'UPDATE shop.ledger SET n = 0 WHERE id = $1'

# A schema is looked at when a definition is made.
super "GRANT USAGE ON SCHEMA vault TO $owner"
define "unpaid => \$\$state = 'open'\$\$, since => 'at', after => '1 hour',
    each => ARRAY['INSERT INTO vault.gold VALUES (\$1)']"
clean 'a table in another schema'
super "REVOKE USAGE ON SCHEMA vault FROM $owner"
grant="GRANT USAGE ON SCHEMA vault TO $owner;"
finds 'a schema' 78 "fail|tidy|privileges|each[1]: permission denied for schema vault|$grant -- as role $superuser"
super "$grant"
clean 'a schema: mended'

# The table under a view is not in the statement: it is the view's owner that
# may not.
super "ALTER VIEW shop.seen OWNER TO $other; GRANT USAGE ON SCHEMA shop TO $other"
define "unpaid => \$\$state = 'open'\$\$, since => 'at', after => '1 hour',
    unless => '{\"seen\": \"EXISTS (SELECT FROM shop.seen s WHERE s.id = o.id)\"}'"
finds 'a table under a view' 78 "fail|tidy|privileges|unless \"seen\": permission denied for table log_old|GRANT role $owner, or the owner of a view in it, what unless \"seen\" does with that."
super "DROP OWNED BY $other"
finish
