#include "log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

#include <bsd/string.h>

#include "clock.h"
#include "json.h"
#include "progress.h"
#include "system_log.h"

/* As much as all listeners take: a message, more than any error record with its
 * hint, and what stands before it. */
#define LINE_SIZE 2048

/* All waits for a system log that is full come to this at most: a run is not to
 * stand still for it. */
#define PATIENCE_MS INT64_C(1000)

static enum osw_log_level highest_level = OSW_LOG_WARNING;
static enum osw_log_format format_of_lines = OSW_LOG_TEXT;
static bool to_system;
static int64_t patience_ms = PATIENCE_MS;

/* What sweeps now; "": nothing. */
static char run_sweep[64];
static char run_id[24];

/* A message on its way. */
struct message {
    enum osw_log_level level;
    const char *sweep; /* NULL: of none */
    const char *run;   /* NULL: of none */
    const char *text;
};

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

void
osw_log_set_format(enum osw_log_format format)
{
    format_of_lines = format;
}

void
osw_log_set_run(const char *sweep, const char *id)
{
    (void)strlcpy(run_sweep, sweep != NULL ? sweep : "", sizeof(run_sweep));
    (void)strlcpy(run_id, id != NULL ? id : "", sizeof(run_id));
}

/* --- Lines ---------------------------------------------------------------- */

static const char *
level_name(enum osw_log_level level)
{
    static const char *const names[] = {"error", "warning", "info", "debug"};

    return names[level];
}

/* All but the program's name, which the system's log has in its own place. */
static void
write_text(char line[LINE_SIZE], const struct message *message)
{
    const bool error = message->level == OSW_LOG_ERROR;
    const bool run = message->run != NULL;
    const bool sweep = message->sweep != NULL;

    (void)snprintf(line,
                   LINE_SIZE,
                   "%s%s%s%s%s%s%s%s",
                   error ? "" : level_name(message->level),
                   error ? "" : ": ",
                   run ? "run " : "",
                   run ? message->run : "",
                   run ? ": " : "",
                   sweep ? message->sweep : "",
                   sweep ? ": " : "",
                   message->text);
}

/* The time as in RFC 3339. */
static void
write_time(char *text, size_t size)
{
    struct timespec now = {0, 0};
    struct tm utc;
    size_t length = 0;

    text[0] = '\0';
    (void)clock_gettime(CLOCK_REALTIME, &now);
    if (gmtime_r(&now.tv_sec, &utc) != NULL) {
        length = strftime(text, size, "%Y-%m-%dT%H:%M:%S", &utc);
        (void)snprintf(
            text + length, size - length, ".%03ldZ", now.tv_nsec / 1000000);
    }
}

static void
write_json(char line[LINE_SIZE], const struct message *message)
{
    char moment[40];
    char sweep[2 * sizeof(run_sweep)] = "null";
    size_t length = 0;

    write_time(moment, sizeof(moment));
    if (message->sweep != NULL) {
        (void)osw_json_field(sweep, sizeof(sweep), message->sweep);
    } else if (message->run != NULL) {
        (void)osw_json_field(sweep, sizeof(sweep), run_sweep);
    }
    length = (size_t)snprintf(line,
                              LINE_SIZE,
                              "{\"time\":\"%s\",\"level\":\"%s\","
                              "\"pid\":%ld,\"run\":%s,\"sweep\":%s,"
                              "\"message\":",
                              moment,
                              level_name(message->level),
                              (long)getpid(),
                              message->run != NULL ? message->run : "null",
                              sweep);
    length += osw_json_field(
        line + length, LINE_SIZE - strlen("}") - length, message->text);
    (void)strlcpy(line + length, "}", LINE_SIZE - length);
}

static void
write_line(char line[LINE_SIZE], const struct message *message)
{
    if (format_of_lines == OSW_LOG_JSON) {
        write_json(line, message);
    } else {
        write_text(line, message);
    }
}

/* --- Where to ------------------------------------------------------------- */

static int
priority_of(enum osw_log_level level)
{
    static const int priorities[] = {LOG_ERR, LOG_WARNING, LOG_INFO, LOG_DEBUG};

    return priorities[level];
}

/* On stderr, in the form of the lines. */
static void
put_to_stderr(const struct message *message)
{
    const bool json = format_of_lines == OSW_LOG_JSON;
    char line[LINE_SIZE];

    write_line(line, message);
    osw_progress_clear();
    /* One call, one write: lines of several processes do not mix. */
    (void)fprintf(stderr, "%s%s\n", json ? "" : "order-sweep: ", line);
}

/* The system's log takes nothing, or no more: errno says why. */
static void
leave_system(void)
{
    const int failure = errno;
    char text[OSW_LOG_TEXT_SIZE];
    const struct message message = {.level = OSW_LOG_WARNING,
                                    .run = run_id[0] != '\0' ? run_id : NULL,
                                    .text = text};

    to_system = false;
    osw_system_log_close();
    (void)snprintf(text,
                   sizeof(text),
                   "--log: the log of the system takes nothing at %s: %s; "
                   "messages go to stderr from here on; see that its daemon "
                   "runs, or leave --log out",
                   osw_system_log_path(),
                   strerror(failure));
    if (osw_log_enabled(OSW_LOG_WARNING)) {
        put_to_stderr(&message);
    }
}

void
osw_log_set_target(enum osw_log_target target)
{
    osw_system_log_close();
    patience_ms = PATIENCE_MS;
    to_system = target == OSW_LOG_SYSLOG;
    if (to_system && !osw_system_log_open()) {
        leave_system();
    }
}

static bool
put_to_system(int priority, const char *line)
{
    bool taken = false;

    do {
        const int64_t before_ms = osw_clock_now_ms();

        taken = osw_system_log_write(priority, line, (int)patience_ms);
        patience_ms -= osw_clock_now_ms() - before_ms;
    } while (!taken && errno == EAGAIN && patience_ms > 0);
    if (patience_ms < 0) {
        patience_ms = 0;
    }
    return taken;
}

static void
put(const struct message *message)
{
    char line[LINE_SIZE];

    if (to_system) {
        write_line(line, message);
        if (put_to_system(priority_of(message->level), line)) {
            return;
        }
        leave_system();
    }
    put_to_stderr(message);
}

/* --- Messages ------------------------------------------------------------- */

static void log_text(enum osw_log_level level,
                     const char *sweep,
                     const char *format,
                     va_list arguments) __attribute__((format(printf, 3, 0)));

static void
log_text(enum osw_log_level level,
         const char *sweep,
         const char *format,
         va_list arguments)
{
    char text[OSW_LOG_TEXT_SIZE];
    char name[sizeof(run_sweep)];
    struct message message = {.level = level, .text = text};

    if (!osw_log_enabled(level)) {
        return;
    }
    osw_format_line(text, sizeof(text), format, arguments);
    if (sweep != NULL) {
        osw_one_line(name, sizeof(name), sweep);
        message.sweep = name;
    }
    if (run_id[0] != '\0' && (sweep == NULL || strcmp(name, run_sweep) == 0)) {
        message.run = run_id;
    }
    put(&message);
}

void
osw_log(enum osw_log_level level, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    log_text(level, NULL, format, arguments);
    va_end(arguments);
}

void
osw_log_of(enum osw_log_level level, const char *sweep, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    log_text(level, sweep, format, arguments);
    va_end(arguments);
}

void
osw_log_error(const char *sweep, const struct osw_error *error)
{
    const char *separator = error->hint[0] != '\0' ? "; " : "";

    osw_log_of(
        OSW_LOG_ERROR, sweep, "%s%s%s", error->message, separator, error->hint);
}
