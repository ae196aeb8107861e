/* report: whole lines of text and JSON, byte by byte. */
#include "report.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* A file to write to, and what stood in it at the last look. */
struct page {
    FILE *out;
    char text[1024];
};

static struct page page;

static int
set_up(void **state)
{
    *state = &page;
    page.out = tmpfile();
    return page.out != NULL ? 0 : -1;
}

static int
tear_down(void **state)
{
    (void)state;
    return fclose(page.out);
}

/* What was written since the last call. */
static const char *
written(struct page *p)
{
    size_t length = 0;

    rewind(p->out);
    length = fread(p->text, 1, sizeof p->text - 1, p->out);
    p->text[length] = '\0';
    rewind(p->out);
    assert_int_equal(ftruncate(fileno(p->out), 0), 0);
    return p->text;
}

static struct osw_report
full_report(void)
{
    return (struct osw_report){
        .sweep = "cancel_unpaid",
        .run_id = "42",
        .stopped = "time limit",
        .rest = true,
        .counts = {[OSW_OUTCOME_SWEPT] = 9000,
                   [OSW_OUTCOME_KEPT] = 2,
                   [OSW_OUTCOME_LOCKED] = 3,
                   [OSW_OUTCOME_CHANGED] = 4,
                   [OSW_OUTCOME_GONE] = 5,
                   [OSW_OUTCOME_FAILED] = 6,
                   [OSW_OUTCOME_UNKNOWN] = 7},
        .elapsed_ms = 45007,
        .exit = OSW_EXIT_PARTIAL,
    };
}

static void
assert_report(struct page *p,
              enum osw_report_format format,
              const struct osw_report *report,
              const char *expected)
{
    osw_report_write(p->out, format, report);
    assert_string_equal(written(p), expected);
}

static void
no_format_writes_nothing(void **state)
{
    struct page *p = *state;
    struct osw_report report = full_report();

    osw_report_write(p->out, OSW_REPORT_NONE, &report);
    assert_string_equal(written(p), "");
}

static void
text_has_every_outcome_that_occurred(void **state)
{
    struct osw_report report = full_report();

    assert_report(*state,
                  OSW_REPORT_TEXT,
                  &report,
                  "cancel_unpaid: 9000 swept, 2 kept, 3 locked, 4 changed, "
                  "5 gone, 6 failed, 7 unknown in 45.007 s (199/s); "
                  "time limit, a rest is left\n");
}

static void
text_leaves_out_what_did_not_occur(void **state)
{
    struct osw_report report = {
        .sweep = "remind", .run_id = "1", .stopped = "done", .elapsed_ms = 12};

    assert_report(
        *state, OSW_REPORT_TEXT, &report, "remind: 0 swept in 0.012 s; done\n");
}

static void
text_tells_no_rate_of_a_run_that_took_no_time(void **state)
{
    struct osw_report report = {.sweep = "remind",
                                .run_id = "1",
                                .stopped = "done",
                                .counts = {[OSW_OUTCOME_SWEPT] = 3}};

    assert_report(
        *state, OSW_REPORT_TEXT, &report, "remind: 3 swept in 0.000 s; done\n");
}

static void
text_of_a_sweep_that_was_not_run_is_the_reason(void **state)
{
    struct osw_report report = {.sweep = "remind",
                                .stopped = "nothing to sweep"};

    assert_report(
        *state, OSW_REPORT_TEXT, &report, "remind: nothing to sweep\n");
    report.next_deadline = "2024-02-29 12:00:00+00";
    assert_report(*state,
                  OSW_REPORT_TEXT,
                  &report,
                  "remind: nothing to sweep; next deadline "
                  "2024-02-29 12:00:00+00\n");
}

static void
json_has_every_field_on_one_line(void **state)
{
    struct osw_report report = full_report();

    report.next_deadline = "2024-02-29T12:00:00Z";
    report.error = "the server is away";
    assert_report(*state,
                  OSW_REPORT_JSON,
                  &report,
                  "{\"sweep\":\"cancel_unpaid\",\"run\":42,"
                  "\"stopped\":\"time limit\",\"rest\":true,"
                  "\"swept\":9000,\"kept\":2,\"locked\":3,\"changed\":4,"
                  "\"gone\":5,\"failed\":6,\"unknown\":7,\"late_p50\":null,"
                  "\"late_p99\":null,\"late_max\":null,"
                  "\"seconds\":45.007,"
                  "\"next_deadline\":\"2024-02-29T12:00:00Z\","
                  "\"exit\":1,\"error\":\"the server is away\"}\n");
}

