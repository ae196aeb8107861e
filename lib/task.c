#include "task.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "injection_point.h"
#include "interrupt.h"
#include "log.h"

/* How long after the hard limit answers are still waited for. */
#define DRAIN_MS 2000

void
osw_task_note(struct osw_task *task, enum osw_exit exit)
{
    task->exit = osw_exit_graver(task->exit, exit);
}

void
osw_task_tell(struct osw_task *task,
              const char *sweep,
              const struct osw_error *error)
{
    osw_log_error(sweep, error);
    osw_task_note(task, error->exit);
}

/* In the words of a run that has begun. */
static const char *
why_stopped(enum osw_exit exit)
{
    if (exit == OSW_EXIT_UNAVAILABLE) {
        return "lost";
    }
    return exit == OSW_EXIT_TEMPORARY && osw_interrupt_count() > 0 ? "signal"
                                                                   : "broken";
}

void
osw_task_fail(struct osw_task *task,
              const char *sweep,
              const struct osw_error *error)
{
    const struct osw_report report = {.sweep = sweep,
                                      .stopped = why_stopped(error->exit),
                                      .rest = true, /* nobody knows */
                                      .exit = error->exit,
                                      .error = error->message};

    osw_task_tell(task, sweep, error);
    if (task->format == OSW_REPORT_JSON) {
        osw_report_write(task->out, task->format, &report);
    }
}

static enum osw_report_format
choose_format(const struct osw_options *options, FILE *out)
{
    switch (options->format) {
    case OSW_FORMAT_TEXT:
        return OSW_REPORT_TEXT;
    case OSW_FORMAT_JSON:
        return OSW_REPORT_JSON;
    case OSW_FORMAT_AUTO:
        break;
    }
    /* cron mails whatever is printed, each minute */
    if (options->verbosity > 0 ||
        (options->verbosity == 0 && isatty(fileno(out)) == 1)) {
        return OSW_REPORT_TEXT;
    }
    return OSW_REPORT_NONE;
}

void
osw_task_begin(struct osw_task *task,
               const struct osw_options *options,
               int64_t started_ms,
               FILE *out)
{
    memset(task, 0, sizeof(*task));
    task->options = options;
    task->out = out;
    task->format = choose_format(options, out);
    task->began_ms = started_ms;
    task->soft_ms = started_ms + options->time_limit_ms;
    task->hard_ms = started_ms + options->hard_limit_ms;
    task->drain_ms = task->hard_ms + DRAIN_MS;
    /* One order that takes for ever must not eat the whole run, each run. */
    task->limits.statement_ms = options->time_limit_ms / 4;
    task->limits.idle_ms = options->time_limit_ms + OSW_IDLE_MARGIN_MS;
    task->limits.asynchronous = options->durability == OSW_DURABILITY_BATCH;
    if (options->window_ms >= 0) {
        (void)snprintf(task->window_text,
                       sizeof(task->window_text),
                       "%" PRId64 " milliseconds",
                       options->window_ms);
        task->window = task->window_text;
    }
}

void
osw_task_begin_answer(struct osw_task *task,
                      const struct osw_options *options,
                      int64_t started_ms,
                      FILE *out)
{
    osw_task_begin(task, options, started_ms, out);
    if (task->format == OSW_REPORT_NONE) {
        task->format = OSW_REPORT_TEXT;
    }
    task->limits.statement_ms = options->hard_limit_ms;
}

static bool
connect_to(struct osw_task *task, bool primary, struct osw_error *error)
{
    const struct osw_options *options = task->options;

    task->target.dbname = options->dbname;
    task->target.host = options->host;
    task->target.port = options->port;
    task->target.user = options->user;
    task->target.primary = primary;
    OSW_INJECTION_POINT("before-connect");
    if (!osw_pg_connect(&task->pg, &task->target, task->hard_ms, error)) {
        return false;
    }
    osw_session_begin_look(&task->session, task->pg, &task->limits);
    return true;
}

bool
osw_task_open(struct osw_task *task, bool primary)
{
    struct osw_error error = OSW_ERROR_INIT;

    if (!connect_to(task, primary, &error)) {
        osw_task_fail(task, NULL, &error);
        return false;
    }
    return true;
}

bool
osw_task_open_any(struct osw_task *task)
{
    struct osw_error ignored = OSW_ERROR_INIT;

    return connect_to(task, true, &ignored) || osw_task_open(task, false);
}

void
osw_task_fail_several(struct osw_task *task, const char *what)
{
    const struct osw_probe *probe = &task->probe;
    struct osw_error error = OSW_ERROR_INIT;
    char names[sizeof(error.message)];

    osw_probe_names(probe, names, sizeof(names));
    osw_error_set(&error,
                  OSW_EXIT_USAGE,
                  "%s: there are %d sweeps; say which with --sweep: %s",
                  what,
                  probe->count,
                  names);
    osw_task_fail(task, NULL, &error);
}

/* A window that the definition cannot take, or that means several at once. */
static bool
check_window(struct osw_task *task)
{
    const struct osw_probe *probe = &task->probe;
    struct osw_error error = OSW_ERROR_INIT;

    if (task->window == NULL) {
        return true;
    }
    if (probe->count > 1) {
        osw_task_fail_several(task, "--window");
        return false;
    }
    if (probe->sweeps[0].shorter && !task->options->dry_run) {
        osw_error_set(
            &error,
            OSW_EXIT_USAGE,
            "--window: shorter than the one %s is defined with; write "
            "a longer one, or add --dry-run to see what it would mean",
            probe->sweeps[0].name);
    } else if (!probe->sweeps[0].takes_window) {
        osw_error_set(&error,
                      OSW_EXIT_USAGE,
                      "--window: %s has a deadline for each order; leave "
                      "--window out",
                      probe->sweeps[0].name);
    } else {
        return true;
    }
    osw_task_fail(task, NULL, &error);
    return false;
}

bool
osw_task_look(struct osw_task *task)
{
    struct osw_error error = OSW_ERROR_INIT;

    if (!osw_probe(task->pg,
                   task->options->sweep,
                   task->window,
                   task->hard_ms,
                   &task->probe,
                   &error) ||
        !osw_session_settle(&task->session,
                            task->options->pooler,
                            task->probe.server_pid,
                            task->probe.isolation,
                            &error)) {
        osw_task_fail(task, NULL, &error);
        return false;
    }
    OSW_INJECTION_POINT("after-probe");
    return check_window(task);
}

bool
osw_task_look_again(struct osw_task *task)
{
    struct osw_error error = OSW_ERROR_INIT;

    osw_probe_clear(&task->probe);
    if (!osw_probe_again(task->pg,
                         task->options->sweep,
                         task->window,
                         task->hard_ms,
                         &task->probe,
                         &error)) {
        osw_task_fail(task, NULL, &error);
        return false;
    }
    return check_window(task);
}

bool
osw_task_set_session(struct osw_task *task)
{
    struct osw_error error = OSW_ERROR_INIT;

    if (!osw_session_set(&task->session, task->hard_ms, &error)) {
        osw_task_fail(task, NULL, &error);
        return false;
    }
    return true;
}

bool
osw_task_know_session(struct osw_task *task)
{
    struct osw_error error = OSW_ERROR_INIT;

    if (!osw_session_ask(
            &task->session, task->options->pooler, task->hard_ms, &error)) {
        osw_task_fail(task, NULL, &error);
        return false;
    }
    return osw_task_set_session(task);
}

void
osw_task_end(struct osw_task *task)
{
    osw_probe_clear(&task->probe);
    osw_pg_close(task->pg);
}
