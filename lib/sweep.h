/*
 * sweep: the loop of a run over one definition.
 *
 * It walks the due orders in bounded batches, keeps a number of them in
 * flight, classifies each answer, passes failing orders and knows when to
 * stop.  It reaches the database through a table of operations only, so that
 * it runs in unit tests against a fake.
 */
#ifndef OSW_SWEEP_H
#define OSW_SWEEP_H

#include <stdbool.h>
#include <stdint.h>

#include "lateness.h"
#include "order.h"
#include "outcome.h"
#include "status.h"

/*
 * So many failures in a row with one SQLSTATE, and no success between them,
 * look like the shop's fault and not the orders'.
 */
#define OSW_SWEEP_STREAK 50

/* Failing orders that get a line of their own in the log, a run. */
#define OSW_SWEEP_LOGGED 10

/* Orders in flight on a connection at most: enough to hide the round trip. */
#define OSW_SWEEP_DEPTH 64

/* Connections that share the orders, at most. */
#define OSW_SWEEP_JOBS 16

struct osw_sweep_config {
    const char *name;          /* of the definition, for messages */
    int batch_size;            /* rows a look */
    int jobs;                  /* connections; 1 to OSW_SWEEP_JOBS */
    int depth;                 /* in flight on each at most; 1 to
                                  OSW_SWEEP_DEPTH */
    int64_t max_orders;        /* swept at most; 0: no limit */
    int max_rate;              /* sent a second at most; 0: no limit */
    int64_t *pace_ns;          /* max_rate: send no order before it, by now();
                                  lasts from one sweep to the next */
    int64_t soft_deadline_ms;  /* queue nothing more */
    int64_t hard_deadline_ms;  /* cancel what is in flight */
    int64_t drain_deadline_ms; /* give up waiting for it */

    /* Told after each event how many orders are swept, and how many settled in
     * whatever way; NULL: nobody looks on. */
    void (*watch)(void *watcher,
                  int64_t now_ms,
                  int64_t swept,
                  int64_t settled);
    void *watcher;
};

/* Why the loop ended. */
enum osw_sweep_stop {
    OSW_SWEEP_DONE,       /* no due order is left */
    OSW_SWEEP_MAX_ORDERS, /* as many as were allowed */
    OSW_SWEEP_TIME_LIMIT, /* soft stop */
    OSW_SWEEP_HARD_LIMIT, /* hard stop */
    OSW_SWEEP_SIGNAL,
    OSW_SWEEP_FAILURES, /* the shop's fault: error is the orders' */
    OSW_SWEEP_BROKEN,   /* the look for due orders failed: error says why */
    OSW_SWEEP_LOST,     /* a connection is gone: error says why */
};

struct osw_sweep_result {
    int64_t counts[OSW_OUTCOME_COUNT];
    struct osw_lateness lateness; /* of the orders swept */
    enum osw_sweep_stop stop;
    bool rest; /* orders may be left for the next run */
    bool cut;  /* LOST: it was the first connection, which books */
    struct osw_error error;
};

enum osw_sweep_event_type {
    OSW_SWEEP_EVENT_BATCH,    /* orders listed, in *orders */
    OSW_SWEEP_EVENT_ORDER,    /* the oldest order of a job is settled */
    OSW_SWEEP_EVENT_RECORDED, /* a failure was booked */
    OSW_SWEEP_EVENT_TIMED_OUT,
    OSW_SWEEP_EVENT_INTERRUPTED,
    OSW_SWEEP_EVENT_LOST,
};

struct osw_sweep_event {
    enum osw_sweep_event_type type;
    int job;          /* ORDER, LOST: on which connection, from 0 */
    bool ok;          /* BATCH, ORDER, RECORDED: no error */
    const char *text; /* ORDER: what cancel returned, or NULL; RECORDED: "t"
                         if the order is quarantined now; valid until the
                         next wait */
    struct osw_order_queue orders; /* BATCH: the loop owns them now */
    struct osw_error error;        /* not ok, or LOST */
};

/*
 * The database, as the loop sees it.  The orders of a job are answered in the
 * order of sending, and so is all that is not an order.  The send functions
 * return false if nothing can be sent on that connection any more; wait will
 * then tell the loss.  That of job 0 is the end of all; of another job nothing
 * more comes, and what the others have in flight is still answered.
 */
struct osw_sweep_ops {
    /* Ask for due orders behind after (NULL: from the oldest). */
    bool (*send_batch)(void *context, const struct osw_order *after, int limit);
    /* Ask for the newest due orders. */
    bool (*send_newest)(void *context, int limit);
    bool (*send_order)(void *context, int job, const struct osw_order *order);
    /* Book a failure; counts: it is an attempt, not a lock held by others. */
    bool (*send_failure)(void *context,
                         const struct osw_order *order,
                         const struct osw_error *error,
                         bool counts);
    void (*wait)(void *context,
                 int64_t deadline_ms,
                 struct osw_sweep_event *event);
    /* Have the server cancel what it executes, and the orders behind it. */
    void (*cancel)(void *context);
    /* How many stop signals have come. */
    int (*interrupts)(void *context);
    /* The clock that the deadlines are told by. */
    int64_t (*now)(void *context);
};

/* The reason as the run row and reports have it, such as "time limit". */
const char *osw_sweep_stop_name(enum osw_sweep_stop stop);

/*
 * Run the loop to its end; *result is filled.  Failing orders are logged here
 * (the first OSW_SWEEP_LOGGED of them), what ends the run is not.
 */
void osw_sweep(const struct osw_sweep_config *config,
               const struct osw_sweep_ops *ops,
               void *context,
               struct osw_sweep_result *result);

#endif
