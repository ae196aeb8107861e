#include "command.h"

#include <inttypes.h>
#include <stdlib.h>

#include "check.h"
#include "clock.h"
#include "explain.h"
#include "fault.h"
#include "late.h"
#include "migrate.h"
#include "overview.h"
#include "pg.h"
#include "preview.h"
#include "probe.h"
#include "report.h"
#include "retry.h"
#include "screen.h"
#include "situation.h"
#include "task.h"

/* What a run would do with a sweep.  False if the transaction is of no use. */
static bool
show(struct osw_task *task,
     const struct osw_probe_sweep *sweep,
     const struct osw_screen *screen)
{
    struct osw_error error = OSW_ERROR_INIT;

    if (osw_probe_failed(task->pg, sweep, task->hard_ms, &error)) {
        osw_task_fail(task, sweep->name, &error);
        return true;
    }
    if (!osw_preview(task->pg,
                     sweep->name,
                     sweep->paused,
                     task->window,
                     task->options->limit,
                     task->hard_ms,
                     task->format,
                     screen,
                     &error)) {
        osw_task_fail(task, sweep->name, &error);
        return false;
    }
    return true;
}

static void
show_all(struct osw_task *task, const struct osw_screen *screen)
{
    struct osw_error error = OSW_ERROR_INIT;

    for (int i = 0; i < task->probe.count; i++) {
        if (!show(task, &task->probe.sweeps[i], screen)) {
            return;
        }
    }
    if (!osw_preview_end(task->pg, task->hard_ms, &error)) {
        osw_fault_classify(&error);
        osw_task_fail(task, NULL, &error);
    }
}

/* Look at all sweeps in one transaction, and leave the database. */
static void
dry_run(struct osw_task *task, const struct osw_screen *screen)
{
    struct osw_error error = OSW_ERROR_INIT;

    if (osw_task_open(task, false) && osw_task_look(task) &&
        osw_task_set_session(task)) {
        if (osw_preview_begin(task->pg, task->hard_ms, &error)) {
            show_all(task, screen);
        } else {
            osw_fault_classify(&error);
            osw_task_fail(task, NULL, &error);
        }
    }
    osw_task_end(task);
}

enum osw_exit
osw_command_dry_run(const struct osw_options *options,
                    int64_t started_ms,
                    FILE *out)
{
    struct osw_task task;
    struct osw_screen screen;
    struct osw_error error = OSW_ERROR_INIT;
    char *text = NULL;
    size_t size = 0;

    osw_task_begin_answer(&task, options, started_ms, out);
    /* Written when the transaction is over: who reads may stop reading. */
    task.out = open_memstream(&text, &size);
    if (task.out != NULL) {
        osw_screen_init(&screen, task.out, fileno(out));
        dry_run(&task, &screen);
    }
    if (task.out == NULL || fclose(task.out) != 0) {
        osw_error_set(&error, OSW_EXIT_INTERNAL, "out of memory");
        task.out = out;
        osw_task_fail(&task, NULL, &error);
    } else {
        (void)fwrite(text, 1, size, out); /* main tells a failure */
    }
    free(text);
    return task.exit;
}

/* Two connections, each as a run would use it. */
static bool
probe_sessions(struct osw_task *task, struct osw_check_counts *counts)
{
    struct osw_task other;
    struct osw_error error = OSW_ERROR_INIT;
    bool done = false;

    osw_task_begin(&other, task->options, osw_clock_now_ms(), task->out);
    other.format = task->format;
    if (!osw_task_open(&other, true)) {
        osw_task_note(task, other.exit);
        return false;
    }
    done = osw_check_probe(task->pg,
                           other.pg,
                           task->session.pooled,
                           task->hard_ms,
                           task->format,
                           task->out,
                           counts,
                           &error);
    osw_task_end(&other);
    if (!done) {
        osw_task_fail(task, NULL, &error);
    }
    return done;
}

