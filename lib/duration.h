/*
 * duration: lengths of time on the command line, such as 30m or "30 minutes".
 */
#ifndef OSW_DURATION_H
#define OSW_DURATION_H

#include <stdint.h>

#include "status.h"

/* 100 years of 365.25 days: the longest duration, as in order_sweep.define. */
#define OSW_DURATION_MAX_MS INT64_C(3155760000000)

/*
 * Parse a whole number and a unit (ms, s, m, h, d or the words PostgreSQL
 * knows for them: millisecond(s), sec(s), second(s), min(s), minute(s),
 * hour(s), day(s), week(s)), with blanks between allowed, several such pairs
 * in a row allowed (1h30m), each day 24 hours.  Refused with a message that
 * names option and mend: no unit, a sign, a fraction, months and years (their
 * length varies), anything outside min_ms..max_ms.  *ms is set on success
 * only.  The error's exit code is OSW_EXIT_USAGE.
 */
bool osw_duration_parse(const char *option,
                        const char *text,
                        int64_t min_ms,
                        int64_t max_ms,
                        int64_t *ms,
                        struct osw_error *error);

#endif
