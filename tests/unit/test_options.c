/* options: defaults, every option, every refusal, and what help and list say.
 */
#include "command_line.h"
#include "help.h"
#include "option_value.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MAX_WORDS 12

/* Words of a command line, split at '|'; an empty one is "". */
struct line {
    char text[1024];
    char *argv[MAX_WORDS + 2];
    int argc;
};

static void
split(struct line *line, const char *words)
{
    static char program[] = "order-sweep";
    char *rest = NULL;

    assert_true(strlen(words) < sizeof line->text);
    memcpy(line->text, words, strlen(words) + 1);
    rest = line->text;
    line->argc = 0;
    line->argv[line->argc++] = program;
    while (rest != NULL && words[0] != '\0') {
        assert_true(line->argc <= MAX_WORDS);
        line->argv[line->argc++] = strsep(&rest, "|");
    }
    line->argv[line->argc] = NULL;
}

/* Texts in the result point into *line. */
static struct osw_options
parse_good(struct line *line, const char *words)
{
    struct osw_error error = OSW_ERROR_INIT;
    struct osw_options options;

    split(line, words);
    if (!osw_options_parse(line->argc, line->argv, &options, &error)) {
        fail_msg("%s: %s", words, error.message);
    }
    assert_string_equal(error.message, "");
    return options;
}

static void
assert_same_text(const char *a, const char *b)
{
    if (a == NULL || b == NULL) {
        assert_ptr_equal(a, b);
    } else {
        assert_string_equal(a, b);
    }
}

static void
assert_same(const struct osw_options *a, const struct osw_options *b)
{
    assert_int_equal(a->verb, b->verb);
    assert_same_text(a->sweep, b->sweep);
    assert_int_equal(a->window_ms, b->window_ms);
    assert_int_equal(a->time_limit_ms, b->time_limit_ms);
    assert_int_equal(a->hard_limit_ms, b->hard_limit_ms);
    assert_int_equal(a->max_orders, b->max_orders);
    assert_int_equal(a->max_rate, b->max_rate);
    assert_int_equal(a->batch_size, b->batch_size);
    assert_int_equal(a->jobs, b->jobs);
    assert_int_equal(a->depth, b->depth);
    assert_int_equal(a->limit, b->limit);
    assert_int_equal(a->durability, b->durability);
    assert_int_equal(a->pooler, b->pooler);
    assert_int_equal(a->log, b->log);
    assert_int_equal(a->log_format, b->log_format);
    assert_int_equal(a->format, b->format);
    assert_int_equal(a->verbosity, b->verbosity);
    assert_int_equal(a->dry_run, b->dry_run);
    assert_int_equal(a->fail_if_busy, b->fail_if_busy);
    assert_int_equal(a->lock, b->lock);
    assert_int_equal(a->print, b->print);
    assert_int_equal(a->help, b->help);
    assert_int_equal(a->version, b->version);
    assert_int_equal(a->list_options, b->list_options);
    assert_int_equal(a->list_exit_codes, b->list_exit_codes);
    assert_same_text(a->dbname, b->dbname);
    assert_same_text(a->host, b->host);
    assert_same_text(a->port, b->port);
    assert_same_text(a->user, b->user);
    assert_int_equal(a->probe, b->probe);
    assert_same_text(a->role, b->role);
    assert_same_text(a->metrics_file, b->metrics_file);
    assert_int_equal(a->key_columns, b->key_columns);
    for (int i = 0; i < a->key_columns; i++) {
        assert_string_equal(a->key[i], b->key[i]);
    }
}

/* Written out, so that a changed default shows in a test. */
static const struct osw_options expected_defaults = {
    .verb = OSW_VERB_RUN,
    .sweep = NULL,
    .window_ms = -1,
    .time_limit_ms = 45000,
    .hard_limit_ms = 52000,
    .max_orders = 0,
    .max_rate = 0,
    .batch_size = 500,
    .jobs = 1,
    .depth = 64,
    .slots = 1,
    .look_every_ms = -1,
    .limit = 100,
    .durability = OSW_DURABILITY_BATCH,
    .format = OSW_FORMAT_AUTO,
    .verbosity = 0,
    .lock = true,
};

static void
no_arguments_give_the_defaults(void **state)
{
    struct line line;
    struct osw_options options = parse_good(&line, "");

    (void)state;
    assert_same(&options, &expected_defaults);
    options = parse_good(&line, "run");
    assert_same(&options, &expected_defaults);
    options = parse_good(&line, "--");
    assert_same(&options, &expected_defaults);
    options = parse_good(&line, "--|run");
    assert_same(&options, &expected_defaults);
}

static void
an_empty_argv_gives_the_defaults(void **state)
{
    struct osw_error error = OSW_ERROR_INIT;
    struct osw_options options;
    char *argv[] = {NULL};

    (void)state;
    assert_true(osw_options_parse(0, argv, &options, &error));
    assert_same(&options, &expected_defaults);
}

/*
 * Parse words and compare with the defaults and the given fields changed.
 * The macro only spares the copying.
 */
#define ASSERT_PARSES(words, ...)                                              \
    do {                                                                       \
        struct line line_;                                                     \
        struct osw_options expected = expected_defaults;                       \
        struct osw_options options_ = parse_good(&line_, words);               \
                                                                               \
        __VA_ARGS__;                                                           \
        assert_same(&options_, &expected);                                     \
    } while (0)

