#include "probe.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <bsd/string.h>

#include "fault.h"
#include "outcome.h"
#include "sql_text.h"

enum column {
    VERSION,
    SERVER_PID,
    ISOLATION,
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
    NEXT_MS = COLUMNS, /* if it was asked for */
};

/* How it is asked. */
struct question {
    struct osw_pg *pg;
    const char *text;
    int columns;
    const char *window;
    int64_t deadline_ms;
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

static bool
look(const struct question *question,
     const char *sweep,
     struct osw_pg_answer *answer,
     struct osw_error *error)
{
    const struct osw_pg_statement statement = {NULL, question->text, 2};
    const char *values[] = {sweep, question->window};

    if (!osw_pg_query(question->pg,
                      &statement,
                      values,
                      question->columns,
                      question->deadline_ms,
                      answer,
                      error)) {
        osw_fault_classify(error);
        return false;
    }
    return true;
}

static void
read_sweep(const struct osw_pg_answer *answer,
           int row,
           struct osw_probe_sweep *sweep)
{
    sweep->id = (int)osw_pg_number(answer, row, ID);
    sweep->name = osw_pg_value(answer, row, NAME);
    sweep->paused = osw_pg_is_true(answer, row, PAUSED);
    sweep->takes_window = osw_pg_is_true(answer, row, TAKES_WINDOW);
    sweep->shorter = osw_pg_is_true(answer, row, SHORTER);
    sweep->due = osw_pg_is_true(answer, row, DUE);
    sweep->next_deadline = osw_pg_value(answer, row, NEXT_DEADLINE);
    sweep->next_ms = -1;
    if (answer->columns > NEXT_MS &&
        osw_pg_value(answer, row, NEXT_MS) != NULL) {
        sweep->next_ms = osw_pg_number(answer, row, NEXT_MS);
    }
    sweep->silent_s = osw_pg_number(answer, row, SILENT_S);
    sweep->error_state = osw_pg_value(answer, row, ERROR_STATE);
    sweep->error_message = osw_pg_value(answer, row, ERROR_MESSAGE);
}

static int
compare_names(const void *left, const void *right)
{
    const struct osw_probe_sweep *const one = left;
    const struct osw_probe_sweep *const other = right;

    return strcmp(one->name, other->name);
}

/* Sorted here: in a new session the server would first have to learn how. */
static bool
read_sweeps(struct osw_probe *probe, struct osw_error *error)
{
    const struct osw_pg_answer *answer = &probe->answer;

    probe->sweeps = calloc((size_t)answer->rows, sizeof(*probe->sweeps));
    if (probe->sweeps == NULL) {
        return osw_error_set(error, OSW_EXIT_INTERNAL, "out of memory");
    }
    probe->server_pid = (int)osw_pg_number(answer, 0, SERVER_PID);
    probe->isolation = osw_pg_value(answer, 0, ISOLATION);
    probe->count = answer->rows;
    for (int row = 0; row < answer->rows; row++) {
        read_sweep(answer, row, &probe->sweeps[row]);
    }
    qsort(probe->sweeps,
          (size_t)probe->count,
          sizeof(*probe->sweeps),
          compare_names);
    return true;
}

void
osw_probe_names(const struct osw_probe *probe, char *names, size_t size)
{
    names[0] = '\0';
    for (int i = 0; i < probe->count; i++) {
        (void)strlcat(names, i > 0 ? ", " : "", size);
        (void)strlcat(names, probe->sweeps[i].name, size);
    }
}

/* Who named none of the sweeps is told which there are; where they cannot be
 * asked for, the hint stays as it is. */
static void
name_sweeps(const struct question *question, struct osw_error *error)
{
    struct osw_probe all;
    struct osw_error ignored = OSW_ERROR_INIT;
    char names[sizeof(error->hint)];

    memset(&all, 0, sizeof(all));
    if (!look(question, NULL, &all.answer, &ignored)) {
        return;
    }
    if (osw_pg_value(&all.answer, 0, NAME) == NULL) {
        (void)osw_error_hint(error, "none is: call order_sweep.define");
    } else if (read_sweeps(&all, &ignored)) {
        osw_probe_names(&all, names, sizeof(names));
        (void)osw_error_hint(error, "defined are: %s", names);
    }
    osw_probe_clear(&all);
}

static bool
check_answer(const struct question *question,
             const char *sweep,
             const struct osw_pg_answer *answer,
             struct osw_error *error)
{
    if (!osw_probe_check_version((int)osw_pg_number(answer, 0, VERSION),
                                 error)) {
        return false;
    }
    if (osw_pg_value(answer, 0, NAME) != NULL) {
        return true;
    }
    if (sweep != NULL) {
        osw_error_set(error,
                      OSW_EXIT_CONFIG,
                      "--sweep: \"%s\" is not defined in this database",
                      sweep);
        (void)osw_error_hint(error,
                             "write one of SELECT name FROM order_sweep.sweep");
        name_sweeps(question, error);
        return false;
    }
    osw_error_set(error, OSW_EXIT_CONFIG, "no sweep is defined");
    return osw_error_hint(error,
                          "call order_sweep.define in this database, as the "
                          "README shows");
}

/*
 * Where the look at one sweep took too long, those behind it were not looked
 * at: ask for each of them, with the statement's time for each.
 */
static bool
look_at_rest(const struct question *question,
             struct osw_probe *probe,
             struct osw_error *error)
{
    for (int i = 0; i < probe->count; i++) {
        struct osw_probe_sweep *sweep = &probe->sweeps[i];

        if (sweep->error_state == NULL || sweep->error_message != NULL) {
            continue;
        }
        if (!look(question, sweep->name, &sweep->alone, error)) {
            return false;
        }
        if (osw_pg_value(&sweep->alone, 0, NAME) != NULL) {
            read_sweep(&sweep->alone, 0, sweep);
        } else {
            sweep->error_state = NULL; /* undefined meanwhile: not due */
        }
    }
    return true;
}

static bool
look_at_all(const struct question *question,
            const char *sweep,
            struct osw_probe *probe,
            struct osw_error *error)
{
    memset(probe, 0, sizeof(*probe));
    if (!look(question, sweep, &probe->answer, error)) {
        return false;
    }
    if (!check_answer(question, sweep, &probe->answer, error) ||
        !read_sweeps(probe, error) || !look_at_rest(question, probe, error)) {
        osw_probe_clear(probe);
        return false;
    }
    return true;
}

bool
osw_probe(struct osw_pg *pg,
          const char *sweep,
          const char *window,
          int64_t deadline_ms,
          struct osw_probe *probe,
          struct osw_error *error)
{
    const struct question question = {
        pg, osw_sql_probe, COLUMNS, window, deadline_ms};

