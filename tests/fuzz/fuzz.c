#include "fuzz.h"

#include <string.h>

#include <jansson.h>

void
fuzz_fail(const char *file, int line, const char *condition)
{
    (void)fprintf(stderr, "%s:%d: does not hold: %s\n", file, line, condition);
    abort();
}

static char *
copy(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);

    REQUIRE(text != NULL);
    if (size > 0) {
        memcpy(text, data, size);
    }
    text[size] = '\0';
    return text;
}

void
fuzz_split(const uint8_t *data, size_t size, struct fuzz_texts *texts)
{
    bool more = true;

    texts->count = 0;
    while (more && texts->count < FUZZ_TEXTS) {
        const uint8_t *end = size > 0 ? memchr(data, '\0', size) : NULL;
        size_t length = end != NULL ? (size_t)(end - data) : size;

        texts->text[texts->count] = copy(data, length);
        texts->count++;
        more = end != NULL;
        if (more) {
            data += length + 1;
            size -= length + 1;
        }
    }
}

void
fuzz_free(struct fuzz_texts *texts)
{
    for (int i = 0; i < texts->count; i++) {
        free(texts->text[i]);
    }
}

const char *
fuzz_text(const struct fuzz_texts *texts, int place)
{
    return texts->text[place < texts->count ? place : texts->count - 1];
}

bool
fuzz_is_utf8(const char *text)
{
    json_t *string = json_string(text); /* NULL for anything else */
    bool is = string != NULL;

    json_decref(string);
    return is;
}

size_t
fuzz_control_length(const char *text)
{
    static const char *const turning[] = {"\u061c",
                                          "\u200e",
                                          "\u200f",
                                          "\u2028",
                                          "\u2029",
                                          "\u202a",
                                          "\u202b",
                                          "\u202c",
                                          "\u202d",
                                          "\u202e",
                                          "\u2066",
                                          "\u2067",
                                          "\u2068",
                                          "\u2069"};
    const unsigned char first = (unsigned char)text[0];
    const unsigned char second = first != '\0' ? (unsigned char)text[1] : 0;

    for (size_t i = 0; i < sizeof turning / sizeof turning[0]; i++) {
        if (strncmp(text, turning[i], strlen(turning[i])) == 0) {
            return strlen(turning[i]);
        }
    }
    if (first == 0xc2 && second >= 0x80 && second <= 0x9f) {
        return 2;
    }
    return (first > 0 && first < 0x20) || first == 0x7f ? 1 : 0;
}

bool
fuzz_is_plain(const char *text)
{
    while (*text != '\0' && fuzz_control_length(text) == 0) {
        text++;
    }
    return *text == '\0';
}

unsigned
fuzz_take(const uint8_t **data, size_t *size)
{
    unsigned byte = 0;

    if (*size > 0) {
        byte = **data;
        *data += 1;
        *size -= 1;
    }
    return byte;
}

void
fuzz_require_usage_error(const struct osw_error *error)
{
    REQUIRE(error->exit == OSW_EXIT_USAGE);
    REQUIRE(error->sqlstate[0] == '\0');
    REQUIRE(error->message[0] != '\0');
    REQUIRE(error->hint[0] != '\0');
    REQUIRE(fuzz_is_plain(error->message));
    REQUIRE(fuzz_is_plain(error->hint));
}

void
fuzz_page_open(struct fuzz_page *page)
{
    page->text = NULL;
    page->length = 0;
    page->out = open_memstream(&page->text, &page->length);
    REQUIRE(page->out != NULL);
}

char *
fuzz_page_close(struct fuzz_page *page)
{
    REQUIRE(fclose(page->out) == 0);
    REQUIRE(strlen(page->text) == page->length);
    return page->text;
}