static void
every_option_sets_its_field(void **state)
{
    (void)state;
    ASSERT_PARSES("--sweep|a1_b", expected.sweep = "a1_b");
    ASSERT_PARSES("--sweep=a", expected.sweep = "a");
    ASSERT_PARSES("--dry-run", expected.dry_run = true);
    ASSERT_PARSES("-n", expected.dry_run = true);
    ASSERT_PARSES("--window|30m", expected.window_ms = 1800000);
    ASSERT_PARSES("--window=1s", expected.window_ms = 1000);
    ASSERT_PARSES("--durability|each",
                  expected.durability = OSW_DURABILITY_EACH);
    ASSERT_PARSES("--durability|batch", (void)0);
    ASSERT_PARSES("--pooler|yes", expected.pooler = OSW_POOLER_YES);
    ASSERT_PARSES("check|--pooler=no", expected.verb = OSW_VERB_CHECK;
                  expected.pooler = OSW_POOLER_NO);
    ASSERT_PARSES("--pooler|auto", (void)0);
    ASSERT_PARSES("--log|syslog", expected.log = OSW_LOG_SYSLOG);
    ASSERT_PARSES("status|--log=journald", expected.verb = OSW_VERB_STATUS;
                  expected.log = OSW_LOG_SYSLOG);
    ASSERT_PARSES("migrate|--log|stderr", expected.verb = OSW_VERB_MIGRATE);
    ASSERT_PARSES("--log-format|json", expected.log_format = OSW_LOG_JSON);
    ASSERT_PARSES("--dry-run|--log-format=text", expected.dry_run = true);
    ASSERT_PARSES("--no-lock", expected.lock = false);
    ASSERT_PARSES("--fail-if-busy", expected.fail_if_busy = true);
    ASSERT_PARSES("migrate|--print", expected.verb = OSW_VERB_MIGRATE;
                  expected.print = true);
    ASSERT_PARSES("--batch-size|1", expected.batch_size = 1);
    ASSERT_PARSES("--batch-size|10000", expected.batch_size = 10000);
    ASSERT_PARSES("--jobs|16", expected.jobs = 16);
    ASSERT_PARSES("-j2", expected.jobs = 2);
    ASSERT_PARSES("--depth|1", expected.depth = 1);
    ASSERT_PARSES("--slots|16", expected.slots = 16);
    ASSERT_PARSES("--slots|1|--no-lock", expected.lock = false);
    ASSERT_PARSES("--max-rate|0", (void)0);
    ASSERT_PARSES("--max-rate|1", expected.max_rate = 1);
    ASSERT_PARSES("--max-rate|1000000", expected.max_rate = 1000000);
    ASSERT_PARSES("--max-orders|0", (void)0);
    ASSERT_PARSES("--max-orders|1000000000", expected.max_orders = 1000000000);
    ASSERT_PARSES("-n|--limit|0", expected.dry_run = true; expected.limit = 0);
    ASSERT_PARSES("-n|--limit|1000000", expected.dry_run = true;
                  expected.limit = 1000000);
    ASSERT_PARSES("--format|text", expected.format = OSW_FORMAT_TEXT);
    ASSERT_PARSES("--format|json", expected.format = OSW_FORMAT_JSON);
    ASSERT_PARSES("--metrics-file|/var/a b/a-1_B.x.prom",
                  expected.metrics_file = "/var/a b/a-1_B.x.prom");
    ASSERT_PARSES("--metrics-file=a.prom", expected.metrics_file = "a.prom");
    ASSERT_PARSES("--quiet", expected.verbosity = -1);
    ASSERT_PARSES("-q", expected.verbosity = -1);
    ASSERT_PARSES("--verbose", expected.verbosity = 1);
    ASSERT_PARSES("-v", expected.verbosity = 1);
    ASSERT_PARSES("-vv", expected.verbosity = 2);
    ASSERT_PARSES("-v|--verbose", expected.verbosity = 2);
    ASSERT_PARSES("-vvvvv", expected.verbosity = 2);
}

/* A run that lingers has a time limit of its own, longer than a minute. */
static void
linger_has_its_defaults(void **state)
{
    (void)state;
    ASSERT_PARSES("--linger", expected.linger = true;
                  expected.look_every_ms = 5000;
                  expected.time_limit_ms = 70000;
                  expected.hard_limit_ms = 77000);
    ASSERT_PARSES("--linger|--look-every|100ms|--time-limit|50s",
                  expected.linger = true;
                  expected.look_every_ms = 100;
                  expected.time_limit_ms = 50000;
                  expected.hard_limit_ms = 57000);
    ASSERT_PARSES("--linger|--no-lock", expected.linger = true;
                  expected.lock = false;
                  expected.look_every_ms = 5000;
                  expected.time_limit_ms = 70000;
                  expected.hard_limit_ms = 77000);
    ASSERT_PARSES("status|--sweep|a", expected.verb = OSW_VERB_STATUS;
                  expected.sweep = "a");
    ASSERT_PARSES("late|--sweep|a", expected.verb = OSW_VERB_LATE;
                  expected.sweep = "a");
    ASSERT_PARSES("retry", expected.verb = OSW_VERB_RETRY);
    ASSERT_PARSES("retry|7", expected.verb = OSW_VERB_RETRY;
                  expected.key[0] = "7";
                  expected.key_columns = 1);
}

