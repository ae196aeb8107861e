#include "command_line.h"

#include <getopt.h>
#include <stddef.h>
#include <string.h>

#include "duration.h"
#include "nearest.h"
#include "option_value.h"

#define SECOND INT64_C(1000)

/* What --hard-limit adds to --time-limit where only the latter is given. */
#define HARD_LIMIT_MARGIN_MS (7 * SECOND)

/* With --linger: longer than the minute from one tick to the next, so that who
 * takes over is there. */
#define LINGER_MS (70 * SECOND)

#define LOOK_EVERY_MS  (5 * SECOND)
#define RELAY_EVERY_MS (1 * SECOND)

static const struct osw_options defaults = {
    .verb = OSW_VERB_RUN,
    .window_ms = -1,
    .time_limit_ms = 45 * SECOND,
    .hard_limit_ms = 52 * SECOND,
    .look_every_ms = -1,
    .max_overdue_ms = -1,
    .max_age_ms = -1,
    .max_quarantined = -1,
    .max_orders = 0,
    .max_rate = 0,
    .batch_size = 500,
    .jobs = 1,
    .depth = 64,
    .slots = 1,
    .limit = 100,
    .durability = OSW_DURABILITY_BATCH,
    .format = OSW_FORMAT_AUTO,
    .lock = true,
};

/* What is known while parsing: which rows were given, and whether a verb. */
struct parse {
    struct osw_options *options;
    struct osw_error *error;
    bool given[OSW_OPTION_ROWS];
    bool verb_given;
    const struct osw_verb_row *verb;
};

/* getopt: its tables, and its answers turned into rows and messages. */

/* getopt's value for a long option; letters lie below it. */
#define LONG_VALUE 256

struct getopt_tables {
    struct option longs[OSW_OPTION_ROWS + 1];
    char letters[2 * OSW_OPTION_ROWS + 3];
};

/*
 * "-" makes getopt hand over words in their place, whatever POSIXLY_CORRECT
 * says; ":" makes it tell a missing argument from an unknown option.  The
 * letter ? stays out: getopt's answer for it would be that for a failure.
 */
static void
fill_getopt_tables(struct getopt_tables *tables)
{
    char *letter = tables->letters;

    *letter++ = '-';
    *letter++ = ':';
    for (size_t i = 0; i < OSW_OPTION_ROWS; i++) {
        bool has_argument = osw_option_rows[i].argument != NULL;

        tables->longs[i] = (struct option){
            .name = osw_option_rows[i].name + strlen("--"),
            .has_arg = has_argument ? required_argument : no_argument,
            .val = LONG_VALUE + (int)i,
        };
        if (osw_option_rows[i].letter != '\0' &&
            osw_option_rows[i].letter != '?') {
            *letter++ = osw_option_rows[i].letter;
            if (has_argument) {
                *letter++ = ':';
            }
        }
    }
    *letter = '\0';
    tables->longs[OSW_OPTION_ROWS] = (struct option){.name = NULL};
}

/* The row of a value getopt returned or left in optopt; OSW_OPTION_ROWS: none.
 */
static size_t
find_row(int value)
{
    if (value >= LONG_VALUE) {
        return (size_t)(value - LONG_VALUE);
    }
    for (size_t i = 0; i < OSW_OPTION_ROWS; i++) {
        if (osw_option_rows[i].letter != '\0' &&
            osw_option_rows[i].letter == value) {
            return i;
        }
    }
    return OSW_OPTION_ROWS;
}

static bool
refuse_unknown_letter(int letter, struct osw_error *error)
{
    if (letter > ' ' && letter < 0x7f) {
        (void)osw_error_set(
            error, OSW_EXIT_USAGE, "unknown option \"-%c\"", letter);
    } else {
        (void)osw_error_set(
            error, OSW_EXIT_USAGE, "unknown option letter beyond ASCII");
    }
    return osw_error_hint(error, "see order-sweep --help");
}

