/* clock: time that is left until a deadline. */
#include "clock.h"

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void
time_never_runs_backwards(void **state)
{
    int64_t before = osw_clock_now_ms();

    (void)state;
    assert_true(before >= 0);
    for (int i = 0; i < 10000; i++) {
        int64_t now = osw_clock_now_ms();

        assert_true(now >= before);
        before = now;
    }
}

static void
nothing_is_left_after_the_deadline(void **state)
{
    (void)state;
    assert_int_equal(osw_clock_left_ms(osw_clock_now_ms()), 0);
    assert_int_equal(osw_clock_left_ms(0), 0);
    assert_int_equal(osw_clock_left_ms(-1), 0);
    assert_int_equal(osw_clock_left_ms(INT64_MIN), 0);
}

static void
what_is_left_never_exceeds_what_was_given(void **state)
{
    int left = osw_clock_left_ms(osw_clock_now_ms() + 3600000);

    (void)state;
    /* An hour, less whatever time a busy machine took for the call. */
    assert_in_range(left, 1, 3600000);
}

static void
what_is_left_fits_poll(void **state)
{
    (void)state;
    assert_int_equal(osw_clock_left_ms(INT64_MAX), INT_MAX);
    assert_int_equal(
        osw_clock_left_ms(osw_clock_now_ms() + 2 * (int64_t)INT_MAX), INT_MAX);
}

static void
a_wait_ends_at_the_deadline_at_the_latest(void **state)
{
    int64_t now_ms = osw_clock_now_ms();

    (void)state;
    assert_int_equal(osw_clock_until_ms(2000, now_ms + 1000), now_ms + 1000);
    assert_true(osw_clock_until_ms(2000, now_ms + 3600000) >= now_ms + 2000);
    assert_true(osw_clock_until_ms(2000, now_ms + 3600000) < now_ms + 3600000);
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(time_never_runs_backwards),
        cmocka_unit_test(nothing_is_left_after_the_deadline),
        cmocka_unit_test(what_is_left_never_exceeds_what_was_given),
        cmocka_unit_test(what_is_left_fits_poll),
        cmocka_unit_test(a_wait_ends_at_the_deadline_at_the_latest),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
