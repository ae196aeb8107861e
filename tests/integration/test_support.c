/*
 * The test server and the helpers of tests/support/db.h are there.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>

#include "db.h"

static void
test_database(void **state)
{
    char *conninfo = osw_test_db_create("support");
    PGconn *conn = osw_test_db_connect(conninfo);
    char *value = NULL;

    (void)state;
    osw_test_db_exec(conn, "CREATE TABLE t (a int); INSERT INTO t VALUES (7)");
    value = osw_test_db_value(conn, "SELECT a FROM t");
    assert_string_equal(value, "7");
    free(value);
    value =
        osw_test_db_value(conn, "SELECT current_setting('server_encoding')");
    assert_string_equal(value, "UTF8");
    free(value);
    PQfinish(conn);
    osw_test_db_drop(conninfo);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_database),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
