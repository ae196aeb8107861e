#include "jobs.h"

#include <string.h>

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
 * The names are those of the turn before.  One that is lost by now is closed,
 * and with it those behind it.
 */
static void
forget(struct osw_jobs *jobs, int64_t deadline_ms)
{
    struct osw_error ignored = OSW_ERROR_INIT;

    for (int i = jobs->count - 1; i > 0; i--) {
        if (!osw_pg_forget(jobs->pgs[i], deadline_ms, &ignored)) {
            while (jobs->count > i) {
                drop_last(jobs);
            }
        }
    }
}

static bool
add(struct osw_jobs *jobs,
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
    if (!osw_session_set(session, deadline_ms, error)) {
        drop_last(jobs);
        return false;
    }
    return true;
}

void
osw_jobs_gather(struct osw_jobs *jobs,
                int wanted,
                const struct osw_session *own,
                const struct osw_connect_target *target,
                const struct osw_session_limits *limits,
                int64_t deadline_ms)
{
    struct osw_error error = OSW_ERROR_INIT;

    forget(jobs, deadline_ms);
    while (jobs->count < wanted && !jobs->limited) {
        if (!add(jobs, own, target, limits, deadline_ms, &error)) {
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
