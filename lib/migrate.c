#include "migrate.h"

#include <stdint.h>

#include "fault.h"
#include "probe.h"
#include "sql_text.h"

/* A migration takes the time it takes: no limit but the operator's. */
static const struct osw_probe_limits no_limits = {0, 0, false};

/* Set the exit code; the hints that go with it are for a run. */
static bool
failed(struct osw_error *error)
{
    struct osw_error classified = *error;

    osw_fault_classify(&classified);
    error->exit = classified.exit;
    return false;
}

static bool
script(struct osw_pg *pg, const char *text, struct osw_error *error)
{
    return osw_pg_script(pg, text, error) ? true : failed(error);
}

static bool
ask(struct osw_pg *pg,
    const char *text,
    struct osw_pg_answer *answer,
    struct osw_error *error)
{
    const struct osw_pg_statement statement = {NULL, text, 0};

    return osw_pg_query(pg, &statement, NULL, 1, INT64_MAX, answer, error)
               ? true
               : failed(error);
}

static bool
ask_number(struct osw_pg *pg,
           const char *text,
           int *number,
           struct osw_error *error)
{
    struct osw_pg_answer answer = OSW_PG_ANSWER_INIT;

    if (!ask(pg, text, &answer, error)) {
        return false;
    }
    *number = (int)osw_pg_number(&answer, 0, 0);
    osw_pg_answer_clear(&answer);
    return true;
}

/* The version there is, once nobody else can change it any more. */
static bool
begin(struct osw_pg *pg, int *version, struct osw_error *error)
{
    struct osw_pg_answer answer = OSW_PG_ANSWER_INIT;
    bool exists = false;

    if (!osw_probe_set_session(pg, &no_limits, INT64_MAX, error) ||
        !script(pg, "BEGIN", error) ||
        !ask(pg, osw_sql_migrate_lock, &answer, error)) {
        return false;
    }
    osw_pg_answer_clear(&answer);
    if (!ask(pg, osw_sql_schema_exists, &answer, error)) {
        return false;
    }
    exists = osw_pg_is_true(&answer, 0, 0);
    osw_pg_answer_clear(&answer);
    *version = 0;
    return !exists || ask_number(pg, osw_sql_schema_version, version, error);
}

static bool
apply(struct osw_pg *pg,
      const struct osw_sql_file *file,
      struct osw_error *error)
{
    struct osw_error cause = OSW_ERROR_INIT;

    if (script(pg, file->text, &cause)) {
        return true;
    }
    *error = cause;
    osw_error_set(error, cause.exit, "%s: %s", file->name, cause.message);
    return cause.hint[0] == '\0' ? false
                                 : osw_error_hint(error, "%s", cause.hint);
}

bool
osw_migrate(struct osw_pg *pg,
            struct osw_migrate_result *result,
            struct osw_error *error)
{
    if (!begin(pg, &result->from, error)) {
        return false;
    }
    result->to = osw_probe_schema_version();
    if (result->from > result->to) {
        return osw_probe_check_version(result->from, error);
    }
    for (int i = result->from; i < result->to; i++) {
        if (!apply(pg, &osw_sql_migrations[i], error)) {
            return false;
        }
    }
    for (unsigned i = 0; i < osw_sql_functions_count; i++) {
        if (!apply(pg, &osw_sql_functions[i], error)) {
            return false;
        }
    }
    return ask_number(pg, osw_sql_regenerate, &result->regenerated, error) &&
           script(pg, "COMMIT", error);
}

void
osw_migrate_print(FILE *out)
{
    (void)fputs("BEGIN;\n", out);
    for (unsigned i = 0; i < osw_sql_migrations_count; i++) {
        (void)fprintf(out,
                      "\n-- %s\n\n%s",
                      osw_sql_migrations[i].name,
                      osw_sql_migrations[i].text);
    }
    for (unsigned i = 0; i < osw_sql_functions_count; i++) {
        (void)fprintf(out,
                      "\n-- %s\n\n%s",
                      osw_sql_functions[i].name,
                      osw_sql_functions[i].text);
    }
    (void)fputs("\nCOMMIT;\n", out);
}
