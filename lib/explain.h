/*
 * explain: why one order was swept, or is not.
 */
#ifndef OSW_EXPLAIN_H
#define OSW_EXPLAIN_H

#include <stdio.h>

#include "pg.h"
#include "report.h"

/*
 * Ask for each part of the definition with its value for the order of this key,
 * what the books know of it, and a verdict, which comes last.  The key is as
 * many texts as the definition's key has columns.  To be cleared.
 */
bool osw_explain_ask(struct osw_pg *pg,
                     const char *sweep,
                     const char *const *key,
                     int key_columns,
                     int64_t deadline_ms,
                     struct osw_pg_answer *parts,
                     struct osw_error *error);

/*
 * Write them.  broken is why no run can sweep, or NULL: then it is also why
 * the next run does not sweep an order that it would else.
 */
void osw_explain_write(FILE *out,
                       enum osw_report_format format,
                       const struct osw_pg_answer *parts,
                       const char *broken);

/* True with the error filled if the definition's SQL raises for this order. */
bool osw_explain_raised(const struct osw_pg_answer *parts,
                        struct osw_error *error);

#endif
