# shellcheck shell=sh
# Sourced by test scripts: databases of their own on the test server.
#
#     new_db NAME [TEMPLATE]
#                       creates a database, empty or a copy, makes it the one of
#                       libpq (PGDATABASE), drops it when the script ends
#     sql [ARGUMENT...] psql that prints bare values and stops at an error
#     drop_dbs          drops what new_db made; for scripts with a trap on EXIT
#                       of their own

if [ -z "${PGHOST:-}" ]; then
    echo "no test server; run through tests/run or tests/support/with-server" \
        >&2
    exit 1
fi

databases=
trap drop_dbs EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

sql()
{
    psql -X -q -A -t -v ON_ERROR_STOP=1 "$@"
}

new_db()
{
    PGDATABASE=osw_${1}_$$
    export PGDATABASE
    sql -d postgres -c "CREATE DATABASE $PGDATABASE ${2:+TEMPLATE $2}"
    databases="$databases $PGDATABASE"
}

drop_dbs()
{
    for database in $databases; do
        sql -d postgres -c "DROP DATABASE IF EXISTS $database WITH (FORCE)"
    done
    databases=
}
