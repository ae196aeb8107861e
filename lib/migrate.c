#include "migrate.h"

#include <stdint.h>

#include "fault.h"
#include "probe.h"
#include "session.h"
#include "sql_text.h"

/* A migration takes the time it takes: no limit but the operator's. */
static const struct osw_session_limits no_limits = {0, 0, false};

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
ask_number(struct osw_pg *pg,
           const char *text,
           int *number,
           struct osw_error *error)
{
    const struct osw_pg_statement statement = {NULL, text, 0};
    struct osw_pg_answer answer = OSW_PG_ANSWER_INIT;

    if (!osw_pg_query(pg, &statement, NULL, 1, INT64_MAX, &answer, error)) {
        return failed(error);
    }
    *number = (int)osw_pg_number(&answer, 0, 0);
    osw_pg_answer_clear(&answer);
    return true;
}

/*
 * Is there a schema, and is it ours?  As a superuser who is not its owner we
 * would run, with our rights, what the owner wrote into its tables.
 */
static bool
check_owner(struct osw_pg *pg, bool *exists, struct osw_error *error)
{
    const struct osw_pg_statement statement = {NULL, osw_sql_schema_owner, 0};
    struct osw_pg_answer answer = OSW_PG_ANSWER_INIT;
    bool ours = true;

    if (!osw_pg_query(pg, &statement, NULL, 2, INT64_MAX, &answer, error)) {
        return failed(error);
    }
    *exists = answer.rows == 1;
    if (*exists && !osw_pg_is_true(&answer, 0, 1)) {
        ours = osw_error_set(error,
                             OSW_EXIT_CONFIG,
                             "schema order_sweep belongs to role %s",
                             osw_pg_value(&answer, 0, 0));
        osw_error_hint(error, "run migrate as that role, with --username");
    }
    osw_pg_answer_clear(&answer);
    return ours;
}

/* Not found out by the server's refusal, which names neither role nor GRANT. */
static bool
check_rights(struct osw_pg *pg, struct osw_error *error)
{
    const struct osw_pg_statement statement = {NULL, osw_sql_migrate_rights, 0};
    struct osw_pg_answer answer = OSW_PG_ANSWER_INIT;
    bool held = false;

    if (!osw_pg_query(pg, &statement, NULL, 4, INT64_MAX, &answer, error)) {
        return failed(error);
    }
    held = answer.rows == 0;
    if (!held) {
        osw_error_set(error,
                      OSW_EXIT_CONFIG,
                      "role %s has no right %s",
                      osw_pg_value(&answer, 0, 0),
                      osw_pg_value(&answer, 0, 1));
        osw_error_hint(error,
                       "let role %s, the owner, or a superuser %s",
                       osw_pg_value(&answer, 0, 2),
                       osw_pg_value(&answer, 0, 3));
    }
    osw_pg_answer_clear(&answer);
    return held;
}

static bool
run_statement(struct osw_pg *pg, const char *text, struct osw_error *error)
{
    return osw_pg_command(pg, text, INT64_MAX, error) ? true : failed(error);
}

/* The version there is, once nobody else can change it any more. */
static bool
begin(struct osw_pg *pg, int *version, struct osw_error *error)
{
    bool exists = false;

    if (!osw_pg_begin(pg, osw_sql_begin, INT64_MAX, error)) {
        osw_fault_classify(error);
        return false;
    }
    if (!run_statement(pg, osw_sql_migrate_lock, error) ||
        !check_owner(pg, &exists, error) || !check_rights(pg, error)) {
        return false;
    }
    *version = 0;
    return !exists || (run_statement(pg, osw_sql_lock_sweeps, error) &&
                       ask_number(pg, osw_sql_schema_version, version, error));
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
    struct osw_session session;

    osw_session_begin(&session, pg, &no_limits);
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
           run_statement(pg, osw_sql_commit, error);
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
