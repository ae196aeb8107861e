#include "probe.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fault.h"
#include "outcome.h"
#include "sql_text.h"

enum column {
    VERSION,
    SERVER_PID,
    ID,
    NAME,
    PAUSED,
    TAKES_WINDOW,
    SHORTER,
    DUE,
    NEXT_DEADLINE,
    SILENT_S,
    ERROR_STATE,
    ERROR_MESSAGE,
    COLUMNS,
};

int
osw_probe_schema_version(void)
{
    return (int)osw_sql_migrations_count;
}

bool
osw_probe_check_version(int version, struct osw_error *error)
{
    int ours = osw_probe_schema_version();

    if (version == ours) {
        return true;
    }
    osw_error_set(error,
                  OSW_EXIT_CONFIG,
                  "the database is %s: schema order_sweep has version %d, this "
                  "program needs %d",
                  version > ours ? "newer" : "older",
                  version,
                  ours);
    return osw_error_hint(error,
                          version > ours ? "install the newer order-sweep"
                                         : "run order-sweep migrate");
}

bool
osw_probe_read_version(struct osw_pg *pg,
                       int64_t deadline_ms,
                       int *version,
                       struct osw_error *error)
{
    const struct osw_pg_statement statement = {NULL, osw_sql_schema_version, 0};
    struct osw_pg_answer answer = OSW_PG_ANSWER_INIT;

    if (!osw_pg_query(pg, &statement, NULL, 1, deadline_ms, &answer, error)) {
        osw_fault_classify(error);
        return false;
    }
    *version = (int)osw_pg_number(&answer, 0, 0);
    osw_pg_answer_clear(&answer);
    return true;
}

/* The parameters of the settings' statement. */
struct settings {
    char statement_ms[24];
    char idle_ms[24];
    const char *values[4];
};

static const struct osw_pg_statement settings_statement = {NULL,
                                                           osw_sql_settings,
                                                           4};

static void
fill_settings(struct settings *settings,
              const struct osw_probe_limits *limits,
              bool transaction_only)
{
    (void)snprintf(settings->statement_ms,
                   sizeof(settings->statement_ms),
                   "%" PRId64,
                   limits->statement_ms);
    (void)snprintf(settings->idle_ms,
                   sizeof(settings->idle_ms),
                   "%" PRId64,
                   limits->idle_session_ms);
    settings->values[0] = transaction_only ? "t" : "f";
    settings->values[1] = settings->statement_ms;
    settings->values[2] = settings->idle_ms;
    settings->values[3] = limits->asynchronous ? "t" : "f";
}

bool
osw_probe_set_session(struct osw_pg *pg,
                      const struct osw_probe_limits *limits,
                      int64_t deadline_ms,
                      struct osw_error *error)
{
    struct osw_pg_answer answer = OSW_PG_ANSWER_INIT;
    struct settings settings;

    fill_settings(&settings, limits, false);
    if (!osw_pg_query(pg,
                      &settings_statement,
                      settings.values,
                      1,
                      deadline_ms,
                      &answer,
                      error)) {
        osw_fault_classify(error);
        return false;
    }
    osw_pg_answer_clear(&answer);
    return true;
}

static bool
look(struct osw_pg *pg,
     const char *sweep,
     const char *window,
     const struct osw_probe_limits *limits,
     int64_t deadline_ms,
     struct osw_pg_answer *answer,
     struct osw_error *error)
{
    const struct osw_pg_statement statement = {NULL, osw_sql_probe, 2};
    const char *values[] = {sweep, window};
    struct settings settings;

    /* The settings are the transaction's only: behind a pooler they must not
     * leak to the next client, and an idle run needs them no longer. */
    fill_settings(&settings, limits, true);
    if (!osw_pg_queue(pg, &settings_statement, settings.values, error)) {
        return false;
    }
    if (!osw_pg_query(
            pg, &statement, values, COLUMNS, deadline_ms, answer, error)) {
        osw_fault_classify(error);
        return false;
    }
    return true;
}

