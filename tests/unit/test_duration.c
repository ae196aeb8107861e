/* duration: exact lengths, and every refusal with its whole text. */
#include "duration.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define SECOND INT64_C(1000)
#define MINUTE (60 * SECOND)
#define HOUR   (60 * MINUTE)
#define DAY    (24 * HOUR)

struct good_case {
    const char *text;
    int64_t ms;
};

static void
good_texts_have_exact_lengths(void **state)
{
    static const struct good_case cases[] = {
        {"1ms", 1},
        {"500ms", 500},
        {"90s", 90 * SECOND},
        {"30m", 30 * MINUTE},
        {"30 m", 30 * MINUTE},
        {"30  minutes", 30 * MINUTE},
        {"1h30m", 90 * MINUTE},
        {"1h 30m", 90 * MINUTE},
        {"1 hour 30 minutes", 90 * MINUTE},
        {"30m1h", 90 * MINUTE},
        {"1h0m", HOUR},
        {"0h1m", MINUTE},
        {"007s", 7 * SECOND},
        {"1d", DAY},
        {"7 days", 7 * DAY},
        {"2w", 14 * DAY},
        {"40000m", 40000 * MINUTE},      /* overflows 32 bits of ms */
        {"2147483647ms", 2147483647},    /* 2^31 - 1 */
        {"2147483648ms", 2147483648},    /* 2^31 */
        {"3650d", 3650 * DAY},           /* ten years */
        {"36525d", OSW_DURATION_MAX_MS}, /* the longest */
        {"3155760000000ms", OSW_DURATION_MAX_MS},
        {"36524d23h59m59s1000ms", OSW_DURATION_MAX_MS},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct osw_error error = OSW_ERROR_INIT;
        int64_t ms = -7;

        assert_true(osw_duration_parse(
            "--x", cases[i].text, 0, OSW_DURATION_MAX_MS, &ms, &error));
        assert_int_equal(ms, cases[i].ms);
        assert_string_equal(error.message, "");
    }
}

static void
every_unit_has_its_words(void **state)
{
    static const struct good_case units[] = {
        {"ms", 1},           {"msec", 1},         {"msecs", 1},
        {"millisecond", 1},  {"milliseconds", 1}, {"s", SECOND},
        {"sec", SECOND},     {"secs", SECOND},    {"second", SECOND},
        {"seconds", SECOND}, {"m", MINUTE},       {"min", MINUTE},
        {"mins", MINUTE},    {"minute", MINUTE},  {"minutes", MINUTE},
        {"h", HOUR},         {"hr", HOUR},        {"hrs", HOUR},
        {"hour", HOUR},      {"hours", HOUR},     {"d", DAY},
        {"day", DAY},        {"days", DAY},       {"w", 7 * DAY},
        {"week", 7 * DAY},   {"weeks", 7 * DAY},
    };

    (void)state;
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        struct osw_error error = OSW_ERROR_INIT;
        char text[32];
        int64_t ms = -7;

        (void)snprintf(text, sizeof text, "3 %s", units[i].text);
        assert_true(osw_duration_parse(
            "--x", text, 0, OSW_DURATION_MAX_MS, &ms, &error));
        assert_int_equal(ms, 3 * units[i].ms);
    }
}

struct bad_case {
    const char *text;
    const char *message; /* what follows: --window: "text" */
    const char *hint;
};

#define NO_NUMBER   "has no number where one is due"
#define GIVE_NUMBER "write a whole number and a unit, such as 30m"
#define SIGN        "has a sign"
#define NO_SIGN     "write the length alone, such as 30m"
#define FRACTION    "has a fraction"
#define NO_FRACTION "write whole numbers, such as 1h30m for 1.5h"
#define EDGE_BLANK  "begins or ends with a blank"
#define NO_BLANK    "leave the blank out"
#define VARIES      "has months or years, whose length varies"
#define GIVE_DAYS   "write days, such as 30d"
#define UNITS       "use ms, s, m, h, d or w"
#define TOO_LONG    "is too long"
#define AT_MOST     "write 36525d or less"
#define TOO_SHORT   "is too short"
#define AT_LEAST    "write 1s or more"

