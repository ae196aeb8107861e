/*
 * claim: a sweep for this run alone.
 *
 * Straight on a server the working connection takes the lock.  Behind a
 * connection pooler a connection of its own takes it, in an open transaction;
 * where the pooler has no session left for that, the run goes on without: the
 * lock saves work, nothing depends on it.
 */
#ifndef OSW_CLAIM_H
#define OSW_CLAIM_H

#include <stdbool.h>
#include <stdint.h>

#include "connect.h"
#include "pg.h"
#include "session.h"

struct osw_claim {
    struct osw_session *working; /* settled */
    const struct osw_connect_target *target;
    const struct osw_session_limits *limits;
    struct osw_pg *side; /* NULL: none needed yet */
    struct osw_session side_session;
    bool without; /* it was told that there is no lock here */
};

enum osw_claim_result {
    OSW_CLAIM_HELD,    /* to be released */
    OSW_CLAIM_WITHOUT, /* none can be had; a warning was logged, once */
    OSW_CLAIM_BUSY,    /* another run has it */
    OSW_CLAIM_STOPPED, /* none could be had, and a signal has come */
    OSW_CLAIM_FAILED,  /* the error says why */
};

/* What is given must outlive the claim, which is to be closed. */
void osw_claim_open(struct osw_claim *claim,
                    struct osw_session *working,
                    const struct osw_connect_target *target,
                    const struct osw_session_limits *limits);

enum osw_claim_result osw_claim_take(struct osw_claim *claim,
                                     const char *sweep,
                                     int sweep_id,
                                     int64_t deadline_ms,
                                     struct osw_error *error);

/* Give back what was held.  False also if it was not held any more. */
bool osw_claim_release(struct osw_claim *claim,
                       int sweep_id,
                       int64_t deadline_ms,
                       struct osw_error *error);

void osw_claim_close(struct osw_claim *claim);

#endif
