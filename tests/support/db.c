#include "db.h"

#include <err.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What every connection string ends with: the database. */
#define DBNAME " dbname="

/* Print into a new string. */
__attribute__((format(printf, 1, 2))) static char *
format(const char *format, ...)
{
    va_list arguments;
    char *text = NULL;

    va_start(arguments, format);
    if (vasprintf(&text, format, arguments) < 0) {
        err(1, "vasprintf");
    }
    va_end(arguments);
    return text;
}

/* The value of an environment variable that tests/run sets. */
static const char *
environment(const char *name)
{
    const char *value = getenv(name);

    if (value == NULL) {
        errx(1,
             "%s is not set; run through tests/run or "
             "tests/support/with-server",
             name);
    }
    return value;
}

/* The connection string for a database of the test server. */
static char *
conninfo_for(const char *database)
{
    return format("host=%s port=%s user=%s" DBNAME "%s",
                  environment("PGHOST"),
                  environment("PGPORT"),
                  environment("PGUSER"),
                  database);
}

/* Run one command in the database postgres. */
static void
maintain(const char *sql)
{
    char *conninfo = conninfo_for("postgres");
    PGconn *conn = osw_test_db_connect(conninfo);

    osw_test_db_exec(conn, sql);
    PQfinish(conn);
    free(conninfo);
}

char *
osw_test_db_create(const char *name)
{
    static unsigned count;
    char *database = format("osw_%s_%d_%u", name, (int)getpid(), ++count);
    char *sql = format("CREATE DATABASE %s", database);
    char *conninfo = conninfo_for(database);

    maintain(sql);
    free(sql);
    free(database);
    return conninfo;
}

void
osw_test_db_drop(char *conninfo)
{
    const char *database = strstr(conninfo, DBNAME) + strlen(DBNAME);
    char *sql = format("DROP DATABASE IF EXISTS %s WITH (FORCE)", database);

    maintain(sql);
    free(sql);
    free(conninfo);
}

PGconn *
osw_test_db_connect(const char *conninfo)
{
    PGconn *conn = PQconnectdb(conninfo);

    if (PQstatus(conn) != CONNECTION_OK) {
        errx(1, "%s: %s", conninfo, PQerrorMessage(conn));
    }
    return conn;
}

void
osw_test_db_exec(PGconn *conn, const char *sql)
{
    PGresult *result = PQexec(conn, sql);
    ExecStatusType status = PQresultStatus(result);

    if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK) {
        errx(1, "%s: %s", sql, PQerrorMessage(conn));
    }
    PQclear(result);
}

char *
osw_test_db_value(PGconn *conn, const char *sql)
{
    PGresult *result = PQexec(conn, sql);
    char *value = NULL;

    if (PQresultStatus(result) != PGRES_TUPLES_OK) {
        errx(1, "%s: %s", sql, PQerrorMessage(conn));
    }
    if (PQntuples(result) != 1 || PQnfields(result) != 1) {
        errx(1,
             "%s: %d rows of %d columns instead of one value",
             sql,
             PQntuples(result),
             PQnfields(result));
    }
    value = format("%s", PQgetvalue(result, 0, 0));
    PQclear(result);
    return value;
}

void
osw_test_db_file(PGconn *conn, const char *file)
{
    char *path = format("%s/%s", environment("ORDER_SWEEP_SOURCE"), file);
    FILE *stream = fopen(path, "r");
    char *text = NULL;
    size_t size = 0;

    if (stream == NULL) {
        err(1, "%s", path);
    }
    if (getdelim(&text, &size, '\0', stream) < 0) {
        err(1, "%s", path);
    }
    fclose(stream);
    osw_test_db_exec(conn, text);
    free(text);
    free(path);
}
