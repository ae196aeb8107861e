/*
 * explain, the dry run and status: a first byte chooses one of them and its
 * format, the texts are the key that is asked for and what the server answers,
 * value by value.  osw_pg_query is replaced (ld --wrap), so no server is
 * needed.
 *
 * The key arrives at the server as it was given; JSON is valid, line by line,
 * and has the values; text for people has no control character, and what has
 * fields fits the terminal.
 */
#include "explain.h"
#include "overview.h"
#include "preview.h"
#include "sql_text.h"

#include <string.h>

#include <jansson.h>
#include <libpq-fe.h>

#include "fuzz.h"

bool __wrap_osw_pg_query(struct osw_pg *pg,
                         const struct osw_pg_statement *statement,
                         const char *const *values,
                         int columns,
                         int64_t deadline_ms,
                         struct osw_pg_answer *answer,
                         struct osw_error *error);

bool __wrap_osw_pg_query_within(struct osw_pg *pg,
                                int64_t limit_ms,
                                const struct osw_pg_statement *statement,
                                const char *const *values,
                                int columns,
                                int64_t deadline_ms,
                                struct osw_pg_answer *answer,
                                struct osw_error *error);

/* A terminal of this width. */
#define WIDTH 80

/* The texts to answer with; the next one. */
static const struct fuzz_texts *texts;
static int next;

/* The key that explain sent, to be freed. */
static json_t *sent_key;

static const char *
next_text(void)
{
    return next < texts->count ? texts->text[next++] : "";
}

/* The server's own JSON: an array with a text.  It sees to it that all it says
 * is UTF-8. */
static char *
key_of_server(const char *text)
{
    struct fuzz_page page;

    fuzz_page_open(&page);
    (void)fputs("[\"", page.out);
    for (text = fuzz_is_utf8(text) ? text : ""; *text != '\0'; text++) {
        unsigned char c = (unsigned char)*text;

        if (c < 0x20 || c == '"' || c == '\\') {
            (void)fprintf(page.out, "\\u%04x", (unsigned)c);
        } else {
            (void)fputc(c, page.out);
        }
    }
    (void)fputs("\"]", page.out);
    return fuzz_page_close(&page);
}

/* Is this the column of a key as JSON, of a number, of a moment? */
static bool
is_key(const char *text, int column)
{
    return (text == osw_sql_preview_rows && column == 5) ||
           (text == osw_sql_preview_totals && column == 3) ||
           (text == osw_sql_status_orders && column == STATE_OLDEST_JSON);
}

static bool
is_moment(const char *text, int column)
{
    return (text == osw_sql_status &&
            (column == BOOK_DEADLINE || column == BOOK_SUCCESS ||
             column == BOOK_RUN_ENDED)) ||
           (text == osw_sql_preview_rows && (column == 1 || column == 3)) ||
           (text == osw_sql_holders && column == 5);
}

static bool
is_number(const char *text, int column)
{
    return (text == osw_sql_preview_totals && column == 1) ||
           (text == osw_sql_preview_rows && column == 2) ||
           (text == osw_sql_status && column != BOOK_CLOCK &&
            column != BOOK_PAUSED && column != BOOK_RUN_STOPPED) ||
           (text == osw_sql_status_orders && column != STATE &&
            column != STATE_OLDEST) ||
           (text == osw_sql_holders && column != 3 && column != 7);
}

static void
put(PGresult *result, const char *statement, int row, int column)
{
    const char *text = next_text();
    char *key = NULL;

    if (is_key(statement, column)) {
        key = key_of_server(text);
        text = key;
    } else if (is_moment(statement, column)) {
        text = "2026-12-02 23:21:37+00";
    } else if (is_number(statement, column)) {
        /* without this one: not known */
        if (statement == osw_sql_status && text[0] == '-') {
            return;
        }
        text = "7";
    }
    REQUIRE(PQsetvalue(
        result, row, column, (char *)(uintptr_t)text, (int)strlen(text)));
    free(key);
}

bool
__wrap_osw_pg_query(struct osw_pg *pg,
                    const struct osw_pg_statement *statement,
                    const char *const *values,
                    int columns,
                    int64_t deadline_ms,
                    struct osw_pg_answer *answer,
                    struct osw_error *error)
{
    PGresAttDesc attributes[32] = {0};
    static char name[] = "column";
    PGresult *result = PQmakeEmptyPGresult(NULL, PGRES_TUPLES_OK);
    const int most = statement->text == osw_sql_status ? 1 : 4;
    int row = 0;

    (void)pg;
    (void)deadline_ms;
    (void)error;
    if (statement->text == osw_sql_explain) {
        sent_key = json_loads(values[1], 0, NULL);
        REQUIRE(sent_key != NULL);
    }
    REQUIRE(columns <= 32);
    for (int i = 0; i < columns; i++) {
        attributes[i].name = name;
    }
    REQUIRE(PQsetResultAttrs(result, columns, attributes) != 0);
    for (; row < most && next < texts->count; row++) {
        for (int column = 0; column < columns; column++) {
            put(result, statement->text, row, column);
        }
    }
    answer->ok = true;
    answer->result = result;
    answer->rows = row;
    answer->columns = columns;
    return true;
}

