/*
 * preview: the dry run.  Lists what a run would sweep, what it would keep and
 * why, in a READ ONLY transaction; and counts it for a run that is watched.
 */
#ifndef OSW_PREVIEW_H
#define OSW_PREVIEW_H

#include <stdio.h>

#include "pg.h"
#include "report.h"
#include "screen.h"

/* Begin or end the one transaction that all sweeps of a dry run are seen in. */
bool osw_preview_begin(struct osw_pg *pg,
                       int64_t deadline_ms,
                       struct osw_error *error);
bool osw_preview_end(struct osw_pg *pg,
                     int64_t deadline_ms,
                     struct osw_error *error);

/*
 * Write the dry run of one sweep: at most limit rows, then totals over all of
 * them and the oldest due row; of a paused one it says so.  JSON is a line a
 * row, and a line with totals; the screen is for people.
 */
bool osw_preview(struct osw_pg *pg,
                 const char *sweep,
                 bool paused,
                 const char *window,
                 int limit,
                 int64_t deadline_ms,
                 enum osw_report_format format,
                 const struct osw_screen *screen,
                 struct osw_error *error);

/*
 * How many orders a run would sweep; -1 if the server does not tell within
 * limit_ms.  False with the error filled only if the connection is of no more
 * use: lost, or without an answer at the deadline.
 */
bool osw_preview_count(struct osw_pg *pg,
                       const char *sweep,
                       const char *window,
                       int64_t limit_ms,
                       int64_t deadline_ms,
                       int64_t *orders,
                       struct osw_error *error);

#endif
