/*
 * command: what the program does beside a run: dry run, check, explain,
 * status, migrate.  Each is one start of it from beginning to end: errors are
 * logged, the answer goes to out.  started_ms is when the process began, on the
 * clock of clock.h.
 */
#ifndef OSW_COMMAND_H
#define OSW_COMMAND_H

#include <stdint.h>
#include <stdio.h>

#include "options.h"
#include "status.h"

/* Show what osw_run would do, and change nothing. */
enum osw_exit osw_command_dry_run(const struct osw_options *options,
                                  int64_t started_ms,
                                  FILE *out);

/* Find what would make a run fail or lie. */
enum osw_exit osw_command_check(const struct osw_options *options,
                                int64_t started_ms,
                                FILE *out);

/* Say why one order was swept, or is not. */
enum osw_exit osw_command_explain(const struct osw_options *options,
                                  int64_t started_ms,
                                  FILE *out);

/* Bring the schema to this program's version, or print how. */
enum osw_exit osw_command_migrate(const struct osw_options *options, FILE *out);

/* Who sweeps, and who is next. */
enum osw_exit osw_command_status(const struct osw_options *options,
                                 int64_t started_ms,
                                 FILE *out);

/* Have failed orders tried again, as if they had not failed. */
enum osw_exit osw_command_retry(const struct osw_options *options,
                                int64_t started_ms,
                                FILE *out);

/* Orders that were paid after they were swept; OSW_EXIT_PARTIAL if any. */
enum osw_exit osw_command_late(const struct osw_options *options,
                               int64_t started_ms,
                               FILE *out);

#endif
