/*
 * feeder: hands a text to a command on its standard input, and waits for its
 * verdict.
 *
 * The command gets the text as a file, so that it never sees a part of it,
 * even where this process dies; and so that it is known whether all of it was
 * read.  What the command writes goes to the log.
 */
#ifndef OSW_FEEDER_H
#define OSW_FEEDER_H

#include <stddef.h>
#include <stdint.h>

#include "status.h"

enum osw_fed {
    OSW_FED_ACCEPTED, /* it ended with 0, and has read all */
    OSW_FED_REFUSED,  /* it did not */
    OSW_FED_LATE,     /* it did not end in time */
    OSW_FED_BROKEN,   /* there is no such command, or no room for one */
};

/*
 * Run command, which ends with NULL and is looked for in PATH, and wait until
 * it has ended.  At deadline_ms, on the clock of clock.h, or with a second
 * signal to this process, it is told to end, with all processes of its group;
 * a second later it is killed.
 *
 * why says what happened, unless it was accepted: for OSW_FED_BROKEN with an
 * exit code, else for whoever knows more of it.
 */
enum osw_fed osw_feed(char *const *command,
                      const char *text,
                      size_t length,
                      int64_t deadline_ms,
                      struct osw_error *why);

#endif