static bool
check_answer(struct osw_pg *pg,
             const char *sweep,
             const struct osw_pg_answer *answer,
             struct osw_error *error)
{
    if (!osw_probe_check_version((int)osw_pg_number(answer, 0, VERSION),
                                 error)) {
        return false;
    }
    if (osw_pg_is_pooled(pg, (int)osw_pg_number(answer, 0, SERVER_PID))) {
        osw_error_set(error,
                      OSW_EXIT_CONFIG,
                      "a connection pooler stands between here and the server");
        return osw_error_hint(
            error, "connect to PostgreSQL itself with --host and --port");
    }
    if (osw_pg_value(answer, 0, NAME) != NULL) {
        return true;
    }
    if (sweep != NULL) {
        osw_error_set(error,
                      OSW_EXIT_CONFIG,
                      "--sweep: \"%s\" is not defined in this database",
                      sweep);
        return osw_error_hint(
            error, "write one of SELECT name FROM order_sweep.sweep");
    }
    osw_error_set(error, OSW_EXIT_CONFIG, "no sweep is defined");
    return osw_error_hint(error,
                          "call order_sweep.define in this database, as the "
                          "README shows");
}

static bool
read_sweeps(struct osw_probe *probe, struct osw_error *error)
{
    const struct osw_pg_answer *answer = &probe->answer;

    probe->sweeps = calloc((size_t)answer->rows, sizeof(*probe->sweeps));
    if (probe->sweeps == NULL) {
        return osw_error_set(error, OSW_EXIT_INTERNAL, "out of memory");
    }
    probe->count = answer->rows;
    for (int row = 0; row < answer->rows; row++) {
        struct osw_probe_sweep *sweep = &probe->sweeps[row];

        sweep->id = (int)osw_pg_number(answer, row, ID);
        sweep->name = osw_pg_value(answer, row, NAME);
        sweep->paused = osw_pg_is_true(answer, row, PAUSED);
        sweep->takes_window = osw_pg_is_true(answer, row, TAKES_WINDOW);
        sweep->shorter = osw_pg_is_true(answer, row, SHORTER);
        sweep->due = osw_pg_is_true(answer, row, DUE);
        sweep->next_deadline = osw_pg_value(answer, row, NEXT_DEADLINE);
        sweep->silent_s = osw_pg_number(answer, row, SILENT_S);
        sweep->error_state = osw_pg_value(answer, row, ERROR_STATE);
        sweep->error_message = osw_pg_value(answer, row, ERROR_MESSAGE);
    }
    return true;
}

bool
osw_probe(struct osw_pg *pg,
          const char *sweep,
          const char *window,
          const struct osw_probe_limits *limits,
          int64_t deadline_ms,
          struct osw_probe *probe,
          struct osw_error *error)
{
    memset(probe, 0, sizeof(*probe));
    if (!look(pg, sweep, window, limits, deadline_ms, &probe->answer, error)) {
        return false;
    }
    if (!check_answer(pg, sweep, &probe->answer, error) ||
        !read_sweeps(probe, error)) {
        osw_probe_clear(probe);
        return false;
    }
    return true;
}

void
osw_probe_blame(struct osw_pg *pg,
                const char *sweep,
                int64_t deadline_ms,
                struct osw_error *error)
{
    const struct osw_pg_statement statement = {NULL, osw_sql_blame, 3};
    const char *values[] = {sweep, error->sqlstate, error->message};
    struct osw_pg_answer answer = OSW_PG_ANSWER_INIT;
    struct osw_error ignored = OSW_ERROR_INIT;

    if (osw_sqlstate_class(error->sqlstate, "22") &&
        osw_pg_query(
            pg, &statement, values, 1, deadline_ms, &answer, &ignored)) {
        osw_one_line(error->message,
                     sizeof(error->message),
                     osw_pg_value(&answer, 0, 0));
    }
    osw_pg_answer_clear(&answer);
}

void
osw_probe_clear(struct osw_probe *probe)
{
    free(probe->sweeps);
    osw_pg_answer_clear(&probe->answer);
    memset(probe, 0, sizeof(*probe));
}
