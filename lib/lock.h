/*
 * lock: one run of a sweep at a time, over all hosts, by an advisory lock.
 *
 * The lock saves work; nothing depends on it: runs without it share the due
 * orders by their row locks.
 *
 * A session holds it, and it ends with the session at the latest.  Behind a
 * connection pooler, where sessions are shared, an open transaction on a
 * connection of its own holds it instead.
 */
#ifndef OSW_LOCK_H
#define OSW_LOCK_H

#include "pg.h"

/* How long a pooler may take to find a session for the lock. */
#define OSW_LOCK_PATIENCE_MS 2000

struct osw_lock {
    struct osw_pg *pg;
    bool in_transaction;
};

/*
 * Try to take the lock of a sweep, without waiting; *taken says if it was.
 * A lock in a transaction that could not be asked for leaves its connection
 * without use.
 */
bool osw_lock_try(const struct osw_lock *lock,
                  int sweep_id,
                  int64_t deadline_ms,
                  bool *taken,
                  struct osw_error *error);

/* Give the lock back.  False also if it was not held any more. */
bool osw_lock_release(const struct osw_lock *lock,
                      int sweep_id,
                      int64_t deadline_ms,
                      struct osw_error *error);

/*
 * Does pg still get an answer, or does a lock in a transaction hold the
 * pooler's last session?  *answered tells if one came until patience_ms; if
 * not, the lock was given back, and the answer came then.
 */
bool osw_lock_leave_room(const struct osw_lock *lock,
                         struct osw_pg *pg,
                         int64_t patience_ms,
                         int64_t deadline_ms,
                         bool *answered,
                         struct osw_error *error);

#endif
