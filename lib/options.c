#include "options.h"

#include <bsd/stdlib.h>
#include <getopt.h>
#include <stddef.h>
#include <string.h>

#include "duration.h"

#define SECOND INT64_C(1000)
#define DAY    (SECOND * 60 * 60 * 24)

/* What --hard-limit adds to --time-limit where only the latter is given. */
#define HARD_LIMIT_MARGIN_MS (7 * SECOND)

/* The column where the help texts begin. */
#define HELP_COLUMN 32

/* What the program is asked to do; a row says where its option belongs. */
enum mode {
    MODE_SWEEP = 1,
    MODE_DRY_RUN = 2,
    MODE_RUN = MODE_SWEEP | MODE_DRY_RUN,
    MODE_MIGRATE = 4,
    MODE_ANY = MODE_RUN | MODE_MIGRATE,
};

enum group {
    GROUP_SWEEP,
    GROUP_LIMITS,
    GROUP_CONNECTION,
    GROUP_OUTPUT,
    GROUP_OTHER,
    GROUP_HIDDEN,
};

/* How an argument is read, and so the type of the field it goes to. */
enum kind {
    KIND_TRUE,       /* bool: no argument, sets it */
    KIND_FALSE,      /* bool: no argument, clears it */
    KIND_VERBOSE,    /* int: no argument, one more each time, at most 2 */
    KIND_QUIET,      /* int: no argument */
    KIND_TEXT,       /* const char *: taken as it is */
    KIND_NAME,       /* const char *: a sweep's name */
    KIND_PORT,       /* const char *: port numbers with commas between */
    KIND_INT,        /* int: min..max */
    KIND_INT64,      /* int64_t: min..max */
    KIND_DURATION,   /* int64_t: min..max milliseconds */
    KIND_FORMAT,     /* enum osw_format */
    KIND_DURABILITY, /* enum osw_durability */
};

struct row {
    const char *name;     /* with its dashes, as messages show it */
    const char *argument; /* NULL: takes none */
    const char *help;     /* '\n' where a new line begins */
    size_t field;         /* offset within struct osw_options */
    int64_t min;
    int64_t max;
    enum group group;
    enum kind kind;
    unsigned modes;
    char letter; /* '\0': none */
};

#define FIELD(member) offsetof(struct osw_options, member)

