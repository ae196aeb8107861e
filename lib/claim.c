#include "claim.h"

#include <string.h>

#include "clock.h"
#include "fault.h"
#include "interrupt.h"
#include "log.h"

void
osw_claim_open(struct osw_claim *claim,
               struct osw_session *working,
               const struct osw_connect_target *target,
               const struct osw_session_limits *limits)
{
    memset(claim, 0, sizeof(*claim));
    claim->working = working;
    claim->target = target;
    claim->limits = limits;
}

static int64_t
patience_until(int64_t deadline_ms)
{
    return osw_clock_until_ms(OSW_LOCK_PATIENCE_MS, deadline_ms);
}

static enum osw_claim_result
go_without(struct osw_claim *claim, const char *sweep, const char *why)
{
    osw_claim_close(claim);
    if (osw_interrupt_count() > 0) {
        return OSW_CLAIM_STOPPED;
    }
    osw_log_of(OSW_LOG_WARNING,
               sweep,
               "going on without the lock, for the connection pooler gives no "
               "session for it: %s",
               why);
    claim->without = true;
    return OSW_CLAIM_WITHOUT;
}

/* The connection that takes the locks. */
static bool
open_lock(struct osw_claim *claim, int64_t deadline_ms, struct osw_error *error)
{
    if (claim->lock.pg != NULL) {
        return true;
    }
    if (claim->working->pooled) {
        if (!osw_pg_connect(&claim->side, claim->target, deadline_ms, error)) {
            return false;
        }
        osw_session_begin(&claim->side_session, claim->side, claim->limits);
        claim->lock.pg = claim->side;
        claim->lock.in_transaction = true;
    } else {
        claim->lock.pg = claim->working->pg;
    }
    return true;
}

/* A lock could not be asked for: behind a pooler that is no failure. */
static enum osw_claim_result
fail(struct osw_claim *claim, const char *sweep, struct osw_error *error)
{
    if (claim->working->pooled) {
        return go_without(claim, sweep, error->message);
    }
    osw_fault_classify(error);
    return OSW_CLAIM_FAILED;
}

/* With the first lock of a transaction: is there a session left to work in? */
static enum osw_claim_result
leave_room(struct osw_claim *claim,
           const char *sweep,
           int64_t deadline_ms,
           struct osw_error *error)
{
    bool answered = false;

    if (!claim->lock.in_transaction || claim->lock.held != 1) {
        return OSW_CLAIM_HELD;
    }
    if (!osw_lock_leave_room(&claim->lock,
                             claim->working->pg,
                             patience_until(deadline_ms),
                             deadline_ms,
                             &answered,
                             error)) {
        osw_fault_classify(error);
        return OSW_CLAIM_FAILED;
    }
    return answered ? OSW_CLAIM_HELD
                    : go_without(claim, sweep, "its pool is too small");
}

enum osw_claim_result
osw_claim_take(struct osw_claim *claim,
               const char *sweep,
               const struct osw_lock_key *key,
               int64_t deadline_ms,
               struct osw_error *error)
{
    const int64_t until_ms =
        claim->working->pooled ? patience_until(deadline_ms) : deadline_ms;
    bool taken = false;

    if (claim->without) {
        return OSW_CLAIM_WITHOUT;
    }
    if (!open_lock(claim, deadline_ms, error) ||
        !osw_lock_try(&claim->lock, key, until_ms, &taken, error)) {
        return fail(claim, sweep, error);
    }
    return taken ? leave_room(claim, sweep, deadline_ms, error)
                 : OSW_CLAIM_BUSY;
}

enum osw_claim_result
osw_claim_take_slot(struct osw_claim *claim,
                    const char *sweep,
                    int sweep_id,
                    int slots,
                    int64_t patience_ms,
                    int64_t deadline_ms,
                    int *slot,
                    struct osw_error *error)
{
    const int64_t until_ms =
        claim->working->pooled
            ? osw_clock_until_ms(patience_ms + OSW_LOCK_PATIENCE_MS,
                                 deadline_ms)
            : deadline_ms;

    *slot = 1;
    if (claim->without) {
        return OSW_CLAIM_WITHOUT;
    }
    if (!open_lock(claim, deadline_ms, error) ||
        !osw_lock_take_slot(&claim->lock,
                            sweep_id,
                            slots,
                            patience_ms,
                            until_ms,
                            slot,
                            error)) {
        *slot = 1;
        return fail(claim, sweep, error);
    }
    if (*slot > 0) {
        return leave_room(claim, sweep, deadline_ms, error);
    }
    return osw_interrupt_count() > 0 ? OSW_CLAIM_STOPPED : OSW_CLAIM_BUSY;
}

void
osw_claim_give_back(struct osw_claim *claim,
                    const char *sweep,
                    const struct osw_lock_key *key,
                    int64_t deadline_ms)
{
    struct osw_error error = OSW_ERROR_INIT;

    if (claim->lock.pg == NULL) {
        return; /* it ended with its connection */
    }
    if (!osw_lock_release(&claim->lock, key, deadline_ms, &error)) {
        osw_log_of(OSW_LOG_WARNING, sweep, "%s", error.message);
        if (claim->lock.in_transaction) {
            osw_claim_close(claim); /* and with it the other locks */
        }
    }
}

void
osw_claim_close(struct osw_claim *claim)
{
    osw_pg_close(claim->side);
    claim->side = NULL;
    memset(&claim->lock, 0, sizeof(claim->lock));
}
