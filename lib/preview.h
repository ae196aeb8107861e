/*
 * preview: the dry run.  Lists what a run would sweep, what it would keep and
 * why, in a READ ONLY transaction.
 */
#ifndef OSW_PREVIEW_H
#define OSW_PREVIEW_H

#include <stdio.h>

#include "pg.h"
#include "report.h"

/* Begin or end the one transaction that all sweeps of a dry run are seen in. */
bool osw_preview_begin(struct osw_pg *pg,
                       int64_t deadline_ms,
                       struct osw_error *error);
bool osw_preview_end(struct osw_pg *pg,
                     int64_t deadline_ms,
                     struct osw_error *error);

/*
 * Write the dry run of one sweep: at most limit rows, then totals over all of
 * them and the oldest due row.  JSON is a line a row, and a line with totals.
 */
bool osw_preview(struct osw_pg *pg,
                 const char *sweep,
                 const char *window,
                 int limit,
                 int64_t deadline_ms,
                 enum osw_report_format format,
                 FILE *out,
                 struct osw_error *error);

#endif
