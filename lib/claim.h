/*
 * claim: the locks of a run.
 *
 * Straight on a server the working connection takes them.  Behind a connection
 * pooler a connection of its own takes them, in an open transaction; where the
 * pooler has no session left for that, the run goes on without: the locks save
 * work, nothing depends on them.
 */
#ifndef OSW_CLAIM_H
#define OSW_CLAIM_H

#include <stdbool.h>
#include <stdint.h>

#include "connect.h"
#include "lock.h"
#include "pg.h"
#include "session.h"

struct osw_claim {
    struct osw_session *working; /* settled */
    const struct osw_connect_target *target;
    const struct osw_session_limits *limits;
    struct osw_lock lock; /* whose connection, NULL: none needed yet */
    struct osw_pg *side;  /* of its own, or NULL */
    struct osw_session side_session;
    bool without; /* it was told that there is no lock here */
};

enum osw_claim_result {
    OSW_CLAIM_HELD,    /* to be released */
    OSW_CLAIM_WITHOUT, /* none can be had; a warning was logged, once */
    OSW_CLAIM_BUSY,    /* others have it */
    OSW_CLAIM_STOPPED, /* none could be had, for a signal has come */
    OSW_CLAIM_FAILED,  /* the error says why */
};

/* What is given must outlive the claim, which is to be closed. */
void osw_claim_open(struct osw_claim *claim,
                    struct osw_session *working,
                    const struct osw_connect_target *target,
                    const struct osw_session_limits *limits);

enum osw_claim_result osw_claim_take(struct osw_claim *claim,
                                     const char *sweep,
                                     const struct osw_lock_key *key,
                                     int64_t deadline_ms,
                                     struct osw_error *error);

/*
 * Take any of so many slots of a sweep, or wait for one: patience_ms, 0 for not
 * at all.  *slot is which; without locks it is 1.
 */
enum osw_claim_result osw_claim_take_slot(struct osw_claim *claim,
                                          const char *sweep,
                                          int sweep_id,
                                          int slots,
                                          int64_t patience_ms,
                                          int64_t deadline_ms,
                                          int *slot,
                                          struct osw_error *error);

/* Give back what was held, the last first; a warning is logged where that
 * fails, or it was not held any more. */
void osw_claim_give_back(struct osw_claim *claim,
                         const char *sweep,
                         const struct osw_lock_key *key,
                         int64_t deadline_ms);

void osw_claim_close(struct osw_claim *claim);

#endif