    return look_at_all(&question, sweep, probe, error);
}

bool
osw_probe_again(struct osw_pg *pg,
                const char *sweep,
                const char *window,
                int64_t deadline_ms,
                struct osw_probe *probe,
                struct osw_error *error)
{
    const struct question question = {
        pg, osw_sql_look_again, COLUMNS + 1, window, deadline_ms};

    return look_at_all(&question, sweep, probe, error);
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

    if ((osw_sqlstate_class(error->sqlstate, "21") ||
         osw_sqlstate_class(error->sqlstate, "22") ||
         osw_sqlstate_class(error->sqlstate, "42883")) &&
        osw_pg_query(
            pg, &statement, values, 1, deadline_ms, &answer, &ignored)) {
        osw_one_line(error->message,
                     sizeof(error->message),
                     osw_pg_value(&answer, 0, 0));
    }
    osw_pg_answer_clear(&answer);
}

bool
osw_probe_failed(struct osw_pg *pg,
                 const struct osw_probe_sweep *sweep,
                 int64_t deadline_ms,
                 struct osw_error *error)
{
    if (sweep->error_message == NULL) {
        return false;
    }
    osw_error_set(error, OSW_EXIT_CONFIG, "%s", sweep->error_message);
    osw_one_line(error->sqlstate, sizeof(error->sqlstate), sweep->error_state);
    osw_probe_blame(pg, sweep->name, deadline_ms, error);
    osw_fault_classify(error);
    return true;
}

void
osw_probe_clear(struct osw_probe *probe)
{
    for (int i = 0; i < probe->count; i++) {
        osw_pg_answer_clear(&probe->sweeps[i].alone);
    }
    free(probe->sweeps);
    osw_pg_answer_clear(&probe->answer);
    memset(probe, 0, sizeof(*probe));
}
