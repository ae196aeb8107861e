/*
 * shop: the sample shop under order-sweep, and sessions in named steps, for
 * the tests in C.  Every function ends the test program with a message if the
 * server does not do what is asked.
 */
#ifndef OSW_TEST_SHOP_H
#define OSW_TEST_SHOP_H

#include <libpq-fe.h>
#include <stdbool.h>
#include <sys/types.h>

/*
 * A database with schema order_sweep and the sample shop: its goods 1
 * to 9 (1000 pieces each), its definition, and tests/support/testing.sql.
 */
struct osw_test_shop {
    char *conninfo;
    PGconn *conn; /* looks on, and does what needs no session of its own */
};

void osw_test_shop_open(struct osw_test_shop *shop, const char *name);

/* Drop it all; sessions in it end. */
void osw_test_shop_close(struct osw_test_shop *shop);

/* Place an order of one piece of goods a and b; returns its number. */
int
osw_test_shop_place(struct osw_test_shop *shop, const char *age, int a, int b);

/*
 * Put a text of a function of schema order_sweep in another's place and create
 * the function so; it must hold the text.
 */
void osw_test_shop_mutate(struct osw_test_shop *shop,
                          const char *function,
                          const char *from,
                          const char *to);

/* Everything a sweep may change, as one hash; to be freed. */
char *osw_test_shop_fingerprint(struct osw_test_shop *shop);

/* What tests/support/invariants.sql finds, "" if nothing; to be freed. */
char *osw_test_shop_invariants(struct osw_test_shop *shop);

/*
 * Run one step, a printf-formatted SQL, and return what it said: the first
 * value of its last statement ("" if there is none) or the SQLSTATE of its
 * error.  Valid until the session's next step.
 */
struct osw_test_session {
    PGconn *conn;
    char said[256];
};

void osw_test_session_open(struct osw_test_session *session,
                           const struct osw_test_shop *shop);

void osw_test_session_close(struct osw_test_session *session);

const char *osw_test_step(struct osw_test_session *session,
                          const char *sql,
                          ...) __attribute__((format(printf, 2, 3)));

/* Begin a step that will wait for a lock; returns once it does wait. */
void osw_test_step_waits(struct osw_test_shop *shop,
                         struct osw_test_session *session,
                         const char *sql,
                         ...) __attribute__((format(printf, 3, 4)));

/* The end of a step that waited: what it said. */
const char *osw_test_step_ends(struct osw_test_session *session);

/* Wait until a condition, an SQL that returns one boolean, holds. */
void osw_test_shop_await(struct osw_test_shop *shop, const char *sql);

/*
 * Start the program ORDER_SWEEP_BIN on the shop with arguments up to NULL;
 * osw_test_program_ends waits and returns its exit code.
 */
pid_t osw_test_program(const struct osw_test_shop *shop, ...);

int osw_test_program_ends(pid_t pid);

#endif