/* The one table; help and list keep its order. */
static const struct row rows[] = {
    {.name = "--sweep",
     .argument = "NAME",
     .group = GROUP_SWEEP,
     .modes = MODE_RUN,
     .kind = KIND_NAME,
     .field = FIELD(sweep),
     .help = "sweep only this one (default: all enabled)"},
    {.name = "--dry-run",
     .letter = 'n',
     .group = GROUP_SWEEP,
     .modes = MODE_RUN,
     .kind = KIND_TRUE,
     .field = FIELD(dry_run),
     .help = "list what would happen, change nothing"},
    {.name = "--window",
     .argument = "DURATION",
     .group = GROUP_SWEEP,
     .modes = MODE_RUN,
     .kind = KIND_DURATION,
     .field = FIELD(window_ms),
     .min = SECOND,
     .max = OSW_DURATION_MAX_MS,
     .help = "payment window of this run instead of the\n"
             "defined one; longer only, any in a dry run"},
    {.name = "--durability",
     .argument = "batch|each",
     .group = GROUP_SWEEP,
     .modes = MODE_SWEEP,
     .kind = KIND_DURABILITY,
     .field = FIELD(durability),
     .help = "flush commits once at the end, or each\n"
             "(default batch)"},
    {.name = "--no-lock",
     .group = GROUP_SWEEP,
     .modes = MODE_SWEEP,
     .kind = KIND_FALSE,
     .field = FIELD(lock),
     .help = "run beside other runs instead of alone"},
    {.name = "--fail-if-busy",
     .group = GROUP_SWEEP,
     .modes = MODE_SWEEP,
     .kind = KIND_TRUE,
     .field = FIELD(fail_if_busy),
     .help = "exit 75, not 0, if another run is at work"},
    {.name = "--print",
     .group = GROUP_SWEEP,
     .modes = MODE_MIGRATE,
     .kind = KIND_TRUE,
     .field = FIELD(print),
     .help = "migrate: write the SQL, change nothing"},

    {.name = "--batch-size",
     .argument = "N",
     .group = GROUP_LIMITS,
     .modes = MODE_SWEEP,
     .kind = KIND_INT,
     .field = FIELD(batch_size),
     .min = 1,
     .max = 10000,
     .help = "orders read at a time, 1 to 10000\n(default 500)"},
    {.name = "--max-orders",
     .argument = "N",
     .group = GROUP_LIMITS,
     .modes = MODE_SWEEP,
     .kind = KIND_INT64,
     .field = FIELD(max_orders),
     .min = 0,
     .max = 1000000000,
     .help = "end after so many orders, 0 to 1000000000\n"
             "(default 0, no limit)"},
    {.name = "--limit",
     .argument = "N",
     .group = GROUP_LIMITS,
     .modes = MODE_DRY_RUN,
     .kind = KIND_INT,
     .field = FIELD(limit),
     .min = 0,
     .max = 1000000,
     .help = "rows a dry run lists, 0 to 1000000\n(default 100)"},
    {.name = "--time-limit",
     .argument = "DURATION",
     .group = GROUP_LIMITS,
     .modes = MODE_RUN,
     .kind = KIND_DURATION,
     .field = FIELD(time_limit_ms),
     .min = SECOND,
     .max = DAY,
     .help = "begin nothing more after it, 1s to 1d\n(default 45s)"},
    {.name = "--hard-limit",
     .argument = "DURATION",
     .group = GROUP_LIMITS,
     .modes = MODE_RUN,
     .kind = KIND_DURATION,
     .field = FIELD(hard_limit_ms),
     .min = SECOND,
     .max = 2 * DAY,
     .help = "break off after it, 1s to 2d (default 52s,\n"
             "or 7s more than --time-limit)"},

    {.name = "--dbname",
     .letter = 'd',
     .argument = "DBNAME",
     .group = GROUP_CONNECTION,
     .modes = MODE_ANY,
     .kind = KIND_TEXT,
     .field = FIELD(dbname),
     .help = "database name, or a connection string"},
    {.name = "--host",
     .letter = 'h',
     .argument = "HOST",
     .group = GROUP_CONNECTION,
     .modes = MODE_ANY,
     .kind = KIND_TEXT,
     .field = FIELD(host),
     .help = "server host, or socket directory"},
    {.name = "--port",
     .letter = 'p',
     .argument = "PORT",
     .group = GROUP_CONNECTION,
     .modes = MODE_ANY,
     .kind = KIND_PORT,
     .field = FIELD(port),
     .min = 1,
     .max = 65535,
     .help = "server port"},
    {.name = "--username",
     .letter = 'U',
     .argument = "NAME",
     .group = GROUP_CONNECTION,
     .modes = MODE_ANY,
     .kind = KIND_TEXT,
     .field = FIELD(user),
     .help = "database role"},

    {.name = "--format",
     .argument = "text|json",
     .group = GROUP_OUTPUT,
     .modes = MODE_RUN,
     .kind = KIND_FORMAT,
     .field = FIELD(format),
     .help = "report on stdout in this form (default: text\n"
             "on a terminal, with -v and in a dry run, else\n"
             "none)"},
    {.name = "--verbose",
     .letter = 'v',
     .group = GROUP_OUTPUT,
     .modes = MODE_ANY,
     .kind = KIND_VERBOSE,
     .field = FIELD(verbosity),
     .help = "say more; twice: still more"},
    {.name = "--quiet",
     .letter = 'q',
     .group = GROUP_OUTPUT,
     .modes = MODE_ANY,
     .kind = KIND_QUIET,
     .field = FIELD(verbosity),
     .help = "errors only, no warnings"},

    {.name = "--help",
     .letter = '?',
     .group = GROUP_OTHER,
     .modes = MODE_ANY,
     .kind = KIND_TRUE,
     .field = FIELD(help),
     .help = "show this help, then exit"},
    {.name = "--version",
     .letter = 'V',
     .group = GROUP_OTHER,
     .modes = MODE_ANY,
     .kind = KIND_TRUE,
     .field = FIELD(version),
     .help = "show the version, then exit"},

    {.name = "--list-options",
     .group = GROUP_HIDDEN,
     .modes = MODE_ANY,
     .kind = KIND_TRUE,
     .field = FIELD(list_options)},
    {.name = "--list-exit-codes",
     .group = GROUP_HIDDEN,
     .modes = MODE_ANY,
     .kind = KIND_TRUE,
     .field = FIELD(list_exit_codes)},
};

#define ROWS (sizeof rows / sizeof rows[0])

static const struct osw_options defaults = {
    .verb = OSW_VERB_RUN,
    .window_ms = -1,
    .time_limit_ms = 45 * SECOND,
    .hard_limit_ms = 52 * SECOND,
    .max_orders = 0,
    .batch_size = 500,
    .limit = 100,
    .durability = OSW_DURABILITY_BATCH,
    .format = OSW_FORMAT_AUTO,
    .lock = true,
};

