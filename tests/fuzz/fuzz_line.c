/*
 * Lines for people: error records, the log, and what a terminal gets.  Two
 * bytes are the room for a line, the rest is the text.
 *
 * However odd a text is, it stays one line (or the lines it has), has no
 * control character, is whole or ends in dots, and UTF-8 stays UTF-8.
 */
#include "log.h"
#include "report.h"
#include "status.h"

#include <string.h>

#include "fuzz.h"

/* The length of the text without the blanks and controls at its end. */
static size_t
trimmed_length(const char *text)
{
    size_t length = strlen(text);

    while (length > 0) {
        const unsigned char *last = (const unsigned char *)text + length - 1;

        if (*last <= 0x20 || *last == 0x7f) {
            length -= 1;
        } else if (length > 1 && last[-1] == 0xc2 && *last >= 0x80 &&
                   *last <= 0x9f) {
            length -= 2;
        } else {
            break;
        }
    }
    return length;
}

/* What holds for every line that was made of text, with this much room. */
static void
require_line(const char *line, size_t room, const char *text)
{
    size_t length = strlen(line);
    size_t whole = trimmed_length(text);

    REQUIRE(length < room);
    REQUIRE(fuzz_is_plain(line));
    REQUIRE(!fuzz_is_utf8(text) || fuzz_is_utf8(line));
    if (whole < room) {
        REQUIRE(length == whole);
        for (size_t i = 0; i < length; i++) {
            REQUIRE(line[i] == text[i] || line[i] == ' ');
        }
    } else if (room > 4) {
        REQUIRE(length >= 3 && strcmp(line + length - 3, "...") == 0);
        REQUIRE(!fuzz_is_utf8(text) || length + 3 >= room - 1);
    }
}

static void
require_one_line(const char *text, size_t room)
{
    size_t length = strlen(text) + 1;
    char *line = malloc(room);
    char *same = malloc(length > room ? length : room);

    REQUIRE(line != NULL && same != NULL);
    osw_one_line(line, room, text);
    require_line(line, room, text);

    memcpy(same, text, length);
    osw_one_line(same, room, same); /* in place */
    REQUIRE(strcmp(same, line) == 0);
    free(same);
    free(line);
}

static void
require_error(const char *text)
{
    struct osw_error error = OSW_ERROR_INIT;
    char line[sizeof error.message];

    osw_one_line(line, sizeof error.message, text);
    REQUIRE(!osw_error_set(&error, OSW_EXIT_CONFIG, "%s", text));
    REQUIRE(strcmp(error.message, line) == 0);

    osw_one_line(line, sizeof error.hint, text);
    REQUIRE(!osw_error_hint(&error, "%s", text));
    REQUIRE(strcmp(error.hint, line) == 0);
}

/* What the log writes, to be freed. */
static char *
logged(const char *text)
{
    FILE *saved = stderr;
    struct fuzz_page page;

    fuzz_page_open(&page);
    stderr = page.out;
    osw_log(OSW_LOG_WARNING, "%s", text);
    stderr = saved;
    return fuzz_page_close(&page);
}

static void
require_log(const char *text)
{
    static const char prefix[] = "order-sweep: warning: ";
    const size_t skipped = sizeof prefix - 1;
    char *line = logged(text);
    size_t length = strlen(line);
    char expected[2048];

    REQUIRE(length > skipped && line[length - 1] == '\n');
    line[length - 1] = '\0';
    REQUIRE(strncmp(line, prefix, skipped) == 0);
    osw_one_line(expected, sizeof expected, text);
    REQUIRE(strcmp(line + skipped, expected) == 0);
    free(line);
}

/* Characters, if each byte that continues none begins one. */
static int
count_characters(const char *text)
{
    int count = 0;

    for (; *text != '\0'; text++) {
        count += ((unsigned char)*text & 0xc0) != 0x80 ? 1 : 0;
    }
    return count;
}

static void
require_terminal(const char *text)
{
    struct fuzz_page page;
    char *plain = NULL;
    int columns = 0;

    fuzz_page_open(&page);
    columns = osw_report_plain(page.out, text);
    plain = fuzz_page_close(&page);
    REQUIRE(fuzz_is_plain(plain));
    REQUIRE(columns == count_characters(plain));
    REQUIRE(columns == count_characters(text));
    REQUIRE(!fuzz_is_utf8(text) || fuzz_is_utf8(plain));
    REQUIRE(!fuzz_is_plain(text) || strcmp(text, plain) == 0);
    free(plain);
}

/* The lines are those of the text, each further one indented. */
static void
require_lines(const char *text, int indent)
{
    struct fuzz_page page;
    char *lines = NULL;
    char *line = NULL;

    fuzz_page_open(&page);
    osw_report_lines(page.out, text, indent);
    lines = fuzz_page_close(&page);
    line = lines;
    for (;;) {
        char *end = strchr(line, '\n');
        const char *text_end = strchr(text, '\n');

        REQUIRE((end == NULL) == (text_end == NULL));
        if (end != NULL) {
            *end = '\0';
        }
        REQUIRE(fuzz_is_plain(line));
        if (end == NULL || text_end == NULL) {
            break;
        }
        line = end + 1;
        text = text_end + 1;
        REQUIRE((int)strspn(line, " ") >= indent);
    }
    free(lines);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    unsigned high = fuzz_take(&data, &size) % 9;
    size_t room = 1 + high * 256 + fuzz_take(&data, &size);
    struct fuzz_texts texts;

    fuzz_split(data, size, &texts);
    for (int i = 0; i < texts.count; i++) {
        require_one_line(texts.text[i], room);
        require_error(texts.text[i]);
        require_log(texts.text[i]);
        require_terminal(texts.text[i]);
        require_lines(texts.text[i], 1 + i % 8);
    }
    fuzz_free(&texts);
    return 0;
}
