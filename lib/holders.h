/*
 * holders: who sweeps, lingers or waits, by the locks of the sweeps.
 */
#ifndef OSW_HOLDERS_H
#define OSW_HOLDERS_H

#include <stdio.h>

#include "pg.h"
#include "report.h"

/*
 * Write the state of all sweeps, or of the one named, and who holds or waits
 * for their locks.  JSON is a line a holder, and one for a sweep without.
 */
bool osw_holders(struct osw_pg *pg,
                 const char *sweep,
                 int64_t deadline_ms,
                 enum osw_report_format format,
                 FILE *out,
                 struct osw_error *error);

#endif
