#include "run.h"

#include <inttypes.h>
#include <string.h>

#include "claim.h"
#include "clock.h"
#include "definition.h"
#include "fault.h"
#include "injection_point.h"
#include "interrupt.h"
#include "jobs.h"
#include "log.h"
#include "pg.h"
#include "preview.h"
#include "probe.h"
#include "progress.h"
#include "report.h"
#include "runlog.h"
#include "stream.h"
#include "sweep.h"
#include "task.h"

/* A sweep without a sign of life for so long is looked after by nobody. */
#define SILENT_S 300

/* With several connections: the end of the time for what is in flight, in which
 * the books are closed. */
#define BOOKS_MS 500

/* The orders to sweep are counted for the progress line in at most this time,
 * and at most a tenth of the sweep's. */
#define COUNT_MS 2000

struct run {
    struct osw_task task;
    struct osw_claim claim;
    struct osw_jobs jobs;
    int64_t orders_left; /* of --max-orders; 0: no limit */
    bool watched;        /* a person looks on */
    struct osw_progress progress;
};

/* What a turn of one sweep came to. */
enum turn {
    TURN_OVER,
    TURN_REST, /* worth another turn if there is time */
    TURN_LOST, /* the connection is of no more use */
};

static void
report_idle(struct run *run,
            const struct osw_probe_sweep *sweep,
            const char *why,
            enum osw_exit exit,
            const char *error)
{
    const struct osw_report report = {.sweep = sweep->name,
                                      .stopped = why,
                                      /* of a broken one nobody knows */
                                      .rest = sweep->due || error != NULL,
                                      .next_deadline = sweep->next_deadline,
                                      .exit = exit,
                                      .error = error};

    osw_report_write(run->task.out, run->task.format, &report);
}

static void
report_run(struct run *run,
           const struct osw_probe_sweep *sweep,
           const char *run_id,
           const struct osw_sweep_result *result,
           int64_t elapsed_ms,
           enum osw_exit exit)
{
    struct osw_report report = {.sweep = sweep->name,
                                .run_id = run_id,
                                .stopped = osw_sweep_stop_name(result->stop),
                                .rest = result->rest,
                                .elapsed_ms = elapsed_ms,
                                .exit = exit};

    memcpy(report.counts, result->counts, sizeof(report.counts));
    if (result->error.message[0] != '\0') {
        report.error = result->error.message;
    }
    osw_progress_clear();
    osw_report_write(run->task.out, run->task.format, &report);
}

/* Somebody else sweeps; is he alive? */
static void
handle_busy(struct run *run, const struct osw_probe_sweep *sweep)
{
    struct osw_error error = OSW_ERROR_INIT;
    enum osw_exit exit = OSW_EXIT_OK;

    if (sweep->silent_s > SILENT_S) {
        osw_error_set(&error,
                      OSW_EXIT_TEMPORARY,
                      "%s: another session has held the lock without a sign "
                      "of life for %" PRId64 " s",
                      sweep->name,
                      sweep->silent_s);
        osw_error_hint(&error,
                       "look for it in pg_stat_activity and pg_locks: a run "
                       "that hangs, or a transaction that called define");
        osw_task_tell(&run->task, NULL, &error);
        exit = error.exit;
    } else if (run->task.options->fail_if_busy) {
        osw_error_set(&error,
                      OSW_EXIT_TEMPORARY,
                      "%s: another run is working on it",
                      sweep->name);
        osw_task_tell(&run->task, NULL, &error);
        exit = error.exit;
    }
    report_idle(
        run, sweep, "busy", exit, exit != OSW_EXIT_OK ? error.message : NULL);
}

