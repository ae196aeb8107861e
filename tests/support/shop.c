#include "shop.h"

#include <err.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "db.h"

#define ARGUMENTS 16

/* Seconds after which a wait is in vain, on the slowest machine. */
#define PATIENCE_S 60

static const char *
environment(const char *name)
{
    const char *value = getenv(name);

    if (value == NULL) {
        errx(1, "%s is not set; run through tests/run", name);
    }
    return value;
}

__attribute__((format(printf, 1, 0))) static char *
print(const char *format, va_list arguments)
{
    char *text = NULL;

    if (vasprintf(&text, format, arguments) < 0) {
        err(1, "vasprintf");
    }
    return text;
}

void
osw_test_shop_open(struct osw_test_shop *shop, const char *name)
{
    const char *mutation = getenv("ORDER_SWEEP_TEST_MUTATION");

    shop->conninfo = osw_test_db_create(name);
    if (osw_test_program_ends(
            osw_test_program(shop, "migrate", (char *)NULL)) != 0) {
        errx(1, "order-sweep migrate failed");
    }
    shop->conn = osw_test_db_connect(shop->conninfo);
    osw_test_db_exec(shop->conn, "SET client_min_messages = warning");
    osw_test_db_file(shop->conn, "sql/sample/shop.sql");
    osw_test_db_file(shop->conn, "sql/sample/definition.sql");
    osw_test_db_file(shop->conn, "tests/support/testing.sql");
    osw_test_db_exec(
        shop->conn,
        "INSERT INTO shop.goods (id, name, price, offered, stock) "
        "SELECT id, 'Goods', 10, 1000, 1000 FROM generate_series(1, 9) AS id;"
        "CREATE SEQUENCE shop.buyer");
    if (mutation != NULL) {
        osw_test_db_exec(shop->conn, mutation);
    }
}

void
osw_test_shop_close(struct osw_test_shop *shop)
{
    PQfinish(shop->conn);
    osw_test_db_drop(shop->conninfo);
    shop->conn = NULL;
    shop->conninfo = NULL;
}

int
osw_test_shop_place(struct osw_test_shop *shop, const char *age, int a, int b)
{
    char sql[512];
    char *value = NULL;
    int order = 0;

    (void)snprintf(sql,
                   sizeof(sql),
                   "SELECT shop.place_order(nextval('shop.buyer'), '["
                   "{\"goods_id\": %d, \"quantity\": 1}, "
                   "{\"goods_id\": %d, \"quantity\": 1}]', "
                   "floor(extract(epoch FROM now() - interval '%s'))::bigint)",
                   a,
                   b,
                   age);
    value = osw_test_db_value(shop->conn, sql);
    order = atoi(value);
    free(value);
    return order;
}

void
osw_test_shop_mutate(struct osw_test_shop *shop,
                     const char *function,
                     const char *from,
                     const char *to)
{
    const char *values[] = {function, from, to};
    PGresult *result = PQexecParams(shop->conn,
                                    "SELECT testing.mutate($1, $2, $3)",
                                    3,
                                    NULL,
                                    values,
                                    NULL,
                                    NULL,
                                    0);

    if (PQresultStatus(result) != PGRES_TUPLES_OK) {
        errx(1, "%s", PQresultErrorMessage(result));
    }
    PQclear(result);
}

char *
osw_test_shop_fingerprint(struct osw_test_shop *shop)
{
    return osw_test_db_value(shop->conn, "SELECT testing.fingerprint()");
}

char *
osw_test_shop_invariants(struct osw_test_shop *shop)
{
    char *command = NULL;
    char *said = NULL;
    size_t size = 0;
    FILE *out = NULL;

    if (asprintf(&command,
                 "psql -X -d '%s' -f '%s/tests/support/invariants.sql' 2>&1",
                 shop->conninfo,
                 environment("ORDER_SWEEP_SOURCE")) < 0) {
        err(1, "asprintf");
    }
    out = popen(command, "r");
    if (out == NULL) {
        err(1, "%s", command);
    }
    if (getdelim(&said, &size, '\0', out) < 0) {
        free(said);
        said = strdup("");
    }
    if (pclose(out) != 0) {
        errx(1, "%s: %s", command, said);
    }
    free(command);
    return said;
}

void
osw_test_session_open(struct osw_test_session *session,
                      const struct osw_test_shop *shop)
{
    session->conn = osw_test_db_connect(shop->conninfo);
    session->said[0] = '\0';
}

void
osw_test_session_close(struct osw_test_session *session)
{
    PQfinish(session->conn);
    session->conn = NULL;
}

const char *
osw_test_step_ends(struct osw_test_session *session)
{
    PGresult *result = NULL;

    session->said[0] = '\0';
    while ((result = PQgetResult(session->conn)) != NULL) {
        const char *said = PQresultErrorField(result, PG_DIAG_SQLSTATE);

        if (said == NULL) {
            said = PQntuples(result) > 0 && PQnfields(result) > 0
                       ? PQgetvalue(result, 0, 0)
                       : "";
        }
        (void)snprintf(session->said, sizeof(session->said), "%s", said);
        PQclear(result);
    }
    return session->said;
}

static void
send(struct osw_test_session *session, char *sql)
{
    if (PQsendQuery(session->conn, sql) != 1) {
        errx(1, "%s: %s", sql, PQerrorMessage(session->conn));
    }
    free(sql);
}

const char *
osw_test_step(struct osw_test_session *session, const char *sql, ...)
{
    va_list arguments;

    va_start(arguments, sql);
    send(session, print(sql, arguments));
    va_end(arguments);
    return osw_test_step_ends(session);
}

void
osw_test_step_waits(struct osw_test_shop *shop,
                    struct osw_test_session *session,
                    const char *sql,
                    ...)
{
    char condition[128];
    va_list arguments;

    va_start(arguments, sql);
    send(session, print(sql, arguments));
    va_end(arguments);
    (void)snprintf(condition,
                   sizeof(condition),
                   "SELECT cardinality(pg_blocking_pids(%d)) > 0",
                   PQbackendPID(session->conn));
    osw_test_shop_await(shop, condition);
}

void
osw_test_shop_await(struct osw_test_shop *shop, const char *sql)
{
    time_t end = time(NULL) + PATIENCE_S;
    bool holds = false;

    while (!holds) {
        char *value = osw_test_db_value(shop->conn, sql);

        holds = strcmp(value, "t") == 0;
        free(value);
        if (time(NULL) > end) {
            errx(1, "waited in vain for: %s", sql);
        }
    }
}

pid_t
osw_test_program(const struct osw_test_shop *shop, ...)
{
    const char *arguments[ARGUMENTS] = {
        environment("ORDER_SWEEP_BIN"), "--dbname", shop->conninfo};
    int count = 3;
    va_list list;
    pid_t pid = 0;

    va_start(list, shop);
    do {
        arguments[count] = va_arg(list, const char *);
    } while (arguments[count++] != NULL && count < ARGUMENTS);
    va_end(list);
    pid = fork();
    if (pid < 0) {
        err(1, "fork");
    }
    if (pid == 0) {
        execv(arguments[0], (char **)(uintptr_t)arguments);
        err(127, "%s", arguments[0]);
    }
    return pid;
}

int
osw_test_program_ends(pid_t pid)
{
    int status = 0;

    if (waitpid(pid, &status, 0) != pid) {
        err(1, "waitpid");
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