enum osw_exit
osw_command_check(const struct osw_options *options,
                  int64_t started_ms,
                  FILE *out)
{
    struct osw_task task;
    struct osw_check_counts counts = {0, 0, 0, 0, false};
    struct osw_error error = OSW_ERROR_INIT;

    osw_task_begin_answer(&task, options, started_ms, out);
    if (osw_task_open_any(&task) && osw_task_know_session(&task)) {
        if (!osw_check(task.pg,
                       options->role,
                       task.hard_ms,
                       task.format,
                       out,
                       &counts,
                       &error)) {
            osw_task_fail(&task, NULL, &error);
        } else if (options->probe && !counts.blind) {
            (void)probe_sessions(&task, &counts);
        }
    }
    if (counts.fail > 0) {
        osw_task_note(&task, OSW_EXIT_CONFIG);
    } else if (counts.warn > 0) {
        osw_task_note(&task, OSW_EXIT_PARTIAL);
    }
    osw_task_end(&task);
    return task.exit;
}

static void
explain(struct osw_task *task, const struct osw_probe_sweep *sweep)
{
    struct osw_pg_answer parts = OSW_PG_ANSWER_INIT;
    struct osw_error error = OSW_ERROR_INIT;
    bool broken = false;

    if (!osw_explain_ask(task->pg,
                         sweep->name,
                         task->options->key,
                         task->options->key_columns,
                         task->hard_ms,
                         &parts,
                         &error)) {
        osw_task_fail(task, NULL, &error);
        return;
    }
    broken = osw_probe_failed(task->pg, sweep, task->hard_ms, &error);
    osw_explain_write(
        task->out, task->format, &parts, broken ? error.message : NULL);
    if (broken || osw_explain_raised(&parts, &error)) {
        osw_task_fail(task, sweep->name, &error);
    }
    osw_pg_answer_clear(&parts);
}

enum osw_exit
osw_command_explain(const struct osw_options *options,
                    int64_t started_ms,
                    FILE *out)
{
    struct osw_task task;

    osw_task_begin_answer(&task, options, started_ms, out);
    if (osw_task_open(&task, false) && osw_task_look(&task) &&
        osw_task_set_session(&task)) {
        if (task.probe.count == 1) {
            explain(&task, &task.probe.sweeps[0]);
        } else {
            osw_task_fail_several(&task, "explain");
        }
    }
    osw_task_end(&task);
    return task.exit;
}

/* False if the database does not tell any more. */
static bool
tell_status(struct osw_task *task,
            const struct osw_probe_sweep *sweep,
            const struct osw_screen *screen)
{
    const struct osw_options *options = task->options;
    struct osw_situation situation = OSW_SITUATION_INIT;
    struct osw_error cause = OSW_ERROR_INIT;
    struct osw_error error = OSW_ERROR_INIT;
    const bool broken =
        osw_probe_failed(task->pg, sweep, task->hard_ms, &cause);
    const struct osw_overview overview = {
        .sweep = sweep->name,
        .broken = broken ? cause.message : NULL,
        .limits = {.overdue_ms = options->max_overdue_ms,
                   .age_ms = options->max_age_ms,
                   .quarantined = options->max_quarantined},
        .situation = &situation,
    };
    bool done = osw_situation_ask(task->pg,
                                  sweep->id,
                                  sweep->name,
                                  broken,
                                  task->hard_ms,
                                  &situation,
                                  &error);

    if (done && !osw_overview_write(&overview, task->format, screen)) {
        osw_error_set(&error, OSW_EXIT_INTERNAL, "out of memory");
        done = false;
    }
    if (!done) {
        osw_task_fail(task, sweep->name, &error);
    } else if (broken) {
        osw_task_note(task, cause.exit);
    } else if (osw_situation_book(&situation, BOOK_ORDERS) < 0) {
        /* What was not looked at may be anything. */
        osw_task_note(task, OSW_EXIT_TEMPORARY);
    } else if (osw_overview_is_over(&overview)) {
        osw_task_note(task, OSW_EXIT_PARTIAL);
    }
    osw_situation_clear(&situation);
    return done;
}