static enum osw_exit
exit_of(const struct osw_sweep_result *result)
{
    enum osw_exit exit = OSW_EXIT_OK;

    switch (result->stop) {
    case OSW_SWEEP_DONE:
    case OSW_SWEEP_MAX_ORDERS:
    case OSW_SWEEP_TIME_LIMIT:
    case OSW_SWEEP_HARD_LIMIT:
        break;
    case OSW_SWEEP_SIGNAL:
        exit = OSW_EXIT_TEMPORARY;
        break;
    case OSW_SWEEP_FAILURES:
        exit = osw_sqlstate_is_setup(result->error.sqlstate) ? OSW_EXIT_CONFIG
                                                             : OSW_EXIT_PARTIAL;
        break;
    case OSW_SWEEP_BROKEN:
    case OSW_SWEEP_LOST:
        exit = result->error.exit;
        break;
    }
    if (result->counts[OSW_OUTCOME_FAILED] > 0 ||
        result->counts[OSW_OUTCOME_UNKNOWN] > 0) {
        exit = osw_exit_graver(exit, OSW_EXIT_PARTIAL);
    }
    return exit;
}

/* One line on what ended the sweep, where it was not its own end. */
static void
log_end(struct run *run, const char *name, struct osw_sweep_result *result)
{
    struct osw_error *error = &result->error;
    int64_t unknown = result->counts[OSW_OUTCOME_UNKNOWN];

    switch (result->stop) {
    case OSW_SWEEP_DONE:
    case OSW_SWEEP_MAX_ORDERS:
    case OSW_SWEEP_TIME_LIMIT:
        break;
    case OSW_SWEEP_HARD_LIMIT:
        osw_log(OSW_LOG_WARNING,
                "%s: hard limit reached, the orders in flight were cancelled",
                name);
        break;
    case OSW_SWEEP_SIGNAL:
        osw_log(OSW_LOG_ERROR,
                "%s: stopped by a signal after %" PRId64 " orders",
                name,
                result->counts[OSW_OUTCOME_SWEPT]);
        break;
    case OSW_SWEEP_FAILURES:
        osw_log(OSW_LOG_ERROR,
                "%s: %d orders in a row failed, and the newest ones too: %s "
                "(SQLSTATE %s); this looks like the shop's fault, so no "
                "attempt is recorded",
                name,
                OSW_SWEEP_STREAK,
                error->message,
                error->sqlstate);
        break;
    case OSW_SWEEP_BROKEN:
        osw_probe_blame(run->task.pg, name, run->task.drain_ms, error);
        osw_fault_classify(error);
        osw_task_tell(&run->task, name, error);
        break;
    case OSW_SWEEP_LOST:
        osw_task_tell(&run->task, name, error);
        break;
    }
    if (unknown > 0) {
        osw_log(OSW_LOG_ERROR,
                "%s: the outcome of %" PRId64 " orders is unknown; the next "
                "run settles them",
                name,
                unknown);
    }
}

/*
 * What others hold is passed by, and that is no failure; but it must not stay
 * so for ever, and nobody be told.  A look that takes long, for want of an
 * index, must not take the time to close the books.
 */
static void
look_for_left_over(struct run *run,
                   const struct osw_probe_sweep *sweep,
                   const char *run_id,
                   struct osw_sweep_result *result)
{
    struct osw_error left = OSW_ERROR_INIT;

    if (osw_clock_left_ms(run->task.hard_ms) <= run->task.limits.statement_ms) {
        return;
    }
    if (osw_runlog_left_over(run->task.pg, run_id, run->task.hard_ms, &left)) {
        osw_log(OSW_LOG_WARNING,
                "%s: %s; see order-sweep check",
                sweep->name,
                left.message);
        result->rest = true;
    } else if (left.sqlstate[0] != '\0') {
        osw_log(OSW_LOG_WARNING,
                "%s: what others hold is not known: %s",
                sweep->name,
                left.message);
    }
}

/*
 * Close the books: only after this flush is anything told as done.  Without
 * the connection that books they stay open.
 */
static enum turn
close_run(struct run *run,
          const struct osw_probe_sweep *sweep,
          const char *run_id,
          struct osw_sweep_result *result)
{
    struct osw_error error = OSW_ERROR_INIT;
    bool closed = !result->cut;

