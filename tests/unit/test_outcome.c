/* outcome: the words of the cancel function, and the classes of SQLSTATE. */
#include "outcome.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void
each_outcome_has_its_name(void **state)
{
    static const char *const names[OSW_OUTCOME_COUNT] = {
        [OSW_OUTCOME_SWEPT] = "swept",
        [OSW_OUTCOME_KEPT] = "kept",
        [OSW_OUTCOME_LOCKED] = "locked",
        [OSW_OUTCOME_CHANGED] = "changed",
        [OSW_OUTCOME_GONE] = "gone",
        [OSW_OUTCOME_FAILED] = "failed",
        [OSW_OUTCOME_UNKNOWN] = "unknown",
    };

    (void)state;
    for (unsigned i = 0; i < OSW_OUTCOME_COUNT; i++) {
        assert_string_equal(osw_outcome_name((enum osw_outcome)i), names[i]);
    }
    assert_string_equal(osw_outcome_name((enum osw_outcome)99), "unknown");
}

struct word_case {
    const char *text;
    enum osw_outcome outcome;
    const char *rule;
};

static void
words_of_the_cancel_function_are_read(void **state)
{
    static const struct word_case cases[] = {
        {"swept", OSW_OUTCOME_SWEPT, NULL},
        {"locked", OSW_OUTCOME_LOCKED, NULL},
        {"changed", OSW_OUTCOME_CHANGED, NULL},
        {"gone", OSW_OUTCOME_GONE, NULL},
        {"kept: too old", OSW_OUTCOME_KEPT, "too old"},
        {"kept: a: b", OSW_OUTCOME_KEPT, "a: b"},
        {"kept: swept", OSW_OUTCOME_KEPT, "swept"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        enum osw_outcome outcome = OSW_OUTCOME_UNKNOWN;
        const char *rule = "unset";

        assert_true(osw_outcome_parse(cases[i].text, &outcome, &rule));
        assert_int_equal(outcome, cases[i].outcome);
        if (cases[i].rule == NULL) {
            assert_null(rule);
        } else {
            assert_string_equal(rule, cases[i].rule);
        }
    }
}

static void
other_words_are_refused(void **state)
{
    static const char *const words[] = {
        NULL,
        "",
        "Swept",
        "swept ",
        " swept",
        "swep",
        "kept",
        "kept:",
        "kept: ",
        "kept:x",
        "failed",
        "unknown",
        "lockedx",
        "gone: x",
        "t",
        "changed:",
    };

    (void)state;
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        enum osw_outcome outcome = OSW_OUTCOME_UNKNOWN;
        const char *rule = "unset";

        assert_false(osw_outcome_parse(words[i], &outcome, &rule));
        assert_int_equal(outcome, OSW_OUTCOME_UNKNOWN);
        assert_string_equal(rule, "unset");
    }
}

struct sqlstate_case {
    const char *sqlstate;
    enum osw_outcome outcome;
};

static void
sqlstates_are_classed(void **state)
{
    static const struct sqlstate_case cases[] = {
        {NULL, OSW_OUTCOME_UNKNOWN},
        {"", OSW_OUTCOME_UNKNOWN},
        {"08006", OSW_OUTCOME_UNKNOWN}, /* connection_failure */
        {"08P01", OSW_OUTCOME_UNKNOWN}, /* protocol_violation */
        {"25P03", OSW_OUTCOME_UNKNOWN}, /* idle in transaction time-out */
        {"57P01", OSW_OUTCOME_UNKNOWN}, /* admin_shutdown */
        {"57P02", OSW_OUTCOME_UNKNOWN}, /* crash_shutdown */
        {"57P05", OSW_OUTCOME_UNKNOWN}, /* idle_session_timeout */
        {"55P03", OSW_OUTCOME_LOCKED},  /* lock_not_available */
        {"40001", OSW_OUTCOME_LOCKED},  /* serialization_failure */
        {"40P01", OSW_OUTCOME_LOCKED},  /* deadlock_detected */
        {"40002", OSW_OUTCOME_FAILED},  /* a constraint of the transaction */
        {"55006", OSW_OUTCOME_FAILED},  /* object_in_use */
        {"57014", OSW_OUTCOME_FAILED},  /* query_canceled */
        {"25001", OSW_OUTCOME_FAILED},
        {"23514", OSW_OUTCOME_FAILED}, /* check_violation */
        {"42703", OSW_OUTCOME_FAILED}, /* undefined_column */
        {"P0001", OSW_OUTCOME_FAILED}, /* raise_exception */
        {"XX000", OSW_OUTCOME_FAILED},
        {"0", OSW_OUTCOME_FAILED}, /* shorter than any class */
        {"5", OSW_OUTCOME_FAILED},
        {"57", OSW_OUTCOME_FAILED},
        {"55P0", OSW_OUTCOME_FAILED},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(osw_outcome_of_sqlstate(cases[i].sqlstate),
                         cases[i].outcome);
    }
}

static void
a_class_is_a_prefix(void **state)
{
    (void)state;
    assert_true(osw_sqlstate_class("42703", "42"));
    assert_true(osw_sqlstate_class("42", "42"));
    assert_false(osw_sqlstate_class("4", "42"));
    assert_false(osw_sqlstate_class("", "42"));
    assert_false(osw_sqlstate_class(NULL, "42"));
    assert_false(osw_sqlstate_class("24000", "42"));
    assert_false(osw_sqlstate_class("x4200", "42"));
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_outcome_has_its_name),
        cmocka_unit_test(words_of_the_cancel_function_are_read),
        cmocka_unit_test(other_words_are_refused),
        cmocka_unit_test(sqlstates_are_classed),
        cmocka_unit_test(a_class_is_a_prefix),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
