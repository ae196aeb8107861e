/* log: what reaches stderr, byte by byte. */
#include "log.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

/* stderr goes to a file between begin_capture and end_capture. */
struct capture {
    FILE *file;
    int saved_fd;
    char text[8192];
};

static struct capture capture;

static int
begin_capture(void **state)
{
    (void)state;
    osw_log_set_level(OSW_LOG_WARNING);
    osw_log_set_format(OSW_LOG_TEXT);
    osw_log_set_target(OSW_LOG_STDERR);
    osw_log_set_run(NULL, NULL);
    capture.file = tmpfile();
    capture.saved_fd = dup(STDERR_FILENO);
    if (capture.file == NULL || capture.saved_fd < 0) {
        return -1;
    }
    return dup2(fileno(capture.file), STDERR_FILENO) < 0 ? -1 : 0;
}

static int
end_capture(void **state)
{
    (void)state;
    (void)dup2(capture.saved_fd, STDERR_FILENO);
    (void)close(capture.saved_fd);
    return fclose(capture.file);
}

/* What was written since the last call. */
static const char *
captured(void)
{
    size_t length = 0;

    rewind(capture.file);
    length = fread(capture.text, 1, sizeof capture.text - 1, capture.file);
    capture.text[length] = '\0';
    rewind(capture.file);
    assert_int_equal(ftruncate(fileno(capture.file), 0), 0);
    return capture.text;
}

static void
each_level_has_its_prefix(void **state)
{
    (void)state;
    osw_log_set_level(OSW_LOG_DEBUG);
    osw_log(OSW_LOG_ERROR, "one %d", 1);
    osw_log(OSW_LOG_WARNING, "two");
    osw_log(OSW_LOG_INFO, "three");
    osw_log(OSW_LOG_DEBUG, "four");
    assert_string_equal(captured(),
                        "order-sweep: one 1\n"
                        "order-sweep: warning: two\n"
                        "order-sweep: info: three\n"
                        "order-sweep: debug: four\n");
}

static void
warnings_are_on_and_infos_off_at_the_start(void **state)
{
    (void)state;
    assert_true(osw_log_enabled(OSW_LOG_ERROR));
    assert_true(osw_log_enabled(OSW_LOG_WARNING));
    assert_false(osw_log_enabled(OSW_LOG_INFO));
    osw_log(OSW_LOG_INFO, "unseen");
    osw_log(OSW_LOG_DEBUG, "unseen");
    assert_string_equal(captured(), "");
}

static void
errors_cannot_be_turned_off(void **state)
{
    (void)state;
    osw_log_set_level(OSW_LOG_ERROR);
    osw_log(OSW_LOG_WARNING, "unseen");
    osw_log(OSW_LOG_ERROR, "seen");
    assert_string_equal(captured(), "order-sweep: seen\n");
}

static void
a_message_is_one_line(void **state)
{
    (void)state;
    osw_log(OSW_LOG_ERROR, "a\nb\tc\x1b[1m\n");
    assert_string_equal(captured(), "order-sweep: a b c [1m\n");
}

static void
a_huge_message_is_cut_with_dots(void **state)
{
    char huge[6000];
    const char *text = NULL;

    (void)state;
    memset(huge, 'x', sizeof huge - 1);
    huge[sizeof huge - 1] = '\0';
    osw_log(OSW_LOG_ERROR, "%s", huge);
    text = captured();
    assert_true(strlen(text) < 2100);
    assert_string_equal(text + strlen(text) - 5, "x...\n");
}

static void
an_error_is_message_and_hint(void **state)
{
    struct osw_error error = OSW_ERROR_INIT;

    (void)state;
    (void)osw_error_set(&error, OSW_EXIT_CONFIG, "no schema");
    osw_log_error(NULL, &error);
    (void)osw_error_hint(&error, "run order-sweep migrate");
    osw_log_error(NULL, &error);
    assert_string_equal(captured(),
                        "order-sweep: no schema\n"
                        "order-sweep: no schema; run order-sweep migrate\n");
}

static void
an_error_of_full_size_is_written_whole(void **state)
{
    struct osw_error error = OSW_ERROR_INIT;
    size_t expected = strlen("order-sweep: ") + sizeof error.message - 1 +
                      strlen("; ") + sizeof error.hint - 1 + strlen("\n");

    (void)state;
    memset(error.message, 'm', sizeof error.message - 1);
    memset(error.hint, 'h', sizeof error.hint - 1);
    osw_log_error(NULL, &error);
    assert_int_equal(strlen(captured()), expected);
}

static void
a_message_of_a_sweep_names_it(void **state)
{
    struct osw_error error = OSW_ERROR_INIT;

    (void)state;
    osw_log_of(OSW_LOG_WARNING, "one", "%d orders", 2);
    (void)osw_error_set(&error, OSW_EXIT_CONFIG, "broken");
    osw_log_error("one", &error);
    assert_string_equal(captured(),
                        "order-sweep: warning: one: 2 orders\n"
                        "order-sweep: one: broken\n");
}

