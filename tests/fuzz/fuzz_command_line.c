/*
 * command_line: the texts are the words of a command line.
 *
 * The same words give the same options or the same error, whatever was parsed
 * before; options that were taken can be written as a command line that gives
 * them again.
 */
#include "command_line.h"

#include <inttypes.h>
#include <string.h>

#include "duration.h"
#include "fuzz.h"

/* A command line that is made: argv, in memory of its own. */
struct line {
    char *word[2 * OSW_OPTION_ROWS + OSW_KEY_COLUMNS + 8];
    int count;
};

static void
add(struct line *line, const char *name, const char *value)
{
    struct fuzz_page page;

    REQUIRE(line->count + 1 < (int)(sizeof line->word / sizeof line->word[0]));
    fuzz_page_open(&page);
    (void)fputs(name, page.out);
    if (value != NULL) {
        (void)fprintf(page.out, "=%s", value);
    }
    line->word[line->count] = fuzz_page_close(&page);
    line->count++;
    line->word[line->count] = NULL;
}

static void
add_number(struct line *line, const char *name, int64_t number)
{
    char text[24];

    (void)snprintf(text, sizeof text, "%" PRId64, number);
    add(line, name, text);
}

static void
add_duration(struct line *line, const char *name, int64_t ms)
{
    char text[OSW_DURATION_TEXT_SIZE];

    if (ms >= 0) { /* below 0: as defined */
        osw_duration_format(ms, text, sizeof text);
        add(line, name, text);
    }
}

static void
add_option(struct line *line,
           const struct osw_option_row *row,
           const struct osw_options *options)
{
    const void *field = (const char *)options + row->field;

    switch (row->kind) {
    case KIND_TRUE:
    case KIND_FALSE:
        if (*(const bool *)field == (row->kind == KIND_TRUE)) {
            add(line, row->name, NULL);
        }
        break;
    case KIND_VERBOSE:
        for (int i = 0; i < options->verbosity; i++) {
            add(line, row->name, NULL);
        }
        break;
    case KIND_QUIET:
        if (options->verbosity < 0) {
            add(line, row->name, NULL);
        }
        break;
    case KIND_TEXT:
    case KIND_NAME:
    case KIND_PORT:
    case KIND_PROM:
        if (*(const char *const *)field != NULL) {
            add(line, row->name, *(const char *const *)field);
        }
        break;
    case KIND_INT:
        add_number(line, row->name, *(const int *)field);
        break;
    case KIND_INT64:
        if (*(const int64_t *)field >= 0) {
            add_number(line, row->name, *(const int64_t *)field);
        }
        break;
    case KIND_DURATION:
        add_duration(line, row->name, *(const int64_t *)field);
        break;
    case KIND_FORMAT:
        if (options->format != OSW_FORMAT_AUTO) {
            add(line,
                row->name,
                options->format == OSW_FORMAT_TEXT ? "text" : "json");
        }
        break;
    case KIND_DURABILITY:
        add(line,
            row->name,
            options->durability == OSW_DURABILITY_EACH ? "each" : "batch");
        break;
    case KIND_POOLER:
        if (options->pooler != OSW_POOLER_AUTO) {
            add(line,
                row->name,
                options->pooler == OSW_POOLER_YES ? "yes" : "no");
        }
        break;
    case KIND_LOG:
        add(line,
            row->name,
            options->log == OSW_LOG_SYSLOG ? "syslog" : "stderr");
        break;
    case KIND_LOG_FORMAT:
        add(line,
            row->name,
            options->log_format == OSW_LOG_JSON ? "json" : "text");
        break;
    }
}

/* The row of the command that these options belong to. */
static const struct osw_verb_row *
verb_of(const struct osw_options *options)
{
    const struct osw_verb_row *row = osw_verb_rows;

    while (row->name != NULL && row->verb != options->verb) {
        row++;
    }
    REQUIRE(row->name != NULL);
    return row;
}

/* A command line that asks for these options, each by its long name. */
static void
write_line(struct line *line, const struct osw_options *options)
{
    const struct osw_verb_row *verb = verb_of(options);
    unsigned mode = options->dry_run ? (unsigned)MODE_DRY_RUN : verb->mode;

    line->count = 0;
    add(line, "order-sweep", NULL);
    for (int i = 0; i < OSW_OPTION_ROWS; i++) {
        if ((osw_option_rows[i].modes & mode) != 0) {
            add_option(line, &osw_option_rows[i], options);
        }
    }
    add(line, "--", NULL);
    add(line, verb->name, NULL);
    for (int i = 0; i < options->key_columns; i++) {
        add(line, options->key[i], NULL);
    }
}