static void
connection_options_are_those_of_psql(void **state)
{
    (void)state;
    ASSERT_PARSES("-d|shop", expected.dbname = "shop");
    ASSERT_PARSES("-dshop", expected.dbname = "shop");
    ASSERT_PARSES("--dbname|service=shop user=x",
                  expected.dbname = "service=shop user=x");
    ASSERT_PARSES("-h|/run/postgresql", expected.host = "/run/postgresql");
    ASSERT_PARSES("--host|a,b", expected.host = "a,b");
    ASSERT_PARSES("-p|5432", expected.port = "5432");
    ASSERT_PARSES("--port|1", expected.port = "1");
    ASSERT_PARSES("--port|65535", expected.port = "65535");
    ASSERT_PARSES("--port|5432,,5433", expected.port = "5432,,5433");
    ASSERT_PARSES("-U|sweeper", expected.user = "sweeper");
    ASSERT_PARSES("--username|sweeper", expected.user = "sweeper");
    ASSERT_PARSES("migrate|-d|shop|-h|db|-p|1|-U|x|-v",
                  expected.verb = OSW_VERB_MIGRATE;
                  expected.dbname = "shop";
                  expected.host = "db";
                  expected.port = "1";
                  expected.user = "x";
                  expected.verbosity = 1);
}

static void
check_takes_a_role_and_probe(void **state)
{
    (void)state;
    ASSERT_PARSES("check", expected.verb = OSW_VERB_CHECK);
    ASSERT_PARSES("check|--role|order-sweep", expected.verb = OSW_VERB_CHECK;
                  expected.role = "order-sweep");
    ASSERT_PARSES("--probe|check", expected.verb = OSW_VERB_CHECK;
                  expected.probe = true);
    ASSERT_PARSES("check|--format=json|-d|shop", expected.verb = OSW_VERB_CHECK;
                  expected.format = OSW_FORMAT_JSON;
                  expected.dbname = "shop");
}

/* Whatever a key looks like, it is taken as it is. */
static void
explain_takes_a_key(void **state)
{
    (void)state;
    ASSERT_PARSES("explain|4711", expected.verb = OSW_VERB_EXPLAIN;
                  expected.key[0] = "4711";
                  expected.key_columns = 1);
    ASSERT_PARSES("explain|a, b||it's {x}", expected.verb = OSW_VERB_EXPLAIN;
                  expected.key[0] = "a, b";
                  expected.key[1] = "";
                  expected.key[2] = "it's {x}";
                  expected.key_columns = 3);
    ASSERT_PARSES("explain|--|-1|--sweep", expected.verb = OSW_VERB_EXPLAIN;
                  expected.key[0] = "-1";
                  expected.key[1] = "--sweep";
                  expected.key_columns = 2);
    ASSERT_PARSES("--sweep|a|explain|explain|-v",
                  expected.verb = OSW_VERB_EXPLAIN;
                  expected.sweep = "a";
                  expected.verbosity = 1;
                  expected.key[0] = "explain";
                  expected.key_columns = 1);
}

static void
a_key_has_as_many_columns_as_an_index(void **state)
{
    struct osw_error error = OSW_ERROR_INIT;
    struct osw_options options;
    char program[] = "order-sweep";
    char verb[] = "explain";
    char word[] = "1";
    char *argv[OSW_KEY_COLUMNS + 4] = {program, verb};

    (void)state;
    for (int i = 0; i <= OSW_KEY_COLUMNS; i++) {
        argv[2 + i] = word;
    }
    assert_true(osw_options_parse(OSW_KEY_COLUMNS + 2, argv, &options, &error));
    assert_int_equal(options.key_columns, OSW_KEY_COLUMNS);
    assert_false(
        osw_options_parse(OSW_KEY_COLUMNS + 3, argv, &options, &error));
    assert_int_equal(error.exit, OSW_EXIT_USAGE);
    assert_string_equal(error.message, "unexpected argument \"1\"");
}

static void
limits_go_together(void **state)
{
    (void)state;
    ASSERT_PARSES("--time-limit|10s", expected.time_limit_ms = 10000;
                  expected.hard_limit_ms = 17000);
    ASSERT_PARSES("--time-limit|1d", expected.time_limit_ms = 86400000;
                  expected.hard_limit_ms = 86407000);
    ASSERT_PARSES("--hard-limit|1m", expected.hard_limit_ms = 60000);
    ASSERT_PARSES("--hard-limit|45s", expected.hard_limit_ms = 45000);
    ASSERT_PARSES("--hard-limit|2d", expected.hard_limit_ms = 172800000);
    ASSERT_PARSES("--time-limit|1s|--hard-limit|1s",
                  expected.time_limit_ms = 1000;
                  expected.hard_limit_ms = 1000);
    ASSERT_PARSES("-n|--time-limit|2m", expected.dry_run = true;
                  expected.time_limit_ms = 120000;
                  expected.hard_limit_ms = 127000);
}

