/*
 * turn: one sweep's part of a run, from the opening of the run's row to its
 * close and its report; and what the turns of a process have in common.
 */
#ifndef OSW_TURN_H
#define OSW_TURN_H

#include "claim.h"
#include "jobs.h"
#include "progress.h"
#include "runlog.h"
#include "sweep.h"
#include "task.h"

/* A sweep without a sign of life for so long is looked after by nobody. */
#define OSW_SILENT_S 300

/* Must stay where it is once it is open. */
struct osw_worker {
    struct osw_task task;
    struct osw_claim claim;
    struct osw_jobs jobs;
    struct osw_session_limits limits; /* of the sessions beside the first */
    int64_t orders_left;              /* of --max-orders; 0: no limit */
    int64_t pace_ns;                  /* of --max-rate */
    bool watched;                     /* a person looks on */
    struct osw_progress progress;
};

/* All zero but for the first two: not begun. */
struct osw_turn {
    int sweep_id;
    const char *name;
    int slot;  /* the share that is its own, from 1 */
    bool open; /* its run has a row, and no report yet */
    char run_id[OSW_RUN_ID_SIZE];
    int64_t opened_ms;              /* on the monotonic clock; 0: never */
    int64_t elapsed_ms;             /* spent sweeping */
    struct osw_sweep_result result; /* of all its sweeping so far */
};

enum osw_turn_end {
    OSW_TURN_OVER,
    OSW_TURN_REST,   /* its time was over: worth another turn */
    OSW_TURN_PAUSED, /* or undefined, meanwhile */
    OSW_TURN_FAILED, /* which was told */
    OSW_TURN_LOST,   /* the connection is of no more use */
};

/*
 * From here on messages are about this turn: they carry the id of its run, if
 * its row is open.  NULL: about none.  What follows does so by itself;
 * osw_turn_work leaves it so.
 */
void osw_turn_enter(const struct osw_turn *turn);

/* False once a signal has come, or time or orders are used up. */
bool osw_turn_may_begin(const struct osw_worker *worker);

/* Report a sweep that had no turn, and why. */
void osw_turn_report_none(struct osw_worker *worker,
                          const struct osw_probe_sweep *sweep,
                          const char *why,
                          enum osw_exit exit,
                          const char *error);

/* The same of one that others are at work on; told aloud if they are dead. */
void osw_turn_report_busy(struct osw_worker *worker,
                          const struct osw_probe_sweep *sweep);

/* Stopped by a signal before it had a turn, or another one: told aloud. */
void
osw_turn_tell_stop(struct osw_worker *worker, const char *name, bool again);

/*
 * Sweep what is due until soft_ms, under the sweep's lock: open the run's row,
 * if it is not open yet, and add up the result.  First the turn's own share,
 * then those whose slot nobody has.  The row may be open in any case.
 */
enum osw_turn_end osw_turn_work(struct osw_worker *worker,
                                struct osw_turn *turn,
                                int64_t soft_ms);

/* A signal has come while it was not sweeping: told aloud. */
void osw_turn_stop(struct osw_turn *turn);

/*
 * Close the run's row, note the exit code and report; the turn is as new.
 * False if the connection is of no more use.
 */
bool osw_turn_close(struct osw_worker *worker, struct osw_turn *turn);

/* Book a sign of life of a sweep that has nothing to sweep. */
bool osw_turn_live(struct osw_worker *worker, const char *name);

#endif
