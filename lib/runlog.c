#include "runlog.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "host.h"
#include "sql_text.h"

bool
osw_runlog_begin(struct osw_pg *pg,
                 const char *sweep,
                 const char *window,
                 int64_t deadline_ms,
                 char run_id[OSW_RUN_ID_SIZE],
                 struct osw_error *error)
{
    const struct osw_pg_statement statement = {NULL, osw_sql_begin_run, 4};
    struct osw_pg_answer answer = OSW_PG_ANSWER_INIT;
    char host[OSW_HOST_SIZE];
    char pid[16];
    const char *values[] = {sweep, host, pid, window};

    osw_host_name(host);
    (void)snprintf(pid, sizeof(pid), "%ld", (long)getpid());
    if (!osw_pg_query(pg, &statement, values, 1, deadline_ms, &answer, error)) {
        return false;
    }
    (void)snprintf(
        run_id, OSW_RUN_ID_SIZE, "%" PRId64, osw_pg_number(&answer, 0, 0));
    osw_pg_answer_clear(&answer);
    return true;
}

bool
osw_runlog_left_over(struct osw_pg *pg,
                     const char *run_id,
                     int64_t limit_ms,
                     int64_t deadline_ms,
                     struct osw_error *left)
{
    const struct osw_pg_statement statement = {NULL, osw_sql_left_over, 1};
    struct osw_pg_answer answer = OSW_PG_ANSWER_INIT;
    const char *values[] = {run_id};
    const char *what = NULL;

    if (!osw_pg_query_within(
            pg, limit_ms, &statement, values, 1, deadline_ms, &answer, left)) {
        return false;
    }
    what = osw_pg_value(&answer, 0, 0);
    if (what != NULL) {
        osw_error_set(left, OSW_EXIT_OK, "%s", what);
    }
    osw_pg_answer_clear(&answer);
    return what != NULL;
}

bool
osw_runlog_prune(struct osw_pg *pg,
                 const char *run_id,
                 int64_t limit_ms,
                 int64_t deadline_ms,
                 struct osw_error *error)
{
    const struct osw_pg_statement statement = {NULL, osw_sql_prune, 1};
    struct osw_pg_answer answer = OSW_PG_ANSWER_INIT;
    const char *values[] = {run_id};

    if (!osw_pg_query_within(
            pg, limit_ms, &statement, values, 1, deadline_ms, &answer, error)) {
        return false;
    }
    osw_pg_answer_clear(&answer);
    return true;
}

bool
osw_runlog_finish(struct osw_pg *pg,
                  const char *run_id,
                  const struct osw_sweep_result *result,
                  int64_t deadline_ms,
                  bool *prune,
                  struct osw_error *error)
{
    static const int percents[] = {50, 99, 100};
    const struct osw_pg_statement statement = {
        NULL, osw_sql_finish_run, 6 + OSW_OUTCOME_COUNT};
    struct osw_pg_answer answer = OSW_PG_ANSWER_INIT;
    char late[3][40];
    char counts[OSW_OUTCOME_COUNT][24];
    const char *values[6 + OSW_OUTCOME_COUNT] = {
        run_id, osw_sweep_stop_name(result->stop), result->rest ? "t" : "f"};

    for (int i = 0; i < 3 && result->lateness.count > 0; i++) {
        (void)snprintf(late[i],
                       sizeof(late[i]),
                       "%" PRId64 " milliseconds",
                       osw_lateness_percentile(&result->lateness, percents[i]));
        values[3 + i] = late[i];
    }
    for (int i = 0; i < OSW_OUTCOME_COUNT; i++) {
        (void)snprintf(
            counts[i], sizeof(counts[i]), "%" PRId64, result->counts[i]);
        values[6 + i] = counts[i];
    }
    if (!osw_pg_query(pg, &statement, values, 1, deadline_ms, &answer, error)) {
        return false;
    }
    *prune = osw_pg_is_true(&answer, 0, 0);
    osw_pg_answer_clear(&answer);
    return true;
}

bool
osw_runlog_alive(struct osw_pg *pg,
                 const char *sweep,
                 int64_t deadline_ms,
                 struct osw_error *error)
{
    const struct osw_pg_statement statement = {NULL, osw_sql_sign_of_life, 1};
    struct osw_pg_answer answer = OSW_PG_ANSWER_INIT;
    const char *values[] = {sweep};
    bool done =
        osw_pg_query(pg, &statement, values, 1, deadline_ms, &answer, error);

    osw_pg_answer_clear(&answer);
    return done;
}
