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

/*
 * The text as one line, to be freed: a control character with the blanks and
 * others about it is one blank, and there is none at the end.
 */
static char *
joined(const char *text)
{
    char *line = calloc(1, strlen(text) + 1);
    size_t length = 0;
    size_t blanks = 0; /* before this place, and controls */
    bool control = false;

    REQUIRE(line != NULL);
    while (*text != '\0') {
        size_t size = fuzz_control_length(text);

        if (size > 0 || *text == ' ') {
            control = control || size > 0;
            blanks++;
            text += size > 0 ? size : 1;
            continue;
        }
        for (size_t i = 0; i < (control ? 1 : blanks); i++) {
            line[length++] = ' ';
        }
        blanks = 0;
        control = false;
        line[length++] = *text++;
    }
    return line;
}

/* What holds for every line that was made of text, with this much room. */
static void
require_line(const char *line, size_t room, const char *text)
{
    size_t length = strlen(line);
    char *whole = joined(text);

    REQUIRE(length < room);
    REQUIRE(fuzz_is_plain(line));
    REQUIRE(!fuzz_is_utf8(text) || fuzz_is_utf8(line));
    if (strlen(whole) < room) {
        REQUIRE(strcmp(line, whole) == 0);
    } else if (room > 4) {
        REQUIRE(length >= 3 && strcmp(line + length - 3, "...") == 0);
        REQUIRE(strncmp(line, whole, length - 3) == 0);
        REQUIRE(!fuzz_is_utf8(text) || length + 3 >= room - 1);
    }
    free(whole);
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

/* Masking only leaves out, and once is enough. */
static void
require_masked(const char *masked, const char *text)
{
    char again[4096];

    REQUIRE(strlen(masked) <= strlen(text));
    REQUIRE(!fuzz_is_utf8(text) || fuzz_is_utf8(masked));
    memcpy(again, masked, strlen(masked) + 1);
    osw_mask_secrets(again);
    REQUIRE(strcmp(again, masked) == 0);
}

/* A text through printf: the same line, with its secrets masked; or, where
 * that has no room, dots. */
static void
require_formatted(const char *line, size_t room, const char *text)
{
    char masked[4096] = "";
    char expected[2048];
    size_t length = strlen(line);

    REQUIRE(fuzz_is_plain(line));
    if (strlen(text) < 4096) {
        memcpy(masked, text, strlen(text) + 1);
        osw_mask_secrets(masked);
        require_masked(masked, text);
        osw_one_line(expected, room, masked);
        REQUIRE(strcmp(line, expected) == 0);
    } else {
        REQUIRE(length >= 3 && strcmp(line + length - 3, "...") == 0);
    }
}

static void
require_error(const char *text)
{
    struct osw_error error = OSW_ERROR_INIT;

    REQUIRE(!osw_error_set(&error, OSW_EXIT_CONFIG, "%s", text));
    require_formatted(error.message, sizeof error.message, text);

    REQUIRE(!osw_error_set_lines(&error, OSW_EXIT_CONFIG, text));
    REQUIRE(fuzz_is_plain(error.message));
    REQUIRE(!fuzz_is_utf8(text) || fuzz_is_utf8(error.message));

    REQUIRE(!osw_error_hint(&error, "%s", text));
    require_formatted(error.hint, sizeof error.hint, text);
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

    REQUIRE(length > skipped && line[length - 1] == '\n');
    line[length - 1] = '\0';
    REQUIRE(strncmp(line, prefix, skipped) == 0);
    require_formatted(line + skipped, OSW_LOG_TEXT_SIZE, text);
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
