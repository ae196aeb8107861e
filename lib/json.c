#include "json.h"

#include <string.h>

static bool
continues(const char *text, size_t count)
{
    size_t i = 0;

    while (i < count && ((unsigned char)text[i] & 0xc0U) == 0x80U) {
        i++;
    }
    return i == count;
}

/*
 * The length of the character that text, which is not empty, begins with; 0 if
 * it is no UTF-8: cut short, longer than needed, a surrogate, or beyond
 * U+10FFFF.
 */
static size_t
utf8_length(const char *text)
{
    unsigned char first = (unsigned char)text[0];
    unsigned char second = (unsigned char)text[1];

    if (first < 0x80) {
        return 1;
    }
    if (first >= 0xc2 && first <= 0xdf) {
        return continues(text + 1, 1) ? 2 : 0;
    }
    if ((first == 0xe0 && second < 0xa0) || (first == 0xed && second > 0x9f) ||
        (first == 0xf0 && second < 0x90) || (first == 0xf4 && second > 0x8f)) {
        return 0;
    }
    if (first >= 0xe0 && first <= 0xef) {
        return continues(text + 1, 2) ? 3 : 0;
    }
    return first >= 0xf0 && first <= 0xf4 && continues(text + 1, 3) ? 4 : 0;
}

bool
osw_json_is_utf8(const char *text)
{
    while (*text != '\0') {
        size_t length = utf8_length(text);

        if (length == 0) {
            return false;
        }
        text += length;
    }
    return true;
}

/* The most bytes that a character is written with. */
#define MOST 6

/* Write the character that text, which is not empty, begins with as it stands
 * in a string; returns the length of both. */
static size_t
escape(const char *text, char escaped[MOST + 1], size_t *written)
{
    const unsigned char c = (unsigned char)*text;
    size_t length = utf8_length(text);

    if (length == 0) {
        (void)snprintf(escaped, MOST + 1, "\\ufffd");
        length = 1;
    } else if (c == '"' || c == '\\') {
        (void)snprintf(escaped, MOST + 1, "\\%c", c);
    } else if (c < 0x20) {
        (void)snprintf(escaped, MOST + 1, "\\u%04x", c);
    } else {
        memcpy(escaped, text, length);
        escaped[length] = '\0';
    }
    *written = strlen(escaped);
    return length;
}

void
osw_json_string(FILE *out, const char *text)
{
    char escaped[MOST + 1];
    size_t written = 0;

    if (text == NULL) {
        (void)fputs("null", out);
        return;
    }
    (void)fputc('"', out);
    while (*text != '\0') {
        text += escape(text, escaped, &written);
        (void)fwrite(escaped, 1, written, out);
    }
    (void)fputc('"', out);
}

size_t
osw_json_field(char *field, size_t size, const char *text)
{
    static const char end[] = "...\"";
    const size_t room = size - sizeof("\"");
    size_t length = 1;
    size_t cut = 1; /* so much leaves room for the dots */

    field[0] = '"';
    while (*text != '\0') {
        char escaped[MOST + 1];
        size_t written = 0;

        text += escape(text, escaped, &written);
        if (length + written > room) {
            memcpy(field + cut, end, sizeof(end));
            return cut + strlen(end);
        }
        memcpy(field + length, escaped, written);
        length += written;
        if (length + sizeof(end) <= size) {
            cut = length;
        }
    }
    memcpy(field + length, "\"", sizeof("\""));
    return length + 1;
}
