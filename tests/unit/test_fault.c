/* fault: SQLSTATEs to exit codes, and the hints that go with them. */
#include "fault.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* An error as the server gives it, not classed yet. */
static struct osw_error
error_of(const char *sqlstate)
{
    struct osw_error error = OSW_ERROR_INIT;

    (void)osw_error_set(&error, OSW_EXIT_INTERNAL, "the message");
    (void)snprintf(error.sqlstate, sizeof error.sqlstate, "%s", sqlstate);
    return error;
}

struct fault_case {
    const char *sqlstate;
    enum osw_exit exit;
};

static void
an_sqlstate_has_its_exit_code(void **state)
{
    static const struct fault_case cases[] = {
        {"3F000", OSW_EXIT_CONFIG},      /* invalid_schema_name */
        {"42883", OSW_EXIT_CONFIG},      /* undefined_function */
        {"42P01", OSW_EXIT_CONFIG},      /* undefined_table */
        {"42703", OSW_EXIT_CONFIG},      /* undefined_column */
        {"42501", OSW_EXIT_CONFIG},      /* insufficient_privilege */
        {"42601", OSW_EXIT_CONFIG},      /* syntax_error */
        {"22007", OSW_EXIT_CONFIG},      /* invalid_datetime_format */
        {"22P02", OSW_EXIT_CONFIG},      /* invalid_text_representation */
        {"55P03", OSW_EXIT_TEMPORARY},   /* lock_not_available */
        {"40001", OSW_EXIT_TEMPORARY},   /* serialization_failure */
        {"40P01", OSW_EXIT_TEMPORARY},   /* deadlock_detected */
        {"57014", OSW_EXIT_TEMPORARY},   /* query_canceled */
        {"08006", OSW_EXIT_UNAVAILABLE}, /* connection_failure */
        {"25006", OSW_EXIT_UNAVAILABLE}, /* read_only_sql_transaction */
        {"53300", OSW_EXIT_UNAVAILABLE}, /* too_many_connections */
        {"53100", OSW_EXIT_UNAVAILABLE}, /* disk_full */
        {"57P01", OSW_EXIT_UNAVAILABLE}, /* admin_shutdown */
        {"57P03", OSW_EXIT_UNAVAILABLE}, /* cannot_connect_now */
        {"58030", OSW_EXIT_UNAVAILABLE}, /* io_error */
        {"XX000", OSW_EXIT_UNAVAILABLE}, /* internal_error */
        /* all else comes from what the shop has defined */
        {"P0001", OSW_EXIT_CONFIG}, /* raise_exception */
        {"OS001", OSW_EXIT_CONFIG}, /* of a generated function */
        {"23514", OSW_EXIT_CONFIG}, /* check_violation */
        {"25001", OSW_EXIT_CONFIG},
        {"55006", OSW_EXIT_CONFIG}, /* object_in_use */
        {"0A000", OSW_EXIT_CONFIG}, /* feature_not_supported */
        {"5", OSW_EXIT_CONFIG},     /* none that exists */
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct osw_error error = error_of(cases[i].sqlstate);

        osw_fault_classify(&error);
        if (error.exit != cases[i].exit) {
            fail_msg("%s: exit code %d, not %d",
                     cases[i].sqlstate,
                     (int)error.exit,
                     (int)cases[i].exit);
        }
        assert_string_equal(error.message, "the message");
        assert_string_equal(error.sqlstate, cases[i].sqlstate);
    }
}

static void
an_error_without_sqlstate_is_left_as_it_is(void **state)
{
    struct osw_error error = error_of("");

    (void)state;
    osw_fault_classify(&error);
    assert_int_equal(error.exit, OSW_EXIT_INTERNAL);
    assert_string_equal(error.message, "the message");
    assert_string_equal(error.hint, "");
}

static void
the_nearest_hint_is_given(void **state)
{
    static const char *const cases[][2] = {
        {"3F000", "run order-sweep migrate on this database"},
        {"42883",
         "order-sweep check says what changed; after an update of order-sweep, "
         "run order-sweep migrate"},
        {"42P01", "look for a table that was renamed or dropped"},
        {"42501",
         "let the owner of schema order_sweep run order-sweep check --role "
         "NAME: it names the missing right; order_sweep.grant_to(role) gives "
         "those on order_sweep"},
        {"22P02",
         "a value is none of its type: guard a cast by CASE WHEN ... THEN ... "
         "END, or use order_sweep.moment(text); if the type changed, call "
         "order_sweep.define anew"},
        {"42601", "call order_sweep.define anew"},
        {"40P01", "the next run tries again"},
        {"57P01", ""},
        {"P0001", ""},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct osw_error error = error_of(cases[i][0]);

        osw_fault_classify(&error);
        assert_string_equal(error.hint, cases[i][1]);
    }
}

/* It ends the connection, and comes without an SQLSTATE of the server. */
static void
a_pooler_of_statements_is_no_outage(void **state)
{
    struct osw_error error = error_of("");

    (void)state;
    (void)snprintf(error.message,
                   sizeof error.message,
                   "transaction blocks not allowed in statement pooling mode");
    osw_fault_classify(&error);
    assert_int_equal(error.exit, OSW_EXIT_CONFIG);
    assert_non_null(strstr(error.hint, "connect to PostgreSQL itself"));
}

static void
the_servers_own_hint_is_kept(void **state)
{
    struct osw_error error = error_of("42P01");

    (void)state;
    (void)osw_error_hint(&error, "perhaps you meant o");
    osw_fault_classify(&error);
    assert_int_equal(error.exit, OSW_EXIT_CONFIG);
    assert_string_equal(error.hint, "perhaps you meant o");
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_sqlstate_has_its_exit_code),
        cmocka_unit_test(an_error_without_sqlstate_is_left_as_it_is),
        cmocka_unit_test(the_nearest_hint_is_given),
        cmocka_unit_test(a_pooler_of_statements_is_no_outage),
        cmocka_unit_test(the_servers_own_hint_is_kept),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
