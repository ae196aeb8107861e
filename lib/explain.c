#include "explain.h"

#include <stdlib.h>

#include "fault.h"
#include "outcome.h"
#include "sql_text.h"

/* The server would take no other text; and JSON holds no other. */
static bool
check_key(const char *const *key, int key_columns, struct osw_error *error)
{
    for (int i = 0; i < key_columns; i++) {
        if (!osw_report_is_utf8(key[i])) {
            (void)osw_error_set(
                error, OSW_EXIT_USAGE, "explain: the key is no UTF-8 text");
            return osw_error_hint(error, "give it in UTF-8");
        }
    }
    return true;
}

/* The key as a JSON array of texts, to be freed; NULL if there is no memory. */
static char *
key_as_json(const char *const *key, int key_columns)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);

    if (out == NULL) {
        return NULL;
    }
    for (int i = 0; i < key_columns; i++) {
        (void)fputc(i == 0 ? '[' : ',', out);
        osw_report_json_string(out, key[i]);
    }
    (void)fputc(']', out);
    if (fclose(out) != 0) {
        free(text);
        return NULL;
    }
    return text;
}

static void
write_text(FILE *out, const struct osw_pg_answer *parts)
{
    for (int row = 0; row < parts->rows; row++) {
        osw_report_lines(out, osw_pg_value(parts, row, 0), 2);
        (void)fputs("\n    ", out);
        osw_report_lines(out, osw_pg_value(parts, row, 1), 4);
        (void)fputc('\n', out);
    }
}

static void
write_json(FILE *out, const struct osw_pg_answer *parts)
{
    for (int row = 0; row < parts->rows; row++) {
        (void)fputs("{\"what\":", out);
        osw_report_json_string(out, osw_pg_value(parts, row, 0));
        (void)fputs(",\"value\":", out);
        osw_report_json_string(out, osw_pg_value(parts, row, 1));
        (void)fputs("}\n", out);
    }
}

bool
osw_explain(struct osw_pg *pg,
            const char *sweep,
            const char *const *key,
            int key_columns,
            int64_t deadline_ms,
            enum osw_report_format format,
            FILE *out,
            struct osw_error *error)
{
    const struct osw_pg_statement statement = {NULL, osw_sql_explain, 2};
    struct osw_pg_answer parts = OSW_PG_ANSWER_INIT;
    const char *values[] = {sweep, NULL};
    char *json = NULL;
    bool done = false;

    if (!check_key(key, key_columns, error)) {
        return false;
    }
    json = key_as_json(key, key_columns);
    if (json == NULL) {
        return osw_error_set(error, OSW_EXIT_INTERNAL, "out of memory");
    }
    values[1] = json;
    done = osw_pg_query(pg, &statement, values, 2, deadline_ms, &parts, error);
    free(json);
    if (!done) {
        osw_fault_classify(error);
        if (osw_sqlstate_class(error->sqlstate, "22")) {
            error->exit = OSW_EXIT_USAGE; /* the key is no such thing */
            (void)osw_error_hint(error, "give the key's columns in order");
        }
        return false;
    }
    if (format == OSW_REPORT_JSON) {
        write_json(out, &parts);
    } else {
        write_text(out, &parts);
    }
    osw_pg_answer_clear(&parts);
    return true;
}
