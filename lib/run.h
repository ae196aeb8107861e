/*
 * run: a run from beginning to end: connect, look, and for each due sweep lock,
 * sweep, close the books, report.
 */
#ifndef OSW_RUN_H
#define OSW_RUN_H

#include <stdint.h>
#include <stdio.h>

#include "options.h"
#include "status.h"

/*
 * Sweep what is due.  started_ms is when the process began, on the clock of
 * clock.h: all limits count from there.  Errors are logged; reports go to out.
 */
enum osw_exit
osw_run(const struct osw_options *options, int64_t started_ms, FILE *out);

#endif
