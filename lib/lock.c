#include "lock.h"

#include <inttypes.h>
#include <stdio.h>

#include "clock.h"
#include "host.h"
#include "interrupt.h"
#include "sql_text.h"

/* The answer to a wait that was cancelled comes within this time. */
#define CANCEL_MS 2000

/* --slots at most. */
#define SLOTS 16

struct key_text {
    char sweep_id[16];
    char lock[16];
    const char *values[3];
};

/* As order_sweep.take_slot has it, too. */
static int
number(const struct osw_lock_key *key)
{
    return key->slot == 0 ? 0 : SLOTS * (key->slots - 1) + key->slot;
}

static void
write_key(const struct osw_lock_key *key, struct key_text *text)
{
    (void)snprintf(text->sweep_id, sizeof(text->sweep_id), "%d", key->sweep_id);
    (void)snprintf(text->lock, sizeof(text->lock), "%d", number(key));
    text->values[0] = text->sweep_id;
    text->values[1] = text->lock;
    text->values[2] = key->shared ? "t" : "f";
}

static bool
ask(struct osw_pg *pg,
    const char *text,
    const struct osw_lock_key *key,
    int64_t deadline_ms,
    bool *yes,
    struct osw_error *error)
{
    const struct osw_pg_statement statement = {NULL, text, 3};
    struct osw_pg_answer answer = OSW_PG_ANSWER_INIT;
    struct key_text values = {.values = {NULL}};

    write_key(key, &values);
    if (!osw_pg_query(
            pg, &statement, values.values, 1, deadline_ms, &answer, error)) {
        return false;
    }
    *yes = osw_pg_is_true(&answer, 0, 0);
    osw_pg_answer_clear(&answer);
    return true;
}

/* A place for a lock in the transaction; the first one begins it. */
static bool
enter(struct osw_lock *lock, int64_t deadline_ms, struct osw_error *error)
{
    if (!lock->in_transaction) {
        return true;
    }
    return lock->held == 0
               ? osw_pg_begin(lock->pg, osw_sql_begin, deadline_ms, error)
               : osw_pg_command(
                     lock->pg, osw_sql_savepoint, deadline_ms, error);
}

/* Give the last place back, and with it the lock; the first one is the end. */
static bool
leave(struct osw_lock *lock, int64_t deadline_ms, struct osw_error *error)
{
    if (lock->held == 0) {
        return osw_pg_command(lock->pg, "ROLLBACK", deadline_ms, error);
    }
    return osw_pg_command(lock->pg, osw_sql_rollback_to, deadline_ms, error) &&
           osw_pg_command(lock->pg, osw_sql_release, deadline_ms, error);
}

/* The place stays, if the lock was taken. */
static bool
settle(struct osw_lock *lock,
       bool taken,
       int64_t deadline_ms,
       struct osw_error *error)
{
    if (!lock->in_transaction) {
        return true;
    }
    if (!taken) {
        return leave(lock, deadline_ms, error);
    }
    lock->held++;
    /* Vacuum waits for snapshots.  Read committed keeps none for the
     * transaction, but the SELECT's own lasts until another statement has
     * taken its place: an empty one does. */
    return osw_pg_command(lock->pg, "", deadline_ms, error);
}

bool
osw_lock_try(struct osw_lock *lock,
             const struct osw_lock_key *key,
             int64_t deadline_ms,
             bool *taken,
             struct osw_error *error)
{
    return enter(lock, deadline_ms, error) &&
           ask(lock->pg,
               lock->in_transaction ? osw_sql_lock_xact : osw_sql_lock,
               key,
               deadline_ms,
               taken,
               error) &&
           settle(lock, *taken, deadline_ms, error);
}

bool
osw_lock_release(struct osw_lock *lock,
                 const struct osw_lock_key *key,
                 int64_t deadline_ms,
                 struct osw_error *error)
{
    bool held = false;

    if (lock->in_transaction) {
        lock->held--;
        return leave(lock, deadline_ms, error);
    }
    if (!ask(lock->pg, osw_sql_unlock, key, deadline_ms, &held, error)) {
        return false;
    }
    if (!held) {
        return osw_error_set(
            error, OSW_EXIT_INTERNAL, "the lock was not held any more");
    }
    return true;
}

/*
 * Wait for the answer; a signal ends the wait in the server, whose answer then
 * is an error, or that the slot was taken all the same.
 */
static bool
await(struct osw_pg *pg,
      int64_t deadline_ms,
      struct osw_pg_answer *answer,
      bool *stopped,
      struct osw_error *error)
{
    enum osw_pg_event event = osw_pg_wait(pg, deadline_ms, answer);

    *stopped = event == OSW_PG_INTERRUPTED;
    if (event == OSW_PG_INTERRUPTED) {
        osw_pg_cancel(pg);
        return osw_pg_await(
            pg, osw_clock_until_ms(CANCEL_MS, deadline_ms), answer, error);
    }
    if (event == OSW_PG_ANSWERED && answer->ok) {
        return true;
    }
    if (event == OSW_PG_TIMED_OUT) {
        return osw_error_set(
            error, OSW_EXIT_UNAVAILABLE, "no answer from the server in time");
    }
    *error = answer->error;
    osw_pg_answer_clear(answer);
    return false;
}

bool
osw_lock_take_slot(struct osw_lock *lock,
                   int sweep_id,
                   int slots,
                   int64_t patience_ms,
                   int64_t deadline_ms,
                   int *slot,
                   struct osw_error *error)
{
    const struct osw_pg_statement statement = {NULL, osw_sql_take_slot, 5};
    struct osw_pg_answer answer = OSW_PG_ANSWER_INIT;
    /* A signal that came before the wait would not end it. */
    const int64_t wait_ms = osw_interrupt_count() > 0 ? 0 : patience_ms;
    char id[16];
    char count[16];
    char patience[24];
    char holder[OSW_HOST_PROCESS_SIZE];
    const char *const values[] = {
        id, count, patience, lock->in_transaction ? "t" : "f", holder};
    bool stopped = false;

    *slot = 0;
    (void)snprintf(id, sizeof(id), "%d", sweep_id);
    (void)snprintf(count, sizeof(count), "%d", slots);
    (void)snprintf(patience, sizeof(patience), "%" PRId64, wait_ms);
    osw_host_process(holder);
    if (!enter(lock, deadline_ms, error) ||
        !osw_pg_queue(lock->pg, &statement, values, error) ||
        !osw_pg_sync(lock->pg, error)) {
        return false;
    }
    if (!await(lock->pg, deadline_ms, &answer, &stopped, error)) {
        /* Cancelled: the run is over, and what was begun ends with it. */
        return stopped && error->sqlstate[0] != '\0';
    }
    *slot = (int)osw_pg_number(&answer, 0, 0);
    osw_pg_answer_clear(&answer);
    return settle(lock, *slot > 0, deadline_ms, error);
}

bool
osw_lock_leave_room(struct osw_lock *lock,
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
        lock->held = 0;
        (void)osw_pg_command(lock->pg, "ROLLBACK", deadline_ms, &ignored);
        done = osw_pg_await(pg, deadline_ms, &answer, error);
    }
    osw_pg_answer_clear(&answer);
    return done;
}