/* An argument such as --foo=bar that begins the name of no row or of many. */
static bool
refuse_unknown_long(const char *argument, struct osw_error *error)
{
    struct osw_nearest nearest = OSW_NEAREST_INIT;
    size_t length = strcspn(argument, "=");
    size_t matches = 0;

    for (size_t i = 0; i < OSW_OPTION_ROWS; i++) {
        if (osw_option_rows[i].group != GROUP_HIDDEN) {
            osw_nearest_try(
                &nearest, argument, length, osw_option_rows[i].name);
        }
        if (strncmp(osw_option_rows[i].name, argument, length) == 0) {
            matches++;
        }
    }
    if (matches > 1) {
        (void)osw_error_set(error,
                            OSW_EXIT_USAGE,
                            "option \"%.*s\" is ambiguous",
                            (int)length,
                            argument);
        return osw_error_hint(error, "write it out");
    }
    (void)osw_error_set(error,
                        OSW_EXIT_USAGE,
                        "unknown option \"%.*s\"",
                        (int)length,
                        argument);
    return nearest.word != NULL
               ? osw_error_hint(error, "did you mean %s?", nearest.word)
               : osw_error_hint(error, "see order-sweep --help");
}

/* getopt answered '?': an unknown option, or an argument to one without. */
static bool
refuse_option(char **argv, struct osw_error *error)
{
    if (optopt == 0) {
        return refuse_unknown_long(argv[optind - 1], error);
    }
    if (optopt < LONG_VALUE) {
        return refuse_unknown_letter(optopt, error);
    }
    (void)osw_error_set(error,
                        OSW_EXIT_USAGE,
                        "%s: takes no argument",
                        osw_option_rows[find_row(optopt)].name);
    return osw_error_hint(error, "leave out the = and what follows it");
}

static bool
refuse_no_argument(const struct osw_option_row *row, struct osw_error *error)
{
    (void)osw_error_set(
        error, OSW_EXIT_USAGE, "%s: the argument is missing", row->name);
    return osw_error_hint(error, "give it as %s=%s", row->name, row->argument);
}

static bool
refuse_empty(const struct osw_option_row *row, struct osw_error *error)
{
    (void)osw_error_set(
        error, OSW_EXIT_USAGE, "%s: the argument is empty", row->name);
    return osw_error_hint(
        error, "give it as %s=%s, or leave it out", row->name, row->argument);
}

static bool
take_option(struct parse *parse, size_t index, const char *argument)
{
    const struct osw_option_row *row = &osw_option_rows[index];

    if (parse->given[index] && row->kind != KIND_VERBOSE) {
        (void)osw_error_set(
            parse->error, OSW_EXIT_USAGE, "%s: given twice", row->name);
        return osw_error_hint(parse->error, "give it once");
    }
    parse->given[index] = true;
    if (row->argument != NULL && argument[0] == '\0') {
        return refuse_empty(row, parse->error);
    }
    return osw_option_read(parse->options, row, argument, parse->error);
}

static const struct osw_verb_row *
find_verb(const char *name)
{
    const struct osw_verb_row *row = osw_verb_rows;

    while (row->name != NULL && strcmp(row->name, name) != 0) {
        row++;
    }
    return row->name != NULL ? row : NULL;
}

/* A word that is shown to nobody, for there may be a password in it. */
static bool
is_connection(const char *word)
{
    const char *colon = strchr(word, ':');

    return strchr(word, '=') != NULL || strstr(word, "://") != NULL ||
           (colon != NULL && strchr(colon, '@') != NULL);
}

static bool
refuse_connection(struct osw_error *error)
{
    (void)osw_error_set(error,
                        OSW_EXIT_USAGE,
                        "a connection string is neither a command nor a key");
    return osw_error_hint(error, "give it as --dbname=...");
}

/* A word after the command: a part of an order's key. */
static bool
take_key(struct parse *parse, const char *word)
{
    struct osw_options *options = parse->options;

    if (parse->verb->words == WORDS_NONE ||
        options->key_columns == OSW_KEY_COLUMNS) {
        if (is_connection(word)) {
            return refuse_connection(parse->error);
        }
        (void)osw_error_set(
            parse->error, OSW_EXIT_USAGE, "unexpected argument \"%s\"", word);
        return osw_error_hint(parse->error, "see order-sweep --help");
    }
    options->key[options->key_columns] = word;
    options->key_columns++;
    return true;
}

/* What is done in SQL and may be looked for here. */
static const char *const sql_calls[][2] = {
    {"define", "order_sweep.define(...)"},
    {"undefine", "order_sweep.undefine('NAME')"},
    {"pause", "order_sweep.pause('NAME')"},
    {"resume", "order_sweep.resume('NAME')"},
    {"retain", "order_sweep.retain('NAME', journal => '90 days')"},
};