bool
__wrap_osw_pg_query_within(struct osw_pg *pg,
                           int64_t limit_ms,
                           const struct osw_pg_statement *statement,
                           const char *const *values,
                           int columns,
                           int64_t deadline_ms,
                           struct osw_pg_answer *answer,
                           struct osw_error *error)
{
    (void)limit_ms;
    return __wrap_osw_pg_query(
        pg, statement, values, columns, deadline_ms, answer, error);
}

static void
require_output(char *written, bool json, bool fits)
{
    char *line = written;

    while (*line != '\0') {
        char *end = strchr(line, '\n');
        json_t *object = NULL;

        REQUIRE(end != NULL);
        *end = '\0';
        if (json) {
            object = json_loads(line, 0, NULL);
            REQUIRE(json_is_object(object));
            json_decref(object);
        } else {
            REQUIRE(fuzz_is_plain(line));
            REQUIRE(!fits || osw_screen_width(line) <= WIDTH);
        }
        line = end + 1;
    }
}

/* The key that was sent is the one that was given, or nothing was sent. */
static void
require_key(bool done, int columns, const struct osw_error *error)
{
    bool utf8 = true;

    for (int i = 0; i < columns; i++) {
        utf8 = utf8 && fuzz_is_utf8(texts->text[i]);
    }
    REQUIRE(done == utf8);
    if (!done) {
        REQUIRE(sent_key == NULL);
        fuzz_require_usage_error(error);
        return;
    }
    REQUIRE((int)json_array_size(sent_key) == columns);
    for (int i = 0; i < columns; i++) {
        REQUIRE(strcmp(json_string_value(json_array_get(sent_key, (size_t)i)),
                       texts->text[i]) == 0);
    }
}

static void
explain(int columns, enum osw_report_format format, FILE *out)
{
    struct osw_pg_answer parts = OSW_PG_ANSWER_INIT;
    struct osw_error error = OSW_ERROR_INIT;
    bool done = false;

    sent_key = NULL;
    next = columns;
    done = osw_explain_ask(NULL,
                           "sweep",
                           (const char *const *)texts->text,
                           columns,
                           0,
                           &parts,
                           &error);
    require_key(done, columns, &error);
    json_decref(sent_key);
    if (done) {
        osw_explain_write(out, format, &parts, texts->text[0]);
        REQUIRE(!osw_explain_raised(&parts, &error) ||
                fuzz_is_plain(error.message));
    }
    osw_pg_answer_clear(&parts);
}

static void
preview(enum osw_report_format format, const struct osw_screen *screen)
{
    struct osw_error error = OSW_ERROR_INIT;

    next = 0;
    REQUIRE(osw_preview(
        NULL, "sweep", false, NULL, 100, 0, format, screen, &error));
}

static void
overview(enum osw_report_format format,
         bool broken,
         const struct osw_screen *screen)
{
    struct osw_situation situation = OSW_SITUATION_INIT;
    struct osw_error error = OSW_ERROR_INIT;
    const struct osw_overview shown = {
        .sweep = "sweep",
        .broken = broken ? texts->text[0] : NULL,
        .limits = {.overdue_ms = 5, .age_ms = 5, .quarantined = 5},
        .situation = &situation,
    };

    next = 0;
    REQUIRE(osw_situation_ask(NULL, 1, "sweep", broken, 0, &situation, &error));
    /* There is always one row of books. */
    if (situation.books.rows > 0) {
        (void)osw_overview_is_over(&shown);
        REQUIRE(osw_overview_write(&shown, format, screen));
    }
    osw_situation_clear(&situation);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    unsigned choice = fuzz_take(&data, &size);
    bool json = (choice & 1) != 0;
    bool is_explain = (choice & 2) != 0;
    enum osw_report_format format = json ? OSW_REPORT_JSON : OSW_REPORT_TEXT;
    struct osw_screen screen = {.columns = WIDTH};
    struct fuzz_texts input;
    struct fuzz_page page;
    char *written = NULL;

    fuzz_split(data, size, &input);
    texts = &input;
    fuzz_page_open(&page);
    screen.out = page.out;
    if (is_explain) {
        int columns = 1 + (int)(choice >> 6);

        explain(
            columns < input.count ? columns : input.count, format, page.out);
    } else if ((choice & 4) != 0) {
        overview(format, (choice & 8) != 0, &screen);
    } else {
        preview(format, &screen);
    }
    written = fuzz_page_close(&page);
    require_output(written, json, !is_explain);
    free(written);
    fuzz_free(&input);
    return 0;
}