static void
json_of_a_sweep_that_was_not_run_has_the_same_fields(void **state)
{
    struct osw_report report = {
        .sweep = "remind", .stopped = "busy", .exit = OSW_EXIT_TEMPORARY};

    assert_report(*state,
                  OSW_REPORT_JSON,
                  &report,
                  "{\"sweep\":\"remind\",\"run\":null,"
                  "\"stopped\":\"busy\",\"rest\":false,"
                  "\"swept\":0,\"kept\":0,\"locked\":0,\"changed\":0,"
                  "\"gone\":0,\"failed\":0,\"unknown\":0,\"late_p50\":null,"
                  "\"late_p99\":null,\"late_max\":null,"
                  "\"seconds\":0.000,\"next_deadline\":null,"
                  "\"exit\":75,\"error\":null}\n");
}

static void
json_escapes_an_error_of_the_server(void **state)
{
    struct osw_report report = {
        .sweep = "remind",
        .run_id = "1",
        .stopped = "broken",
        .exit = OSW_EXIT_CONFIG,
        .error = "column \"o.paid\" does not exist: E'\\x41'\n"
                 "Zeile f\xc3\xbcnf"};

    assert_report(*state,
                  OSW_REPORT_JSON,
                  &report,
                  "{\"sweep\":\"remind\",\"run\":1,"
                  "\"stopped\":\"broken\",\"rest\":false,"
                  "\"swept\":0,\"kept\":0,\"locked\":0,\"changed\":0,"
                  "\"gone\":0,\"failed\":0,\"unknown\":0,\"late_p50\":null,"
                  "\"late_p99\":null,\"late_max\":null,"
                  "\"seconds\":0.000,\"next_deadline\":null,"
                  "\"exit\":78,\"error\":\"column \\\"o.paid\\\" does not "
                  "exist: E'\\\\x41'\\u000aZeile f\xc3\xbcnf\"}\n");
}

struct text_case {
    const char *text;
    const char *written;
    int columns;
};

static void
a_terminal_gets_no_control_characters(void **state)
{
    static const struct text_case cases[] = {
        {"[4711, \"a\"]", "[4711, \"a\"]", 11},
        {"\x1b[2J", "?[2J", 4},
        {"a\tb\nc\x7f", "a?b?c?", 6},
        {" ~", " ~", 2},
        {"1\xe2\x80\xae 2\xe2\x81\xa6", "1? 2?", 5},
        {"\xe2\x80\x8e\xe2\x80\x8f\xd8\x9c\xe2\x80\xa8\xe2\x81\xa9\xc2\x9f",
         "??????",
         6},
        /* their neighbours */
        {"\xe2\x80\x8d\xe2\x80\x90\xe2\x80\xa7\xe2\x80\xaf\xd8\x9b\xc2\xa0",
         "\xe2\x80\x8d\xe2\x80\x90\xe2\x80\xa7\xe2\x80\xaf\xd8\x9b\xc2\xa0",
         6},
        {"\xe2\x81\xa5\xe2\x81\xaa", "\xe2\x81\xa5\xe2\x81\xaa", 2},
        {"\xe2", "\xe2", 1},
        {"\xe2\x80", "\xe2\x80", 1},
        {"\xc3\xa4\xe2\x82\xac\xf0\x9f\x9b\x92",
         "\xc3\xa4\xe2\x82\xac\xf0\x9f\x9b\x92",
         3},
    };
    struct page *p = *state;

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(osw_report_plain(p->out, cases[i].text),
                         cases[i].columns);
        assert_string_equal(written(p), cases[i].written);
    }
    assert_int_equal(osw_report_plain(p->out, ""), 0);
}

static void
lines_keep_their_breaks_and_are_indented(void **state)
{
    struct page *p = *state;

    osw_report_lines(p->out, "a\nb\tc\n\n\xc3\xa4\xc2\x85", 2);
    assert_string_equal(written(p), "a\n  b?c\n  \n  \xc3\xa4?");
}

static void
a_failed_write_shows_in_the_stream(void **state)
{
    struct osw_report report = full_report();
    FILE *full = fopen("/dev/full", "w");

    (void)state;
    assert_non_null(full);
    osw_report_write(full, OSW_REPORT_JSON, &report);
    (void)fflush(full);
    assert_int_not_equal(ferror(full), 0);
    (void)fclose(full);
}

int
main(void)
{
#define REPORT_TEST(name)                                                      \
    cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    static const struct CMUnitTest tests[] = {
        REPORT_TEST(no_format_writes_nothing),
        REPORT_TEST(text_has_every_outcome_that_occurred),
        REPORT_TEST(text_leaves_out_what_did_not_occur),
        REPORT_TEST(text_tells_no_rate_of_a_run_that_took_no_time),
        REPORT_TEST(text_of_a_sweep_that_was_not_run_is_the_reason),
        REPORT_TEST(json_has_every_field_on_one_line),
        REPORT_TEST(json_of_a_sweep_that_was_not_run_has_the_same_fields),
        REPORT_TEST(json_escapes_an_error_of_the_server),
        REPORT_TEST(a_terminal_gets_no_control_characters),
        REPORT_TEST(lines_keep_their_breaks_and_are_indented),
        REPORT_TEST(a_failed_write_shows_in_the_stream),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
