/*
 * interrupt: TERM, INT and HUP as counters, seen only while waiting.
 *
 * The signals stay blocked except inside osw_interrupt_poll, so that none can
 * slip in between a look at the counter and the wait.
 */
#ifndef OSW_INTERRUPT_H
#define OSW_INTERRUPT_H

#include <poll.h>
#include <stdbool.h>

/*
 * Block TERM, INT and HUP, install the handlers, ignore PIPE.  Returns false
 * with errno set if the system refuses.
 */
bool osw_interrupt_install(void);

/* How many of these signals have arrived: 1 soft stop, 2 or more hard stop. */
int osw_interrupt_count(void);

/*
 * poll(2) during which the signals are let through.  Returns as poll does;
 * -1 with EINTR if a signal came.  timeout_ms 0 is a look that does not wait.
 */
int osw_interrupt_poll(struct pollfd *fds, nfds_t count, int timeout_ms);

#endif