    if (result->stop == OSW_SWEEP_DONE) {
        look_for_left_over(run, sweep, run_id, result);
    }
    OSW_INJECTION_POINT("before-close");
    if (closed &&
        !osw_runlog_finish(
            run->task.pg, run_id, result, run->task.drain_ms, &error)) {
        closed = false;
        osw_fault_classify(&error);
        osw_task_tell(&run->task, sweep->name, &error);
        result->stop = OSW_SWEEP_LOST;
        result->error = error;
    }
    if (closed) {
        return result->rest && result->stop == OSW_SWEEP_TIME_LIMIT ? TURN_REST
                                                                    : TURN_OVER;
    }
    if (run->task.limits.asynchronous && !run->task.session.pooled &&
        result->counts[OSW_OUTCOME_SWEPT] > 0) {
        osw_log(OSW_LOG_ERROR,
                "%s: %" PRId64 " orders were swept, but are not known to be "
                "durable",
                sweep->name,
                result->counts[OSW_OUTCOME_SWEPT]);
        result->rest = true;
    }
    return TURN_LOST;
}

/* Before the sweep: its connection has nothing in flight yet.  False if that
 * is lost. */
static bool
begin_progress(struct run *run,
               const struct osw_probe_sweep *sweep,
               int64_t soft_ms,
               struct osw_error *error)
{
    const int64_t tenth_ms = osw_clock_left_ms(soft_ms) / 10;
    struct osw_progress *progress = &run->progress;

    if (!run->watched) {
        return true;
    }
    *progress = (struct osw_progress){.sweep = sweep->name,
                                      .soft_deadline_ms = soft_ms,
                                      .max_orders = run->orders_left,
                                      .due = -1};
    /* 0 would be no limit. */
    return tenth_ms == 0 ||
           osw_preview_count(run->task.pg,
                             sweep->name,
                             run->task.window,
                             tenth_ms < COUNT_MS ? tenth_ms : COUNT_MS,
                             run->task.hard_ms,
                             &progress->due,
                             error);
}

static void
watch(void *watcher, int64_t now_ms, int64_t swept, int64_t settled)
{
    osw_progress_update(watcher, now_ms, swept, settled);
}

static void
count_orders(struct run *run, const struct osw_sweep_result *result)
{
    if (run->task.options->max_orders > 0) {
        run->orders_left -= result->counts[OSW_OUTCOME_SWEPT];
    }
}

/* Sweep under the lock, with the run's row open. */
static enum turn
sweep_orders(struct run *run,
             const struct osw_probe_sweep *sweep,
             struct osw_definition *definition,
             const char *run_id,
             int64_t soft_ms)
{
    const struct osw_sweep_config config = {
        .name = sweep->name,
        .batch_size = run->task.options->batch_size,
        .jobs = run->jobs.count,
        /* More would only wait: see osw_pg_set_prologue. */
        .depth = run->task.session.pooled ? 1 : run->task.options->depth,
        .max_orders = run->orders_left,
        .max_rate = run->task.options->max_rate,
        .soft_deadline_ms = soft_ms,
        .hard_deadline_ms = run->task.hard_ms,
        /* One that fell silent must not use up the time to close the books. */
        .drain_deadline_ms =
            run->task.drain_ms - (run->jobs.count > 1 ? BOOKS_MS : 0),
        .watch = run->watched ? watch : NULL,
        .watcher = &run->progress,
    };
    struct osw_stream stream;
    struct osw_sweep_result result;
    struct osw_error error = OSW_ERROR_INIT;
    int64_t began_ms = osw_clock_now_ms();
    enum turn turn = TURN_LOST;
    enum osw_exit exit = OSW_EXIT_OK;

    if (!osw_stream_open(&stream,
                         run->jobs.pgs,
                         run->jobs.count,
                         definition,
                         run->task.window,
                         run_id,
                         &error)) {
        osw_stream_close(&stream);
        osw_task_fail(&run->task, sweep->name, &error);
        return TURN_LOST;
    }
    run->progress.began_ms = began_ms;
    osw_sweep(&config, &osw_stream_ops, &stream, &result);
    log_end(run, sweep->name, &result);
    turn = close_run(run, sweep, run_id, &result);
    exit = exit_of(&result);
    osw_task_note(&run->task, exit);
    count_orders(run, &result);
    OSW_INJECTION_POINT("before-report");
    report_run(
        run, sweep, run_id, &result, osw_clock_now_ms() - began_ms, exit);
    osw_stream_close(&stream);
    return turn;
}

