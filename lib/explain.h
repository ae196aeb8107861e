/*
 * explain: why one order was swept, or is not.
 */
#ifndef OSW_EXPLAIN_H
#define OSW_EXPLAIN_H

#include <stdio.h>

#include "pg.h"
#include "report.h"

/*
 * Write each part of the definition with its value for the order of this key,
 * what the books know of it, and a verdict.  The key is as many texts as the
 * definition's key has columns.
 */
bool osw_explain(struct osw_pg *pg,
                 const char *sweep,
                 const char *const *key,
                 int key_columns,
                 int64_t deadline_ms,
                 enum osw_report_format format,
                 FILE *out,
                 struct osw_error *error);

#endif
