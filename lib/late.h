/*
 * late: orders that were paid after they were swept.
 */
#ifndef OSW_LATE_H
#define OSW_LATE_H

#include <stdio.h>

#include "pg.h"
#include "report.h"

/*
 * Write those of a sweep, a line each; *orders is raised by their number.
 * Where the definition does not say how a payment is known, a line of text says
 * that.
 */
bool osw_late(struct osw_pg *pg,
              const char *sweep,
              int64_t deadline_ms,
              enum osw_report_format format,
              FILE *out,
              int64_t *orders,
              struct osw_error *error);

#endif