static bool
same_text(const char *a, const char *b)
{
    return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

static bool
same_field(const struct osw_option_row *row,
           const struct osw_options *a,
           const struct osw_options *b)
{
    const void *one = (const char *)a + row->field;
    const void *other = (const char *)b + row->field;

    switch (row->kind) {
    case KIND_TRUE:
    case KIND_FALSE:
        return *(const bool *)one == *(const bool *)other;
    case KIND_TEXT:
    case KIND_NAME:
    case KIND_PORT:
    case KIND_PROM:
        return same_text(*(const char *const *)one,
                         *(const char *const *)other);
    case KIND_VERBOSE:
    case KIND_QUIET:
    case KIND_INT:
        return *(const int *)one == *(const int *)other;
    case KIND_INT64:
    case KIND_DURATION:
        return *(const int64_t *)one == *(const int64_t *)other;
    case KIND_FORMAT:
        return a->format == b->format;
    case KIND_DURABILITY:
        return a->durability == b->durability;
    case KIND_POOLER:
        return a->pooler == b->pooler;
    case KIND_LOG:
        return a->log == b->log;
    case KIND_LOG_FORMAT:
        return a->log_format == b->log_format;
    }
    return false;
}

static void
require_same(const struct osw_options *a, const struct osw_options *b)
{
    REQUIRE(a->verb == b->verb);
    REQUIRE(a->key_columns == b->key_columns);
    for (int i = 0; i < a->key_columns; i++) {
        REQUIRE(strcmp(a->key[i], b->key[i]) == 0);
    }
    for (int i = 0; i < OSW_OPTION_ROWS; i++) {
        REQUIRE(same_field(&osw_option_rows[i], a, b));
    }
}

/* What the program relies on. */
static void
require_sound(const struct osw_options *options)
{
    REQUIRE(options->hard_limit_ms >= options->time_limit_ms);
    REQUIRE(options->time_limit_ms >= 1000);
    REQUIRE(options->window_ms == -1 || options->window_ms >= 1000);
    REQUIRE(options->batch_size >= 1 && options->batch_size <= 10000);
    REQUIRE(options->jobs >= 1 && options->jobs <= 16);
    REQUIRE(options->depth >= 1 && options->depth <= 64);
    REQUIRE(options->limit >= 0);
    REQUIRE(options->max_orders >= 0);
    REQUIRE(options->max_rate >= 0 && options->max_rate <= 1000000);
    REQUIRE(options->verbosity >= -1 && options->verbosity <= 2);
    REQUIRE(options->lock || !options->fail_if_busy);
    REQUIRE(!options->dry_run || options->verb == OSW_VERB_RUN);
    REQUIRE(options->key_columns <= OSW_KEY_COLUMNS);
    REQUIRE((options->key_columns > 0) == (options->verb == OSW_VERB_EXPLAIN));
}

static void
require_written_is_read(const struct osw_options *options)
{
    struct osw_error error = OSW_ERROR_INIT;
    struct osw_options again;
    struct line line;

    write_line(&line, options);
    REQUIRE(osw_options_parse(line.count, line.word, &again, &error));
    require_same(options, &again);
    for (int i = 0; i < line.count; i++) {
        free(line.word[i]);
    }
}

static bool
answers_only(const struct osw_options *options)
{
    return options->help || options->version || options->list_options ||
           options->list_exit_codes;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char program[] = "order-sweep";
    char *argv[FUZZ_TEXTS + 2] = {program};
    struct osw_error error = OSW_ERROR_INIT;
    struct osw_error error_again = OSW_ERROR_INIT;
    struct osw_options options;
    struct osw_options again;
    struct fuzz_texts texts;
    int argc = 1;
    bool taken = false;

    fuzz_split(data, size, &texts);
    for (; argc <= texts.count; argc++) {
        argv[argc] = texts.text[argc - 1];
    }
    taken = osw_options_parse(argc, argv, &options, &error);
    REQUIRE(osw_options_parse(argc, argv, &again, &error_again) == taken);
    if (!taken) {
        fuzz_require_usage_error(&error);
        REQUIRE(strcmp(error.message, error_again.message) == 0);
        REQUIRE(strcmp(error.hint, error_again.hint) == 0);
    } else {
        require_same(&options, &again);
        if (!answers_only(&options)) {
            require_sound(&options);
            require_written_is_read(&options);
        }
    }
    fuzz_free(&texts);
    return 0;
}
