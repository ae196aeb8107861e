/*
 * option_value: a first byte chooses the option, the rest is its argument.
 *
 * What is taken is what the table and the header say, and changes the option's
 * field alone; what is refused changes nothing.
 */
#include "option_value.h"

#include <string.h>

#include "duration.h"
#include "fuzz.h"

static size_t
field_size(enum osw_option_kind kind)
{
    switch (kind) {
    case KIND_TRUE:
    case KIND_FALSE:
        return sizeof(bool);
    case KIND_TEXT:
    case KIND_NAME:
    case KIND_PORT:
    case KIND_PROM:
        return sizeof(const char *);
    case KIND_VERBOSE:
    case KIND_QUIET:
    case KIND_INT:
        return sizeof(int);
    case KIND_INT64:
    case KIND_DURATION:
        return sizeof(int64_t);
    case KIND_FORMAT:
        return sizeof(enum osw_format);
    case KIND_DURABILITY:
        return sizeof(enum osw_durability);
    case KIND_POOLER:
        return sizeof(enum osw_pooler);
    case KIND_LOG:
        return sizeof(enum osw_log_target);
    case KIND_LOG_FORMAT:
        return sizeof(enum osw_log_format);
    }
    REQUIRE(false);
    return 0;
}

/* All but the option's own field is as it was. */
static void
require_rest_unchanged(const struct osw_options *before,
                       const struct osw_options *after,
                       const struct osw_option_row *row)
{
    const char *old = (const char *)before;
    const char *new = (const char *)after;
    size_t end = row->field + field_size(row->kind);

    REQUIRE(end <= sizeof *before);
    REQUIRE(memcmp(old, new, row->field) == 0);
    REQUIRE(memcmp(old + end, new + end, sizeof *before - end) == 0);
}

static void
require_number(const struct osw_option_row *row,
               const char *text,
               int64_t number)
{
    REQUIRE(number >= row->min && number <= row->max);
    REQUIRE(text[strspn(text, "-0123456789")] == '\0');
    REQUIRE(number == strtoll(text, NULL, 10));
}

static bool
may_be_name(const char *text)
{
    size_t length = strlen(text);

    return length >= 1 && length <= 40 && text[0] >= 'a' && text[0] <= 'z' &&
           strspn(text, "abcdefghijklmnopqrstuvwxyz_0123456789") == length;
}

/* Port numbers with commas between; any may be left out. */
static bool
may_be_ports(const char *text)
{
    for (;;) {
        size_t length = strcspn(text, ",");
        long port = strtol(text, NULL, 10);

        if (strspn(text, "0123456789") != length || length > 5 ||
            (length > 0 && (port < 1 || port > 65535))) {
            return false;
        }
        if (text[length] == '\0') {
            return true;
        }
        text += length + 1;
    }
}

/* The path of a file that ends in .prom, with its name in these letters. */
static bool
may_be_prom(const char *text)
{
    const char *slash = strrchr(text, '/');
    const char *name = slash != NULL ? slash + 1 : text;
    size_t length = strlen(name);

    for (const char *at = name; *at != '\0'; at++) {
        if (!((*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z') ||
              (*at >= '0' && *at <= '9') || strchr("._-", *at) != NULL)) {
            return false;
        }
    }
    return length > 5 && length <= 200 &&
           strcmp(name + length - 5, ".prom") == 0;
}

static void
require_choice(const char *text, const char *const *words, int choice)
{
    REQUIRE(choice >= 0 && choice < 3);
    REQUIRE(words[choice] != NULL && strcmp(words[choice], text) == 0);
}

/* The value is what the text says. */
static void
require_value(const struct osw_options *options,
              const struct osw_option_row *row,
              const char *text)
{
    static const char *const formats[] = {NULL, "text", "json"};
    static const char *const durabilities[] = {"batch", "each", NULL};
    static const char *const poolers[] = {"auto", "no", "yes"};
    static const char *const logs[] = {"stderr", "syslog", NULL};
    static const char *const log_formats[] = {"text", "json", NULL};
    const void *field = (const char *)options + row->field;
    struct osw_error error = OSW_ERROR_INIT;
    int64_t ms = 0;

    switch (row->kind) {
    case KIND_TRUE:
    case KIND_FALSE:
        REQUIRE(*(const bool *)field == (row->kind == KIND_TRUE));
        break;
    case KIND_VERBOSE:
        REQUIRE(*(const int *)field == 1);
        break;
    case KIND_QUIET:
        REQUIRE(*(const int *)field == -1);
        break;
    case KIND_NAME:
        REQUIRE(may_be_name(text));
        REQUIRE(*(const char *const *)field == text);
        break;
    case KIND_PORT:
        REQUIRE(may_be_ports(text));
        REQUIRE(*(const char *const *)field == text);
        break;
    case KIND_PROM:
        REQUIRE(may_be_prom(text));
        REQUIRE(*(const char *const *)field == text);
        break;
    case KIND_TEXT:
        REQUIRE(*(const char *const *)field == text);
        break;
    case KIND_INT:
        require_number(row, text, *(const int *)field);
        break;
    case KIND_INT64:
        require_number(row, text, *(const int64_t *)field);
        break;
    case KIND_DURATION:
        REQUIRE(osw_duration_parse(
            row->name, text, row->min, row->max, &ms, &error));
        REQUIRE(*(const int64_t *)field == ms);
        break;
    case KIND_FORMAT:
        require_choice(text, formats, (int)options->format);
        break;
    case KIND_DURABILITY:
        require_choice(text, durabilities, (int)options->durability);
        break;
    case KIND_POOLER:
        require_choice(text, poolers, (int)options->pooler);
        break;
    case KIND_LOG: /* journald is another word for syslog */
        if (strcmp(text, "journald") == 0) {
            text = "syslog";
        }
        require_choice(text, logs, (int)options->log);
        break;
    case KIND_LOG_FORMAT:
        require_choice(text, log_formats, (int)options->log_format);
        break;
    }
}

/* What is refused is none. */
static void
require_no_value(const struct osw_option_row *row, const char *text)
{
    REQUIRE(row->argument != NULL);
    REQUIRE(row->kind != KIND_TEXT);
    REQUIRE(row->kind != KIND_NAME || !may_be_name(text));
    REQUIRE(row->kind != KIND_PORT || !may_be_ports(text));
    REQUIRE(row->kind != KIND_PROM || !may_be_prom(text));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct osw_option_row *row =
        &osw_option_rows[fuzz_take(&data, &size) % OSW_OPTION_ROWS];
    struct osw_error error = OSW_ERROR_INIT;
    struct osw_options before;
    struct osw_options after;
    struct fuzz_texts texts;
    const char *text = NULL;

    memset(&before, 1, sizeof before); /* something that would be missed */
    before.verbosity = 0;
    memcpy(&after, &before, sizeof after);
    fuzz_split(data, size, &texts);
    if (row->argument != NULL) {
        text = texts.text[0];
    }
    if (osw_option_read(&after, row, text, &error)) {
        require_rest_unchanged(&before, &after, row);
        require_value(&after, row, text);
    } else {
        REQUIRE(memcmp(&before, &after, sizeof before) == 0);
        require_no_value(row, text);
        fuzz_require_usage_error(&error);
        REQUIRE(strncmp(error.message, row->name, strlen(row->name)) == 0);
    }
    fuzz_free(&texts);
    return 0;
}
