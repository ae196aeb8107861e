/*
 * log: messages for people and for programs, one line each: on stderr, or in
 * the log of the system.
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

enum osw_log_target {
    OSW_LOG_STDERR,
    OSW_LOG_SYSLOG,
};

enum osw_log_format {
    OSW_LOG_TEXT,
    OSW_LOG_JSON,
};

/* A message is cut to this; a line of the log has at most 2048 bytes. */
#define OSW_LOG_TEXT_SIZE 1920

/* Messages above this level are dropped; OSW_LOG_WARNING at the start. */
void osw_log_set_level(enum osw_log_level level);

/* True if a message of this level would be written. */
bool osw_log_enabled(enum osw_log_level level);

/* As text or as JSON; text at the start. */
void osw_log_set_format(enum osw_log_format format);

/*
 * Where to; stderr at the start.  Where nobody listens to the system's log, or
 * it takes no more, a warning says so on stderr, and that and what follows goes
 * there.
 */
void osw_log_set_target(enum osw_log_target target);

/*
 * From here on the run of this id sweeps: messages of this sweep, and those of
 * none, carry it.  NULL, NULL: no run does.
 */
void osw_log_set_run(const char *sweep, const char *run_id);

/*
 * Write "order-sweep: message" as one line, see osw_format_line.  A warning, an
 * info and a debug message carry their level's name, and within a run its id:
 * "order-sweep: warning: run 12: message".
 *
 * As JSON an object with time, level, pid, run, sweep and message.
 */
void osw_log(enum osw_log_level level, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The same about a sweep, which stands before the message. */
void
osw_log_of(enum osw_log_level level, const char *sweep, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Write an error record at level error: "message; hint", one line.  sweep is
 * NULL where it is of none. */
void osw_log_error(const char *sweep, const struct osw_error *error);

#endif