enum osw_exit
osw_command_status(const struct osw_options *options,
                   int64_t started_ms,
                   FILE *out)
{
    struct osw_task task;
    struct osw_screen screen;

    osw_task_begin_answer(&task, options, started_ms, out);
    osw_screen_init(&screen, out, fileno(out));
    if (osw_task_open(&task, false) && osw_task_look(&task) &&
        osw_task_set_session(&task)) {
        for (int i = 0; i < task.probe.count; i++) {
            if (i > 0 && task.format == OSW_REPORT_TEXT) {
                (void)fputc('\n', out);
            }
            if (!tell_status(&task, &task.probe.sweeps[i], &screen)) {
                break;
            }
        }
    }
    osw_task_end(&task);
    return task.exit;
}

static void
retry_all(struct osw_task *task)
{
    const struct osw_options *options = task->options;
    struct osw_error error = OSW_ERROR_INIT;
    int64_t released = 0;

    for (int i = 0; i < task->probe.count; i++) {
        if (!osw_retry(task->pg,
                       task->probe.sweeps[i].name,
                       options->key,
                       options->key_columns,
                       task->hard_ms,
                       task->format,
                       task->out,
                       &released,
                       &error)) {
            osw_task_fail(task, task->probe.sweeps[i].name, &error);
            return;
        }
    }
    if (task->format == OSW_REPORT_TEXT && released == 0) {
        (void)fputs("no failed order waits\n", task->out);
    } else if (task->format == OSW_REPORT_TEXT) {
        (void)fprintf(task->out,
                      "orders that the next run tries again: %" PRId64 "\n",
                      released);
    }
}

enum osw_exit
osw_command_retry(const struct osw_options *options,
                  int64_t started_ms,
                  FILE *out)
{
    struct osw_task task;

    osw_task_begin_answer(&task, options, started_ms, out);
    if (osw_task_open(&task, true) && osw_task_look(&task) &&
        osw_task_set_session(&task)) {
        if (options->key_columns > 0 && task.probe.count > 1) {
            osw_task_fail_several(&task, "retry");
        } else {
            retry_all(&task);
        }
    }
    osw_task_end(&task);
    return task.exit;
}

enum osw_exit
osw_command_late(const struct osw_options *options,
                 int64_t started_ms,
                 FILE *out)
{
    struct osw_task task;
    struct osw_error error = OSW_ERROR_INIT;
    int64_t orders = 0;

    osw_task_begin_answer(&task, options, started_ms, out);
    if (osw_task_open(&task, false) && osw_task_look(&task) &&
        osw_task_set_session(&task)) {
        for (int i = 0; i < task.probe.count; i++) {
            if (!osw_late(task.pg,
                          task.probe.sweeps[i].name,
                          task.hard_ms,
                          task.format,
                          out,
                          &orders,
                          &error)) {
                osw_task_fail(&task, task.probe.sweeps[i].name, &error);
            }
        }
    }
    if (orders > 0) {
        osw_task_note(&task, OSW_EXIT_PARTIAL);
    }
    osw_task_end(&task);
    return task.exit;
}

enum osw_exit
osw_command_migrate(const struct osw_options *options, FILE *out)
{
    struct osw_task task;
    struct osw_migrate_result result = {0, 0, 0};
    struct osw_error error = OSW_ERROR_INIT;

    if (options->print) {
        osw_migrate_print(out);
        return OSW_EXIT_OK;
    }
    osw_task_begin(&task, options, osw_clock_now_ms(), out);
    if (osw_task_open(&task, true)) {
        if (!osw_migrate(task.pg, &result, &error)) {
            osw_task_fail(&task, NULL, &error);
        } else if (task.format != OSW_REPORT_NONE) {
            (void)fprintf(out,
                          "schema order_sweep: version %d, was %d; %d "
                          "definition%s generated anew\n",
                          result.to,
                          result.from,
                          result.regenerated,
                          result.regenerated == 1 ? "" : "s");
        }
    }
    osw_task_end(&task);
    return task.exit;
}