static bool
refuse_command(const char *word, struct osw_error *error)
{
    struct osw_nearest nearest = OSW_NEAREST_INIT;

    if (is_connection(word)) {
        return refuse_connection(error);
    }
    (void)osw_error_set(error, OSW_EXIT_USAGE, "unknown command \"%s\"", word);
    for (size_t i = 0; i < sizeof(sql_calls) / sizeof(sql_calls[0]); i++) {
        if (strcmp(word, sql_calls[i][0]) == 0) {
            return osw_error_hint(
                error, "it is SQL: SELECT %s", sql_calls[i][1]);
        }
    }
    for (const struct osw_verb_row *row = osw_verb_rows; row->name != NULL;
         row++) {
        osw_nearest_try(&nearest, word, strlen(word), row->name);
    }
    return nearest.word != NULL
               ? osw_error_hint(error, "did you mean %s?", nearest.word)
               : osw_error_hint(error, "see order-sweep --help");
}

/* A word that is no option: the command, then what belongs to it. */
static bool
take_word(struct parse *parse, const char *word)
{
    const struct osw_verb_row *verb = find_verb(word);

    if (parse->verb_given) {
        return take_key(parse, word);
    }
    if (verb == NULL) {
        return refuse_command(word, parse->error);
    }
    parse->verb_given = true;
    parse->verb = verb;
    parse->options->verb = verb->verb;
    return true;
}

static bool
take_value(struct parse *parse, int value, char **argv)
{
    if (value == 1) {
        return take_word(parse, optarg);
    }
    if (value == ':') {
        return refuse_no_argument(&osw_option_rows[find_row(optopt)],
                                  parse->error);
    }
    if (value == '?' && optopt == '?') {
        return take_option(parse, find_row('?'), NULL);
    }
    if (value == '?') {
        return refuse_option(argv, parse->error);
    }
    return take_option(parse, find_row(value), optarg);
}

/* True if only an answer is wanted, whatever else was asked for. */
static bool
answers_only(const struct osw_options *options)
{
    return options->help || options->version || options->list_options ||
           options->list_exit_codes;
}

static bool
take_arguments(struct parse *parse, int argc, char **argv)
{
    struct getopt_tables tables = {.letters = ""};

    fill_getopt_tables(&tables);
    opterr = 0; /* the messages are ours */
    optind = 0; /* glibc: begin anew, with the modes of the letters */
    while (!answers_only(parse->options)) {
        int value = 0;

        optopt = 0;
        value = getopt_long(argc, argv, tables.letters, tables.longs, NULL);
        if (value == -1) {
            break;
        }
        if (!take_value(parse, value, argv)) {
            return false;
        }
    }
    if (answers_only(parse->options)) {
        return true;
    }
    if (parse->verb->words == WORDS_COMMAND && optind < argc &&
        strcmp(argv[optind - 1], "--") == 0) {
        parse->options->command = argv + optind;
        return true;
    }
    for (int i = optind; i < argc; i++) { /* what follows "--" */
        if (!take_word(parse, argv[i])) {
            return false;
        }
    }
    return true;
}

/* Combinations. */

static bool
is_given(const struct parse *parse, const char *name)
{
    for (size_t i = 0; i < OSW_OPTION_ROWS; i++) {
        if (strcmp(osw_option_rows[i].name, name) == 0) {
            return parse->given[i];
        }
    }
    return false;
}

/* The command that alone has options of this mode. */
static const struct osw_verb_row *
only_verb(unsigned modes)
{
    const struct osw_verb_row *row = osw_verb_rows;

    while (row->name != NULL && row->mode != modes) {
        row++;
    }
    return row->name != NULL ? row : NULL;
}

/* An option that does not belong to what was asked for. */
static bool
refuse_misplaced(const struct parse *parse, const struct osw_option_row *row)
{
    const struct osw_verb_row *only = only_verb(row->modes);
    struct osw_error *error = parse->error;

    if (only != NULL && only->verb != OSW_VERB_RUN) {
        (void)osw_error_set(error,
                            OSW_EXIT_USAGE,
                            "%s: an option of %s only",
                            row->name,
                            only->name);
        return osw_error_hint(
            error, "write order-sweep %s %s", only->name, row->name);
    }
    if (parse->options->verb != OSW_VERB_RUN) {
        (void)osw_error_set(error,
                            OSW_EXIT_USAGE,
                            "%s: not an option of %s",
                            row->name,
                            parse->verb->name);
        return osw_error_hint(error, "leave it out");
    }
    if (row->modes == MODE_DRY_RUN) {
        (void)osw_error_set(
            error, OSW_EXIT_USAGE, "%s: for a dry run only", row->name);
        return osw_error_hint(error, "add --dry-run, or leave it out");
    }
    (void)osw_error_set(
        error, OSW_EXIT_USAGE, "%s: has no meaning with --dry-run", row->name);
    return osw_error_hint(error, "leave one of the two out");
}