/* What is known while parsing: which rows were given, and whether a verb. */
struct parse {
    struct osw_options *options;
    struct osw_error *error;
    bool given[ROWS];
    bool verb_given;
};

/* Reading one argument. */

static bool
refuse_choice(const struct row *row, const char *text, struct osw_error *error)
{
    (void)osw_error_set(
        error, OSW_EXIT_USAGE, "%s: unknown value \"%s\"", row->name, text);
    return osw_error_hint(error, "write one of %s", row->argument);
}

static bool
read_format(const struct row *row,
            const char *text,
            enum osw_format *format,
            struct osw_error *error)
{
    if (strcmp(text, "text") == 0) {
        *format = OSW_FORMAT_TEXT;
    } else if (strcmp(text, "json") == 0) {
        *format = OSW_FORMAT_JSON;
    } else {
        return refuse_choice(row, text, error);
    }
    return true;
}

static bool
read_durability(const struct row *row,
                const char *text,
                enum osw_durability *durability,
                struct osw_error *error)
{
    if (strcmp(text, "batch") == 0) {
        *durability = OSW_DURABILITY_BATCH;
    } else if (strcmp(text, "each") == 0) {
        *durability = OSW_DURABILITY_EACH;
    } else {
        return refuse_choice(row, text, error);
    }
    return true;
}

/* strtonum alone would take leading blanks and a plus sign. */
static bool
is_whole_number(const char *text)
{
    const char *digits = text[0] == '-' ? text + 1 : text;

    return digits[0] != '\0' && digits[strspn(digits, "0123456789")] == '\0';
}

static bool
read_number(const struct row *row,
            const char *text,
            int64_t *number,
            struct osw_error *error)
{
    const char *trouble = "not a whole number";

    if (is_whole_number(text)) {
        *number = strtonum(text, row->min, row->max, &trouble);
        if (trouble == NULL) {
            return true;
        }
        trouble = "out of range";
    }
    (void)osw_error_set(
        error, OSW_EXIT_USAGE, "%s: \"%s\" is %s", row->name, text, trouble);
    return osw_error_hint(error,
                          "write a whole number from %lld to %lld",
                          (long long)row->min,
                          (long long)row->max);
}

static bool
read_int(const struct row *row,
         const char *text,
         int *number,
         struct osw_error *error)
{
    int64_t wide = 0;

    if (!read_number(row, text, &wide, error)) {
        return false;
    }
    *number = (int)wide;
    return true;
}

/* The same names that order_sweep.define accepts. */
static bool
is_sweep_name(const char *text)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz";
    static const char others[] = "abcdefghijklmnopqrstuvwxyz0123456789_";
    const size_t longest = 40;
    size_t length = strlen(text);

    return length > 0 && length <= longest && strspn(text, letters) > 0 &&
           strspn(text, others) == length;
}

static bool
read_name(const struct row *row,
          const char *text,
          const char **name,
          struct osw_error *error)
{
    if (is_sweep_name(text)) {
        *name = text;
        return true;
    }
    (void)osw_error_set(error,
                        OSW_EXIT_USAGE,
                        "%s: \"%s\" cannot be the name of a sweep",
                        row->name,
                        text);
    return osw_error_hint(error,
                          "write a small letter, then up to 39 small letters, "
                          "digits and underscores");
}

/* libpq takes a port for each host; an empty one means its default. */
static bool
read_port(const struct row *row,
          const char *text,
          const char **port,
          struct osw_error *error)
{
    const char *item = text;

    for (;;) {
        char number[sizeof "65535"];
        size_t length = strcspn(item, ",");
        const char *trouble = NULL;

        if (length >= sizeof number || strspn(item, "0123456789") < length) {
            break;
        }
        memcpy(number, item, length);
        number[length] = '\0';
        if (length > 0) {
            (void)strtonum(number, row->min, row->max, &trouble);
        }
        if (trouble != NULL) {
            break;
        }
        if (item[length] == '\0') {
            *port = text;
            return true;
        }
        item += length + 1;
    }
    (void)osw_error_set(
        error, OSW_EXIT_USAGE, "%s: \"%s\" is not a port", row->name, text);
    return osw_error_hint(error,
                          "write a whole number from %lld to %lld, "
                          "or one for each host with commas between",
                          (long long)row->min,
                          (long long)row->max);
}

/* Read an option's argument into its field. */
static bool
read_argument(struct osw_options *options,
              const struct row *row,
              const char *text,
              struct osw_error *error)
{
    void *field = (char *)options + row->field;

