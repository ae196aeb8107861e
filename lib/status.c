#include "status.h"

#include <string.h>

/*
 * In order of gravity: what the next run mends by itself, then what somebody
 * must look at, then what kept the run from doing its work at all.
 */
static const struct osw_exit_row exit_rows[] = {
    {OSW_EXIT_OK,
     "done; also nothing to sweep, lock busy, time limit reached with a rest left"},
    {OSW_EXIT_TEMPORARY,
     "stopped by a signal; orders table locked; lock busy, with "
     "--fail-if-busy or a dead holder"},
    {OSW_EXIT_PARTIAL, "finished, but some orders failed or are unknown"},
    {OSW_EXIT_IO, "the report could not be written"},
    {OSW_EXIT_UNAVAILABLE, "database unreachable, lost, or not a primary"},
    {OSW_EXIT_CONFIG,
     "schema or definition missing or mismatched, or unknown sweep"},
    {OSW_EXIT_USAGE, "wrong usage"},
    {OSW_EXIT_INTERNAL, "internal error"},
};

#define EXIT_ROWS (sizeof exit_rows / sizeof exit_rows[0])

const struct osw_exit_row *
osw_exit_table(unsigned *count)
{
    *count = EXIT_ROWS;
    return exit_rows;
}

void
osw_exit_list(FILE *out)
{
    for (size_t i = 0; i < EXIT_ROWS; i++) {
        (void)fprintf(
            out, "%d\t%s\n", (int)exit_rows[i].code, exit_rows[i].meaning);
    }
}

/* A code that is not in the table is a fault of ours, hence the gravest. */
static size_t
exit_gravity(enum osw_exit code)
{
    size_t i = 0;

    while (i < EXIT_ROWS && exit_rows[i].code != code) {
        i++;
    }
    return i;
}

enum osw_exit
osw_exit_graver(enum osw_exit a, enum osw_exit b)
{
    return exit_gravity(a) >= exit_gravity(b) ? a : b;
}

static bool
is_control(char c)
{
    unsigned char byte = (unsigned char)c;

    return byte < 0x20 || byte == 0x7f;
}

/* The controls beyond ASCII, U+0080 to U+009F, are two bytes in UTF-8. */
static bool
is_wide_control(const char *text)
{
    return (unsigned char)text[0] == 0xc2U &&
           ((unsigned char)text[1] & 0xe0U) == 0x80U;
}

/* The length of the text without the blanks and controls at its end. */
static size_t
trimmed_length(const char *text)
{
    size_t length = strlen(text);

    while (length > 0) {
        if (is_control(text[length - 1]) || text[length - 1] == ' ') {
            length--;
        } else if (length > 1 && is_wide_control(text + length - 2)) {
            length -= 2;
        } else {
            break;
        }
    }
    return length;
}

/* The longest length up to limit at which no UTF-8 character is cut. */
static size_t
whole_characters(const char *text, size_t limit)
{
    while (limit > 0 && ((unsigned char)text[limit] & 0xc0U) == 0x80U) {
        limit--;
    }
    return limit;
}

void
osw_one_line(char *field, size_t size, const char *text)
{
    static const char dots[] = "...";
    size_t length = trimmed_length(text);
    bool cut = false;

    if (size == 0) {
        return;
    }
    if (length >= size) {
        cut = size > sizeof dots;
        length = whole_characters(text, size - (cut ? sizeof dots : 1));
    }
    for (size_t i = 0; i < length; i++) {
        bool wide = i + 1 < length && is_wide_control(text + i);

        field[i] = text[i];
        if (wide) {
            field[i++] = ' ';
        }
        if (wide || is_control(field[i])) {
            field[i] = ' ';
        }
    }
    field[length] = '\0';
    if (cut) {
        memcpy(field + length, dots, sizeof dots);
    }
}

void
osw_format_line(char *field, size_t size, const char *format, va_list arguments)
{
    /* Apart from the field: an argument may be the text that stands there. */
    char text[4096];
    int length = vsnprintf(text, sizeof text, format, arguments);

    if (length >= (int)sizeof text) {
        /* No blank at the end: the text counts as too long, and is cut. */
        text[sizeof text - 2] = '.';
    }
    osw_one_line(field, size, text);
}

bool
osw_error_set(struct osw_error *error,
              enum osw_exit exit,
              const char *format,
              ...)
{
    va_list arguments;

    va_start(arguments, format);
    osw_format_line(error->message, sizeof error->message, format, arguments);
    va_end(arguments);

    error->exit = exit;
    error->sqlstate[0] = '\0';
    error->hint[0] = '\0';
    return false;
}

bool
osw_error_hint(struct osw_error *error, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    osw_format_line(error->hint, sizeof error->hint, format, arguments);
    va_end(arguments);
    return false;
}