static void
words_and_options_come_in_any_order(void **state)
{
    (void)state;
    ASSERT_PARSES("--print|migrate", expected.verb = OSW_VERB_MIGRATE;
                  expected.print = true);
    ASSERT_PARSES("-v|run|-n", expected.verbosity = 1; expected.dry_run = true);
    ASSERT_PARSES("-nv", expected.verbosity = 1; expected.dry_run = true);
    ASSERT_PARSES("--dry|--win|30m", expected.dry_run = true;
                  expected.window_ms = 1800000);
}

static void
order_does_not_depend_on_the_environment(void **state)
{
    (void)state;
    assert_int_equal(setenv("POSIXLY_CORRECT", "1", 1), 0);
    ASSERT_PARSES("migrate|--print", expected.verb = OSW_VERB_MIGRATE;
                  expected.print = true);
    assert_int_equal(unsetenv("POSIXLY_CORRECT"), 0);
}

static void
answers_end_the_parsing(void **state)
{
    (void)state;
    ASSERT_PARSES("--help", expected.help = true);
    ASSERT_PARSES("-?", expected.help = true);
    ASSERT_PARSES("-v?", expected.help = true; expected.verbosity = 1);
    ASSERT_PARSES("-?v", expected.help = true);
    ASSERT_PARSES("--version", expected.version = true);
    ASSERT_PARSES("-V", expected.version = true);
    ASSERT_PARSES("--list-options", expected.list_options = true);
    ASSERT_PARSES("--list-exit-codes", expected.list_exit_codes = true);
    ASSERT_PARSES("--help|--version|--nonsense|nonsense", expected.help = true);
    ASSERT_PARSES("--help|--|nonsense", expected.help = true);
    ASSERT_PARSES("migrate|--help", expected.verb = OSW_VERB_MIGRATE;
                  expected.help = true);
    ASSERT_PARSES("--print|-V", expected.print = true; expected.version = true);
}

struct refusal {
    const char *words;
    const char *message; /* with "; " before the hint, as it is printed */
};

#define CONNECTION                                                             \
    "a connection string is neither a command nor a key; give it as "          \
    "--dbname=..."
#define HELP       "; see order-sweep --help"
#define COMMANDS   HELP
#define ONE_OF     "; leave one of the two out"
#define NOT_DRY    ": has no meaning with --dry-run" ONE_OF
#define NOT_THERE  ": not an option of migrate; leave it out"
#define CHECK_ONLY ": an option of check only; write order-sweep check "
#define BATCH      "; write a whole number from 1 to 10000"
#define ORDERS     "; write a whole number from 0 to 1000000000"
#define ROWS       "; write a whole number from 0 to 1000000"
#define NAME                                                                   \
    "; write a small letter, then up to 39 small letters, digits and "         \
    "underscores"
#define PROM                                                                   \
    " is not a file that node_exporter reads; write a name of letters, "       \
    "digits, dots, dashes and underscores that ends in .prom"
#define PORT                                                                   \
    "; write a whole number from 1 to 65535, or one for each host with "       \
    "commas between"

