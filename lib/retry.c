#include "retry.h"

#include <stdlib.h>

#include "fault.h"
#include "json.h"
#include "key.h"
#include "sql_text.h"

enum column {
    KEY,
    KEY_JSON,
    ATTEMPTS,
    QUARANTINED,
    SQLSTATE,
    MESSAGE,
    FAILED_AT,
    COLUMNS,
};

static void
write_text(FILE *out,
           const char *sweep,
           const struct osw_pg_answer *answer,
           int row)
{
    const char *sqlstate = osw_pg_value(answer, row, SQLSTATE);
    const char *given_up = sqlstate != NULL ? ", quarantined" : ", parked";

    (void)fprintf(
        out, "%s: %sorder ", sweep, sqlstate != NULL ? "" : "event of ");
    (void)osw_report_plain(out, osw_pg_value(answer, row, KEY));
    (void)fprintf(out,
                  "%s: attempts %s, last %s: ",
                  osw_pg_is_true(answer, row, QUARANTINED) ? given_up : "",
                  osw_pg_value(answer, row, ATTEMPTS),
                  osw_pg_value(answer, row, FAILED_AT));
    (void)osw_report_plain(out, osw_pg_value(answer, row, MESSAGE));
    if (sqlstate != NULL) {
        (void)fprintf(out, " (SQLSTATE %s)", sqlstate);
    }
    (void)fputc('\n', out);
}

static void
write_json(FILE *out,
           const char *sweep,
           const struct osw_pg_answer *answer,
           int row)
{
    (void)fputs("{\"sweep\":", out);
    osw_json_string(out, sweep);
    (void)fprintf(out,
                  ",\"key\":%s,\"attempts\":%s,\"quarantined\":%s",
                  osw_pg_value(answer, row, KEY_JSON),
                  osw_pg_value(answer, row, ATTEMPTS),
                  osw_pg_is_true(answer, row, QUARANTINED) ? "true" : "false");
    (void)fprintf(out,
                  ",\"event\":%s,\"sqlstate\":",
                  osw_pg_value(answer, row, SQLSTATE) != NULL ? "false"
                                                              : "true");
    osw_json_string(out, osw_pg_value(answer, row, SQLSTATE));
    (void)fputs(",\"message\":", out);
    osw_json_string(out, osw_pg_value(answer, row, MESSAGE));
    (void)fputs(",\"failed_at\":", out);
    osw_json_string(out, osw_pg_value(answer, row, FAILED_AT));
    (void)fputs("}\n", out);
}

bool
osw_retry(struct osw_pg *pg,
          const char *sweep,
          const char *const *key,
          int key_columns,
          int64_t deadline_ms,
          enum osw_report_format format,
          FILE *out,
          int64_t *released,
          struct osw_error *error)
{
    const struct osw_pg_statement statement = {NULL, osw_sql_retry, 2};
    struct osw_pg_answer answer = OSW_PG_ANSWER_INIT;
    const char *values[] = {sweep, NULL};
    char *json = NULL;
    bool done = false;

    if (key_columns > 0) {
        json = osw_key_as_json(key, key_columns, error);
        if (json == NULL) {
            return false;
        }
        values[1] = json;
    }
    done = osw_pg_query(
        pg, &statement, values, COLUMNS, deadline_ms, &answer, error);
    free(json);
    if (!done) {
        osw_key_classify(error);
        return false;
    }
    for (int row = 0; row < answer.rows; row++) {
        if (format == OSW_REPORT_JSON) {
            write_json(out, sweep, &answer, row);
        } else {
            write_text(out, sweep, &answer, row);
        }
    }
    *released += answer.rows;
    osw_pg_answer_clear(&answer);
    return true;
}
