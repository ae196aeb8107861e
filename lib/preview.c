#include "preview.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "duration.h"
#include "fault.h"
#include "json.h"
#include "sql_text.h"

/* A column that can be long keeps so much. */
#define LEAST_WIDTH 12
#define HIDDEN      (-1)

enum row_column {
    KEY,
    SINCE,
    AGE,
    DEADLINE,
    STATE,
    SHOWN, /* the columns before are for people */
    KEY_JSON = SHOWN,
    SINCE_EXACT,
    AGE_EXACT,
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
                                            "since (UTC)",
                                            "age",
                                            "deadline (UTC)",
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

/* What a row of the table has in a column, row -1 its heading; age is room for
 * one. */
static const char *
cell_value(const struct osw_pg_answer *rows,
           int row,
           int column,
           char age[OSW_DURATION_TEXT_SIZE])
{
    const char *value = row < 0 ? headings[column] : shown(rows, row, column);

    if (row >= 0 && column == AGE && value[0] != '\0') {
        osw_duration_say(
            osw_pg_number(rows, row, AGE), age, OSW_DURATION_TEXT_SIZE);
        return age;
    }
    return value;
}

/* The same as it is written: to be freed. */
static char *
cell_text(const struct osw_pg_answer *rows, int row, int column)
{
    char age[OSW_DURATION_TEXT_SIZE];
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);

    if (out == NULL) {
        return NULL;
    }
    (void)osw_report_plain(out, cell_value(rows, row, column, age));
    if (fclose(out) != 0) {
        free(text);
        return NULL;
    }
    return text;
}

/* The columns that the widest cells need. */
static void
measure(const struct osw_pg_answer *rows, int widths[SHOWN])
{
    for (int column = 0; column < SHOWN; column++) {
        widths[column] = 0;
        for (int row = -1; row < rows->rows; row++) {
            char *text = cell_text(rows, row, column);
            const int width = text != NULL ? osw_screen_width(text) : 0;

            widths[column] = width > widths[column] ? width : widths[column];
            free(text);
        }
    }
}

/* Make a column narrower by what is too much; *over becomes what is left. */
static void
shrink(int *width, int *over)
{
    const int most = *width - LEAST_WIDTH;
    const int by = *over < most ? *over : most;

    if (by > 0) {
        *width -= by;
        *over -= by;
    }
}

/* Age and since can be told from the deadline; only the key and the name of a
 * rule can be long. */
static void
fit(const struct osw_screen *screen, int widths[SHOWN])
{
    static const enum row_column spare[] = {AGE, SINCE};
    int over = -screen->columns;

    if (screen->columns == 0) {
        return;
    }
    for (int column = 0; column < SHOWN; column++) {
        over += 2 + widths[column];
    }
    for (int i = 0; i < 2 && over > 0; i++) {
        over -= 2 + widths[spare[i]];
        widths[spare[i]] = HIDDEN;
    }
    if (widths[KEY] > widths[STATE]) {
        shrink(&widths[KEY], &over);
    }
    shrink(&widths[STATE], &over);
    shrink(&widths[KEY], &over);
}

static bool
write_rows_text(const struct osw_screen *screen,
                const struct osw_pg_answer *rows)
{
    int widths[SHOWN];

    measure(rows, widths);
    fit(screen, widths);
    for (int row = -1; row < rows->rows; row++) {
        for (int column = 0; column < SHOWN; column++) {
            char *text = NULL;

            if (widths[column] == HIDDEN) {
                continue;
            }
            text = cell_text(rows, row, column);
            if (text == NULL) {
                return false;
            }
            (void)fputs("  ", screen->out);
            osw_screen_cell(screen, widths[column], column == SHOWN - 1, text);
            free(text);
        }
        (void)fputc('\n', screen->out);
    }
    return true;
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
        osw_json_string(out, osw_pg_value(rows, row, AGE_EXACT));
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
write_totals(FILE *out, const struct osw_pg_answer *totals)
{
    (void)fprintf(out, "total: %" PRId64 " due", count_due(totals));
    for (int row = 0; row < totals->rows; row++) {
        (void)fprintf(
            out, "; %" PRId64 " ", osw_pg_number(totals, row, TOTAL_COUNT));
        (void)osw_report_plain(out, shown(totals, row, TOTAL_STATE));
    }
}

static void
write_oldest(FILE *out, const struct osw_pg_answer *totals)
{
    const int oldest = find_oldest(totals);

    (void)fputs("oldest: ", out);
    (void)osw_report_plain(out, shown(totals, oldest, TOTAL_OLDEST_SHOWN));
    (void)fputs(", due since ", out);
    (void)osw_report_plain(out, shown(totals, oldest, TOTAL_OLDEST));
}

/* A line with what the function writes; false if there is no memory. */
static bool
write_line(const struct osw_screen *screen,
           const struct osw_pg_answer *totals,
           void (*write)(FILE *out, const struct osw_pg_answer *totals))
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    bool done = false;

    if (out != NULL) {
        write(out, totals);
        done = fclose(out) == 0;
    }
    if (done) {
        osw_screen_line(screen, text);
    }
    free(text);
    return done;
}

static bool
write_totals_text(const struct osw_screen *screen,
                  const struct osw_pg_answer *totals,
                  int listed)
{
    const int64_t all = count_all(totals);

    if (listed < all) {
        (void)fprintf(screen->out,
                      "  (%d of %" PRId64 " rows; --limit lists more)\n",
                      listed,
                      all);
    }
    return write_line(screen, totals, write_totals) &&
           (find_oldest(totals) < 0 ||
            write_line(screen, totals, write_oldest));
}

static void
write_totals_json(FILE *out,
                  const char *sweep,
                  bool paused,
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
    (void)fprintf(out, ",\"paused\":%s}\n", paused ? "true" : "false");
}

bool
osw_preview(struct osw_pg *pg,
            const char *sweep,
            bool paused,
            const char *window,
            int limit,
            int64_t deadline_ms,
            enum osw_report_format format,
            const struct osw_screen *screen,
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
        write_rows_json(screen->out, sweep, &rows);
        write_totals_json(screen->out, sweep, paused, &totals);
    } else {
        osw_screen_write(screen, OSW_BOLD, sweep);
        (void)fprintf(screen->out,
                      ": dry run, nothing is changed%s\n",
                      paused ? "; paused, so that no run sweeps it" : "");
        if ((rows.rows > 0 && !write_rows_text(screen, &rows)) ||
            !write_totals_text(screen, &totals, rows.rows)) {
            done = osw_error_set(error, OSW_EXIT_INTERNAL, "out of memory");
        }
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
    const struct osw_pg_statement count = {NULL, osw_sql_preview_count, 2};
    struct osw_pg_answer answer = OSW_PG_ANSWER_INIT;
    const char *values[] = {sweep, window};

    *orders = -1;
    if (!osw_pg_query_within(
            pg, limit_ms, &count, values, 1, deadline_ms, &answer, error)) {
        return error->exit != OSW_EXIT_UNAVAILABLE;
    }
    *orders = osw_pg_number(&answer, 0, 0);
    osw_pg_answer_clear(&answer);
    return true;
}
