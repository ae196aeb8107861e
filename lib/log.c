#include "log.h"

#include <stdarg.h>
#include <stdio.h>

#include "progress.h"

static enum osw_log_level highest_level = OSW_LOG_WARNING;

void
osw_log_set_level(enum osw_log_level level)
{
    highest_level = level;
}

bool
osw_log_enabled(enum osw_log_level level)
{
    return level <= highest_level;
}

static const char *
level_prefix(enum osw_log_level level)
{
    switch (level) {
    case OSW_LOG_ERROR:
        return "";
    case OSW_LOG_WARNING:
        return "warning: ";
    case OSW_LOG_INFO:
        return "info: ";
    case OSW_LOG_DEBUG:
        return "debug: ";
    }
    return "";
}

void
osw_log(enum osw_log_level level, const char *format, ...)
{
    char line[2048]; /* more than any error record with its hint */
    va_list arguments;

    if (!osw_log_enabled(level)) {
        return;
    }
    va_start(arguments, format);
    osw_format_line(line, sizeof line, format, arguments);
    va_end(arguments);

    osw_progress_clear();
    /* One call, one write: lines of several processes do not mix. */
    (void)fprintf(stderr, "order-sweep: %s%s\n", level_prefix(level), line);
}

void
osw_log_error(const struct osw_error *error)
{
    const char *separator = error->hint[0] != '\0' ? "; " : "";

    osw_log(OSW_LOG_ERROR, "%s%s%s", error->message, separator, error->hint);
}
