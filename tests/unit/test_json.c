/* json: texts as JSON strings, byte by byte. */
#include "json.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct string_case {
    const char *text;
    const char *written;
};

static void
assert_written(const struct string_case *one)
{
    char *written = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&written, &size);

    assert_non_null(out);
    osw_json_string(out, one->text);
    assert_int_equal(fclose(out), 0);
    assert_string_equal(written, one->written);
    free(written);
}

static void
json_strings_are_quoted_and_escaped(void **state)
{
    static const struct string_case cases[] = {
        {NULL, "null"},
        {"", "\"\""},
        {"plain / text", "\"plain / text\""},
        {"\"", "\"\\\"\""},
        {"\\", "\"\\\\\""},
        {"\\u0041", "\"\\\\u0041\""},
        {"\t\r\n\b\f", "\"\\u0009\\u000d\\u000a\\u0008\\u000c\""},
        {"\x01\x1f", "\"\\u0001\\u001f\""},
        {" \x7f", "\" \x7f\""}, /* JSON allows it */
        {"\xc3\xa4\xe2\x82\xac\xf0\x9f\x9b\x92",
         "\"\xc3\xa4\xe2\x82\xac\xf0\x9f\x9b\x92\""},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_written(&cases[i]);
    }
}

/* Each byte that is no UTF-8 is replaced, and no other. */
static void
json_is_utf8_whatever_goes_in(void **state)
{
    static const struct string_case cases[] = {
        {"a\x80z", "\"a\\ufffdz\""},
        {"\xff\xfe", "\"\\ufffd\\ufffd\""},
        {"f\xfcnf", "\"f\\ufffdnf\""},                 /* Latin-1 */
        {"\xc3", "\"\\ufffd\""},                       /* cut short */
        {"\xe2\x82", "\"\\ufffd\\ufffd\""},            /* cut short */
        {"\xe2\x82\"", "\"\\ufffd\\ufffd\\\"\""},      /* cut short */
        {"\xf0\x9f\x9b", "\"\\ufffd\\ufffd\\ufffd\""}, /* cut short */
        {"\xc1\xbf", "\"\\ufffd\\ufffd\""},            /* too long */
        {"\xe0\x9f\xbf", "\"\\ufffd\\ufffd\\ufffd\""}, /* too long */
        {"\xed\xa0\x80", "\"\\ufffd\\ufffd\\ufffd\""}, /* surrogate */
        {"\xf0\x8f\xbf\xbf", "\"\\ufffd\\ufffd\\ufffd\\ufffd\""},
        {"\xf4\x90\x80\x80", "\"\\ufffd\\ufffd\\ufffd\\ufffd\""},
        {"\xf5\x80\x80\x80", "\"\\ufffd\\ufffd\\ufffd\\ufffd\""},
        /* The first and the last of each length. */
        {"\xc2\x80\xdf\xbf", "\"\xc2\x80\xdf\xbf\""},
        {"\xe0\xa0\x80\xed\x9f\xbf", "\"\xe0\xa0\x80\xed\x9f\xbf\""},
        {"\xee\x80\x80\xef\xbf\xbf", "\"\xee\x80\x80\xef\xbf\xbf\""},
        {"\xf0\x90\x80\x80\xf4\x8f\xbf\xbf",
         "\"\xf0\x90\x80\x80\xf4\x8f\xbf\xbf\""},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_written(&cases[i]);
        assert_int_equal(osw_json_is_utf8(cases[i].text),
                         strstr(cases[i].written, "ufffd") == NULL);
    }
}

struct field_case {
    size_t size;
    const char *text;
    const char *written;
};

/* With the byte behind it, which stays as it was. */
static void
a_field_ends_in_dots_where_there_is_no_room(void **state)
{
    static const struct field_case cases[] = {
        {7, "abcd", "\"abcd\""},
        {7, "abcde", "\"a...\""},
        {6, "abcd", "\"...\""},
        {6, "", "\"\""},
        {8, "a\"bc", "\"a\\\"bc\""},
        {8, "a\"bcd", "\"a...\""}, /* not within an escape */
        {9, "a\"bcde", "\"a\\\"...\""},
        {8, "\xe2\x82\xac\xe2\x82\xac", "\"...\""}, /* nor a character */
        {9, "\xe2\x82\xac\xe2\x82\xac", "\"\xe2\x82\xac\xe2\x82\xac\""},
        {14, "a\xff\xff", "\"a\\ufffd...\""},
        {16, "a\xff\xff", "\"a\\ufffd\\ufffd\""},
    };
    char field[32];

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct field_case *c = &cases[i];

        field[c->size] = '#';
        assert_int_equal(osw_json_field(field, c->size, c->text),
                         strlen(c->written));
        assert_string_equal(field, c->written);
        assert_int_equal(field[c->size], '#');
    }
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(json_strings_are_quoted_and_escaped),
        cmocka_unit_test(json_is_utf8_whatever_goes_in),
        cmocka_unit_test(a_field_ends_in_dots_where_there_is_no_room),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
