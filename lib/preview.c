#include "preview.h"

#include <inttypes.h>
#include <string.h>

#include "fault.h"
#include "json.h"
#include "sql_text.h"

enum row_column {
    KEY,
    SINCE,
    AGE,
    DEADLINE,
    STATE,
    SHOWN, /* the columns before are for people */
    KEY_JSON = SHOWN,
    SINCE_EXACT,
    DEADLINE_EXACT,
    ROW_COLUMNS,
};

enum total_column {
    TOTAL_STATE,
    TOTAL_COUNT,
    TOTAL_OLDEST,
    TOTAL_OLDEST_KEY,
    TOTAL_OLDEST_SHOWN,
    TOTAL_COLUMNS,
};

static const char *const headings[SHOWN] = {"key",
                                            "since",
                                            "age",
                                            "deadline",
                                            "what"};

bool
osw_preview_begin(struct osw_pg *pg,
                  int64_t deadline_ms,
                  struct osw_error *error)
{
    return osw_pg_begin(pg, osw_sql_begin_read_only, deadline_ms, error);
}

bool
osw_preview_end(struct osw_pg *pg, int64_t deadline_ms, struct osw_error *error)
{
    return osw_pg_command(pg, osw_sql_commit, deadline_ms, error);
}

static const char *
shown(const struct osw_pg_answer *answer, int row, int column)
{
    const char *value = osw_pg_value(answer, row, column);

    return value != NULL ? value : "";
}

static int
width_of(const char *text)
{
    int columns = 0;

    for (; *text != '\0'; text++) {
        columns += ((unsigned char)*text & 0xc0) != 0x80 ? 1 : 0;
    }
    return columns;
}

static void
pad(FILE *out, int columns)
{
    for (; columns > 0; columns--) {
        (void)fputc(' ', out);
    }
}

static void
write_rows_text(FILE *out, const struct osw_pg_answer *rows)
{
    int widths[SHOWN];

    for (int column = 0; column < SHOWN; column++) {
        widths[column] = width_of(headings[column]);
        for (int row = 0; row < rows->rows; row++) {
            int width = width_of(shown(rows, row, column));

            widths[column] = width > widths[column] ? width : widths[column];
        }
    }
    for (int row = -1; row < rows->rows; row++) {
        for (int column = 0; column < SHOWN; column++) {
            const char *text =
                row < 0 ? headings[column] : shown(rows, row, column);
            int width = 0;

            (void)fputs("  ", out);
            width = osw_report_plain(out, text);
            if (column < SHOWN - 1) {
                pad(out, widths[column] - width);
            }
        }
        (void)fputc('\n', out);
    }
}

/* "keep: rule" is two things to a program. */
static void
write_state_json(FILE *out, const char *state)
{
    const char *const keep = "keep: ";

    if (strncmp(state, keep, strlen(keep)) == 0) {
        (void)fputs("\"keep\",\"rule\":", out);
        osw_json_string(out, state + strlen(keep));
    } else {
        osw_json_string(out, state);
        (void)fputs(",\"rule\":null", out);
    }
}

static void
write_rows_json(FILE *out, const char *sweep, const struct osw_pg_answer *rows)
{
    for (int row = 0; row < rows->rows; row++) {
        (void)fputs("{\"sweep\":", out);
        osw_json_string(out, sweep);
        (void)fprintf(
            out, ",\"key\":%s,\"since\":", shown(rows, row, KEY_JSON));
        osw_json_string(out, osw_pg_value(rows, row, SINCE_EXACT));
        (void)fputs(",\"age\":", out);
        osw_json_string(out, osw_pg_value(rows, row, AGE));
        (void)fputs(",\"deadline\":", out);
        osw_json_string(out, osw_pg_value(rows, row, DEADLINE_EXACT));
        (void)fputs(",\"what\":", out);
        write_state_json(out, shown(rows, row, STATE));
        (void)fputs("}\n", out);
    }
}

static int64_t
count_all(const struct osw_pg_answer *totals)
{
    int64_t all = 0;

    for (int row = 0; row < totals->rows; row++) {
        all += osw_pg_number(totals, row, TOTAL_COUNT);
    }
    return all;
}

/* A row without a clock is listed, and never due. */
static int64_t
count_due(const struct osw_pg_answer *totals)
{
    int64_t due = 0;

    for (int row = 0; row < totals->rows; row++) {
        if (strcmp(shown(totals, row, TOTAL_STATE), "keep: no clock") != 0) {
            due += osw_pg_number(totals, row, TOTAL_COUNT);
        }
    }
    return due;
}

/* The row with the oldest deadline; the server renders all alike, in UTC. */
static int
find_oldest(const struct osw_pg_answer *totals)
{
    for (int row = 0; row < totals->rows; row++) {
        if (osw_pg_value(totals, row, TOTAL_OLDEST) != NULL) {
            return row;
        }
    }
    return -1;
}

