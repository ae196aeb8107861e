/*
 * db: databases of their own for the tests in C, on the server that PGHOST
 * names.  Every function ends the test program with a message if the server
 * does not do what is asked.
 */
#ifndef OSW_TEST_DB_H
#define OSW_TEST_DB_H

#include <libpq-fe.h>

/*
 * Create an empty database whose name holds name (letters, digits, _).
 * Returns the connection string for it, to be given to osw_test_db_drop.
 */
char *osw_test_db_create(const char *name);

/* Drop the database, ending the sessions in it, and free the string. */
void osw_test_db_drop(char *conninfo);

/* A connection; the caller gives it to PQfinish. */
PGconn *osw_test_db_connect(const char *conninfo);

/* Run statements of no interest in their result. */
void osw_test_db_exec(PGconn *conn, const char *sql);

/* The single value a query returns, to be freed; "" for NULL. */
char *osw_test_db_value(PGconn *conn, const char *sql);

/* Run a file, named from the source folder, such as sql/sample/shop.sql. */
void osw_test_db_file(PGconn *conn, const char *file);

#endif
