/*
 * probe: the first look of a run or dry run, in one round trip that leaves
 * nothing behind: is the schema ours, and which sweeps have anything due.
 */
#ifndef OSW_PROBE_H
#define OSW_PROBE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pg.h"

/* Strings are owned by the probe. */
struct osw_probe_sweep {
    int id;
    const char *name;
    bool paused;
    bool takes_window; /* false: its deadlines are per row */
    bool shorter;      /* the window asked for is shorter than defined */
    bool due;
    const char *next_deadline; /* NULL: none in sight */
    int64_t next_ms;           /* until then; -1: none, or not asked */
    int64_t silent_s;          /* age of the last sign of life */
    const char *error_state;   /* SQLSTATE if its look failed, else NULL */
    const char *error_message;
    struct osw_pg_answer alone; /* owns the strings, if it was asked alone */
};

struct osw_probe {
    struct osw_pg_answer answer; /* owns the strings */
    int server_pid;              /* of the session that answered */
    const char *isolation;       /* of a transaction there */
    int count;
    struct osw_probe_sweep *sweeps; /* by name */
};

/*
 * Look: all sweeps, or the one named, under a window (an interval's text, or
 * NULL for the defined ones).  False with the error filled, exit code
 * OSW_EXIT_CONFIG, if the schema is missing, of another version or not
 * permitted, or if the sweep is unknown or none is defined.  On success to be
 * cleared with osw_probe_clear.
 */
bool osw_probe(struct osw_pg *pg,
               const char *sweep,
               const char *window,
               int64_t deadline_ms,
               struct osw_probe *probe,
               struct osw_error *error);

/* The same in a session that is set, with next_ms. */
bool osw_probe_again(struct osw_pg *pg,
                     const char *sweep,
                     const char *window,
                     int64_t deadline_ms,
                     struct osw_probe *probe,
                     struct osw_error *error);

void osw_probe_clear(struct osw_probe *probe);

/* The names of the sweeps with commas between, as far as there is room. */
void osw_probe_names(const struct osw_probe *probe, char *names, size_t size);

/*
 * True with the error filled if the look at this sweep failed.  The server may
 * be asked which argument of define is at fault, as by osw_probe_blame.
 */
bool osw_probe_failed(struct osw_pg *pg,
                      const struct osw_probe_sweep *sweep,
                      int64_t deadline_ms,
                      struct osw_error *error);

/*
 * An error of class 21 or 22 that a look raised: put the argument of define
 * whose SQL raises it before its message, if it can be found out.  One of a
 * clock whose type changed (42883) is put in words for people.
 */
void osw_probe_blame(struct osw_pg *pg,
                     const char *sweep,
                     int64_t deadline_ms,
                     struct osw_error *error);

/* The version of the schema that this program is made for. */
int osw_probe_schema_version(void);

/* The version of the schema in the database; false where there is none. */
bool osw_probe_read_version(struct osw_pg *pg,
                            int64_t deadline_ms,
                            int *version,
                            struct osw_error *error);

/* False with the error filled if version is not that one. */
bool osw_probe_check_version(int version, struct osw_error *error);

#endif
