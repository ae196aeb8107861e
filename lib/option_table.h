/*
 * option_table: the one table of options, and that of commands.  Parser, help
 * and (by test) man page follow it.
 */
#ifndef OSW_OPTION_TABLE_H
#define OSW_OPTION_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "options.h"

/* What the program is asked to do; a row says where its option belongs. */
enum osw_option_mode {
    MODE_SWEEP = 1,
    MODE_DRY_RUN = 2,
    MODE_RUN = MODE_SWEEP | MODE_DRY_RUN,
    MODE_MIGRATE = 4,
    MODE_CHECK = 8,
    MODE_EXPLAIN = 16,
    MODE_ANY = MODE_RUN | MODE_MIGRATE | MODE_CHECK | MODE_EXPLAIN,
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
    KIND_PORT,       /* const char *: port numbers with commas between */
    KIND_INT,        /* int: min..max */
    KIND_INT64,      /* int64_t: min..max */
    KIND_DURATION,   /* int64_t: min..max milliseconds */
    KIND_FORMAT,     /* enum osw_format */
    KIND_DURABILITY, /* enum osw_durability */
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
#define OSW_OPTION_ROWS 25

extern const struct osw_option_row osw_option_rows[OSW_OPTION_ROWS];

/* A command. */
struct osw_verb_row {
    const char *name;
    enum osw_verb verb;
    unsigned mode;
    const char *usage; /* its line of the help */
    bool takes_words;  /* words may follow it: a key */
};

/* A row without a name ends the table. */
extern const struct osw_verb_row osw_verb_rows[];

#endif
