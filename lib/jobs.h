/*
 * jobs: the connections that share the orders of a run.
 *
 * The first is the run's own.  The others are opened once there is something
 * to sweep, and only sweep.
 */
#ifndef OSW_JOBS_H
#define OSW_JOBS_H

#include <stdint.h>

#include "connect.h"
#include "pg.h"
#include "session.h"
#include "sweep.h"

struct osw_jobs {
    struct osw_pg *pgs[OSW_SWEEP_JOBS];
    struct osw_session sessions[OSW_SWEEP_JOBS]; /* the first is not used */
    int count;                                   /* of connections */
    bool limited; /* it was told that there are no more to be had */
};

/* The run's own connection alone; it stays the caller's. */
void osw_jobs_begin(struct osw_jobs *jobs, struct osw_pg *own);

/* How long the run waits for its other connections, all of them together. */
#define OSW_JOBS_PATIENCE_MS 2000

/*
 * Have as many connections as wanted, with the statement prepared on them (on
 * the run's own nothing); fewer, with a warning, if the server or the pooler
 * gives no more in that time.  own is the settled session of the run's own
 * connection.  A signal ends it.
 */
void osw_jobs_gather(struct osw_jobs *jobs,
                     int wanted,
                     const struct osw_pg_statement *statement,
                     const struct osw_session *own,
                     const struct osw_connect_target *target,
                     const struct osw_session_limits *limits,
                     int64_t deadline_ms);

/* Close all but the run's own. */
void osw_jobs_end(struct osw_jobs *jobs);

#endif
