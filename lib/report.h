/*
 * report: what a run did, on standard output, as text for people or as a line
 * of JSON for programs.
 */
#ifndef OSW_REPORT_H
#define OSW_REPORT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "lateness.h"
#include "outcome.h"
#include "status.h"

enum osw_report_format {
    OSW_REPORT_NONE,
    OSW_REPORT_TEXT,
    OSW_REPORT_JSON,
};

/* One sweep's part of a run; strings are the caller's. */
struct osw_report {
    const char *sweep;         /* NULL: no certain one; in JSON only */
    const char *run_id;        /* NULL: no run was opened */
    const char *stopped;       /* why it ended: "done", "busy", … */
    const char *next_deadline; /* NULL: unknown */
    bool rest;
    int64_t counts[OSW_OUTCOME_COUNT];
    const struct osw_lateness *lateness; /* of the orders swept; or NULL */
    int64_t elapsed_ms;
    enum osw_exit exit;
    const char *error; /* NULL: none */
};

/* Write a report; a failed write shows in ferror(out). */
void osw_report_write(FILE *out,
                      enum osw_report_format format,
                      const struct osw_report *report);

/*
 * Write text for a terminal: control characters, which a key may hold (see
 * osw_control_length), as "?".  Returns the number of columns written, counting
 * a UTF-8 character as one.
 */
int osw_report_plain(FILE *out, const char *text);

/* The same with line breaks kept: each further line begins indented. */
void osw_report_lines(FILE *out, const char *text, int indent);

#endif
