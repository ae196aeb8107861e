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

bool
osw_lock_try(struct osw_pg *pg,
             int sweep_id,
             int64_t deadline_ms,
             bool *taken,
             struct osw_error *error)
{
    return ask(pg, osw_sql_lock, sweep_id, deadline_ms, taken, error);
}

bool
osw_lock_release(struct osw_pg *pg,
                 int sweep_id,
                 int64_t deadline_ms,
                 struct osw_error *error)
{
    bool held = false;

    if (!ask(pg, osw_sql_unlock, sweep_id, deadline_ms, &held, error)) {
        return false;
    }
    if (!held) {
        return osw_error_set(
            error, OSW_EXIT_INTERNAL, "the lock was not held any more");
    }
    return true;
}
