/*
 * options: the command line, parsed by the table of option_table.h.
 */
#ifndef OSW_OPTIONS_H
#define OSW_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "status.h"

/* The most columns a key can have; PostgreSQL's limit. */
#define OSW_KEY_COLUMNS 32

enum osw_verb {
    OSW_VERB_RUN,
    OSW_VERB_MIGRATE,
    OSW_VERB_CHECK,
    OSW_VERB_EXPLAIN,
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

/* Strings point into argv. */
struct osw_options {
    enum osw_verb verb;
    const char *sweep;     /* NULL: all enabled ones */
    int64_t window_ms;     /* -1: as defined */
    int64_t time_limit_ms; /* soft stop */
    int64_t hard_limit_ms; /* hard stop */
    int64_t max_orders;    /* 0: no limit */
    int batch_size;
    int limit; /* rows a dry run lists */
    enum osw_durability durability;
    enum osw_format format;
    int verbosity; /* -1 quiet, 0, 1 -v, 2 -vv */
    bool dry_run;
    bool fail_if_busy;
    bool lock;
    bool print;                       /* migrate --print */
    bool probe;                       /* check --probe */
    const char *role;                 /* check --role; NULL: none */
    const char *key[OSW_KEY_COLUMNS]; /* explain KEY... */
    int key_columns;
    bool help; /* this and the next three: answer and leave */
    bool version;
    bool list_options;
    bool list_exit_codes;
    const char *dbname; /* connection: NULL leaves it to libpq */
    const char *host;
    const char *port;
    const char *user;
};

/*
 * Parse argv into *options, starting from the defaults; verb and options come
 * in any order.  Returns false with a usage error; *options is then not to be
 * used.  Combinations that make no sense are refused here, before anything is
 * connected.  The first of --help and its like ends the parsing.  Uses getopt,
 * whose state is global.
 */
bool osw_options_parse(int argc,
                       char **argv,
                       struct osw_options *options,
                       struct osw_error *error);

#endif
