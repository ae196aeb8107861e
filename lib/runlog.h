/*
 * runlog: the books of a run, in the tables run and life.
 */
#ifndef OSW_RUNLOG_H
#define OSW_RUNLOG_H

#include "pg.h"
#include "sweep.h"

#define OSW_RUN_ID_SIZE 24

/* Open the row of a run that has work; run_id gets its id as text. */
bool osw_runlog_begin(struct osw_pg *pg,
                      const char *sweep,
                      const char *window,
                      int64_t deadline_ms,
                      char run_id[OSW_RUN_ID_SIZE],
                      struct osw_error *error);

/*
 * Has a run that found no more to sweep left something for long, since other
 * sessions hold it?  True with its description as the error's message; false
 * with an SQLSTATE in it where the server does not answer that in limit_ms.
 */
bool osw_runlog_left_over(struct osw_pg *pg,
                          const char *run_id,
                          int64_t limit_ms,
                          int64_t deadline_ms,
                          struct osw_error *left);

/*
 * Close the row: a synchronous commit that flushes all commits of the run
 * before it.  Where this fails, what was swept may not be durable.  *prune
 * tells if the journal is to be pruned then.
 */
bool osw_runlog_finish(struct osw_pg *pg,
                       const char *run_id,
                       const struct osw_sweep_result *result,
                       int64_t deadline_ms,
                       bool *prune,
                       struct osw_error *error);

/*
 * Delete what nothing needs any more of the journal, a part of it.  False with
 * the error filled where that fails or takes longer than limit_ms.
 */
bool osw_runlog_prune(struct osw_pg *pg,
                      const char *run_id,
                      int64_t limit_ms,
                      int64_t deadline_ms,
                      struct osw_error *error);

/* Note that a run looked after a sweep and found nothing to sweep. */
bool osw_runlog_alive(struct osw_pg *pg,
                      const char *sweep,
                      int64_t deadline_ms,
                      struct osw_error *error);

#endif
