#include "late.h"

#include "fault.h"
#include "json.h"
#include "sql_text.h"

enum column {
    KEY,
    KEY_JSON,
    SWEPT_AT,
    COLUMNS,
};

static void
write_text(FILE *out,
           const char *sweep,
           const struct osw_pg_answer *answer,
           int row)
{
    (void)fprintf(out, "%s: order ", sweep);
    (void)osw_report_plain(out, osw_pg_value(answer, row, KEY));
    (void)fprintf(out,
                  " is paid, and was swept %s\n",
                  osw_pg_value(answer, row, SWEPT_AT));
}

static void
write_json(FILE *out,
           const char *sweep,
           const struct osw_pg_answer *answer,
           int row)
{
    (void)fputs("{\"sweep\":", out);
    osw_json_string(out, sweep);
    (void)fprintf(
        out, ",\"key\":%s,\"swept_at\":", osw_pg_value(answer, row, KEY_JSON));
    osw_json_string(out, osw_pg_value(answer, row, SWEPT_AT));
    (void)fputs("}\n", out);
}

bool
osw_late(struct osw_pg *pg,
         const char *sweep,
         int64_t deadline_ms,
         enum osw_report_format format,
         FILE *out,
         int64_t *orders,
         struct osw_error *error)
{
    const struct osw_pg_statement statement = {NULL, osw_sql_late, 1};
    struct osw_pg_answer answer = OSW_PG_ANSWER_INIT;
    const char *values[] = {sweep};

    if (!osw_pg_query(
            pg, &statement, values, COLUMNS, deadline_ms, &answer, error)) {
        osw_fault_classify(error);
        return false;
    }
    for (int row = 0; row < answer.rows; row++) {
        if (osw_pg_value(&answer, row, KEY) == NULL) {
            if (format == OSW_REPORT_TEXT) {
                (void)fprintf(
                    out, "%s: not known: define it with paid\n", sweep);
            }
            continue;
        }
        (*orders)++;
        if (format == OSW_REPORT_JSON) {
            write_json(out, sweep, &answer, row);
        } else {
            write_text(out, sweep, &answer, row);
        }
    }
    osw_pg_answer_clear(&answer);
    return true;
}