static const struct refusal refusals[] = {
    /* Unknown things. */
    {"--foo", "unknown option \"--foo\"" HELP},
    {"--foo=bar", "unknown option \"--foo\"" HELP},
    {"--sweep=a|--foo|-v", "unknown option \"--foo\"" HELP},
    {"--password", "unknown option \"--password\"" HELP},
    {"-x", "unknown option \"-x\"" HELP},
    {"-nx", "unknown option \"-x\"" HELP},
    {"-W", "unknown option \"-W\"" HELP},
    {"-S", "unknown option \"-S\"" HELP},
    {"-:", "unknown option \"-:\"" HELP},
    {"-\xc3\xa4", "unknown option letter beyond ASCII" HELP},
    {"--li", "option \"--li\" is ambiguous; write it out"},
    {"--ver", "option \"--ver\" is ambiguous; write it out"},
    {"--d=x", "option \"--d\" is ambiguous; write it out"},
    {"foo", "unknown command \"foo\"" COMMANDS},
    {"statsu", "unknown command \"statsu\"; did you mean status?"},
    {"--lingr", "unknown option \"--lingr\"; did you mean --linger?"},
    {"--time-limt=5s",
     "unknown option \"--time-limt\"; did you mean --time-limit?"},
    {"pause",
     "unknown command \"pause\"; it is SQL: SELECT "
     "order_sweep.pause('NAME')"},
    {"undefine",
     "unknown command \"undefine\"; it is SQL: SELECT "
     "order_sweep.undefine('NAME')"},
    {"RUN", "unknown command \"RUN\"" COMMANDS},
    {"-", "unknown command \"-\"" COMMANDS},
    {"--|--print", "unknown command \"--print\"" COMMANDS},
    {"-v|", "unknown command \"\"" COMMANDS},
    {"run|migrate", "unexpected argument \"migrate\"" HELP},
    {"migrate|4711", "unexpected argument \"4711\"" HELP},
    {"run|--|4711", "unexpected argument \"4711\"" HELP},
    {"run|a\nb", "unexpected argument \"a b\"" HELP},

    {"--log=syslogd",
     "--log: unknown value \"syslogd\"; write one of stderr|syslog|journald"},
    {"--log-format=xml",
     "--log-format: unknown value \"xml\"; write one of text|json"},

    /* Never a secret. */
    {"postgresql://u:s3cret@h/db", CONNECTION},
    {"u:s3cret@h/db", CONNECTION},
    {"host=h password=my s3cret", CONNECTION},
    {"run|host=h password=my s3cret", CONNECTION},
    {"--pasword=s3cret", "unknown option \"--pasword\"" HELP},
    {"-Ws3cret", "unknown option \"-W\"" HELP},
    {"-p|postgresql://u:my s3cret@h",
     "--port: \"postgresql://*@h\" is not a port; write a whole number from 1 "
     "to 65535, or one for each host with commas between"},
    {"--max-rate=host=h password=my s3cret",
     "--max-rate: \"host=h password=*\" is not a whole number; write a whole "
     "number from 0 to 1000000"},

    /* Arguments that are missing, too many, or empty. */
    {"--sweep", "--sweep: the argument is missing; give it as --sweep=NAME"},
    {"-d", "--dbname: the argument is missing; give it as --dbname=DBNAME"},
    {"-n|--window",
     "--window: the argument is missing; give it as --window=DURATION"},
    {"--dry-run=yes",
     "--dry-run: takes no argument; leave out the = and what follows it"},
    {"--help=me",
     "--help: takes no argument; leave out the = and what follows it"},
    {"--sweep|",
     "--sweep: the argument is empty; give it as --sweep=NAME, or leave it "
     "out"},
    {"--window=",
     "--window: the argument is empty; give it as --window=DURATION, or leave "
     "it out"},
    {"--sweep=a|--sweep=b", "--sweep: given twice; give it once"},
    {"--dbname=a|-d|b", "--dbname: given twice; give it once"},
    {"-nn", "--dry-run: given twice; give it once"},
    {"-qq", "--quiet: given twice; give it once"},

    /* Values out of their range. */
    {"--window|30", "--window: \"30\" has no unit; write 30s, 30m or 30h"},
    {"--window|0", "--window: \"0\" has no unit; write 0s, 0m or 0h"},
    {"--window|0s", "--window: \"0s\" is too short; write 1s or more"},
    {"--window|999ms", "--window: \"999ms\" is too short; write 1s or more"},
    {"--window|-1",
     "--window: \"-1\" has a sign; write the length alone, such as 30m"},
    {"--window|1 month",
     "--window: \"1 month\" has months or years, whose length varies; write "
     "days, such as 30d"},
    {"--window|36526d",
     "--window: \"36526d\" is too long; write 36525d or "
     "less"},
    {"--window|--dry-run",
     "--window: \"--dry-run\" has a sign; write the length alone, such as "
     "30m"},
    {"--time-limit|999ms",
     "--time-limit: \"999ms\" is too short; write 1s or more"},
    {"--time-limit|25h", "--time-limit: \"25h\" is too long; write 1d or less"},
    {"--time-limit|45",
     "--time-limit: \"45\" has no unit; write 45s, 45m or 45h"},
    {"--hard-limit|0s", "--hard-limit: \"0s\" is too short; write 1s or more"},
    {"--hard-limit|3d", "--hard-limit: \"3d\" is too long; write 2d or less"},
    {"--batch-size|0", "--batch-size: \"0\" is out of range" BATCH},
    {"--batch-size|10001", "--batch-size: \"10001\" is out of range" BATCH},
    {"--batch-size|-1", "--batch-size: \"-1\" is out of range" BATCH},
    {"--batch-size|99999999999999999999",
     "--batch-size: \"99999999999999999999\" is out of range" BATCH},
    {"--batch-size|5x", "--batch-size: \"5x\" is not a whole number" BATCH},
    {"--batch-size| 5", "--batch-size: \" 5\" is not a whole number" BATCH},
    {"--batch-size|+5", "--batch-size: \"+5\" is not a whole number" BATCH},
    {"--batch-size|-", "--batch-size: \"-\" is not a whole number" BATCH},
    {"--batch-size|1e3", "--batch-size: \"1e3\" is not a whole number" BATCH},
    {"--jobs|0",
     "--jobs: \"0\" is out of range; write a whole number from 1 to 16"},
    {"--jobs|17",
     "--jobs: \"17\" is out of range; write a whole number from 1 to 16"},
    {"--depth|0",
     "--depth: \"0\" is out of range; write a whole number from 1 to 64"},
    {"--depth|65",
     "--depth: \"65\" is out of range; write a whole number from 1 to 64"},
    {"--max-rate|-1",
     "--max-rate: \"-1\" is out of range; write a whole number from 0 to "
     "1000000"},
    {"--max-rate|x",
     "--max-rate: \"x\" is not a whole number; write a whole number from 0 to "
     "1000000"},
    {"--max-rate|1000001",
     "--max-rate: \"1000001\" is out of range; write a whole number from 0 to "
     "1000000"},
    {"--max-orders|-1", "--max-orders: \"-1\" is out of range" ORDERS},
    {"--max-orders|1000000001",
     "--max-orders: \"1000000001\" is out of range" ORDERS},
    {"--max-orders|all", "--max-orders: \"all\" is not a whole number" ORDERS},
    {"-n|--limit|-1", "--limit: \"-1\" is out of range" ROWS},
    {"-n|--limit|1000001", "--limit: \"1000001\" is out of range" ROWS},
    {"-n|--limit|ten", "--limit: \"ten\" is not a whole number" ROWS},
    {"--durability|none",
     "--durability: unknown value \"none\"; write one of batch|each"},
    {"--durability|bat",
     "--durability: unknown value \"bat\"; write one of batch|each"},
    {"--pooler|pgbouncer",
     "--pooler: unknown value \"pgbouncer\"; write one of auto|yes|no"},
    {"--format|xml", "--format: unknown value \"xml\"; write one of text|json"},
    {"--format|JSON",
     "--format: unknown value \"JSON\"; write one of text|json"},
    {"--sweep|A", "--sweep: \"A\" cannot be the name of a sweep" NAME},
    {"--sweep|1a", "--sweep: \"1a\" cannot be the name of a sweep" NAME},
    {"--sweep|_a", "--sweep: \"_a\" cannot be the name of a sweep" NAME},
    {"--sweep|a-b", "--sweep: \"a-b\" cannot be the name of a sweep" NAME},
    {"--sweep|a b", "--sweep: \"a b\" cannot be the name of a sweep" NAME},
    {"--sweep|a'; DROP",
     "--sweep: \"a'; DROP\" cannot be the name of a sweep" NAME},
    {"--sweep|a234567890123456789012345678901234567890x",
     "--sweep: \"a234567890123456789012345678901234567890x\" cannot be the "
     "name of a sweep" NAME},
    {"--metrics-file|a", "--metrics-file: \"a\"" PROM},
    {"--metrics-file|.prom", "--metrics-file: \".prom\"" PROM},
    {"--metrics-file|a.prom/", "--metrics-file: \"a.prom/\"" PROM},
    {"--metrics-file|a.prom/b", "--metrics-file: \"a.prom/b\"" PROM},
    {"--metrics-file|a b.prom", "--metrics-file: \"a b.prom\"" PROM},
    {"--metrics-file|a\".prom", "--metrics-file: \"a\".prom\"" PROM},
    {"--port|0", "--port: \"0\" is not a port" PORT},
    {"--port|65536", "--port: \"65536\" is not a port" PORT},
    {"--port|postgres", "--port: \"postgres\" is not a port" PORT},
    {"--port|123456", "--port: \"123456\" is not a port" PORT},
    {"--port|-1", "--port: \"-1\" is not a port" PORT},
    {"--port|5432, 5433", "--port: \"5432, 5433\" is not a port" PORT},
    {"--port|5432,0", "--port: \"5432,0\" is not a port" PORT},

    /* Combinations that make no sense. */
    {"--print",
     "--print: an option of migrate only; write order-sweep migrate "
     "--print"},
    {"run|--print",
     "--print: an option of migrate only; write order-sweep "
     "migrate --print"},
    {"--limit|5",
     "--limit: for a dry run only; add --dry-run, or leave it "
     "out"},
    {"-n|--no-lock", "--no-lock" NOT_DRY},
    {"-n|--metrics-file|a.prom", "--metrics-file" NOT_DRY},
    {"-n|--max-orders|5", "--max-orders" NOT_DRY},
    {"-n|--durability|each", "--durability" NOT_DRY},
    {"-n|--batch-size|5", "--batch-size" NOT_DRY},
    {"-n|--fail-if-busy", "--fail-if-busy" NOT_DRY},
    {"--fail-if-busy|--no-lock",
     "--fail-if-busy: contradicts --no-lock" ONE_OF},
    {"--fail-if-busy|--linger", "--fail-if-busy: contradicts --linger" ONE_OF},
    {"--no-lock|--slots|2", "--slots: contradicts --no-lock" ONE_OF},
    {"--look-every|1s",
     "--look-every: for --linger only; add --linger, or leave it out"},
    {"-q|-v", "--quiet: contradicts --verbose" ONE_OF},
    {"-v|-q", "--quiet: contradicts --verbose" ONE_OF},
    {"--hard-limit|44s",
     "--hard-limit: 44s is less than --time-limit, 45s; write 45s or more, or "
     "lower --time-limit"},
    {"--time-limit|1h30m|--hard-limit|1h",
     "--hard-limit: 1h is less than --time-limit, 1h30m; write 1h30m or more, "
     "or lower --time-limit"},
    {"migrate|--sweep|a", "--sweep" NOT_THERE},
    {"migrate|-n", "--dry-run" NOT_THERE},
    {"migrate|--window|30m", "--window" NOT_THERE},
    {"migrate|--durability|each", "--durability" NOT_THERE},
    {"migrate|--no-lock", "--no-lock" NOT_THERE},
    {"migrate|--fail-if-busy", "--fail-if-busy" NOT_THERE},
    {"migrate|--batch-size|5", "--batch-size" NOT_THERE},
    {"migrate|--max-orders|5", "--max-orders" NOT_THERE},
    {"migrate|--limit|5", "--limit" NOT_THERE},
    {"migrate|--time-limit|5s", "--time-limit" NOT_THERE},
    {"migrate|--hard-limit|5s", "--hard-limit" NOT_THERE},
    {"migrate|--format|json", "--format" NOT_THERE},
    {"migrate|--pooler|yes", "--pooler" NOT_THERE},
    {"explain",
     "explain: no key; write order-sweep explain KEY, a word for each column "
     "of the key"},
    {"check|4711", "unexpected argument \"4711\"" HELP},
    {"--probe", "--probe" CHECK_ONLY "--probe"},
    {"-n|--role=x", "--role" CHECK_ONLY "--role"},
    {"migrate|--role=x", "--role" CHECK_ONLY "--role"},
    {"explain|1|--probe", "--probe" CHECK_ONLY "--probe"},
    {"check|--print",
     "--print: an option of migrate only; write order-sweep migrate --print"},
    {"check|--sweep|a", "--sweep: not an option of check; leave it out"},
    {"check|-n", "--dry-run: not an option of check; leave it out"},
    {"check|--window|1h", "--window: not an option of check; leave it out"},
    {"check|--limit|5", "--limit: not an option of check; leave it out"},
    {"explain|1|-n", "--dry-run: not an option of explain; leave it out"},
    {"explain|1|--window|1h",
     "--window: not an option of explain; leave it out"},
    {"explain|1|--time-limit|5s",
     "--time-limit: not an option of explain; leave it out"},
};

