#include "holders.h"

#include <inttypes.h>
#include <string.h>

#include "fault.h"
#include "json.h"
#include "sql_text.h"

enum column {
    NAME,
    PAUSED,
    DUE,
    NEXT_DEADLINE,
    ERROR_MESSAGE,
    SLOT,  /* 0: the lock of the sweep itself */
    SLOTS, /* of so many */
    WAITS,
    HOST,
    PID,
    SINCE,
    BACKEND,
    ROLE,
    COLUMNS,
};

static void
write_sweep(FILE *out, const struct osw_pg_answer *answer, int row)
{
    const char *next = osw_pg_value(answer, row, NEXT_DEADLINE);
    const char *broken = osw_pg_value(answer, row, ERROR_MESSAGE);

    (void)fprintf(out, "%s: ", osw_pg_value(answer, row, NAME));
    if (broken != NULL) {
        (void)fputs("broken: ", out);
        (void)osw_report_plain(out, broken);
    } else if (osw_pg_is_true(answer, row, PAUSED)) {
        (void)fputs("paused", out);
    } else {
        (void)fputs(osw_pg_is_true(answer, row, DUE) ? "orders are due"
                                                     : "nothing to sweep",
                    out);
    }
    if (next != NULL) {
        (void)fprintf(out, "; next deadline %s", next);
    }
    (void)fputc('\n', out);
}

static void
write_holder(FILE *out, const struct osw_pg_answer *answer, int row)
{
    const char *host = osw_pg_value(answer, row, HOST);
    const char *since = osw_pg_value(answer, row, SINCE);
    const char *role = osw_pg_value(answer, row, ROLE);
    const int64_t slot = osw_pg_number(answer, row, SLOT);

    (void)fputs("    ", out);
    if (osw_pg_is_true(answer, row, WAITS)) {
        (void)fputs("waits", out);
    } else {
        (void)fputs(slot > 0 ? "holds" : "sweeps", out);
    }
    if (slot > 0) {
        (void)fprintf(out,
                      "%s slot %" PRId64 " of %s",
                      osw_pg_is_true(answer, row, WAITS) ? " for" : "",
                      slot,
                      osw_pg_value(answer, row, SLOTS));
    }
    (void)fputs(": ", out);
    if (host != NULL) {
        (void)osw_report_plain(out, host);
        (void)fprintf(out, ", process %s", osw_pg_value(answer, row, PID));
    } else {
        (void)fputs("a session of ", out);
        (void)osw_report_plain(out, role != NULL ? role : "another role");
        (void)fprintf(out,
                      ", process %s of the server",
                      osw_pg_value(answer, row, BACKEND));
    }
    if (since != NULL) {
        (void)fprintf(out, ", since %s", since);
    }
    (void)fputc('\n', out);
}

static void
write_text(FILE *out, const struct osw_pg_answer *answer)
{
    const char *before = "";

    for (int row = 0; row < answer->rows; row++) {
        const char *name = osw_pg_value(answer, row, NAME);

        if (strcmp(name, before) != 0) {
            write_sweep(out, answer, row);
        }
        if (osw_pg_value(answer, row, SLOT) != NULL) {
            write_holder(out, answer, row);
        } else {
            (void)fputs("    nobody holds its lock\n", out);
        }
        before = name;
    }
}

static void
write_bool(FILE *out, const struct osw_pg_answer *answer, int row, int column)
{
    (void)fputs(osw_pg_is_true(answer, row, column) ? "true" : "false", out);
}

static void
write_number(FILE *out, const struct osw_pg_answer *answer, int row, int column)
{
    const char *number = osw_pg_value(answer, row, column);

    (void)fputs(number != NULL ? number : "null", out);
}

static void
write_json(FILE *out, const struct osw_pg_answer *answer, int row)
{
    (void)fputs("{\"sweep\":", out);
    osw_json_string(out, osw_pg_value(answer, row, NAME));
    (void)fputs(",\"paused\":", out);
    write_bool(out, answer, row, PAUSED);
    (void)fputs(",\"due\":", out);
    write_bool(out, answer, row, DUE);
    (void)fputs(",\"next_deadline\":", out);
    osw_json_string(out, osw_pg_value(answer, row, NEXT_DEADLINE));
    (void)fputs(",\"error\":", out);
    osw_json_string(out, osw_pg_value(answer, row, ERROR_MESSAGE));
    (void)fputs(",\"slot\":", out);
    write_number(out, answer, row, SLOT);
    (void)fputs(",\"slots\":", out);
    write_number(out, answer, row, SLOTS);
    (void)fputs(",\"waits\":", out);
    write_bool(out, answer, row, WAITS);
    (void)fputs(",\"host\":", out);
    osw_json_string(out, osw_pg_value(answer, row, HOST));
    (void)fputs(",\"pid\":", out);
    write_number(out, answer, row, PID);
    (void)fputs(",\"since\":", out);
    osw_json_string(out, osw_pg_value(answer, row, SINCE));
    (void)fputs(",\"backend\":", out);
    write_number(out, answer, row, BACKEND);
    (void)fputs(",\"role\":", out);
    osw_json_string(out, osw_pg_value(answer, row, ROLE));
    (void)fputs("}\n", out);
}

bool
osw_holders(struct osw_pg *pg,
            const char *sweep,
            int64_t deadline_ms,
            enum osw_report_format format,
            FILE *out,
            struct osw_error *error)
{
    const struct osw_pg_statement statement = {NULL, osw_sql_status, 1};
    struct osw_pg_answer answer = OSW_PG_ANSWER_INIT;
    const char *values[] = {sweep};

    if (!osw_pg_query(
            pg, &statement, values, COLUMNS, deadline_ms, &answer, error)) {
        osw_fault_classify(error);
        return false;
    }
    if (format == OSW_REPORT_JSON) {
        for (int row = 0; row < answer.rows; row++) {
            write_json(out, &answer, row);
        }
    } else {
        write_text(out, &answer);
    }
    osw_pg_answer_clear(&answer);
    return true;
}
