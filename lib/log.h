/*
 * log: messages for people, on stderr, one line each.
 *
 * Program output (reports) never goes through here.  Only the layer that
 * decides what happens next logs; the layers below return an error record.
 */
#ifndef OSW_LOG_H
#define OSW_LOG_H

#include "status.h"

enum osw_log_level {
    OSW_LOG_ERROR,
    OSW_LOG_WARNING,
    OSW_LOG_INFO,
    OSW_LOG_DEBUG,
};

/* Messages above this level are dropped; OSW_LOG_WARNING at the start. */
void osw_log_set_level(enum osw_log_level level);

/* True if a message of this level would be written. */
bool osw_log_enabled(enum osw_log_level level);

/*
 * Write "order-sweep: message" as one line, see osw_one_line.
 * A warning, an info and a debug message carry their level's name.
 */
void osw_log(enum osw_log_level level, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Write an error record at level error: "message; hint", one line. */
void osw_log_error(const struct osw_error *error);

#endif
