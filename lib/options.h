/*
 * options: what can be asked for on the command line.  One table holds every
 * option, another the commands; parser, help and (by test) man page follow
 * them.
 */
#ifndef OSW_OPTIONS_H
#define OSW_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "log.h"

/* The most columns a key can have; PostgreSQL's limit. */
#define OSW_KEY_COLUMNS 32

enum osw_verb {
    OSW_VERB_RUN,
    OSW_VERB_MIGRATE,
    OSW_VERB_CHECK,
    OSW_VERB_EXPLAIN,
    OSW_VERB_STATUS,
    OSW_VERB_RETRY,
    OSW_VERB_LATE,
    OSW_VERB_RELAY,
};

enum osw_format {
    OSW_FORMAT_AUTO, /* text on a terminal or with -v, else nothing */
    OSW_FORMAT_TEXT,
    OSW_FORMAT_JSON,
};

enum osw_durability {
    OSW_DURABILITY_BATCH, /* commits of orders flushed together at the end */
    OSW_DURABILITY_EACH,  /* every commit flushed */
};

/* Does a connection pooler stand between? */
enum osw_pooler {
    OSW_POOLER_AUTO, /* find out */
    OSW_POOLER_NO,   /* each connection is a session of the server */
    OSW_POOLER_YES,
};

/* Strings point into argv. */
struct osw_options {
    enum osw_verb verb;
    const char *sweep;     /* NULL: all enabled ones */
    int64_t window_ms;     /* -1: as defined */
    int64_t time_limit_ms; /* soft stop */
    int64_t hard_limit_ms; /* hard stop */
    int64_t look_every_ms; /* --linger: look at least so often; else -1 */
    int64_t max_orders;    /* 0: no limit */
    int batch_size;
    int jobs;     /* connections that share the orders */
    int depth;    /* orders in flight on each */
    int max_rate; /* orders begun a second; 0: no limit */
    int slots;    /* runs that share the orders, on all hosts */
    int limit;    /* rows a dry run lists */
    enum osw_durability durability;
    enum osw_pooler pooler;
    enum osw_format format;
    enum osw_log_target log;
    enum osw_log_format log_format;
    int verbosity; /* -1 quiet, 0, 1 -v, 2 -vv */
    bool dry_run;
    bool fail_if_busy;
    bool linger;
    bool lock;
    const char *metrics_file; /* NULL: none */
    bool print;               /* migrate --print */
    bool probe;               /* check --probe */
    const char *role;         /* check --role; NULL: none */
    int64_t max_overdue_ms;   /* status: -1, as the next two: no limit */
    int64_t max_age_ms;
    int64_t max_quarantined;
    const char *key[OSW_KEY_COLUMNS]; /* explain KEY..., retry KEY... */
    int key_columns;
    char *const *command; /* relay -- COMMAND...; ends with NULL */
    bool help;            /* this and the next three: answer and leave */
    bool version;
    bool list_options;
    bool list_exit_codes;
    const char *dbname; /* connection: NULL leaves it to libpq */
    const char *host;
    const char *port;
    const char *user;
};

/* What the program is asked to do; a row says where its option belongs. */
enum osw_option_mode {
    MODE_SWEEP = 1,
    MODE_DRY_RUN = 2,
    MODE_RUN = MODE_SWEEP | MODE_DRY_RUN,
    MODE_MIGRATE = 4,
    MODE_CHECK = 8,
    MODE_EXPLAIN = 16,
    MODE_STATUS = 32,
    MODE_RETRY = 64,
    MODE_LATE = 128,
    MODE_RELAY = 256,
    MODE_ANY = 511,
};

enum osw_option_group {
    GROUP_SWEEP,
    GROUP_LIMITS,
    GROUP_CONNECTION,
    GROUP_OUTPUT,
    GROUP_OTHER,
    GROUP_HIDDEN,
};

/* How an argument is read, and so the type of the field it goes to. */
enum osw_option_kind {
    KIND_TRUE,       /* bool: no argument, sets it */
    KIND_FALSE,      /* bool: no argument, clears it */
    KIND_VERBOSE,    /* int: no argument, one more each time, at most 2 */
    KIND_QUIET,      /* int: no argument */
    KIND_TEXT,       /* const char *: taken as it is */
    KIND_NAME,       /* const char *: a sweep's name */
    KIND_PROM,       /* const char *: a file for metrics */
    KIND_PORT,       /* const char *: port numbers with commas between */
    KIND_INT,        /* int: min..max */
    KIND_INT64,      /* int64_t: min..max */
    KIND_DURATION,   /* int64_t: min..max milliseconds */
    KIND_FORMAT,     /* enum osw_format */
    KIND_DURABILITY, /* enum osw_durability */
    KIND_POOLER,     /* enum osw_pooler */
    KIND_LOG,        /* enum osw_log_target */
    KIND_LOG_FORMAT, /* enum osw_log_format */
};

struct osw_option_row {
    const char *name;     /* with its dashes, as messages show it */
    const char *argument; /* NULL: takes none */
    const char *help;     /* '\n' where a new line begins */
    size_t field;         /* offset within struct osw_options */
    int64_t min;
    int64_t max;
    enum osw_option_group group;
    enum osw_option_kind kind;
    unsigned modes;
    char letter; /* '\0': none */
};

/* The number of rows, so that it can size an array. */
#define OSW_OPTION_ROWS 39

extern const struct osw_option_row osw_option_rows[OSW_OPTION_ROWS];

/* May words follow a command, such as an order's key? */
enum osw_words {
    WORDS_NONE,
    WORDS_TAKEN,
    WORDS_NEEDED,
    WORDS_COMMAND, /* those of another command, after "--" */
};

/* A command. */
struct osw_verb_row {
    const char *name;
    enum osw_verb verb;
    unsigned mode;
    const char *usage; /* its line of the help */
    enum osw_words words;
};

/* A row without a name ends the table. */
extern const struct osw_verb_row osw_verb_rows[];

#endif