    switch (row->kind) {
    case KIND_TRUE:
        *(bool *)field = true;
        return true;
    case KIND_FALSE:
        *(bool *)field = false;
        return true;
    case KIND_VERBOSE:
        *(int *)field += *(int *)field < 2 ? 1 : 0;
        return true;
    case KIND_QUIET:
        *(int *)field = -1;
        return true;
    case KIND_TEXT:
        *(const char **)field = text;
        return true;
    case KIND_NAME:
        return read_name(row, text, field, error);
    case KIND_PORT:
        return read_port(row, text, field, error);
    case KIND_INT:
        return read_int(row, text, field, error);
    case KIND_INT64:
        return read_number(row, text, field, error);
    case KIND_DURATION:
        return osw_duration_parse(
            row->name, text, row->min, row->max, field, error);
    case KIND_FORMAT:
        return read_format(row, text, field, error);
    case KIND_DURABILITY:
        return read_durability(row, text, field, error);
    }
    return osw_error_set(
        error, OSW_EXIT_INTERNAL, "%s: no way to read its argument", row->name);
}

/* getopt: its tables, and its answers turned into rows and messages. */

/* getopt's value for a long option; letters lie below it. */
#define LONG_VALUE 256

struct getopt_tables {
    struct option longs[ROWS + 1];
    char letters[2 * ROWS + 3];
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
    for (size_t i = 0; i < ROWS; i++) {
        bool has_argument = rows[i].argument != NULL;

        tables->longs[i] = (struct option){
            .name = rows[i].name + strlen("--"),
            .has_arg = has_argument ? required_argument : no_argument,
            .val = LONG_VALUE + (int)i,
        };
        if (rows[i].letter != '\0' && rows[i].letter != '?') {
            *letter++ = rows[i].letter;
            if (has_argument) {
                *letter++ = ':';
            }
        }
    }
    *letter = '\0';
    tables->longs[ROWS] = (struct option){.name = NULL};
}

