/*
 * run: one start of the program from beginning to end: connect, look, and for
 * each due sweep lock, sweep, close the books, report.
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

/* Show what osw_run would do, and change nothing. */
enum osw_exit
osw_run_dry(const struct osw_options *options, int64_t started_ms, FILE *out);

/* Find what would make a run fail or lie. */
enum osw_exit
osw_run_check(const struct osw_options *options, int64_t started_ms, FILE *out);

/* Say why one order was swept, or is not. */
enum osw_exit osw_run_explain(const struct osw_options *options,
                              int64_t started_ms,
                              FILE *out);

/* Bring the schema to this program's version, or print how. */
enum osw_exit osw_run_migrate(const struct osw_options *options, FILE *out);

#endif
