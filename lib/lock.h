/*
 * lock: one run of a sweep at a time, over all hosts, by an advisory lock of
 * the session.
 *
 * The lock saves work; nothing depends on it: runs without it share the due
 * orders by their row locks.  It ends with the session at the latest.
 */
#ifndef OSW_LOCK_H
#define OSW_LOCK_H

#include "pg.h"

/* Try to take the lock of a sweep, without waiting; *taken says if it was. */
bool osw_lock_try(struct osw_pg *pg,
                  int sweep_id,
                  int64_t deadline_ms,
                  bool *taken,
                  struct osw_error *error);

/* Give the lock back.  False also if it was not held any more. */
bool osw_lock_release(struct osw_pg *pg,
                      int sweep_id,
                      int64_t deadline_ms,
                      struct osw_error *error);

#endif
