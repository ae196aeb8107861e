/*
 * clock: the monotonic clock, for the limits of a run.
 *
 * A deadline is an absolute point on this clock in milliseconds and is handed
 * down as it is.  No order's deadline is ever taken from here: that is the
 * database's clock.
 */
#ifndef OSW_CLOCK_H
#define OSW_CLOCK_H

#include <stdint.h>

/* Milliseconds on the monotonic clock. */
int64_t osw_clock_now_ms(void);

/* Milliseconds until deadline, at least 0, fit for poll(2). */
int osw_clock_left_ms(int64_t deadline_ms);

/* The end of a wait of so long that begins now, but deadline at the latest. */
int64_t osw_clock_until_ms(int64_t wait_ms, int64_t deadline_ms);

#endif
