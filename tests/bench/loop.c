/*
 * loop: cancels due orders of the bench's shop one at a time, as an
 * application would write it: a list of them, then for each a transaction of
 * one statement after the other.
 *
 *     loop ORDERS
 *
 * Sweeps the ORDERS oldest.  The connection is libpq's (PGHOST and so on).
 */
#include <err.h>
#include <libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static PGconn *conn;

/* Run a statement with up to two parameters, which must work. */
static PGresult *
run(const char *sql, const char *first, const char *second)
{
    const char *values[] = {first, second};
    int count = second != NULL ? 2 : first != NULL ? 1 : 0;
    PGresult *result =
        PQexecParams(conn, sql, count, NULL, values, NULL, NULL, 0);

    if (PQresultStatus(result) != PGRES_COMMAND_OK &&
        PQresultStatus(result) != PGRES_TUPLES_OK) {
        errx(1, "%s: %s", sql, PQresultErrorMessage(result));
    }
    return result;
}

/* Run a statement that changes so many rows, "1" for one. */
static void
change(const char *sql, const char *first, const char *second, const char *rows)
{
    PGresult *result = run(sql, first, second);

    if (strcmp(PQcmdTuples(result), rows) != 0) {
        errx(1, "%s: %s rows", sql, PQcmdTuples(result));
    }
    PQclear(result);
}

static void
cancel(const char *id)
{
    PGresult *lines = NULL;

    change("BEGIN", NULL, NULL, "");
    change("UPDATE shop.orders SET status = 'cancelled', cancelled_at = now(), "
           "cancel_reason = 'payment_timeout' "
           "WHERE id = $1 AND status = 'unpaid'",
           id,
           NULL,
           "1");
    lines = run("SELECT sku_id, qty FROM shop.order_items WHERE order_id = $1 "
                "ORDER BY sku_id",
                id,
                NULL);
    for (int i = 0; i < PQntuples(lines); i++) {
        change("UPDATE shop.sku SET stock = stock + $2 WHERE id = $1",
               PQgetvalue(lines, i, 0),
               PQgetvalue(lines, i, 1),
               "1");
    }
    PQclear(lines);
    change("INSERT INTO shop.events (order_id, kind, payload) VALUES ($1, "
           "'order.cancelled', jsonb_build_object('order_id', $1::bigint))",
           id,
           NULL,
           "1");
    change("COMMIT", NULL, NULL, "");
}

int
main(int argc, char **argv)
{
    PGresult *due = NULL;

    if (argc != 2) {
        errx(64, "usage: loop ORDERS");
    }
    conn = PQconnectdb("");
    if (PQstatus(conn) != CONNECTION_OK) {
        errx(1, "%s", PQerrorMessage(conn));
    }
    due = run("SELECT id FROM shop.orders WHERE status = 'unpaid' "
              "AND created_at < now() - interval '30 min' "
              "ORDER BY created_at, id LIMIT $1",
              argv[1],
              NULL);
    for (int i = 0; i < PQntuples(due); i++) {
        cancel(PQgetvalue(due, i, 0));
    }
    PQclear(due);
    PQfinish(conn);
    return 0;
}