static void
write_totals_text(FILE *out, const struct osw_pg_answer *totals, int listed)
{
    int oldest = find_oldest(totals);
    int64_t all = count_all(totals);

    if (listed < all) {
        (void)fprintf(out,
                      "  (%d of %" PRId64 " rows; --limit lists more)\n",
                      listed,
                      all);
    }
    (void)fprintf(out, "  total: %" PRId64 " due", count_due(totals));
    for (int row = 0; row < totals->rows; row++) {
        (void)fprintf(
            out, "; %" PRId64 " ", osw_pg_number(totals, row, TOTAL_COUNT));
        (void)osw_report_plain(out, shown(totals, row, TOTAL_STATE));
    }
    (void)fputc('\n', out);
    if (oldest >= 0) {
        (void)fputs("  oldest: ", out);
        (void)osw_report_plain(out, shown(totals, oldest, TOTAL_OLDEST_SHOWN));
        (void)fputs(", due since ", out);
        (void)osw_report_plain(out, shown(totals, oldest, TOTAL_OLDEST));
        (void)fputc('\n', out);
    }
}

static void
write_totals_json(FILE *out,
                  const char *sweep,
                  const struct osw_pg_answer *totals)
{
    int oldest = find_oldest(totals);

    (void)fputs("{\"sweep\":", out);
    osw_json_string(out, sweep);
    (void)fprintf(out, ",\"due\":%" PRId64 ",\"totals\":{", count_due(totals));
    for (int row = 0; row < totals->rows; row++) {
        (void)fputs(row > 0 ? "," : "", out);
        osw_json_string(out, shown(totals, row, TOTAL_STATE));
        (void)fprintf(
            out, ":%" PRId64, osw_pg_number(totals, row, TOTAL_COUNT));
    }
    (void)fputs("},\"oldest\":", out);
    if (oldest < 0) {
        (void)fputs("null", out);
    } else {
        (void)fprintf(out,
                      "{\"key\":%s,\"deadline\":",
                      shown(totals, oldest, TOTAL_OLDEST_KEY));
        osw_json_string(out, osw_pg_value(totals, oldest, TOTAL_OLDEST));
        (void)fputc('}', out);
    }
    (void)fputs("}\n", out);
}

bool
osw_preview(struct osw_pg *pg,
            const char *sweep,
            const char *window,
            int limit,
            int64_t deadline_ms,
            enum osw_report_format format,
            FILE *out,
            struct osw_error *error)
{
    const struct osw_pg_statement list = {NULL, osw_sql_preview_rows, 3};
    const struct osw_pg_statement sum = {NULL, osw_sql_preview_totals, 2};
    struct osw_pg_answer rows = OSW_PG_ANSWER_INIT;
    struct osw_pg_answer totals = OSW_PG_ANSWER_INIT;
    char limit_text[16];
    const char *values[] = {sweep, window, limit_text};
    bool done = false;

    (void)snprintf(limit_text, sizeof(limit_text), "%d", limit);
    done = osw_pg_query(
               pg, &list, values, ROW_COLUMNS, deadline_ms, &rows, error) &&
           osw_pg_query(
               pg, &sum, values, TOTAL_COLUMNS, deadline_ms, &totals, error);
    if (!done) {
        osw_fault_classify(error);
    } else if (format == OSW_REPORT_JSON) {
        write_rows_json(out, sweep, &rows);
        write_totals_json(out, sweep, &totals);
    } else {
        (void)fprintf(out, "%s: dry run, nothing is changed\n", sweep);
        if (rows.rows > 0) {
            write_rows_text(out, &rows);
        }
        write_totals_text(out, &totals, rows.rows);
    }
    osw_pg_answer_clear(&rows);
    osw_pg_answer_clear(&totals);
    return done;
}

bool
osw_preview_count(struct osw_pg *pg,
                  const char *sweep,
                  const char *window,
                  int64_t limit_ms,
                  int64_t deadline_ms,
                  int64_t *orders,
                  struct osw_error *error)
{
    const struct osw_pg_statement limit = {NULL, osw_sql_look_limit, 1};
    const struct osw_pg_statement count = {NULL, osw_sql_preview_count, 2};
    struct osw_pg_answer answer = OSW_PG_ANSWER_INIT;
    char limit_text[24];
    const char *limits[] = {limit_text};
    const char *values[] = {sweep, window};

    *orders = -1;
    (void)snprintf(limit_text, sizeof(limit_text), "%" PRId64, limit_ms);
    /* One segment, so one transaction, with which the limit ends. */
    if (!osw_pg_queue(pg, &limit, limits, error) ||
        !osw_pg_query(pg, &count, values, 1, deadline_ms, &answer, error)) {
        return error->exit != OSW_EXIT_UNAVAILABLE;
    }
    *orders = osw_pg_number(&answer, 0, 0);
    osw_pg_answer_clear(&answer);
    return true;
}