static bool
check_places(const struct parse *parse)
{
    unsigned mode = parse->verb->mode;

    if (parse->options->dry_run && parse->options->verb == OSW_VERB_RUN) {
        mode = MODE_DRY_RUN;
    }
    for (size_t i = 0; i < OSW_OPTION_ROWS; i++) {
        if (parse->given[i] && (osw_option_rows[i].modes & mode) == 0) {
            return refuse_misplaced(parse, &osw_option_rows[i]);
        }
    }
    return true;
}

static bool
check_key(const struct parse *parse)
{
    if (parse->verb->words != WORDS_NEEDED || parse->options->key_columns > 0) {
        return true;
    }
    (void)osw_error_set(
        parse->error, OSW_EXIT_USAGE, "%s: no key", parse->verb->name);
    return osw_error_hint(parse->error,
                          "write order-sweep explain KEY, a word for each "
                          "column of the key");
}

static bool
check_command(const struct parse *parse)
{
    if (parse->verb->words != WORDS_COMMAND ||
        parse->options->command != NULL) {
        return true;
    }
    (void)osw_error_set(
        parse->error, OSW_EXIT_USAGE, "%s: no command", parse->verb->name);
    return osw_error_hint(parse->error,
                          "write order-sweep relay -- COMMAND [ARG]...");
}

static bool
check_pair(const struct parse *parse, const char *one, const char *other)
{
    if (!is_given(parse, one) || !is_given(parse, other)) {
        return true;
    }
    (void)osw_error_set(
        parse->error, OSW_EXIT_USAGE, "%s: contradicts %s", one, other);
    return osw_error_hint(parse->error, "leave one of the two out");
}

static bool
check_slots(const struct parse *parse)
{
    if (parse->options->slots == 1 || parse->options->lock) {
        return true;
    }
    return check_pair(parse, "--slots", "--no-lock");
}

/* A run that lingers has defaults of its own. */
static bool
settle_linger(const struct parse *parse)
{
    struct osw_options *options = parse->options;

    if (options->linger) {
        if (!is_given(parse, "--look-every")) {
            options->look_every_ms = options->verb == OSW_VERB_RELAY
                                         ? RELAY_EVERY_MS
                                         : LOOK_EVERY_MS;
        }
        if (!is_given(parse, "--time-limit")) {
            options->time_limit_ms = LINGER_MS;
        }
        return true;
    }
    if (!is_given(parse, "--look-every")) {
        return true;
    }
    (void)osw_error_set(
        parse->error, OSW_EXIT_USAGE, "--look-every: for --linger only");
    return osw_error_hint(parse->error, "add --linger, or leave it out");
}

/* Derive the hard limit where it is not given; refuse one that comes first. */
static bool
settle_limits(const struct parse *parse)
{
    struct osw_options *options = parse->options;
    char hard[OSW_DURATION_TEXT_SIZE];
    char soft[OSW_DURATION_TEXT_SIZE];

    if (!is_given(parse, "--hard-limit")) {
        options->hard_limit_ms = options->time_limit_ms + HARD_LIMIT_MARGIN_MS;
    }
    if (options->hard_limit_ms >= options->time_limit_ms) {
        return true;
    }
    osw_duration_format(options->hard_limit_ms, hard, sizeof hard);
    osw_duration_format(options->time_limit_ms, soft, sizeof soft);
    (void)osw_error_set(parse->error,
                        OSW_EXIT_USAGE,
                        "--hard-limit: %s is less than --time-limit, %s",
                        hard,
                        soft);
    return osw_error_hint(
        parse->error, "write %s or more, or lower --time-limit", soft);
}

bool
osw_options_parse(int argc,
                  char **argv,
                  struct osw_options *options,
                  struct osw_error *error)
{
    struct parse parse = {
        .options = options, .error = error, .verb = &osw_verb_rows[0]};

    *options = defaults;
    if (!take_arguments(&parse, argc, argv)) {
        return false;
    }
    if (answers_only(options)) {
        return true;
    }
    return check_places(&parse) && check_key(&parse) && check_command(&parse) &&
           check_pair(&parse, "--fail-if-busy", "--no-lock") &&
           check_pair(&parse, "--fail-if-busy", "--linger") &&
           check_pair(&parse, "--quiet", "--verbose") && check_slots(&parse) &&
           settle_linger(&parse) && settle_limits(&parse);
}
