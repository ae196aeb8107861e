/*
 * lock: who may work on a sweep, over all hosts, by advisory locks.
 *
 * The lock of a sweep is held while its orders are swept: by one run alone, or
 * shared by those that have a slot.  A slot is a run's for as long as it works
 * on a share of the orders or lingers.
 *
 * The locks save work; nothing depends on them: runs without them share the
 * due orders by their row locks.
 *
 * A session holds them, and they end with the session at the latest.  Behind a
 * connection pooler, where sessions are shared, an open transaction on a
 * connection of its own holds them instead, each behind a savepoint: there the
 * lock that was taken last is to be released first.
 */
#ifndef OSW_LOCK_H
#define OSW_LOCK_H

#include "pg.h"

/* How long a pooler may take to find a session for the lock. */
#define OSW_LOCK_PATIENCE_MS 2000

struct osw_lock {
    struct osw_pg *pg;
    bool in_transaction;
    int held; /* locks, in a transaction */
};

struct osw_lock_key {
    int sweep_id;
    int slot;    /* from 1; 0: the sweep itself */
    int slots;   /* of so many: those of another number are others */
    bool shared; /* others may have it as well, shared like this */
};

/*
 * Try to take a lock, without waiting; *taken says if it was.  One in a
 * transaction that could not be asked for leaves its connection without use.
 */
bool osw_lock_try(struct osw_lock *lock,
                  const struct osw_lock_key *key,
                  int64_t deadline_ms,
                  bool *taken,
                  struct osw_error *error);

/*
 * Take any of so many slots of a sweep; where all are taken, wait for one.
 * *slot is which, or 0: none could be had within patience_ms, or before a
 * signal came.
 */
bool osw_lock_take_slot(struct osw_lock *lock,
                        int sweep_id,
                        int slots,
                        int64_t patience_ms,
                        int64_t deadline_ms,
                        int *slot,
                        struct osw_error *error);

/* Give a lock back.  False also if it was not held any more. */
bool osw_lock_release(struct osw_lock *lock,
                      const struct osw_lock_key *key,
                      int64_t deadline_ms,
                      struct osw_error *error);

/*
 * Does pg still get an answer, or does a lock in a transaction hold the
 * pooler's last session?  *answered tells if one came until patience_ms; if
 * not, the lock was given back, and the answer came then.
 */
bool osw_lock_leave_room(struct osw_lock *lock,
                         struct osw_pg *pg,
                         int64_t patience_ms,
                         int64_t deadline_ms,
                         bool *answered,
                         struct osw_error *error);

#endif
