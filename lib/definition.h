/*
 * definition: the statements that a run of one sweep executes, as
 * order_sweep.define wrote them down.
 */
#ifndef OSW_DEFINITION_H
#define OSW_DEFINITION_H

#include "pg.h"

struct osw_definition {
    struct osw_pg_answer texts; /* owns the texts of the statements */
    struct osw_pg_statement batch;
    struct osw_pg_statement newest;
    struct osw_pg_statement cancel;
    struct osw_pg_statement fail;
    int key_columns;
};

/*
 * Read the statements of a sweep.  On success *there tells if it still is
 * there to run, not paused or undefined meanwhile; the definition is to be
 * cleared after the connection's last use of it.
 */
bool osw_definition_load(struct osw_pg *pg,
                         const char *sweep,
                         int64_t deadline_ms,
                         struct osw_definition *definition,
                         bool *there,
                         struct osw_error *error);

void osw_definition_clear(struct osw_definition *definition);

#endif