static enum turn
open_run(struct run *run, const struct osw_probe_sweep *sweep, int64_t soft_ms)
{
    struct osw_definition definition;
    struct osw_error error = OSW_ERROR_INIT;
    char run_id[OSW_RUN_ID_SIZE];
    enum turn turn = TURN_OVER;

    if (!osw_definition_load(run->task.pg,
                             sweep->name,
                             run->task.hard_ms,
                             &definition,
                             &error)) {
        osw_fault_classify(&error);
        osw_task_fail(&run->task, sweep->name, &error);
        return error.sqlstate[0] == '\0' && error.exit == OSW_EXIT_UNAVAILABLE
                   ? TURN_LOST
                   : TURN_OVER;
    }
    if (osw_runlog_begin(run->task.pg,
                         sweep->name,
                         run->task.window,
                         run->task.hard_ms,
                         run_id,
                         &error) &&
        begin_progress(run, sweep, soft_ms, &error)) {
        osw_jobs_gather(&run->jobs,
                        run->task.options->jobs,
                        &definition.cancel,
                        &run->task.session,
                        &run->task.target,
                        &run->task.limits,
                        soft_ms);
        turn = sweep_orders(run, sweep, &definition, run_id, soft_ms);
    } else {
        osw_fault_classify(&error);
        osw_task_fail(&run->task, sweep->name, &error);
        turn = TURN_LOST;
    }
    osw_definition_clear(&definition);
    return turn;
}

static bool
may_go_on(const struct run *run)
{
    return osw_clock_now_ms() < run->task.soft_ms &&
           (run->task.options->max_orders == 0 || run->orders_left > 0) &&
           osw_interrupt_count() == 0;
}

/* The end of a turn that leaves as much time to each sweep still due. */
static int64_t
share_of_time(const struct run *run, int from)
{
    int64_t now = osw_clock_now_ms();
    int sharing = 0;

    for (int i = from; i < run->task.probe.count; i++) {
        sharing += run->task.probe.sweeps[i].due ? 1 : 0;
    }
    return sharing > 1 ? now + (run->task.soft_ms - now) / sharing
                       : run->task.soft_ms;
}

/*
 * No turn for this one: a signal has come, or time or orders are used up.  One
 * that had a turn before has its report.
 */
static enum turn
pass_over(struct run *run, const struct osw_probe_sweep *sweep, bool again)
{
    bool stopped = osw_interrupt_count() > 0;
    enum osw_exit exit = stopped ? OSW_EXIT_TEMPORARY : OSW_EXIT_OK;

    if (stopped) {
        osw_log(OSW_LOG_ERROR,
                "%s: stopped by a signal before %s",
                sweep->name,
                again ? "its next turn" : "it began");
        osw_task_note(&run->task, exit);
    }
    if (!again) {
        report_idle(run, sweep, stopped ? "signal" : "no turn", exit, NULL);
    }
    return TURN_OVER;
}

/* One turn of one sweep: claim it, sweep until soft_ms, let it go. */
static enum turn
take_turn(struct run *run,
          const struct osw_probe_sweep *sweep,
          int64_t soft_ms,
          bool again)
{
    struct osw_error error = OSW_ERROR_INIT;
    enum osw_claim_result claimed = OSW_CLAIM_WITHOUT;
    enum turn turn = TURN_LOST;

    if (run->task.options->lock) {
        claimed = osw_claim_take(
            &run->claim, sweep->name, sweep->id, run->task.hard_ms, &error);
    }
    switch (claimed) {
    case OSW_CLAIM_HELD:
    case OSW_CLAIM_WITHOUT:
        break;
    case OSW_CLAIM_BUSY:
        handle_busy(run, sweep);
        return TURN_OVER;
    case OSW_CLAIM_STOPPED:
        return pass_over(run, sweep, again);
    case OSW_CLAIM_FAILED:
        osw_task_fail(&run->task, sweep->name, &error);
        return TURN_LOST;
    }
    OSW_INJECTION_POINT("after-lock");
    turn = open_run(run, sweep, soft_ms);
    if (turn != TURN_LOST && claimed == OSW_CLAIM_HELD &&
        !osw_claim_release(
            &run->claim, sweep->id, run->task.drain_ms, &error)) {
        osw_log(OSW_LOG_WARNING, "%s: %s", sweep->name, error.message);
    }
    return turn;
}

