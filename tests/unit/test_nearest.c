/* nearest: what may have been meant, and what hardly was. */
#include "nearest.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const char *const known[] = {"run",
                                    "check",
                                    "explain",
                                    "status",
                                    "retry",
                                    "late",
                                    "--linger",
                                    "--limit"};

static const char *
nearest_to(const char *text, size_t length)
{
    struct osw_nearest nearest = OSW_NEAREST_INIT;

    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        osw_nearest_try(&nearest, text, length, known[i]);
    }
    return nearest.word;
}

static void
assert_nearest(const char *text, const char *expected)
{
    const char *word = nearest_to(text, strlen(text));

    if (expected == NULL) {
        assert_null(word);
    } else {
        assert_non_null(word);
        assert_string_equal(word, expected);
    }
}

static void
one_letter_in_three_may_be_wrong(void **state)
{
    (void)state;
    assert_nearest("rn", NULL);
    assert_nearest("rin", "run");
    assert_nearest("rum", "run");
    assert_nearest("rrun", "run");
    assert_nearest("statsu", "status");
    assert_nearest("sttatus", "status");
    assert_nearest("retyr", "retry");
    assert_nearest("exlpian", "explain");
    assert_nearest("exlpina", NULL);
    assert_nearest("--lingr", "--linger");
    assert_nearest("--limti", "--limit");
}

static void
what_is_far_away_or_no_word_is_near_to_nothing(void **state)
{
    static const char far[] = "--statusstatusstatusstatusstatusstatusstatus";

    (void)state;
    assert_nearest("", NULL);
    assert_nearest("-", NULL);
    assert_nearest("--", NULL);
    assert_nearest("sweep", NULL);
    assert_nearest("RUN", NULL);
    assert_nearest("\xff\xfe\xfd", NULL);
    assert_nearest(far, NULL);
}

static void
only_so_much_of_the_text_counts(void **state)
{
    (void)state;
    assert_string_equal(nearest_to("--lingr=5", strlen("--lingr")), "--linger");
    assert_null(nearest_to("--lingr", strlen("--l")));
}

static void
the_nearest_wins_and_then_the_first(void **state)
{
    struct osw_nearest nearest = OSW_NEAREST_INIT;

    (void)state;
    osw_nearest_try(&nearest, "abcdef", 6, "abcdxy");
    osw_nearest_try(&nearest, "abcdef", 6, "abcdey");
    osw_nearest_try(&nearest, "abcdef", 6, "abcdez");
    assert_string_equal(nearest.word, "abcdey");
    assert_int_equal(nearest.distance, 1);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_letter_in_three_may_be_wrong),
        cmocka_unit_test(what_is_far_away_or_no_word_is_near_to_nothing),
        cmocka_unit_test(only_so_much_of_the_text_counts),
        cmocka_unit_test(the_nearest_wins_and_then_the_first),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
