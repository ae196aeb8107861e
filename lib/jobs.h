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

/*
 * Have as many connections as wanted, with nothing prepared on them; fewer,
 * with a warning, if the server or the pooler gives no more.  own is the
 * settled session of the run's own connection.
 */
void osw_jobs_gather(struct osw_jobs *jobs,
                     int wanted,
                     const struct osw_session *own,
                     const struct osw_connect_target *target,
                     const struct osw_session_limits *limits,
                     int64_t deadline_ms);

/* Close all but the run's own. */
void osw_jobs_end(struct osw_jobs *jobs);

#endif
