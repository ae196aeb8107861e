/* status: table of exit codes, and texts that stay one line. */
#include "status.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* From mild to grave; the documented numbers. */
static const int gravity[] = {0, 75, 1, 74, 69, 78, 64, 70};

#define CODES (sizeof gravity / sizeof gravity[0])

static void
table_lists_each_code_by_gravity(void **state)
{
    unsigned count = 0;
    const struct osw_exit_row *table = osw_exit_table(&count);

    (void)state;
    assert_int_equal(count, CODES);
    for (unsigned i = 0; i < count; i++) {
        assert_int_equal(table[i].code, gravity[i]);
        assert_true(strlen(table[i].meaning) > 0);
    }
}

static void
graver_follows_the_table(void **state)
{
    (void)state;
    for (size_t a = 0; a < CODES; a++) {
        for (size_t b = 0; b < CODES; b++) {
            assert_int_equal(osw_exit_graver((enum osw_exit)gravity[a],
                                             (enum osw_exit)gravity[b]),
                             gravity[a > b ? a : b]);
        }
    }
}

static void
a_code_beyond_the_table_is_gravest(void **state)
{
    (void)state;
    assert_int_equal(osw_exit_graver((enum osw_exit)99, OSW_EXIT_INTERNAL), 99);
    assert_int_equal(osw_exit_graver(OSW_EXIT_INTERNAL, (enum osw_exit)99), 99);
}

static void
list_is_code_tab_meaning(void **state)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);

    (void)state;
    assert_non_null(out);
    osw_exit_list(out);
    assert_int_equal(fclose(out), 0);
    assert_non_null(strstr(text, "\n64\twrong usage\n"));
    assert_non_null(strstr(text, "\n70\tinternal error\n"));
    free(text);
}

static void
error_set_fills_and_clears(void **state)
{
    struct osw_error error = {OSW_EXIT_OK, "42601", "old", "old hint"};

    (void)state;
    assert_false(osw_error_set(&error, OSW_EXIT_CONFIG, "no %s", "schema"));
    assert_int_equal(error.exit, OSW_EXIT_CONFIG);
    assert_string_equal(error.sqlstate, "");
    assert_string_equal(error.message, "no schema");
    assert_string_equal(error.hint, "");

    assert_false(osw_error_hint(&error, "run %s", "migrate"));
    assert_string_equal(error.message, "no schema");
    assert_string_equal(error.hint, "run migrate");
}

static void
error_may_quote_itself(void **state)
{
    struct osw_error error = OSW_ERROR_INIT;

    (void)state;
    (void)osw_error_set(&error, OSW_EXIT_CONFIG, "inner");
    (void)osw_error_hint(&error, "hint");
    (void)osw_error_set(
        &error, OSW_EXIT_CONFIG, "outer: %s, %s", error.message, error.hint);
    assert_string_equal(error.message, "outer: inner, hint");
}

static void
error_texts_stay_one_line(void **state)
{
    struct osw_error error = OSW_ERROR_INIT;

    (void)state;
    (void)osw_error_set(&error, OSW_EXIT_CONFIG, "a\nb\tc\x1b[31m\r\n");
    assert_string_equal(error.message, "a b c [31m");
    (void)osw_error_hint(&error, "x\ny\n");
    assert_string_equal(error.hint, "x y");
}

static void
long_error_texts_end_in_dots(void **state)
{
    struct osw_error error = OSW_ERROR_INIT;
    char text[3000];

    (void)state;
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';

    (void)osw_error_set(&error, OSW_EXIT_CONFIG, "%s", text);
    assert_int_equal(strlen(error.message), sizeof error.message - 1);
    assert_string_equal(error.message + sizeof error.message - 5, "x...");
    (void)osw_error_hint(&error, "%s", text);
    assert_int_equal(strlen(error.hint), sizeof error.hint - 1);
    assert_string_equal(error.hint + sizeof error.hint - 5, "x...");

    /* The longest text that fits whole. */
    text[sizeof error.message - 1] = '\0';
    (void)osw_error_set(&error, OSW_EXIT_CONFIG, "%s", text);
    assert_string_equal(error.message, text);
}

