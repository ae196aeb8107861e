/*
 * explain and the dry run: a first byte chooses one of them and its format,
 * the texts are the key that is asked for and what the server answers, value
 * by value.  osw_pg_query is replaced (ld --wrap), so no server is needed.
 *
 * The key arrives at the server as it was given; JSON is valid, line by line,
 * and has the values; text for people has no control character.
 */
#include "explain.h"
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

/* Is this the column of a key as JSON, or of a number? */
static bool
is_key(const char *text, int column)
{
    return (text == osw_sql_preview_rows && column == 5) ||
           (text == osw_sql_preview_totals && column == 3);
}

static bool
is_number(const char *text, int column)
{
    return text == osw_sql_preview_totals && column == 1;
}

static void
put(PGresult *result, const char *statement, int row, int column)
{
    const char *text = next_text();
    char *key = NULL;

    if (is_key(statement, column)) {
        key = key_of_server(text);
        text = key;
    } else if (is_number(statement, column)) {
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
    PGresAttDesc attributes[8] = {0};
    static char name[] = "column";
    PGresult *result = PQmakeEmptyPGresult(NULL, PGRES_TUPLES_OK);
    int row = 0;

    (void)pg;
    (void)deadline_ms;
    (void)error;
    if (statement->text == osw_sql_explain) {
        sent_key = json_loads(values[1], 0, NULL);
        REQUIRE(sent_key != NULL);
    }
    REQUIRE(columns <= 8);
    for (int i = 0; i < columns; i++) {
        attributes[i].name = name;
    }
    REQUIRE(PQsetResultAttrs(result, columns, attributes) != 0);
    for (; row < 4 && next < texts->count; row++) {
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

static void
require_output(char *written, bool json)
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
preview(enum osw_report_format format, FILE *out)
{
    struct osw_error error = OSW_ERROR_INIT;

    next = 0;
    REQUIRE(osw_preview(NULL, "sweep", NULL, 100, 0, format, out, &error));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    unsigned choice = fuzz_take(&data, &size);
    bool json = (choice & 1) != 0;
    enum osw_report_format format = json ? OSW_REPORT_JSON : OSW_REPORT_TEXT;
    struct fuzz_texts input;
    struct fuzz_page page;
    char *written = NULL;

    fuzz_split(data, size, &input);
    texts = &input;
    fuzz_page_open(&page);
    if ((choice & 2) != 0) {
        int columns = 1 + (int)(choice >> 6);

        explain(
            columns < input.count ? columns : input.count, format, page.out);
    } else {
        preview(format, page.out);
    }
    written = fuzz_page_close(&page);
    require_output(written, json);
    free(written);
    fuzz_free(&input);
    return 0;
}