/* Those of the sweep that has the run, and those of none; no other's. */
static void
messages_carry_the_run_they_belong_to(void **state)
{
    struct osw_error error = OSW_ERROR_INIT;

    (void)state;
    (void)osw_error_set(&error, OSW_EXIT_CONFIG, "broken");
    osw_log_set_run("one", "12");
    osw_log(OSW_LOG_WARNING, "first");
    osw_log_of(OSW_LOG_WARNING, "one", "second");
    osw_log_of(OSW_LOG_ERROR, "one_more", "third");
    osw_log_error("one", &error);
    osw_log_set_run("one_more", "13");
    osw_log_of(OSW_LOG_ERROR, "one", "fourth");
    osw_log_of(OSW_LOG_ERROR, "one_more", "fifth");
    osw_log_set_run(NULL, NULL);
    osw_log(OSW_LOG_ERROR, "sixth");
    osw_log_of(OSW_LOG_ERROR, "one_more", "seventh");
    assert_string_equal(captured(),
                        "order-sweep: warning: run 12: first\n"
                        "order-sweep: warning: run 12: one: second\n"
                        "order-sweep: one_more: third\n"
                        "order-sweep: run 12: one: broken\n"
                        "order-sweep: one: fourth\n"
                        "order-sweep: run 13: one_more: fifth\n"
                        "order-sweep: sixth\n"
                        "order-sweep: one_more: seventh\n");
}

static void
secrets_are_masked(void **state)
{
    (void)state;
    osw_log_set_level(OSW_LOG_DEBUG);
    osw_log(OSW_LOG_DEBUG, "server: cannot reach postgresql://u:s3cret@h/db");
    osw_log_set_format(OSW_LOG_JSON);
    osw_log(OSW_LOG_DEBUG, "server: cannot reach \"password='a \"s3cret\"'\"");
    assert_null(strstr(captured(), "s3cret"));
}

/* What stands behind the time and the process in a line of JSON. */
static const char *
json_rest(const char *line)
{
    char time_text[32] = "";
    long pid = 0;
    int length = 0;
    struct tm utc = {0};
    int ms = -1;
    time_t moment = 0;

    assert_int_equal(sscanf(line,
                            "{\"time\":\"%31[^\"]\",\"level\":\"%*[a-z]\","
                            "\"pid\":%ld,%n",
                            time_text,
                            &pid,
                            &length),
                     2);
    assert_int_equal(pid, getpid());
    assert_int_equal(sscanf(time_text,
                            "%4d-%2d-%2dT%2d:%2d:%2d.%3dZ",
                            &utc.tm_year,
                            &utc.tm_mon,
                            &utc.tm_mday,
                            &utc.tm_hour,
                            &utc.tm_min,
                            &utc.tm_sec,
                            &ms),
                     7);
    assert_int_equal(strlen(time_text), strlen("2026-12-03T07:45:57.123Z"));
    utc.tm_year -= 1900;
    utc.tm_mon -= 1;
    moment = timegm(&utc);
    assert_in_range(time(NULL) - moment, 0, 60);
    return line + length;
}

static void
json_has_every_field_on_one_line(void **state)
{
    static const char *const levels[] = {"error", "warning", "info", "debug"};
    char expected[64];

    (void)state;
    osw_log_set_format(OSW_LOG_JSON);
    osw_log_set_level(OSW_LOG_DEBUG);
    for (int i = 0; i < 4; i++) {
        osw_log((enum osw_log_level)i, "one");
        (void)snprintf(
            expected, sizeof expected, "\"level\":\"%s\"", levels[i]);
        assert_non_null(strstr(captured(), expected));
    }
    osw_log(OSW_LOG_ERROR, "one");
    assert_string_equal(json_rest(captured()),
                        "\"run\":null,\"sweep\":null,\"message\":\"one\"}\n");
    osw_log_of(OSW_LOG_ERROR, "one", "broken");
    assert_string_equal(json_rest(captured()),
                        "\"run\":null,\"sweep\":\"one\","
                        "\"message\":\"broken\"}\n");
    osw_log_set_run("one", "12");
    osw_log_of(OSW_LOG_ERROR, "one", "a \"b\"\n\\ \xff");
    assert_string_equal(json_rest(captured()),
                        "\"run\":12,\"sweep\":\"one\","
                        "\"message\":\"a \\\"b\\\" \\\\ \\ufffd\"}\n");
    osw_log(OSW_LOG_ERROR, "its server");
    assert_string_equal(json_rest(captured()),
                        "\"run\":12,\"sweep\":\"one\","
                        "\"message\":\"its server\"}\n");
}

/* However long a text becomes as a string, the line does not. */
static void
a_line_of_json_has_its_limit(void **state)
{
    static const char fills[] = {'x', '"', '\xff'};
    char huge[6000];

    (void)state;
    osw_log_set_format(OSW_LOG_JSON);
    osw_log_set_run("one", "12");
    for (size_t i = 0; i < sizeof fills; i++) {
        const char *line = NULL;

        memset(huge, fills[i], sizeof huge - 1);
        huge[sizeof huge - 1] = '\0';
        osw_log(OSW_LOG_ERROR, "%s", huge);
        line = captured();
        assert_in_range(strlen(line), 1900, 2048);
        assert_string_equal(line + strlen(line) - 6, "...\"}\n");
    }
}

int
main(void)
{
#define LOG_TEST(name)                                                         \
    cmocka_unit_test_setup_teardown(name, begin_capture, end_capture)
    static const struct CMUnitTest tests[] = {
        LOG_TEST(each_level_has_its_prefix),
        LOG_TEST(warnings_are_on_and_infos_off_at_the_start),
        LOG_TEST(errors_cannot_be_turned_off),
        LOG_TEST(a_message_is_one_line),
        LOG_TEST(a_huge_message_is_cut_with_dots),
        LOG_TEST(an_error_is_message_and_hint),
        LOG_TEST(an_error_of_full_size_is_written_whole),
        LOG_TEST(a_message_of_a_sweep_names_it),
        LOG_TEST(messages_carry_the_run_they_belong_to),
        LOG_TEST(secrets_are_masked),
        LOG_TEST(json_has_every_field_on_one_line),
        LOG_TEST(a_line_of_json_has_its_limit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
