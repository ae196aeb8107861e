#include "jobs.h"

#include <string.h>

#include "clock.h"
#include "interrupt.h"
#include "log.h"

_Static_assert(OSW_SWEEP_JOBS <= OSW_PG_TOGETHER,
               "osw_pg_wait_any has no room for so many connections");

void
osw_jobs_begin(struct osw_jobs *jobs, struct osw_pg *own)
{
    memset(jobs, 0, sizeof(*jobs));
    jobs->pgs[0] = own;
    jobs->count = 1;
}

static void
drop_last(struct osw_jobs *jobs)
{
    jobs->count--;
    osw_pg_close(jobs->pgs[jobs->count]);
    jobs->pgs[jobs->count] = NULL;
}

/*
 * A pooler lets in more clients than it has sessions of the server for: what is
 * sent on such a connection would wait until the end of the run.
 */
static bool
has_session(struct osw_session *session,
            int64_t deadline_ms,
            struct osw_error *error)
{
    return !session->pooled ||
           osw_session_ask(session, OSW_POOLER_YES, deadline_ms, error);
}

/* The names are those of the turn before: from the start once more. */
static bool
prepare(struct osw_pg *pg,
        const struct osw_pg_statement *statement,
        int64_t deadline_ms,
        struct osw_error *error)
{
    return osw_pg_forget(pg, deadline_ms, error) &&
           osw_pg_prepare_now(pg, statement, deadline_ms, error);
}

/*
 * One that is lost by now is closed, and with it, for their sessions must stay
 * where they are, those behind it.
 */
static void
prepare_again(struct osw_jobs *jobs,
              const struct osw_pg_statement *statement,
              int64_t deadline_ms)
{
    struct osw_error ignored = OSW_ERROR_INIT;

    for (int i = 1; i < jobs->count; i++) {
        if (!has_session(&jobs->sessions[i], deadline_ms, &ignored) ||
            !prepare(jobs->pgs[i], statement, deadline_ms, &ignored)) {
            while (jobs->count > i) {
                drop_last(jobs);
            }
        }
    }
}

static bool
add(struct osw_jobs *jobs,
    const struct osw_pg_statement *statement,
    const struct osw_session *own,
    const struct osw_connect_target *target,
    const struct osw_session_limits *limits,
    int64_t deadline_ms,
    struct osw_error *error)
{
    struct osw_session *session = &jobs->sessions[jobs->count];
    struct osw_pg **pg = &jobs->pgs[jobs->count];

    if (!osw_pg_connect(pg, target, deadline_ms, error)) {
        return false;
    }
    jobs->count++;
    osw_session_begin(session, *pg, limits);
    osw_session_follow(session, own);
    if (!has_session(session, deadline_ms, error) ||
        !osw_session_set(session, deadline_ms, error) ||
        !prepare(*pg, statement, deadline_ms, error)) {
        drop_last(jobs);
        return false;
    }
    return true;
}

void
osw_jobs_gather(struct osw_jobs *jobs,
                int wanted,
                const struct osw_pg_statement *statement,
                const struct osw_session *own,
                const struct osw_connect_target *target,
                const struct osw_session_limits *limits,
                int64_t deadline_ms)
{
    const int64_t until_ms =
        osw_clock_until_ms(OSW_JOBS_PATIENCE_MS, deadline_ms);
    struct osw_error error = OSW_ERROR_INIT;

    prepare_again(jobs, statement, until_ms);
    while (jobs->count < wanted && !jobs->limited &&
           osw_interrupt_count() == 0) {
        if (!add(jobs, statement, own, target, limits, until_ms, &error) &&
            osw_interrupt_count() == 0) {
            osw_log(OSW_LOG_WARNING,
                    "going on with %d of %d connections: %s",
                    jobs->count,
                    wanted,
                    error.message);
            jobs->limited = true;
        }
    }
}

void
osw_jobs_end(struct osw_jobs *jobs)
{
    while (jobs->count > 1) {
        drop_last(jobs);
    }
}
