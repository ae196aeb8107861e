/*
 * events: a batch of a sweep's events, from the journal and back.
 *
 * A batch is claimed in a transaction of its own, whose flush makes durable
 * all that was read; then it is taken, which locks it, and booked.
 */
#ifndef OSW_EVENTS_H
#define OSW_EVENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pg.h"

/* What became of an event. */
enum osw_fate {
    OSW_FATE_UNTOLD, /* nobody was told, or nothing follows from it */
    OSW_FATE_PUBLISHED,
    OSW_FATE_REFUSED,
};

struct osw_event {
    int number; /* in the claim */
    enum osw_fate fate;
    const char *line; /* NULL: none is to be told; the batch's */
    char *reason;     /* why it was refused; owned */
};

struct osw_events {
    struct osw_pg *pg;
    const char *sweep;
    bool retried; /* a relay took them before */
    int count;
    struct osw_event *events;
    struct osw_pg_answer claim;
    struct osw_pg_answer taken;
};

#define OSW_EVENTS_INIT                                                        \
    {                                                                          \
        NULL, NULL, false, 0, NULL, OSW_PG_ANSWER_INIT, OSW_PG_ANSWER_INIT     \
    }

/* Claim at most so many events of a sweep; *any is false if none waits. */
bool osw_events_claim(struct osw_events *events,
                      struct osw_pg *pg,
                      const char *sweep,
                      int most,
                      int64_t deadline_ms,
                      bool *any,
                      struct osw_error *error);

/*
 * Begin a transaction and lock what was claimed.  Those without a line are
 * published, those whose line cannot be made are refused.  There may be none:
 * another relay was quicker.
 */
bool osw_events_take(struct osw_events *events,
                     int64_t deadline_ms,
                     struct osw_error *error);

/* Note that an event was refused, and why. */
void osw_events_refuse(struct osw_event *event, const char *reason);

/*
 * Book the fates and commit.  postpone: those that were not told let others go
 * first, else they are as before.  *parked counts those that are tried no more.
 */
bool osw_events_book(struct osw_events *events,
                     bool postpone,
                     int64_t deadline_ms,
                     int64_t *parked,
                     struct osw_error *error);

/* Free what the batch holds and make it empty. */
void osw_events_clear(struct osw_events *events);

#endif
