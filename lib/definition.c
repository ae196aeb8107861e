#include "definition.h"

#include <stdio.h>
#include <string.h>

#include "sql_text.h"

static void
fill(struct osw_definition *definition)
{
    const struct osw_pg_answer *texts = &definition->texts;
    int keys = (int)osw_pg_number(texts, 0, 4);

    definition->key_columns = keys;
    definition->batch.name = "batch";
    definition->batch.text = osw_pg_value(texts, 0, 0);
    /* window, clock, key, limit, share, shares */
    definition->batch.parameters = keys + 5;
    definition->newest.text = osw_pg_value(texts, 0, 1);
    definition->newest.parameters = 2; /* window, limit */
    definition->cancel.name = "cancel";
    definition->cancel.text = osw_pg_value(texts, 0, 2);
    definition->cancel.parameters = keys + 2; /* key, window, run */
    definition->fail.text = osw_pg_value(texts, 0, 3);
    definition->fail.parameters = keys + 3; /* key, state, message, counts */
}

bool
osw_definition_load(struct osw_pg *pg,
                    const char *sweep,
                    int64_t deadline_ms,
                    struct osw_definition *definition,
                    bool *there,
                    struct osw_error *error)
{
    const struct osw_pg_statement statement = {NULL, osw_sql_calls, 1};
    const char *values[] = {sweep};

    memset(definition, 0, sizeof(*definition));
    /* The names are those of the sweep before on the same connection. */
    if (!osw_pg_forget(pg, deadline_ms, error) ||
        !osw_pg_query(pg,
                      &statement,
                      values,
                      5,
                      deadline_ms,
                      &definition->texts,
                      error)) {
        return false;
    }
    *there = definition->texts.rows == 1;
    if (*there) {
        fill(definition);
    }
    return true;
}

void
osw_definition_clear(struct osw_definition *definition)
{
    osw_pg_answer_clear(&definition->texts);
}