/* All due sweeps share the time in turns, until none has a rest. */
static void
sweep_all(struct run *run, int due)
{
    enum turn turn = TURN_OVER;
    bool again = false;

    while (due > 0) {
        for (int i = 0; i < run->task.probe.count; i++) {
            struct osw_probe_sweep *sweep = &run->task.probe.sweeps[i];

            if (!sweep->due) {
                continue;
            }
            turn = may_go_on(run)
                       ? take_turn(run, sweep, share_of_time(run, i), again)
                       : pass_over(run, sweep, again);
            if (turn == TURN_LOST) {
                return;
            }
            if (turn == TURN_OVER) {
                sweep->due = false;
                due--;
            }
        }
        again = true;
    }
}

/* Sweeps with nothing to sweep, or that cannot be looked at; returns the
 * others. */
static int
sort_out(struct run *run)
{
    struct osw_error error = OSW_ERROR_INIT;
    int due = 0;

    for (int i = 0; i < run->task.probe.count; i++) {
        const struct osw_probe_sweep *sweep = &run->task.probe.sweeps[i];

        if (osw_probe_failed(run->task.pg, sweep, run->task.hard_ms, &error)) {
            osw_task_tell(&run->task, sweep->name, &error);
            report_idle(run, sweep, "broken", error.exit, error.message);
        } else if (sweep->due) {
            due++;
        } else {
            report_idle(run,
                        sweep,
                        sweep->paused ? "paused" : "nothing to sweep",
                        OSW_EXIT_OK,
                        NULL);
        }
    }
    return due;
}

static bool
is_silent(const struct osw_probe_sweep *sweep)
{
    return !sweep->due && !sweep->paused && sweep->error_message == NULL &&
           sweep->silent_s > SILENT_S;
}

/* A quiet sweep is told from a dead one by this; seldom, since it writes. */
static void
give_signs_of_life(struct run *run)
{
    struct osw_error error = OSW_ERROR_INIT;

    for (int i = 0; i < run->task.probe.count; i++) {
        const struct osw_probe_sweep *sweep = &run->task.probe.sweeps[i];

        if (is_silent(sweep) &&
            !osw_runlog_alive(
                run->task.pg, sweep->name, run->task.hard_ms, &error)) {
            osw_fault_classify(&error);
            osw_task_fail(&run->task, sweep->name, &error);
            return;
        }
    }
}

static bool
is_any_silent(const struct osw_probe *probe)
{
    for (int i = 0; i < probe->count; i++) {
        if (is_silent(&probe->sweeps[i])) {
            return true;
        }
    }
    return false;
}

enum osw_exit
osw_run(const struct osw_options *options, int64_t started_ms, FILE *out)
{
    struct run run = {.orders_left = options->max_orders,
                      .watched =
                          options->verbosity >= 0 && osw_progress_is_wanted()};

    osw_task_begin(&run.task, options, started_ms, out);
    osw_claim_open(
        &run.claim, &run.task.session, &run.task.target, &run.task.limits);
    if (osw_task_open(&run.task, true) && osw_task_look(&run.task)) {
        int due = sort_out(&run);

        osw_jobs_begin(&run.jobs, run.task.pg);
        if ((due > 0 || is_any_silent(&run.task.probe)) &&
            osw_task_set_session(&run.task)) {
            give_signs_of_life(&run);
            sweep_all(&run, due);
        }
    }
    osw_claim_close(&run.claim);
    osw_jobs_end(&run.jobs);
    osw_task_end(&run.task);
    return run.task.exit;
}