static const struct bad_case bad_cases[] = {
    {"30", "has no unit", "write 30s, 30m or 30h"},
    {"0", "has no unit", "write 0s, 0m or 0h"},
    {"30m30", "ends without a unit", "write 30s, 30m or 30h"},
    {"1h 30", "ends without a unit", "write 30s, 30m or 30h"},
    {"30-m", "has no unit", "write 30s, 30m or 30h"},

    {"", NO_NUMBER, GIVE_NUMBER},
    {"m", NO_NUMBER, GIVE_NUMBER},
    {"minutes", NO_NUMBER, GIVE_NUMBER},
    {"1h m", NO_NUMBER, GIVE_NUMBER},
    {"1h:30m", "has an unknown unit \"h:\"", UNITS},
    {":", NO_NUMBER, GIVE_NUMBER},
    {"'30m'", NO_NUMBER, GIVE_NUMBER},
    {"30m'", "has an unknown unit \"m'\"", UNITS},
    {"P30M", NO_NUMBER, GIVE_NUMBER},
    {".5h", NO_NUMBER, GIVE_NUMBER},
    {"\xc2\xa0"
     "30m",
     NO_NUMBER,
     GIVE_NUMBER},

    {"-1", SIGN, NO_SIGN},
    {"-1s", SIGN, NO_SIGN},
    {"+5m", SIGN, NO_SIGN},
    {"1h-5m", SIGN, NO_SIGN},
    {"1h +5m", SIGN, NO_SIGN},

    {"1.5h", FRACTION, NO_FRACTION},
    {"1,5h", FRACTION, NO_FRACTION},
    {"1h1.5m", FRACTION, NO_FRACTION},

    {" 30", EDGE_BLANK, NO_BLANK},
    {" 30m", EDGE_BLANK, NO_BLANK},
    {"30m ", EDGE_BLANK, NO_BLANK},
    {" ", EDGE_BLANK, NO_BLANK},

    {"1 month", VARIES, GIVE_DAYS},
    {"1mon", VARIES, GIVE_DAYS},
    {"2 years", VARIES, GIVE_DAYS},
    {"1y", VARIES, GIVE_DAYS},

    {"1e30", "has an unknown unit \"e\"", UNITS},
    {"30M", "has an unknown unit \"M\"", UNITS},
    {"30 Minutes", "has an unknown unit \"Minutes\"", UNITS},
    {"30x", "has an unknown unit \"x\"", UNITS},
    {"0x10m", "has an unknown unit \"x\"", UNITS},
    {"30\xc2\xb5s", "has an unknown unit \"\xc2\xb5s\"", UNITS},
    {"1 century", "has an unknown unit \"century\"", UNITS},
    {"30min.", "has an unknown unit \"min.\"", UNITS},

    {"36525d1ms", TOO_LONG, AT_MOST},
    {"36526d", TOO_LONG, AT_MOST},
    {"2147483648m", TOO_LONG, AT_MOST},
    {"99999999999999999d", TOO_LONG, AT_MOST},
    {"9223372036854775807ms", TOO_LONG, AT_MOST},
    {"9223372036854775808ms", TOO_LONG, AT_MOST},
    {"18446744073709551616ms", TOO_LONG, AT_MOST},
    {"18446744073709551617s", TOO_LONG, AT_MOST},
    {"340282366920938463463374607431768211457s", TOO_LONG, AT_MOST},
    {"36525d36525d", TOO_LONG, AT_MOST},

    {"0s", TOO_SHORT, AT_LEAST},
    {"0d0h0m", TOO_SHORT, AT_LEAST},
    {"999ms", TOO_SHORT, AT_LEAST},
};

static void
bad_texts_are_refused_with_the_mend(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof bad_cases / sizeof bad_cases[0]; i++) {
        const struct bad_case *bad = &bad_cases[i];
        struct osw_error error = OSW_ERROR_INIT;
        char message[200];
        int64_t ms = -7;

        (void)snprintf(message,
                       sizeof message,
                       "--window: \"%s\" %s",
                       bad->text,
                       bad->message);
        assert_false(osw_duration_parse(
            "--window", bad->text, SECOND, OSW_DURATION_MAX_MS, &ms, &error));
        assert_string_equal(error.message, message);
        assert_string_equal(error.hint, bad->hint);
        assert_int_equal(error.exit, OSW_EXIT_USAGE);
        assert_int_equal(ms, -7);
    }
}

static void
control_characters_do_not_break_the_message(void **state)
{
    struct osw_error error = OSW_ERROR_INIT;
    int64_t ms = 0;

    (void)state;
    assert_false(osw_duration_parse("--x", "30\nm", 0, DAY, &ms, &error));
    assert_string_equal(error.message,
                        "--x: \"30 m\" has an unknown unit \" m\"");
}

