/*
 * system_log: the socket of the system's log, for syslogd and systemd's journal
 * alike.
 *
 * syslog(3) loses what nobody listens to without a word, and waits without end
 * for a listener that does not read.  Here both are told.
 */
#ifndef OSW_SYSTEM_LOG_H
#define OSW_SYSTEM_LOG_H

#include <stdbool.h>

/* Connect to it.  False, with errno, where nobody listens. */
bool osw_system_log_open(void);

/* Where it listens, for messages. */
const char *osw_system_log_path(void);

/*
 * Hand over one line, with a priority of syslog(3).  Where there is no room for
 * it, wait for some, for so long at most.  Who listened, and was started again,
 * is connected to anew.  False, with errno, where the line was not taken.
 */
bool osw_system_log_write(int priority, const char *line, int wait_ms);

void osw_system_log_close(void);

#endif
