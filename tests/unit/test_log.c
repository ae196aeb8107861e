/* log: what reaches stderr, byte by byte. */
#include "log.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
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
    osw_log_error(&error);
    (void)osw_error_hint(&error, "run order-sweep migrate");
    osw_log_error(&error);
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
    osw_log_error(&error);
    assert_int_equal(strlen(captured()), expected);
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
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
