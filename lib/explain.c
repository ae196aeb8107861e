#include "explain.h"

#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "key.h"
#include "sql_text.h"

bool
osw_explain_ask(struct osw_pg *pg,
                const char *sweep,
                const char *const *key,
                int key_columns,
                int64_t deadline_ms,
                struct osw_pg_answer *parts,
                struct osw_error *error)
{
    const struct osw_pg_statement statement = {NULL, osw_sql_explain, 2};
    const char *values[] = {sweep, NULL};
    char *json = NULL;
    bool done = false;

    json = osw_key_as_json(key, key_columns, error);
    if (json == NULL) {
        return false;
    }
    values[1] = json;
    done = osw_pg_query(pg, &statement, values, 2, deadline_ms, parts, error);
    free(json);
    if (!done) {
        osw_key_classify(error);
    }
    return done;
}

static const char *
shown(const struct osw_pg_answer *parts, int row, int column)
{
    const char *value = osw_pg_value(parts, row, column);

    return value != NULL ? value : "";
}

static void
write_text(FILE *out, const char *what, const char *value)
{
    osw_report_lines(out, what, 2);
    (void)fputs("\n    ", out);
    osw_report_lines(out, value, 4);
    (void)fputc('\n', out);
}

static void
write_json(FILE *out, const char *what, const char *value)
{
    (void)fputs("{\"what\":", out);
    osw_json_string(out, what);
    (void)fputs(",\"value\":", out);
    osw_json_string(out, value);
    (void)fputs("}\n", out);
}

void
osw_explain_write(FILE *out,
                  enum osw_report_format format,
                  const struct osw_pg_answer *parts,
                  const char *broken)
{
    char instead[1200];

    (void)snprintf(instead,
                   sizeof(instead),
                   "not swept: %s",
                   broken != NULL ? broken : "");
    for (int row = 0; row < parts->rows; row++) {
        const char *what = shown(parts, row, 0);
        const char *value = shown(parts, row, 1);

        if (broken != NULL && strcmp(value, "the next run sweeps it") == 0) {
            value = instead;
        }
        if (format == OSW_REPORT_JSON) {
            write_json(out, what, value);
        } else {
            write_text(out, what, value);
        }
    }
}

bool
osw_explain_raised(const struct osw_pg_answer *parts, struct osw_error *error)
{
    static const char raised[] = "error: ";
    const char *verdict =
        parts->rows > 0 ? shown(parts, parts->rows - 1, 1) : "";

    if (strncmp(verdict, raised, strlen(raised)) != 0) {
        return false;
    }
    (void)osw_error_set(error, OSW_EXIT_CONFIG, "%s", verdict + strlen(raised));
    (void)osw_error_hint(error, "order-sweep check says what does not fit");
    return true;
}