static void
assert_refused(const char *words, const char *expected)
{
    struct line line;
    struct osw_options options;
    struct osw_error error = OSW_ERROR_INIT;
    char message[sizeof error.message + sizeof error.hint + 2];

    split(&line, words);
    assert_false(osw_options_parse(line.argc, line.argv, &options, &error));
    assert_int_equal(error.exit, OSW_EXIT_USAGE);
    (void)snprintf(
        message, sizeof message, "%s; %s", error.message, error.hint);
    assert_string_equal(message, expected);
}

static void
nonsense_is_refused_with_the_mend(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++) {
        assert_refused(refusals[i].words, refusals[i].message);
    }
}

static void
an_empty_word_is_no_command(void **state)
{
    struct osw_error error = OSW_ERROR_INIT;
    struct osw_options options;
    char program[] = "order-sweep";
    char empty[] = "";
    char *argv[] = {program, empty, NULL};

    (void)state;
    assert_false(osw_options_parse(2, argv, &options, &error));
    assert_string_equal(error.message, "unknown command \"\"");
}

static void
a_refusal_leaves_no_trace_in_the_next_parse(void **state)
{
    (void)state;
    assert_refused("-nx", "unknown option \"-x\"" HELP);
    ASSERT_PARSES("-v", expected.verbosity = 1);
}

