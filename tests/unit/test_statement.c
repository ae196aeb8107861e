/* statement: what waits keeps its order and its values. */
#include "statement.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void
nothing_waits_in_an_empty_queue(void **state)
{
    struct osw_waiting_queue queue = {NULL, NULL};

    (void)state;
    assert_null(osw_waiting_pop(&queue));
    osw_waiting_clear(&queue);
}

static void
values_are_copies(void **state)
{
    struct osw_waiting_queue queue = {NULL, NULL};
    char text[] = "4711";
    const char *const values[] = {text, NULL, ""};
    const struct osw_pg_statement statement = {"cancel", "SELECT", 3};
    struct osw_waiting *first = NULL;

    (void)state;
    assert_true(osw_waiting_push(&queue, &statement, values));
    memset(text, 'x', sizeof text - 1);
    first = osw_waiting_pop(&queue);
    assert_non_null(first);
    assert_false(first->is_end);
    assert_string_equal(first->statement.name, "cancel");
    assert_int_equal(first->statement.parameters, 3);
    assert_string_equal(first->values[0], "4711");
    assert_null(first->values[1]);
    assert_string_equal(first->values[2], "");
    free(first);
    assert_null(osw_waiting_pop(&queue));
}

static void
statements_and_ends_keep_their_order(void **state)
{
    struct osw_waiting_queue queue = {NULL, NULL};

    (void)state;
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 4; i++) {
            const struct osw_pg_statement statement = {NULL, "SELECT", 0};

            assert_true(
                osw_waiting_push(&queue, i % 2 == 0 ? &statement : NULL, NULL));
        }
        for (int i = 0; i < 3; i++) {
            struct osw_waiting *first = osw_waiting_pop(&queue);

            assert_non_null(first);
            assert_int_equal(first->is_end, i % 2 == 1);
            free(first);
        }
        osw_waiting_clear(&queue);
        assert_null(osw_waiting_pop(&queue));
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_waits_in_an_empty_queue),
        cmocka_unit_test(values_are_copies),
        cmocka_unit_test(statements_and_ends_keep_their_order),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
