/*
 * task: what every start of the program has in common, whatever it is asked
 * for: its limits, its connection, the first look, its failures and its exit
 * code.
 */
#ifndef OSW_TASK_H
#define OSW_TASK_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "connect.h"
#include "options.h"
#include "pg.h"
#include "probe.h"
#include "report.h"
#include "session.h"
#include "status.h"

/* So much longer than it should be a session may be idle. */
#define OSW_IDLE_MARGIN_MS 10000

/* Must stay where it is once it is open. */
struct osw_task {
    const struct osw_options *options;
    FILE *out;
    enum osw_report_format format;
    struct osw_connect_target target;
    struct osw_pg *pg; /* NULL: not open */
    struct osw_session session;
    struct osw_session_limits limits;
    struct osw_probe probe; /* empty before the look */
    char window_text[40];
    const char *window; /* window_text, or NULL: as defined */
    int64_t began_ms;   /* when the process did */
    int64_t soft_ms;    /* begin nothing more */
    int64_t hard_ms;    /* cancel what is in flight */
    int64_t drain_ms;   /* give up waiting for it */
    enum osw_exit exit; /* the gravest so far */
    bool told_metrics;  /* that their file cannot be written */
};

/*
 * Begin one that sweeps, or one that answers a question: that has an answer
 * also where a run would say nothing, and each statement has all the time.
 * started_ms is when the process began, on the clock of clock.h.
 */
void osw_task_begin(struct osw_task *task,
                    const struct osw_options *options,
                    int64_t started_ms,
                    FILE *out);
void osw_task_begin_answer(struct osw_task *task,
                           const struct osw_options *options,
                           int64_t started_ms,
                           FILE *out);

/* Take an exit code into account. */
void osw_task_note(struct osw_task *task, enum osw_exit exit);

/*
 * Log an error, under the name of the sweep that it belongs to (NULL: none),
 * and note its exit code.  tell: where a report says the same.  fail: where
 * none does; whoever reads JSON gets a line of its own.
 */
void osw_task_tell(struct osw_task *task,
                   const char *sweep,
                   const struct osw_error *error);
void osw_task_fail(struct osw_task *task,
                   const char *sweep,
                   const struct osw_error *error);

/*
 * The steps to an open, known database.  False if one failed, which was told:
 * there is nothing more to do but osw_task_end.
 *
 * open: connect, to a primary or to any server; open_any: to a primary, or
 * else to any.  look: what is there and what is due, the sweep that the options
 * name or all; settles the session.  set_session: for what comes after a look.
 * look_again: later, with the time until the next deadline.  know_session: in
 * the place of a look and set_session, where what is due does not matter.
 */
bool osw_task_open(struct osw_task *task, bool primary);
bool osw_task_open_any(struct osw_task *task);
bool osw_task_look(struct osw_task *task);
bool osw_task_look_again(struct osw_task *task);
bool osw_task_set_session(struct osw_task *task);
bool osw_task_know_session(struct osw_task *task);

/* Fail because what was asked for is of one sweep, and there are several. */
void osw_task_fail_several(struct osw_task *task, const char *what);

/* Close what is open; the exit code stays. */
void osw_task_end(struct osw_task *task);

#endif