/* What osw_help_write or osw_help_list writes; free it. */
static char *
written_by(void (*write)(FILE *))
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);

    assert_non_null(out);
    write(out);
    assert_int_equal(fclose(out), 0);
    return text;
}

/* Call check for each line of the list, with its first three fields. */
static unsigned
for_each_listed(void (*check)(const char *, char, const char *))
{
    char *list = written_by(osw_help_list);
    char *rest = list;
    unsigned count = 0;

    for (char *row = strsep(&rest, "\n"); rest != NULL;
         row = strsep(&rest, "\n")) {
        char *name = strsep(&row, "\t");
        char *letter = strsep(&row, "\t");
        const char *argument = strsep(&row, "\t");

        assert_non_null(row);
        assert_null(strchr(row, '\t'));
        assert_int_equal(strlen(letter), 1);
        check(name, letter[0], argument);
        count++;
    }
    free(list);
    return count;
}

static void
check_help_has(const char *name, char letter, const char *argument)
{
    char *help = written_by(osw_help_write);
    bool takes_one = strcmp(argument, "-") != 0;
    char expected[100];

    if (letter == '-') {
        (void)snprintf(expected,
                       sizeof expected,
                       "\n      %s%s%s ",
                       name,
                       takes_one ? "=" : "",
                       takes_one ? argument : "");
    } else {
        (void)snprintf(expected,
                       sizeof expected,
                       "\n  -%c, %s%s%s ",
                       letter,
                       name,
                       takes_one ? "=" : "",
                       takes_one ? argument : "");
    }
    if (strstr(help, expected) == NULL) {
        fail_msg("not in help: %s", expected);
    }
    free(help);
}

static void
help_shows_every_listed_option(void **state)
{
    (void)state;
    assert_int_equal(for_each_listed(check_help_has), 37);
}

static void
the_list_names_the_commands(void **state)
{
    char *list = written_by(osw_help_list);

    (void)state;
    assert_non_null(strstr(list,
                           "\n--limit\t-\tN\t"
                           "run\n"));
    assert_non_null(strstr(list, "\n--role\t-\tNAME\tcheck\n"));
    assert_non_null(strstr(list,
                           "\n--pooler\t-\tauto|yes|no\t"
                           "run,check,explain,status,retry,late,relay\n"));
    assert_non_null(strstr(list,
                           "\n--log\t-\tstderr|syslog|journald\t"
                           "run,check,explain,status,retry,late,relay,"
                           "migrate\n"));
    assert_non_null(strstr(list,
                           "\n--help\t?\t-\t"
                           "run,check,explain,status,retry,late,relay,"
                           "migrate\n"));
    free(list);
}

static void
check_refuses_empty(const char *name, char letter, const char *argument)
{
    char words[100];
    char expected[200];

    (void)letter;
    if (strcmp(argument, "-") == 0) {
        return;
    }
    (void)snprintf(words, sizeof words, "%s=", name);
    (void)snprintf(expected,
                   sizeof expected,
                   "%s: the argument is empty; give it as %s=%s, or leave it "
                   "out",
                   name,
                   name,
                   argument);
    assert_refused(words, expected);
}

