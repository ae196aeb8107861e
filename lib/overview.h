/*
 * overview: how a sweep is, on one screen: its window, what is due, what is
 * kept, what failed, its last success and last run, who is at work.
 */
#ifndef OSW_OVERVIEW_H
#define OSW_OVERVIEW_H

#include "report.h"
#include "screen.h"
#include "situation.h"

/* What is beyond one of these wants to be looked at; -1: no limit. */
struct osw_overview_limits {
    int64_t overdue_ms;  /* the oldest order to sweep */
    int64_t age_ms;      /* of the last success */
    int64_t quarantined; /* orders */
};

struct osw_overview {
    const char *sweep;
    const char *broken; /* why a look at it fails; NULL: it does not */
    struct osw_overview_limits limits;
    const struct osw_situation *situation;
};

/* True if one of the limits is passed. */
bool osw_overview_is_over(const struct osw_overview *overview);

/* Write it: a screen for people, or a line of JSON, which screen is not asked
 * about.  False if there is no memory for it. */
bool osw_overview_write(const struct osw_overview *overview,
                        enum osw_report_format format,
                        const struct osw_screen *screen);

#endif
