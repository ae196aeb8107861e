/*
 * check: the doctor.  Finds what would make a run fail or lie, before it
 * costs an order.
 *
 * What to look for is SQL (sql/functions/6*_check*.sql).  Here the definitions'
 * statements are prepared, which parses them against the live tables and runs
 * nothing, and plans are asked for.
 */
#ifndef OSW_CHECK_H
#define OSW_CHECK_H

#include <stdio.h>

#include "pg.h"
#include "report.h"

/* How many findings there were, by level. */
struct osw_check_counts {
    int ok;
    int note;
    int warn;
    int fail;
    bool blind; /* the schema is not ours: nothing else could be looked at */
};

/*
 * Check all definitions and write a line a finding.  role is the one that
 * runs the sweeps, NULL: its rights are not looked at.  False with the error
 * filled if the check itself could not be done: then a transaction may be open.
 */
bool osw_check(struct osw_pg *pg,
               const char *role,
               int64_t deadline_ms,
               enum osw_report_format format,
               FILE *out,
               struct osw_check_counts *counts,
               struct osw_error *error);

/*
 * Write and clean up, over two connections: do advisory locks exclude each
 * other, as a run takes them here (pooled: behind a pooler), and are two
 * statements of a segment one transaction, through whatever stands in between.
 */
bool osw_check_probe(struct osw_pg *pg,
                     struct osw_pg *other,
                     bool pooled,
                     int64_t deadline_ms,
                     enum osw_report_format format,
                     FILE *out,
                     struct osw_check_counts *counts,
                     struct osw_error *error);

#endif
