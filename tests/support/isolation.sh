# shellcheck shell=bash
# Sourced by the tests with PostgreSQL's isolationtester, after db.sh.
#
#     $isolationtester     the program
#     load_shop            the sample shop, in the database of new_db, and what
#                          tests/isolation/setup.sql adds to it

support=$ORDER_SWEEP_SOURCE/tests/support
# Debian's psql is a script that looks for the real one; this goes there at once.
# shellcheck source=tests/support/cluster.sh
. "$support/cluster.sh"
PATH=$(cluster_bindir):$PATH
export PGOPTIONS=--client-min-messages=warning

# Debian has it in the package of the client programs, beside pg_config.
isolationtester=$(pg_config --pkglibdir)/pgxs/src/test/isolation/isolationtester
if [ ! -x "$isolationtester" ]; then
    echo "isolation: no $isolationtester" >&2
    exit 77
fi

# The view testing.broken: the names of the invariants that do not hold.
make_broken()
{
    echo 'CREATE VIEW testing.broken AS'
    echo "SELECT split_part(found, ':', 1) AS broken FROM ("
    # The query alone, without psql's commands and the semicolon.
    sed -e '/^\\/d' -e 's/;$//' "$support/invariants.sql"
    echo ') AS invariants (found) ORDER BY 1;'
}

load_shop()
{
    local sample=$ORDER_SWEEP_SOURCE/sql/sample
    "$ORDER_SWEEP_BIN" migrate
    make_broken >"$ORDER_SWEEP_TMP/broken.sql"
    sql -o /dev/null -v window='30 minutes' \
        -f "$sample/shop.sql" -f "$sample/definition.sql" \
        -f "$support/testing.sql" \
        -f "$ORDER_SWEEP_SOURCE/tests/isolation/setup.sql" \
        -f "$ORDER_SWEEP_TMP/broken.sql"
}
