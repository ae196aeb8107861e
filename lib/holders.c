#include "holders.h"

#include <inttypes.h>
#include <stdio.h>

#include "fault.h"
#include "json.h"
#include "report.h"
#include "sql_text.h"

enum column {
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

bool
osw_holders_ask(struct osw_pg *pg,
                int sweep_id,
                int64_t deadline_ms,
                struct osw_pg_answer *answer,
                struct osw_error *error)
{
    const struct osw_pg_statement statement = {NULL, osw_sql_holders, 1};
    char id[16];
    const char *values[] = {id};

    (void)snprintf(id, sizeof(id), "%d", sweep_id);
    if (!osw_pg_query(
            pg, &statement, values, COLUMNS, deadline_ms, answer, error)) {
        osw_fault_classify(error);
        return false;
    }
    return true;
}

void
osw_holders_text(FILE *out, const struct osw_pg_answer *answer, int row)
{
    const char *host = osw_pg_value(answer, row, HOST);
    const char *since = osw_pg_value(answer, row, SINCE);
    const char *role = osw_pg_value(answer, row, ROLE);
    const int64_t slot = osw_pg_number(answer, row, SLOT);

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
}

static void
write_number(FILE *out, const struct osw_pg_answer *answer, int row, int column)
{
    const char *number = osw_pg_value(answer, row, column);

    (void)fputs(number != NULL ? number : "null", out);
}

void
osw_holders_json(FILE *out, const struct osw_pg_answer *answer)
{
    (void)fputc('[', out);
    for (int row = 0; row < answer->rows; row++) {
        (void)fputs(row > 0 ? ",{\"slot\":" : "{\"slot\":", out);
        write_number(out, answer, row, SLOT);
        (void)fputs(",\"slots\":", out);
        write_number(out, answer, row, SLOTS);
        (void)fprintf(out,
                      ",\"waits\":%s,\"host\":",
                      osw_pg_is_true(answer, row, WAITS) ? "true" : "false");
        osw_json_string(out, osw_pg_value(answer, row, HOST));
        (void)fputs(",\"pid\":", out);
        write_number(out, answer, row, PID);
        (void)fputs(",\"since\":", out);
        osw_json_string(out, osw_pg_value(answer, row, SINCE));
        (void)fputs(",\"backend\":", out);
        write_number(out, answer, row, BACKEND);
        (void)fputs(",\"role\":", out);
        osw_json_string(out, osw_pg_value(answer, row, ROLE));
        (void)fputc('}', out);
    }
    (void)fputc(']', out);
}