static void
a_huge_text_keeps_the_mend(void **state)
{
    struct osw_error error = OSW_ERROR_INIT;
    char text[5000];
    int64_t ms = 0;

    (void)state;
    memset(text, '9', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    text[sizeof text - 2] = 'd';
    assert_false(osw_duration_parse("--x", text, 0, DAY, &ms, &error));
    assert_string_equal(error.hint, "write 1d or less");
}

static void
the_bounds_belong_to_the_range(void **state)
{
    struct osw_error error = OSW_ERROR_INIT;
    int64_t ms = 0;

    (void)state;
    assert_true(osw_duration_parse("--x", "1s", SECOND, DAY, &ms, &error));
    assert_true(osw_duration_parse("--x", "1d", SECOND, DAY, &ms, &error));
    assert_false(osw_duration_parse("--x", "999ms", SECOND, DAY, &ms, &error));
    assert_false(osw_duration_parse("--x", "1d1ms", SECOND, DAY, &ms, &error));
    assert_string_equal(error.hint, "write 1d or less");
    assert_int_equal(ms, DAY);
}

static void
lengths_are_written_as_they_are_read(void **state)
{
    static const struct good_case cases[] = {
        {"0s", 0},
        {"1ms", 1},
        {"1s1ms", SECOND + 1},
        {"45s", 45 * SECOND},
        {"1m", MINUTE},
        {"1h30m", 90 * MINUTE},
        {"1d", DAY},
        {"1d7s", DAY + 7 * SECOND},
        {"36525d", OSW_DURATION_MAX_MS},
        {"36524d23h59m59s999ms", OSW_DURATION_MAX_MS - 1},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct osw_error error = OSW_ERROR_INIT;
        char text[OSW_DURATION_TEXT_SIZE];
        int64_t ms = -7;

        osw_duration_format(cases[i].ms, text, sizeof text);
        assert_string_equal(text, cases[i].text);
        assert_true(osw_duration_parse(
            "--x", text, 0, OSW_DURATION_MAX_MS, &ms, &error));
        assert_int_equal(ms, cases[i].ms);
    }
}

static void
any_length_fits_the_promised_size(void **state)
{
    char text[OSW_DURATION_TEXT_SIZE];

    (void)state;
    osw_duration_format(INT64_MAX, text, sizeof text);
    assert_string_equal(text, "106751991167d7h12m55s807ms");
    /* A smaller field is cut, never overrun. */
    memset(text, '#', sizeof text);
    osw_duration_format(90 * MINUTE, text, 4);
    assert_int_equal(text[4], '#');
    assert_true(strlen(text) < 4);
}

static void
lengths_are_said_in_two_units_at_most(void **state)
{
    static const struct good_case cases[] = {
        {"0 ms", 0},
        {"999 ms", SECOND - 1},
        {"1.0 s", SECOND},
        {"9.9 s", 10 * SECOND - 1},
        {"10 s", 10 * SECOND},
        {"59 s", MINUTE - 1},
        {"1 min", MINUTE},
        {"1 min 1 s", MINUTE + SECOND},
        {"59 min 59 s", HOUR - 1},
        {"1 h", HOUR + 59 * SECOND},
        {"2 h 5 min", 2 * HOUR + 5 * MINUTE},
        {"1 day", DAY + 59 * MINUTE},
        {"1 day 1 h", DAY + HOUR},
        {"3 days 23 h", 4 * DAY - 1},
        {"36525 days", OSW_DURATION_MAX_MS},
    };
    char text[OSW_DURATION_TEXT_SIZE];

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        osw_duration_say(cases[i].ms, text, sizeof text);
        assert_string_equal(text, cases[i].text);
    }
    osw_duration_say(INT64_MAX, text, sizeof text);
    assert_string_equal(text, "106751991167 days 7 h");
    for (size_t size = 1; size < 12; size++) {
        memset(text, '#', sizeof text);
        osw_duration_say(2 * HOUR + 5 * MINUTE, text, size);
        assert_true(strlen(text) < size);
        assert_int_equal(text[size], '#');
    }
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(good_texts_have_exact_lengths),
        cmocka_unit_test(every_unit_has_its_words),
        cmocka_unit_test(bad_texts_are_refused_with_the_mend),
        cmocka_unit_test(control_characters_do_not_break_the_message),
        cmocka_unit_test(a_huge_text_keeps_the_mend),
        cmocka_unit_test(the_bounds_belong_to_the_range),
        cmocka_unit_test(lengths_are_written_as_they_are_read),
        cmocka_unit_test(any_length_fits_the_promised_size),
        cmocka_unit_test(lengths_are_said_in_two_units_at_most),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
