/*
 * progress: the line on a terminal that tells how far a sweep has come.
 *
 * It stands in the terminal's last line, on stderr, and is taken away before
 * anything else is written there.  Nothing of it stays.
 */
#ifndef OSW_PROGRESS_H
#define OSW_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

/* A sweep that is watched.  All times are those of the monotonic clock. */
struct osw_progress {
    const char *sweep; /* its name, ASCII */
    int64_t began_ms;
    int64_t soft_deadline_ms; /* the sweep ends by then */
    int64_t max_orders;       /* swept at most; 0: no limit */
    int64_t due;              /* how many are to be swept; -1: unknown */
    int64_t drawn_ms;         /* the last time, 0: not yet */
};

/* True if a person looks on: stderr is a terminal that can redraw a line. */
bool osw_progress_is_wanted(void);

/*
 * Draw the line anew, if it is time: the first time a second after the
 * beginning, then five times a second at most.  swept of the settled orders
 * were swept.  The rate is that since the beginning, as the report has it: one
 * of the last seconds jumps with every order that waits for a lock.
 *
 * Not drawn: in the background, where the line belongs to the shell, and on a
 * terminal that is stopped (^S), which must not stop the sweep.
 */
void osw_progress_update(struct osw_progress *progress,
                         int64_t now_ms,
                         int64_t swept,
                         int64_t settled);

/* Take the line away, if it is there: before a message and before the report.
 */
void osw_progress_clear(void);

#endif
