/* lateness: how late the orders of a run were, in buckets. */
#include "lateness.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static struct osw_lateness lateness;

static int
set_up(void **state)
{
    (void)state;
    memset(&lateness, 0, sizeof lateness);
    return 0;
}

static void
nothing_counted_is_no_time(void **state)
{
    (void)state;
    assert_int_equal(osw_lateness_percentile(&lateness, 50), 0);
    assert_int_equal(osw_lateness_percentile(&lateness, 100), 0);
}

static void
small_ones_are_exact(void **state)
{
    (void)state;
    for (int ms = 1; ms <= 50; ms++) {
        osw_lateness_add(&lateness, ms);
    }
    assert_int_equal(lateness.count, 50);
    assert_int_equal(osw_lateness_percentile(&lateness, 50), 25);
    assert_int_equal(osw_lateness_percentile(&lateness, 99), 50);
    assert_int_equal(osw_lateness_percentile(&lateness, 100), 50);
}

/* 99 of 100 were punctual: only the last percent is not. */
static void
a_percentile_is_the_first_that_has_so_many(void **state)
{
    (void)state;
    for (int i = 0; i < 99; i++) {
        osw_lateness_add(&lateness, 2);
    }
    osw_lateness_add(&lateness, 5000);
    assert_int_equal(osw_lateness_percentile(&lateness, 99), 2);
    assert_int_equal(osw_lateness_percentile(&lateness, 100), 5000);
    osw_lateness_add(&lateness, 5000);
    assert_int_equal(osw_lateness_percentile(&lateness, 99), 5000);
}

/* Each value alone: never less than it was, and at most a 32nd more. */
static void
none_is_told_as_less_than_it_was(void **state)
{
    (void)state;
    for (int64_t ms = 1; ms < INT64_C(1) << 39; ms += ms / 7 + 1) {
        int64_t told = 0;

        memset(&lateness, 0, sizeof lateness);
        osw_lateness_add(&lateness, ms);
        /* One that is later, so that the maximum does not tell. */
        osw_lateness_add(&lateness, ms * 2);
        told = osw_lateness_percentile(&lateness, 50);
        assert_true(told >= ms);
        assert_true(told <= ms + ms / 32);
    }
}

static void
what_cannot_be_is_taken_for_the_nearest(void **state)
{
    (void)state;
    osw_lateness_add(&lateness, -7);
    assert_int_equal(osw_lateness_percentile(&lateness, 100), 0);
    osw_lateness_add(&lateness, INT64_MAX);
    assert_int_equal(osw_lateness_percentile(&lateness, 100),
                     (INT64_C(1) << OSW_LATENESS_BITS) - 1);
}

static void
merged_is_as_counted_together(void **state)
{
    struct osw_lateness one;
    struct osw_lateness other;

    (void)state;
    memset(&one, 0, sizeof one);
    memset(&other, 0, sizeof other);
    for (int ms = 0; ms < 3000; ms += 7) {
        osw_lateness_add(ms % 2 == 0 ? &one : &other, ms);
        osw_lateness_add(&lateness, ms);
    }
    osw_lateness_merge(&one, &other);
    assert_memory_equal(&one, &lateness, sizeof one);
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(nothing_counted_is_no_time, set_up),
        cmocka_unit_test_setup(small_ones_are_exact, set_up),
        cmocka_unit_test_setup(a_percentile_is_the_first_that_has_so_many,
                               set_up),
        cmocka_unit_test_setup(none_is_told_as_less_than_it_was, set_up),
        cmocka_unit_test_setup(what_cannot_be_is_taken_for_the_nearest, set_up),
        cmocka_unit_test_setup(merged_is_as_counted_together, set_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