static void
what_lies_beyond_blanks_is_cut_with_dots(void **state)
{
    struct osw_error error = OSW_ERROR_INIT;

    (void)state;
    (void)osw_error_set(&error, OSW_EXIT_CONFIG, "x%9000sz", "");
    assert_int_equal(strlen(error.message), sizeof error.message - 1);
    assert_string_equal(error.message + sizeof error.message - 5, " ...");
    (void)osw_error_hint(&error, "x%1030sz", "");
    assert_int_equal(strlen(error.hint), sizeof error.hint - 1);
    assert_string_equal(error.hint + sizeof error.hint - 5, " ...");
    /* Where a line break makes the blanks one, it still is cut. */
    (void)osw_error_set(&error, OSW_EXIT_CONFIG, "x\n%9000sz", "");
    assert_string_equal(error.message, "x ...");
}

struct line_case {
    size_t size;
    const char *text;
    const char *expected;
};

static void
one_line_cuts_and_cleans(void **state)
{
    static const struct line_case cases[] = {
        {10, "", ""},
        {10, "   ", ""},
        {10, "\n", ""},
        {10, " a ", " a"},
        {10, "123456789", "123456789"},
        {10, "1234567890", "123456..."},
        {10, "123456789   \n", "123456789"},
        {10, "\x01\x1f\x7f!", " !"},
        {10, "a\xc2\x85z\xc2\x85\n\xc2\x85", "a z"},
        {10, "a\xe2\x80\xae z\xe2\x81\xa9 \xd8\x9c", "a z"},
        {10, "\xe2\x80\xa8!\xe2\x80", " !\xe2\x80"},
        /* Blanks are the text's own, but not those about a line break. */
        {10, "a  b", "a  b"},
        {10, "a \r\n\t b", "a b"},
        {10, "1\n\t\n45678\t9", "1 45678 9"},
        {10, "1\n\t\n45678\t90", "1 4567..."},
        {10, "1234567\n\n9", "1234567 9"},
        {10, "1234567\n\n90", "123456..."},
        {5, "12345", "1..."},
        {4, "1234", "123"},
        {1, "1234", ""},
        /* Two bytes a letter; none is cut in half. */
        {10,
         "\xc3\xa4\xc3\xb6\xc3\xbc\xc3\x9f",
         "\xc3\xa4\xc3\xb6\xc3\xbc\xc3\x9f"},
        {10,
         "\xc3\xa4\xc3\xb6\xc3\xbc\xc3\x9f!!",
         "\xc3\xa4\xc3\xb6\xc3\xbc..."},
        {10, "!\xc3\xa4\xc3\xb6\xc3\xbc\xc3\x9f!", "!\xc3\xa4\xc3\xb6..."},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char field[16];

        memset(field, '#', sizeof field);
        osw_one_line(field, cases[i].size, cases[i].text);
        assert_string_equal(field, cases[i].expected);
        assert_int_equal(field[cases[i].size], '#');
    }
}

