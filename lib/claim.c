#include "claim.h"

#include <string.h>

#include "clock.h"
#include "fault.h"
#include "interrupt.h"
#include "lock.h"
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

static struct osw_lock
lock_of(const struct osw_claim *claim)
{
    struct osw_lock lock = {claim->working->pg, false};

    if (claim->working->pooled) {
        lock.pg = claim->side;
        lock.in_transaction = true;
    }
    return lock;
}

static enum osw_claim_result
go_without(struct osw_claim *claim, const char *sweep, const char *why)
{
    osw_claim_close(claim);
    if (osw_interrupt_count() > 0) {
        return OSW_CLAIM_STOPPED;
    }
    osw_log(OSW_LOG_WARNING,
            "%s: going on without the lock, for the connection pooler gives "
            "no session for it: %s",
            sweep,
            why);
    claim->without = true;
    return OSW_CLAIM_WITHOUT;
}

static bool
open_side(struct osw_claim *claim, int64_t deadline_ms, struct osw_error *error)
{
    if (claim->side != NULL) {
        return true;
    }
    if (!osw_pg_connect(&claim->side, claim->target, deadline_ms, error)) {
        return false;
    }
    osw_session_begin(&claim->side_session, claim->side, claim->limits);
    return true;
}

static enum osw_claim_result
take_aside(struct osw_claim *claim,
           const char *sweep,
           int sweep_id,
           int64_t deadline_ms,
           struct osw_error *error)
{
    struct osw_lock lock;
    bool taken = false;
    bool answered = false;

    if (claim->without) {
        return OSW_CLAIM_WITHOUT;
    }
    if (!open_side(claim, deadline_ms, error)) {
        return go_without(claim, sweep, error->message);
    }
    lock = lock_of(claim);
    if (!osw_lock_try(
            &lock, sweep_id, patience_until(deadline_ms), &taken, error)) {
        return go_without(claim, sweep, error->message);
    }
    if (!taken) {
        return OSW_CLAIM_BUSY;
    }
    if (!osw_lock_leave_room(&lock,
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
               int sweep_id,
               int64_t deadline_ms,
               struct osw_error *error)
{
    struct osw_lock lock;
    bool taken = false;

    if (claim->working->pooled) {
        return take_aside(claim, sweep, sweep_id, deadline_ms, error);
    }
    lock = lock_of(claim);
    if (!osw_lock_try(&lock, sweep_id, deadline_ms, &taken, error)) {
        osw_fault_classify(error);
        return OSW_CLAIM_FAILED;
    }
    return taken ? OSW_CLAIM_HELD : OSW_CLAIM_BUSY;
}

bool
osw_claim_release(struct osw_claim *claim,
                  int sweep_id,
                  int64_t deadline_ms,
                  struct osw_error *error)
{
    struct osw_lock lock = lock_of(claim);

    return osw_lock_release(&lock, sweep_id, deadline_ms, error);
}

void
osw_claim_close(struct osw_claim *claim)
{
    osw_pg_close(claim->side);
    claim->side = NULL;
}
