/*
 * select_one: the least that a program with libpq can do, a query of one line,
 * for the price of the library's own start.
 *
 * The connection is libpq's (PGHOST and so on).
 */
#include <err.h>
#include <libpq-fe.h>
#include <stdio.h>

int
main(void)
{
    PGconn *conn = PQconnectdb("");
    PGresult *result = PQexec(conn, "SELECT 1");

    if (PQresultStatus(result) != PGRES_TUPLES_OK) {
        errx(1, "%s", PQerrorMessage(conn));
    }
    puts(PQgetvalue(result, 0, 0));
    PQclear(result);
    PQfinish(conn);
    return 0;
}
