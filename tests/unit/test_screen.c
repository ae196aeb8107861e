/* screen: text that fits the terminal it goes to. */
#include "screen.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

static char *text;
static size_t size;

/* A screen of so many columns (0: no terminal), which writes to text. */
static struct osw_screen
open_screen(int columns)
{
    struct osw_screen screen = {.columns = columns};

    screen.out = open_memstream(&text, &size);
    assert_non_null(screen.out);
    return screen;
}

static void
expect(const struct osw_screen *screen, const char *expected)
{
    assert_int_equal(fclose(screen->out), 0);
    assert_string_equal(text, expected);
    free(text);
}

static void
widths_are_those_of_a_terminal(void **state)
{
    static const struct {
        const char *text;
        int width;
    } cases[] = {
        {"", 0},
        {"abc", 3},
        {"\303\251t\303\251", 3},        /* é, precomposed */
        {"e\314\201", 1},                /* e and a combining accent */
        {"\346\224\257\344\273\230", 4}, /* two wide characters */
        {"\377\376", 2},                 /* no UTF-8: a column a byte */
        {"\346\224", 2},                 /* cut short */
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(osw_screen_width(cases[i].text), cases[i].width);
    }
}

static void
a_field_without_a_terminal_is_one_line(void **state)
{
    struct osw_screen screen = open_screen(0);

    (void)state;
    osw_screen_field(&screen, OSW_RED, "kept", "a  b c");
    expect(&screen, "  kept           a  b c\n");
}

static void
a_field_breaks_between_words(void **state)
{
    struct osw_screen screen = open_screen(OSW_SCREEN_LABEL + 10);

    (void)state;
    osw_screen_field(&screen, OSW_PLAIN, "kept", "12345 7890 2345 7890 x");
    expect(&screen,
           "  kept           12345 7890\n"
           "                 2345 7890\n"
           "                 x\n");
}

static void
a_word_longer_than_a_line_is_broken(void **state)
{
    struct osw_screen screen = open_screen(OSW_SCREEN_LABEL + 5);

    (void)state;
    /* The second one is of wide characters, of which two fit. */
    osw_screen_field(&screen,
                     OSW_PLAIN,
                     "kept",
                     "1234567 \346\224\257\346\224\257\346\224\257");
    expect(&screen,
           "  kept           12345\n"
           "                 67\n"
           "                 \346\224\257\346\224\257\n"
           "                 \346\224\257\n");
}

static void
a_line_goes_on_indented(void **state)
{
    struct osw_screen screen = open_screen(12);

    (void)state;
    osw_screen_line(&screen, "1234567890 12345678 x");
    expect(&screen, "  1234567890\n    12345678\n    x\n");
}

static void
a_cell_has_its_width(void **state)
{
    struct osw_screen screen = open_screen(80);

    (void)state;
    osw_screen_cell(&screen, 5, false, "abc");
    osw_screen_cell(&screen, 5, false, "12345");
    osw_screen_cell(&screen, 5, false, "123456");
    /* One of them fits before the dots, and a column is left. */
    osw_screen_cell(&screen, 6, false, "\346\224\257\346\224\257\346\224\257x");
    osw_screen_cell(&screen, 6, true, "abc");
    expect(&screen, "abc  1234512...\346\224\257... abc");
}

static void
colours_are_for_terminals(void **state)
{
    struct osw_screen screen = open_screen(80);

    (void)state;
    osw_screen_write(&screen, OSW_RED, "a");
    screen.colours = true;
    osw_screen_write(&screen, OSW_RED, "b");
    osw_screen_write(&screen, OSW_PLAIN, "c");
    expect(&screen, "a\033[31mb\033[0mc");
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(widths_are_those_of_a_terminal),
        cmocka_unit_test(a_field_without_a_terminal_is_one_line),
        cmocka_unit_test(a_field_breaks_between_words),
        cmocka_unit_test(a_word_longer_than_a_line_is_broken),
        cmocka_unit_test(a_line_goes_on_indented),
        cmocka_unit_test(a_cell_has_its_width),
        cmocka_unit_test(colours_are_for_terminals),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
