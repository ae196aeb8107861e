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
 * Block TERM, INT and HUP, install the handlers, ignore PIPE.  INT and HUP are
 * left alone where the parent had them ignored (nohup, a background job).
 * Returns false with errno set if the system refuses.
 */
bool osw_interrupt_install(void);

/* Ignore PIPE only: a write to a closed pipe is an error, not a death. */
void osw_interrupt_ignore_pipe(void);

/*
 * How many of these signals the last osw_interrupt_poll and those before have
 * seen: 1 soft stop, 2 or more hard stop.  The same signal sent twice between
 * two polls may count once, as the system merges them.
 */
int osw_interrupt_count(void);

/*
 * poll(2) during which the signals are let through.  Returns as poll does; -1
 * with EINTR if a signal came and no descriptor is ready.  A signal that comes
 * while descriptors are ready is counted all the same, so that a busy
 * connection does not hide it.  timeout_ms 0 is a look that does not wait, a
 * negative one waits without end.
 */
int osw_interrupt_poll(struct pollfd *fds, nfds_t count, int timeout_ms);

#endif