static void
every_option_refuses_an_empty_argument(void **state)
{
    (void)state;
    (void)for_each_listed(check_refuses_empty);
}

static void
help_keeps_to_eighty_columns(void **state)
{
    char *help = written_by(osw_help_write);
    char *rest = help;

    (void)state;
    while (rest != NULL) {
        const char *line = strsep(&rest, "\n");

        assert_true(strlen(line) <= 80);
        assert_true(line[0] == '\0' || line[strlen(line) - 1] != ' ');
        assert_null(strchr(line, '\t'));
    }
    free(help);
}

static void
help_hides_what_tests_use(void **state)
{
    char *help = written_by(osw_help_write);
    char *list = written_by(osw_help_list);

    (void)state;
    assert_null(strstr(help, "--list-"));
    assert_null(strstr(list, "--list-"));
    free(help);
    free(list);
}

static void
help_has_its_groups_in_order(void **state)
{
    static const char *const titles[] = {
        "\nUsage:\n",
        "\nSweep options:\n",
        "\nLimits:\n",
        "\nConnection options:\n",
        "\nOutput options:\n",
        "\nOther options:\n",
    };
    char *help = written_by(osw_help_write);
    const char *at = help;

    (void)state;
    for (size_t i = 0; i < sizeof titles / sizeof titles[0]; i++) {
        at = strstr(at, titles[i]);
        assert_non_null(at);
    }
    free(help);
}

static void
a_refused_value_leaves_its_field(void **state)
{
    static const char *const texts[] = {
        "-1", "1000000001", "99999999999999999999", "x", "1.5"};
    struct osw_options options;
    struct osw_options before;
    struct osw_error error = OSW_ERROR_INIT;

    (void)state;
    memset(&options, 1, sizeof options);
    memcpy(&before, &options, sizeof before);
    for (int row = 0; row < OSW_OPTION_ROWS; row++) {
        if (osw_option_rows[row].kind == KIND_INT ||
            osw_option_rows[row].kind == KIND_INT64 ||
            osw_option_rows[row].kind == KIND_DURATION) {
            for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
                assert_false(osw_option_read(
                    &options, &osw_option_rows[row], texts[i], &error));
                assert_memory_equal(&options, &before, sizeof before);
            }
        }
    }
}

struct default_case {
    const char *name;
    const char *text; /* the default as help names it */
    const char *words;
};

/* A default in the help text, given on the command line, changes nothing. */
static void
help_names_the_real_defaults(void **state)
{
    static const struct default_case cases[] = {
        {"--durability=", "(default batch)", "--durability|batch"},
        {"--batch-size=", "(default 500)", "--batch-size|500"},
        {"--jobs=", "(default 1)", "--jobs|1"},
        {"--depth=", "(default 64)", "--depth|64"},
        {"--slots=", "(default 1)", "--slots|1"},
        {"--max-orders=", "(default 0, no limit)", "--max-orders|0"},
        {"--time-limit=", "(default 45s,", "--time-limit|45s"},
        {"--hard-limit=", "(default 52s,", "--hard-limit|52s"},
    };
    char *help = written_by(osw_help_write);

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *row = strstr(help, cases[i].name);

        assert_non_null(row);
        row = strstr(row, "(default ");
        assert_non_null(row);
        assert_memory_equal(row, cases[i].text, strlen(cases[i].text));
        ASSERT_PARSES(cases[i].words, (void)0);
    }
    assert_non_null(strstr(help, "(default 100)"));
    ASSERT_PARSES("-n|--limit|100", expected.dry_run = true);
    free(help);
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_arguments_give_the_defaults),
        cmocka_unit_test(an_empty_argv_gives_the_defaults),
        cmocka_unit_test(every_option_sets_its_field),
        cmocka_unit_test(linger_has_its_defaults),
        cmocka_unit_test(connection_options_are_those_of_psql),
        cmocka_unit_test(check_takes_a_role_and_probe),
        cmocka_unit_test(explain_takes_a_key),
        cmocka_unit_test(a_key_has_as_many_columns_as_an_index),
        cmocka_unit_test(limits_go_together),
        cmocka_unit_test(words_and_options_come_in_any_order),
        cmocka_unit_test(order_does_not_depend_on_the_environment),
        cmocka_unit_test(answers_end_the_parsing),
        cmocka_unit_test(nonsense_is_refused_with_the_mend),
        cmocka_unit_test(an_empty_word_is_no_command),
        cmocka_unit_test(a_refusal_leaves_no_trace_in_the_next_parse),
        cmocka_unit_test(help_shows_every_listed_option),
        cmocka_unit_test(the_list_names_the_commands),
        cmocka_unit_test(every_option_refuses_an_empty_argument),
        cmocka_unit_test(help_keeps_to_eighty_columns),
        cmocka_unit_test(help_hides_what_tests_use),
        cmocka_unit_test(help_has_its_groups_in_order),
        cmocka_unit_test(a_refused_value_leaves_its_field),
        cmocka_unit_test(help_names_the_real_defaults),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
