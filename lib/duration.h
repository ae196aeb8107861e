/*
 * duration: lengths of time on the command line, such as 30m or "30 minutes".
 */
#ifndef OSW_DURATION_H
#define OSW_DURATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "status.h"

/* 100 years of 365.25 days: the longest duration, as in order_sweep.define. */
#define OSW_DURATION_MAX_MS INT64_C(3155760000000)

/* Room for any text osw_duration_format writes. */
#define OSW_DURATION_TEXT_SIZE 48

/*
 * Parse a whole number and a unit, several such pairs in a row allowed
 * (1h30m), blanks between allowed, each day 24 hours.  Units are ms, s, m, h,
 * d, w and the words PostgreSQL knows for them, such as "minutes".  Refused
 * with a message that names option and mend: no unit, a sign, a fraction,
 * months and years (their length varies), anything outside min_ms..max_ms,
 * where max_ms is at most OSW_DURATION_MAX_MS.  *ms is set on success only.
 * The error's exit code is OSW_EXIT_USAGE.
 */
bool osw_duration_parse(const char *option,
                        const char *text,
                        int64_t min_ms,
                        int64_t max_ms,
                        int64_t *ms,
                        struct osw_error *error);

/*
 * Write a length of time, at least 0, as osw_duration_parse reads it: 1h30m,
 * 45s, 0s.
 */
void osw_duration_format(int64_t ms, char *text, size_t size);

/*
 * Write a length of time, at least 0, as people say it, in one or two units:
 * 250 ms, 3.2 s, 12 min 5 s, 2 h 5 min, 3 days 4 h.  What is cut away is not
 * rounded up: it is at least so long.
 */
void osw_duration_say(int64_t ms, char *text, size_t size);

#endif
