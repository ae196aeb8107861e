#include "lock.h"

#include <stdio.h>

#include "sql_text.h"

static bool
ask(struct osw_pg *pg,
    const char *text,
    int sweep_id,
    int64_t deadline_ms,
    bool *yes,
    struct osw_error *error)
{
    const struct osw_pg_statement statement = {NULL, text, 1};
    struct osw_pg_answer answer = OSW_PG_ANSWER_INIT;
    char id[16];
    const char *values[] = {id};

    (void)snprintf(id, sizeof(id), "%d", sweep_id);
    if (!osw_pg_query(pg, &statement, values, 1, deadline_ms, &answer, error)) {
        return false;
    }
    *yes = osw_pg_is_true(&answer, 0, 0);
    osw_pg_answer_clear(&answer);
    return true;
}

static bool
try_in_transaction(struct osw_pg *pg,
                   int sweep_id,
                   int64_t deadline_ms,
                   bool *taken,
                   struct osw_error *error)
{
    /* Vacuum waits for snapshots.  Read committed keeps none for the
     * transaction, but the SELECT's own lasts until another statement has
     * taken its place: an empty one does. */
    return osw_pg_begin(pg, osw_sql_begin, deadline_ms, error) &&
           ask(pg, osw_sql_lock_xact, sweep_id, deadline_ms, taken, error) &&
           osw_pg_command(pg, *taken ? "" : "ROLLBACK", deadline_ms, error);
}

bool
osw_lock_try(const struct osw_lock *lock,
             int sweep_id,
             int64_t deadline_ms,
             bool *taken,
             struct osw_error *error)
{
    if (lock->in_transaction) {
        return try_in_transaction(
            lock->pg, sweep_id, deadline_ms, taken, error);
    }
    return ask(lock->pg, osw_sql_lock, sweep_id, deadline_ms, taken, error);
}

bool
osw_lock_release(const struct osw_lock *lock,
                 int sweep_id,
                 int64_t deadline_ms,
                 struct osw_error *error)
{
    bool held = false;

    if (lock->in_transaction) {
        return osw_pg_command(lock->pg, "ROLLBACK", deadline_ms, error);
    }
    if (!ask(lock->pg, osw_sql_unlock, sweep_id, deadline_ms, &held, error)) {
        return false;
    }
    if (!held) {
        return osw_error_set(
            error, OSW_EXIT_INTERNAL, "the lock was not held any more");
    }
    return true;
}

bool
osw_lock_leave_room(const struct osw_lock *lock,
                    struct osw_pg *pg,
                    int64_t patience_ms,
                    int64_t deadline_ms,
                    bool *answered,
                    struct osw_error *error)
{
    const struct osw_pg_statement statement = {NULL, osw_sql_session, 0};
    struct osw_pg_answer answer = OSW_PG_ANSWER_INIT;
    struct osw_error ignored = OSW_ERROR_INIT;
    bool done = false;

    if (!osw_pg_queue(pg, &statement, NULL, error) || !osw_pg_sync(pg, error)) {
        return false;
    }
    done = osw_pg_await(pg, patience_ms, &answer, error);
    *answered = done;
    if (!done && osw_pg_owes(pg)) {
        (void)osw_pg_command(lock->pg, "ROLLBACK", deadline_ms, &ignored);
        done = osw_pg_await(pg, deadline_ms, &answer, error);
    }
    osw_pg_answer_clear(&answer);
    return done;
}