static void
lines_of_libpq_become_one(void **state)
{
    static const char *const cases[][2] = {
        {"", ""},
        {"one\n", "one"},
        {"a failed: FATAL:  no role\n", "a failed: FATAL: no role"},
        {"no database \"a  b\"\n", "no database \"a  b\""},
        {"a failed: No such file\n\tIs the server running?\n"
         "b failed: FATAL:  no role\nc failed\n",
         "a failed: No such file; Is the server running? b failed: FATAL: no "
         "role; c failed"},
        {"closed unexpectedly\n\tThis probably means it terminated\n"
         "\tbefore or while processing.\n",
         "closed unexpectedly; This probably means it terminated before or "
         "while processing."},
        {"\n\n\t\n a\n\n", "a"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct osw_error error = {OSW_EXIT_OK, "42601", "old", "old hint"};

        assert_false(
            osw_error_set_lines(&error, OSW_EXIT_UNAVAILABLE, cases[i][0]));
        assert_string_equal(error.message, cases[i][1]);
        assert_int_equal(error.exit, OSW_EXIT_UNAVAILABLE);
        assert_string_equal(error.sqlstate, "");
        assert_string_equal(error.hint, "");
    }
}

static void
many_lines_end_in_dots(void **state)
{
    struct osw_error error = OSW_ERROR_INIT;
    char text[4000];

    (void)state;
    for (size_t i = 0; i < sizeof text - 1; i++) {
        text[i] = i % 10 == 9 ? '\n' : 'x';
    }
    text[sizeof text - 1] = '\0';
    (void)osw_error_set_lines(&error, OSW_EXIT_UNAVAILABLE, text);
    assert_int_equal(strlen(error.message), sizeof error.message - 1);
    assert_string_equal(error.message + sizeof error.message - 4, "...");
}

static void
one_line_leaves_a_field_of_no_size(void **state)
{
    char field[] = "#";

    (void)state;
    osw_one_line(field, 0, "text");
    assert_string_equal(field, "#");
}

static void
one_line_works_in_place(void **state)
{
    char field[] = "a\nb\n";

    (void)state;
    osw_one_line(field, sizeof field, field);
    assert_string_equal(field, "a b");
}

static void
secrets_are_masked(void **state)
{
    static const char *const cases[][2] = {
        {"postgresql://u:secret@h/db", "postgresql://*@h/db"},
        {"at postgres://u:sec@r/e:t@h:1/db, postgres://v:b@i",
         "at postgres://*@h:1/db, postgres://*@i"},
        {"\"postgresql://u:my secret@h\" is none, a@b",
         "\"postgresql://*@h\" is none, a@b"},
        {"at postgresql://u:sec\"ret@h:1 and a@b",
         "at postgresql://*@h:1 and a@b"},
        {"a \" b postgresql://u:sec\"ret@h", "a \" b postgresql://*@h"},
        {"password=sec\"ret a=b", "password=* a=b"},
        {"postgresql://u@h and mail a@b", "postgresql://*@h and mail a@b"},
        {"see https://h/x for a@b", "see https://h/x for a@b"},
        {"://@", "://@"},
        {"a://", "a://"},
        {"host=h password=secret port=1", "host=h password=* port=1"},
        {"PASSWORD = 'my secret' port=1", "PASSWORD = * port=1"},
        {"\"sslpassword=my secret\" a=b", "\"sslpassword=*\" a=b"},
        {"postgresql://h/db?password=secret&a=b",
         "postgresql://h/db?password=*"},
        {"password='never closed", "password=* closed"},
        {"password=", "password="},
        {"password password=a password = b",
         "password password=* password = *"},
        {"password authentication failed for user \"u\"",
         "password authentication failed for user \"u\""},
        {"password=\xc3\xa4 \xc3\xa4", "password=* \xc3\xa4"},
    };
    struct osw_error error = OSW_ERROR_INIT;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        (void)osw_error_set(&error, OSW_EXIT_USAGE, "%s", cases[i][0]);
        assert_string_equal(error.message, cases[i][1]);
        (void)osw_error_set(&error, OSW_EXIT_USAGE, "%s", error.message);
        assert_string_equal(error.message, cases[i][1]);
        (void)osw_error_set_lines(&error, OSW_EXIT_USAGE, cases[i][0]);
        assert_string_equal(error.message, cases[i][1]);
        (void)osw_error_hint(&error, "%s", cases[i][0]);
        assert_string_equal(error.hint, cases[i][1]);
    }
}

/* However much of it there is room for. */
static void
a_secret_that_is_cut_is_masked(void **state)
{
    static char text[6000];
    struct osw_error error = OSW_ERROR_INIT;

    (void)state;
    memset(text, 's', sizeof text - 1);
    memcpy(text, "password=", strlen("password="));
    (void)osw_error_set(&error, OSW_EXIT_USAGE, "%s", text);
    assert_string_equal(error.message, "password=*...");
    memcpy(text, "a://b:sss", strlen("a://b:sss"));
    memcpy(text + 3000, "@h", strlen("@h"));
    (void)osw_error_set(&error, OSW_EXIT_USAGE, "%s", text);
    assert_memory_equal(error.message, "a://*@hss", strlen("a://*@hss"));
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(table_lists_each_code_by_gravity),
        cmocka_unit_test(graver_follows_the_table),
        cmocka_unit_test(a_code_beyond_the_table_is_gravest),
        cmocka_unit_test(list_is_code_tab_meaning),
        cmocka_unit_test(error_set_fills_and_clears),
        cmocka_unit_test(error_may_quote_itself),
        cmocka_unit_test(error_texts_stay_one_line),
        cmocka_unit_test(long_error_texts_end_in_dots),
        cmocka_unit_test(what_lies_beyond_blanks_is_cut_with_dots),
        cmocka_unit_test(one_line_cuts_and_cleans),
        cmocka_unit_test(lines_of_libpq_become_one),
        cmocka_unit_test(many_lines_end_in_dots),
        cmocka_unit_test(one_line_leaves_a_field_of_no_size),
        cmocka_unit_test(one_line_works_in_place),
        cmocka_unit_test(secrets_are_masked),
        cmocka_unit_test(a_secret_that_is_cut_is_masked),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