/* The row of a value getopt returned or left in optopt; ROWS: none. */
static size_t
find_row(int value)
{
    if (value >= LONG_VALUE) {
        return (size_t)(value - LONG_VALUE);
    }
    for (size_t i = 0; i < ROWS; i++) {
        if (rows[i].letter != '\0' && rows[i].letter == value) {
            return i;
        }
    }
    return ROWS;
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
    size_t length = strcspn(argument, "=");
    size_t matches = 0;

    for (size_t i = 0; i < ROWS; i++) {
        if (strncmp(rows[i].name, argument, length) == 0) {
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
    return osw_error_hint(error, "see order-sweep --help");
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
                        rows[find_row(optopt)].name);
    return osw_error_hint(error, "leave out the = and what follows it");
}

static bool
refuse_no_argument(const struct row *row, struct osw_error *error)
{
    (void)osw_error_set(
        error, OSW_EXIT_USAGE, "%s: the argument is missing", row->name);
    return osw_error_hint(error, "give it as %s=%s", row->name, row->argument);
}

static bool
refuse_empty(const struct row *row, struct osw_error *error)
{
    (void)osw_error_set(
        error, OSW_EXIT_USAGE, "%s: the argument is empty", row->name);
    return osw_error_hint(
        error, "give it as %s=%s, or leave it out", row->name, row->argument);
}

static bool
take_option(struct parse *parse, size_t index, const char *argument)
{
    const struct row *row = &rows[index];

    if (parse->given[index] && row->kind != KIND_VERBOSE) {
        (void)osw_error_set(
            parse->error, OSW_EXIT_USAGE, "%s: given twice", row->name);
        return osw_error_hint(parse->error, "give it once");
    }
    parse->given[index] = true;
    if (row->argument != NULL && argument[0] == '\0') {
        return refuse_empty(row, parse->error);
    }
    return read_argument(parse->options, row, argument, parse->error);
}

/* A word that is no option: the verb, and nothing after it. */
static bool
take_word(struct parse *parse, const char *word)
{
    if (parse->verb_given) {
        (void)osw_error_set(
            parse->error, OSW_EXIT_USAGE, "unexpected argument \"%s\"", word);
        return osw_error_hint(parse->error, "see order-sweep --help");
    }
    parse->verb_given = true;
    if (strcmp(word, "run") == 0) {
        parse->options->verb = OSW_VERB_RUN;
        return true;
    }
    if (strcmp(word, "migrate") == 0) {
        parse->options->verb = OSW_VERB_MIGRATE;
        return true;
    }
    (void)osw_error_set(
        parse->error, OSW_EXIT_USAGE, "unknown command \"%s\"", word);
    return osw_error_hint(parse->error, "write run or migrate");
}

static bool
take_value(struct parse *parse, int value, char **argv)
{
    if (value == 1) {
        return take_word(parse, optarg);
    }
    if (value == ':') {
        return refuse_no_argument(&rows[find_row(optopt)], parse->error);
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
    struct getopt_tables tables;

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
    for (size_t i = 0; i < ROWS; i++) {
        if (strcmp(rows[i].name, name) == 0) {
            return parse->given[i];
        }
    }
    return false;
}

/* An option that does not belong to what was asked for. */
static bool
refuse_misplaced(const struct parse *parse, const struct row *row)
{
    struct osw_error *error = parse->error;

    if (parse->options->verb == OSW_VERB_MIGRATE) {
        (void)osw_error_set(
            error, OSW_EXIT_USAGE, "%s: not an option of migrate", row->name);
        return osw_error_hint(error, "leave it out");
    }
    if (row->modes == MODE_MIGRATE) {
        (void)osw_error_set(
            error, OSW_EXIT_USAGE, "%s: an option of migrate only", row->name);
        return osw_error_hint(error, "write order-sweep migrate %s", row->name);
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
    unsigned mode = MODE_SWEEP;

    if (parse->options->verb == OSW_VERB_MIGRATE) {
        mode = MODE_MIGRATE;
    } else if (parse->options->dry_run) {
        mode = MODE_DRY_RUN;
    }
    for (size_t i = 0; i < ROWS; i++) {
        if (parse->given[i] && (rows[i].modes & mode) == 0) {
            return refuse_misplaced(parse, &rows[i]);
        }
    }
    return true;
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
    struct parse parse = {.options = options, .error = error};

    *options = defaults;
    if (!take_arguments(&parse, argc, argv)) {
        return false;
    }
    if (answers_only(options)) {
        return true;
    }
    return check_places(&parse) &&
           check_pair(&parse, "--fail-if-busy", "--no-lock") &&
           check_pair(&parse, "--quiet", "--verbose") && settle_limits(&parse);
}

/* Help and list. */

/* Write a help text; its further lines begin in the same column. */
static void
write_help_text(FILE *out, const char *text)
{
    for (;;) {
        int length = (int)strcspn(text, "\n");

        (void)fprintf(out, "%.*s\n", length, text);
        if (text[length] == '\0') {
            return;
        }
        text += length + 1;
        (void)fprintf(out, "%*s", HELP_COLUMN, "");
    }
}

static void
write_help_row(FILE *out, const struct row *row)
{
    int width = 0;

    if (row->letter != '\0') {
        width = fprintf(out, "  -%c, %s", row->letter, row->name);
    } else {
        width = fprintf(out, "      %s", row->name);
    }
    if (row->argument != NULL) {
        width += fprintf(out, "=%s", row->argument);
    }
    (void)fprintf(out, "%*s", HELP_COLUMN - width, "");
    write_help_text(out, row->help);
}

static void
write_help_group(FILE *out, enum group group, const char *title)
{
    (void)fprintf(out, "\n%s:\n", title);
    for (size_t i = 0; i < ROWS; i++) {
        if (rows[i].group == group) {
            write_help_row(out, &rows[i]);
        }
    }
}

void
osw_options_help(FILE *out)
{
    (void)fputs(
        "order-sweep cancels unpaid orders when their payment window is over.\n"
        "\n"
        "Usage:\n"
        "  order-sweep [run] [OPTION]...      sweep the orders that are due\n"
        "  order-sweep migrate [OPTION]...    install or update the schema\n",
        out);
    write_help_group(out, GROUP_SWEEP, "Sweep options");
    write_help_group(out, GROUP_LIMITS, "Limits");
    write_help_group(out, GROUP_CONNECTION, "Connection options");
    write_help_group(out, GROUP_OUTPUT, "Output options");
    write_help_group(out, GROUP_OTHER, "Other options");
    (void)fputs(
        "\n"
        "A DURATION is a whole number with its unit: 500ms, 45s, 30m, 2h, 7d,\n"
        "1h30m.  A run that succeeds says nothing unless asked to; messages "
        "go\n"
        "to stderr.  See order-sweep(8) for exit codes and examples.\n",
        out);
}

void
osw_options_list(FILE *out)
{
    for (size_t i = 0; i < ROWS; i++) {
        if (rows[i].group != GROUP_HIDDEN) {
            (void)fprintf(out,
                          "%s\t%c\t%s\n",
                          rows[i].name,
                          rows[i].letter != '\0' ? rows[i].letter : '-',
                          rows[i].argument != NULL ? rows[i].argument : "-");
        }
    }
}
