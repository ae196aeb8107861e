#include "status.h"

#include <string.h>

#include <bsd/string.h>

/*
 * In order of gravity: what the next run mends by itself, then what somebody
 * must look at, then what kept the run from doing its work at all.
 */
static const struct osw_exit_row exit_rows[] = {
    {OSW_EXIT_OK,
     "done; also nothing to sweep, lock busy, time limit reached with a rest "
     "left"},
    {OSW_EXIT_TEMPORARY,
     "stopped by a signal; orders table locked; a look that took too long or "
     "met a deadlock; lock busy, with --fail-if-busy or a dead holder"},
    {OSW_EXIT_PARTIAL, "finished, but some orders failed or are unknown"},
    {OSW_EXIT_IO, "the report or the metrics could not be written"},
    {OSW_EXIT_UNAVAILABLE, "database unreachable, lost, or not a primary"},
    {OSW_EXIT_CONFIG,
     "schema or definition missing or mismatched, or unknown sweep; "
     "no sweep with events for relay; "
     "transactions not read committed behind a pooler"},
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

/* What turns or breaks a line, in UTF-8: U+200E and U+200F, U+2028 to U+202E,
 * U+2066 to U+2069. */
static bool
is_long_control(const unsigned char *bytes)
{
    return bytes[0] == 0xe2 &&
           ((bytes[1] == 0x80 && (bytes[2] == 0x8e || bytes[2] == 0x8f ||
                                  (bytes[2] >= 0xa8 && bytes[2] <= 0xae))) ||
            (bytes[1] == 0x81 && bytes[2] >= 0xa6 && bytes[2] <= 0xa9));
}

size_t
osw_control_length(const char *text)
{
    const unsigned char *bytes = (const unsigned char *)text;

    if (bytes[0] < 0x20 || bytes[0] == 0x7f) {
        return bytes[0] != '\0' ? 1 : 0;
    }
    /* U+0080 to U+009F, U+061C */
    if ((bytes[0] == 0xc2 && (bytes[1] & 0xe0U) == 0x80U) ||
        (bytes[0] == 0xd8 && bytes[1] == 0x9c)) {
        return 2;
    }
    return is_long_control(bytes) ? 3 : 0;
}

/* The length of the blank or control that text of this length ends with. */
static size_t
end_length(const char *text, size_t length)
{
    if (length > 0 && text[length - 1] == ' ') {
        return 1;
    }
    for (size_t size = 1; size <= 3 && size <= length; size++) {
        if (osw_control_length(text + length - size) == size) {
            return size;
        }
    }
    return 0;
}

/* The length of the text without the blanks and controls at its end. */
static size_t
trimmed_length(const char *text)
{
    size_t length = strlen(text);
    size_t size = end_length(text, length);

    while (size > 0) {
        length -= size;
        size = end_length(text, length);
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

/*
 * The length of the blanks and controls that text begins with, up to end, and
 * whether there is a control among them.
 */
static size_t
gap_length(const char *text, const char *end, bool *control)
{
    const char *at = text;

    *control = false;
    while (at < end) {
        const size_t size = osw_control_length(at);

        if (size > 0) {
            *control = true;
            at += size;
        } else if (*at == ' ') {
            at++;
        } else {
            break;
        }
    }
    return (size_t)(at - text);
}

static const char dots[] = "...";

/* Let a text that fills size bytes, and has no room for more, end in dots. */
static void
end_in_dots(char *text, size_t size)
{
    size_t length = whole_characters(text, size - sizeof dots);

    memcpy(text + length, dots, sizeof dots);
}

void
osw_one_line(char *field, size_t size, const char *text)
{
    const char *end = text + trimmed_length(text);
    size_t length = 0;

    if (size == 0) {
        return;
    }
    while (text < end && length < size) {
        bool control = false;
        size_t gap = gap_length(text, end, &control);

        if (control) {
            field[length++] = ' ';
            text += gap;
        } else { /* the gap, or a character that is none */
            const char *next = text + (gap > 0 ? gap : 1);

            while (text < next && length < size) {
                field[length++] = *text++;
            }
        }
    }
    if (length < size) {
        field[length] = '\0';
    } else if (size > sizeof "...") {
        end_in_dots(field, size);
    } else {
        field[whole_characters(field, size - 1)] = '\0';
    }
}

/* --- Secrets -------------------------------------------------------------- */

/*
 * Where the word at this place of text ends, or what stands in quotes if that
 * is further: a secret may hold blanks when quoted, and quotes when not.
 */
static char *
end_of_word(const char *text, char *at)
{
    size_t length = strcspn(at, " \t\r\n");
    bool quoted = false;

    for (; text < at; text++) {
        quoted = quoted != (*text == '"');
    }
    if (quoted) {
        const size_t inside = strcspn(at, "\"");

        length -= length > 0 && at[length - 1] == '"' ? 1 : 0;
        length = inside > length ? inside : length;
    }
    return at + length;
}

/* Let a "*" stand for what is between; returns where the text goes on. */
static char *
mask(char *from, char *to)
{
    if (from == to) {
        return to;
    }
    *from = '*';
    memmove(from + 1, to, strlen(to) + 1);
    return from + 1;
}

/* scheme://user:password@host: a password may hold any of these signs. */
static void
mask_user(char *text)
{
    char *at = strstr(text, "://");

    while (at != NULL) {
        char *end = NULL;

        at += strlen("://");
        end = end_of_word(text, at);
        while (end > at && *end != '@') {
            end--;
        }
        at = strstr(mask(at, end), "://");
    }
}

/* password = word, or 'word with a blank': whatever stands before password. */
static void
mask_password(char *text)
{
    static const char keyword[] = "password";
    char *at = strcasestr(text, keyword);

    while (at != NULL) {
        at += strlen(keyword);
        at += strspn(at, " ");
        if (*at == '=') {
            char *end = NULL;

            at++;
            at += strspn(at, " ");
            end = *at == '\'' ? strchr(at + 1, '\'') : NULL;
            at = mask(at, end != NULL ? end + 1 : end_of_word(text, at));
        }
        at = strcasestr(at, keyword);
    }
}

void
osw_mask_secrets(char *text)
{
    mask_password(text); /* first: it may take quotes out */
    mask_user(text);
}

void
osw_format_line(char *field, size_t size, const char *format, va_list arguments)
{
    /* Apart from the field: an argument may be the text that stands there. */
    char text[4096];
    const bool cut =
        vsnprintf(text, sizeof text, format, arguments) >= (int)sizeof text;

    if (cut) {
        text[whole_characters(text, sizeof text - sizeof dots)] = '\0';
    }
    osw_mask_secrets(text);
    if (cut) {
        (void)strlcat(text, dots, sizeof text);
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

/* A text that is put together; what has no room is left out. */
struct text {
    char bytes[2048]; /* more than any message */
    size_t length;
};

static void
append(struct text *text, const char *part, size_t length)
{
    size_t room = sizeof(text->bytes) - 1 - text->length;

    length = length < room ? length : room;
    memcpy(text->bytes + text->length, part, length);
    text->length += length;
    text->bytes[text->length] = '\0';
}

/* Part a line that begins so from what stands before it. */
static void
append_separator(struct text *text, bool indented, char first)
{
    bool goes_on = indented && first >= 'a' && first <= 'z';

    if (text->length == 0) {
        return;
    }
    if (!goes_on && strchr(".?!", text->bytes[text->length - 1]) == NULL) {
        append(text, ";", 1);
    }
    append(text, " ", 1);
}

/* Take the second blank after a colon out. */
static void
close_up(char *text)
{
    char *at = strstr(text, ":  ");

    while (at != NULL) {
        memmove(at + 1, at + 2, strlen(at + 2) + 1);
        at = strstr(at, ":  ");
    }
}

bool
osw_error_set_lines(struct osw_error *error,
                    enum osw_exit exit,
                    const char *lines)
{
    struct text text = {"", 0};

    while (*lines != '\0') {
        size_t length = strcspn(lines, "\n");
        size_t indent = strspn(lines, " \t");

        if (indent < length) {
            append_separator(&text, indent > 0, lines[indent]);
            append(&text, lines + indent, length - indent);
        }
        lines += length + (lines[length] == '\n' ? 1 : 0);
    }
    close_up(text.bytes);
    return osw_error_set(error, exit, "%s", text.bytes);
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
