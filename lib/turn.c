#include "turn.h"

#include <inttypes.h>
#include <string.h>

#include "clock.h"
#include "definition.h"
#include "fault.h"
#include "injection_point.h"
#include "interrupt.h"
#include "log.h"
#include "preview.h"
#include "report.h"
#include "stream.h"

/* With several connections: the end of the time for what is in flight, in which
 * the books are closed. */
#define BOOKS_MS 500

/* The orders to sweep are counted for the progress line in at most this time,
 * and at most a tenth of the sweep's. */
#define COUNT_MS 2000

/* What the journal needs no more is looked for in at most this time; the look
 * itself ends earlier, unless something holds it up. */
#define PRUNE_MS 1000

void
osw_turn_enter(const struct osw_turn *turn)
{
    const bool open = turn != NULL && turn->open;

    osw_log_set_run(open ? turn->name : NULL, open ? turn->run_id : NULL);
}

bool
osw_turn_may_begin(const struct osw_worker *worker)
{
    return osw_clock_now_ms() < worker->task.soft_ms &&
           (worker->task.options->max_orders == 0 || worker->orders_left > 0) &&
           osw_interrupt_count() == 0;
}

/* --- Reports ------------------------------------------------------------- */

void
osw_turn_report_none(struct osw_worker *worker,
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

    osw_report_write(worker->task.out, worker->task.format, &report);
}

void
osw_turn_report_busy(struct osw_worker *worker,
                     const struct osw_probe_sweep *sweep)
{
    struct osw_error error = OSW_ERROR_INIT;
    enum osw_exit exit = OSW_EXIT_OK;

    if (sweep->silent_s > OSW_SILENT_S) {
        osw_error_set(&error,
                      OSW_EXIT_TEMPORARY,
                      "another session has held the lock without a sign of "
                      "life for %" PRId64 " s",
                      sweep->silent_s);
        osw_error_hint(&error,
                       "look for it in pg_stat_activity and pg_locks: a run "
                       "that hangs, or a transaction that called define");
        osw_task_tell(&worker->task, sweep->name, &error);
        exit = error.exit;
    } else if (worker->task.options->fail_if_busy) {
        osw_error_set(
            &error, OSW_EXIT_TEMPORARY, "another run is working on it");
        osw_task_tell(&worker->task, sweep->name, &error);
        exit = error.exit;
    }
    osw_turn_report_none(worker,
                         sweep,
                         "busy",
                         exit,
                         exit != OSW_EXIT_OK ? error.message : NULL);
}

void
osw_turn_tell_stop(struct osw_worker *worker, const char *name, bool again)
{
    osw_log_of(OSW_LOG_ERROR,
               name,
               "stopped by a signal before %s",
               again ? "its next turn" : "it began");
    osw_task_note(&worker->task, OSW_EXIT_TEMPORARY);
}

static void
report(struct osw_worker *worker,
       const struct osw_turn *turn,
       enum osw_exit exit)
{
    const struct osw_sweep_result *result = &turn->result;
    struct osw_report report = {.sweep = turn->name,
                                .run_id = turn->run_id,
                                .stopped = osw_sweep_stop_name(result->stop),
                                .rest = result->rest,
                                .lateness = &result->lateness,
                                .elapsed_ms = turn->elapsed_ms,
                                .exit = exit};

    memcpy(report.counts, result->counts, sizeof(report.counts));
    if (result->error.message[0] != '\0') {
        report.error = result->error.message;
    }
    osw_progress_clear();
    osw_report_write(worker->task.out, worker->task.format, &report);
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

static void
log_signal(const char *name, const struct osw_sweep_result *result)
{
    osw_log_of(OSW_LOG_ERROR,
               name,
               "stopped by a signal after %" PRId64 " order%s",
               result->counts[OSW_OUTCOME_SWEPT],
               result->counts[OSW_OUTCOME_SWEPT] == 1 ? "" : "s");
}

void
osw_turn_stop(struct osw_turn *turn)
{
    if (turn->result.stop == OSW_SWEEP_DONE ||
        turn->result.stop == OSW_SWEEP_TIME_LIMIT) {
        turn->result.stop = OSW_SWEEP_SIGNAL;
        osw_turn_enter(turn);
        log_signal(turn->name, &turn->result);
        osw_turn_enter(NULL);
    }
}

/* One line on what ended the sweep, where it was not its own end. */
static void
log_end(struct osw_worker *worker,
        const char *name,
        struct osw_sweep_result *result)
{
    struct osw_error *error = &result->error;
    int64_t unknown = result->counts[OSW_OUTCOME_UNKNOWN];

    switch (result->stop) {
    case OSW_SWEEP_DONE:
    case OSW_SWEEP_MAX_ORDERS:
    case OSW_SWEEP_TIME_LIMIT:
        break;
    case OSW_SWEEP_HARD_LIMIT:
        osw_log_of(OSW_LOG_WARNING,
                   name,
                   "hard limit reached, the orders in flight were cancelled");
        break;
    case OSW_SWEEP_SIGNAL:
        log_signal(name, result);
        break;
    case OSW_SWEEP_FAILURES:
        osw_log_of(OSW_LOG_ERROR,
                   name,
                   "%d orders in a row failed, and the newest ones too: %s "
                   "(SQLSTATE %s); this looks like the shop's fault, so no "
                   "attempt is recorded",
                   OSW_SWEEP_STREAK,
                   error->message,
                   error->sqlstate);
        break;
    case OSW_SWEEP_BROKEN:
        osw_probe_blame(worker->task.pg, name, worker->task.drain_ms, error);
        osw_fault_classify(error);
        osw_task_tell(&worker->task, name, error);
        break;
    case OSW_SWEEP_LOST:
        osw_task_tell(&worker->task, name, error);
        break;
    }
    if (unknown > 0) {
        osw_log_of(OSW_LOG_ERROR,
                   name,
                   "the outcome of %" PRId64 " order%s is unknown; the next "
                   "run settles %s",
                   unknown,
                   unknown == 1 ? "" : "s",
                   unknown == 1 ? "it" : "them");
    }
}

/* --- The close ------------------------------------------------------------ */

/*
 * What others hold is passed by, and that is no failure; but it must not stay
 * so for ever, and nobody be told.  A look that takes long, for want of an
 * index, leaves half of the time to close the books.
 */
static void
look_for_left_over(struct osw_worker *worker, struct osw_turn *turn)
{
    struct osw_error left = OSW_ERROR_INIT;
    struct osw_task *task = &worker->task;
    int64_t limit_ms = osw_clock_left_ms(task->hard_ms) / 2;

    if (limit_ms > task->limits.statement_ms) {
        limit_ms = task->limits.statement_ms;
    }
    if (limit_ms == 0) {
        return; /* it would be no limit */
    }
    if (osw_runlog_left_over(
            task->pg, turn->run_id, limit_ms, task->hard_ms, &left)) {
        osw_log_of(OSW_LOG_WARNING,
                   turn->name,
                   "%s; see order-sweep check",
                   left.message);
        turn->result.rest = true;
    } else if (left.sqlstate[0] != '\0') {
        osw_log_of(OSW_LOG_WARNING,
                   turn->name,
                   "what others hold is not known: %s",
                   left.message);
    }
}

/*
 * Close the books: only after this flush is anything told as done.  Without
 * the connection that books they stay open.  *prune tells if the journal is to
 * be pruned then.
 */
static bool
close_books(struct osw_worker *worker, struct osw_turn *turn, bool *prune)
{
    struct osw_sweep_result *result = &turn->result;
    struct osw_error error = OSW_ERROR_INIT;
    bool closed = !result->cut;

    if (result->stop == OSW_SWEEP_DONE) {
        look_for_left_over(worker, turn);
    }
    OSW_INJECTION_POINT("before-close");
    if (closed && !osw_runlog_finish(worker->task.pg,
                                     turn->run_id,
                                     result,
                                     worker->task.drain_ms,
                                     prune,
                                     &error)) {
        closed = false;
        osw_fault_classify(&error);
        osw_task_tell(&worker->task, turn->name, &error);
        result->stop = OSW_SWEEP_LOST;
        result->error = error;
    }
    if (closed) {
        return true;
    }
    if (worker->task.limits.asynchronous && !worker->task.session.pooled &&
        result->counts[OSW_OUTCOME_SWEPT] > 0) {
        osw_log_of(OSW_LOG_ERROR,
                   turn->name,
                   "%" PRId64 " %s not known to be durable",
                   result->counts[OSW_OUTCOME_SWEPT],
                   result->counts[OSW_OUTCOME_SWEPT] == 1
                       ? "order was swept, but is"
                       : "orders were swept, but are");
        result->rest = true;
    }
    return false;
}

/*
 * What the journal needs no more goes last, a part at a time: nothing hangs on
 * it, and where it fails it is told, and no more.
 */
static void
prune_journal(struct osw_worker *worker, const struct osw_turn *turn)
{
    struct osw_error error = OSW_ERROR_INIT;
    struct osw_task *task = &worker->task;
    int64_t limit_ms = osw_clock_left_ms(task->hard_ms) / 2;

    if (limit_ms > PRUNE_MS) {
        limit_ms = PRUNE_MS;
    }
    if (limit_ms == 0 || osw_interrupt_count() > 0) {
        return; /* it would be no limit; whoever stops a run waits */
    }
    if (!osw_runlog_prune(
            task->pg, turn->run_id, limit_ms, task->hard_ms, &error)) {
        osw_log_of(OSW_LOG_WARNING,
                   turn->name,
                   "the journal was not pruned: %s",
                   error.message);
    }
}

bool
osw_turn_close(struct osw_worker *worker, struct osw_turn *turn)
{
    enum osw_exit exit = OSW_EXIT_OK;
    bool prune = false;
    bool closed = false;

    osw_turn_enter(turn);
    closed = close_books(worker, turn, &prune);
    osw_turn_enter(NULL);
    exit = exit_of(&turn->result);
    osw_task_note(&worker->task, exit);
    OSW_INJECTION_POINT("before-report");
    report(worker, turn, exit);
    turn->open = false;
    if (prune) {
        prune_journal(worker, turn);
    }
    return closed;
}

bool
osw_turn_live(struct osw_worker *worker, const char *name)
{
    struct osw_error error = OSW_ERROR_INIT;

    if (!osw_runlog_alive(
            worker->task.pg, name, worker->task.hard_ms, &error)) {
        osw_fault_classify(&error);
        osw_task_fail(&worker->task, name, &error);
        return false;
    }
    return true;
}

/* --- The work ------------------------------------------------------------- */

/* Before the sweep: its connection has nothing in flight yet.  False if that
 * is lost. */
static bool
begin_progress(struct osw_worker *worker,
               const char *name,
               int64_t soft_ms,
               struct osw_error *error)
{
    const int64_t tenth_ms = osw_clock_left_ms(soft_ms) / 10;
    struct osw_progress *progress = &worker->progress;

    if (!worker->watched) {
        return true;
    }
    *progress = (struct osw_progress){.sweep = name,
                                      .soft_deadline_ms = soft_ms,
                                      .max_orders = worker->orders_left,
                                      .due = -1};
    /* 0 would be no limit. */
    return tenth_ms == 0 ||
           osw_preview_count(worker->task.pg,
                             name,
                             worker->task.window,
                             tenth_ms < COUNT_MS ? tenth_ms : COUNT_MS,
                             worker->task.hard_ms,
                             &progress->due,
                             error);
}

static void
watch(void *watcher, int64_t now_ms, int64_t swept, int64_t settled)
{
    osw_progress_update(watcher, now_ms, swept, settled);
}

/* The run's row, once a turn. */
static bool
open_books(struct osw_worker *worker,
           struct osw_turn *turn,
           int64_t soft_ms,
           struct osw_error *error)
{
    if (turn->open) {
        return true;
    }
    memset(&turn->result, 0, sizeof(turn->result));
    turn->elapsed_ms = 0;
    turn->opened_ms = osw_clock_now_ms();
    if (!osw_runlog_begin(worker->task.pg,
                          turn->name,
                          worker->task.window,
                          worker->task.hard_ms,
                          turn->run_id,
                          error)) {
        return false;
    }
    osw_log_set_run(turn->name, turn->run_id);
    turn->open = begin_progress(worker, turn->name, soft_ms, error);
    return turn->open;
}

/* What a sweeping came to is added; why it ended is that of the last. */
static void
add_result(struct osw_worker *worker,
           struct osw_turn *turn,
           const struct osw_sweep_result *more)
{
    struct osw_sweep_result *result = &turn->result;

    for (int i = 0; i < OSW_OUTCOME_COUNT; i++) {
        result->counts[i] += more->counts[i];
    }
    osw_lateness_merge(&result->lateness, &more->lateness);
    result->stop = more->stop;
    result->rest = more->rest;
    result->cut = more->cut;
    result->error = more->error;
    if (worker->task.options->max_orders > 0) {
        worker->orders_left -= more->counts[OSW_OUTCOME_SWEPT];
    }
}

static void
sweep_share(struct osw_worker *worker,
            struct osw_turn *turn,
            struct osw_stream *stream,
            int share,
            int64_t soft_ms)
{
    const struct osw_sweep_config config = {
        .name = turn->name,
        .batch_size = worker->task.options->batch_size,
        .jobs = worker->jobs.count,
        /* More would only wait: see osw_pg_set_prologue. */
        .depth = worker->task.session.pooled ? 1 : worker->task.options->depth,
        .max_orders = worker->orders_left,
        .max_rate = worker->task.options->max_rate,
        .pace_ns = &worker->pace_ns,
        .soft_deadline_ms = soft_ms,
        .hard_deadline_ms = worker->task.hard_ms,
        /* One that fell silent must not use up the time to close the books. */
        .drain_deadline_ms =
            worker->task.drain_ms - (worker->jobs.count > 1 ? BOOKS_MS : 0),
        .watch = worker->watched ? watch : NULL,
        .watcher = &worker->progress,
    };
    const int64_t began_ms = osw_clock_now_ms();
    struct osw_sweep_result result;

    osw_stream_share(stream, share, worker->task.options->slots);
    worker->progress.began_ms = began_ms;
    osw_sweep(&config, &osw_stream_ops, stream, &result);
    log_end(worker, turn->name, &result);
    add_result(worker, turn, &result);
    turn->elapsed_ms += osw_clock_now_ms() - began_ms;
}

/* Shares whose slot nobody has, so that nothing waits for a host that is away.
 */
static void
sweep_free_shares(struct osw_worker *worker,
                  struct osw_turn *turn,
                  struct osw_stream *stream,
                  int64_t soft_ms)
{
    const int slots = worker->task.options->slots;
    struct osw_lock_key key = {.sweep_id = turn->sweep_id, .slots = slots};
    struct osw_error error = OSW_ERROR_INIT;
    enum osw_claim_result claimed = OSW_CLAIM_BUSY;

    for (int i = 1; i < slots; i++) {
        if (turn->result.stop != OSW_SWEEP_DONE ||
            !osw_turn_may_begin(worker)) {
            return;
        }
        key.slot = (turn->slot - 1 + i) % slots + 1;
        claimed = osw_claim_take(
            &worker->claim, turn->name, &key, worker->task.hard_ms, &error);
        if (claimed == OSW_CLAIM_HELD || claimed == OSW_CLAIM_WITHOUT) {
            sweep_share(worker, turn, stream, key.slot, soft_ms);
        }
        if (claimed == OSW_CLAIM_HELD && !turn->result.cut) {
            osw_claim_give_back(
                &worker->claim, turn->name, &key, worker->task.drain_ms);
        }
    }
}

/* What the last sweeping of a turn came to. */
static enum osw_turn_end
end_of(const struct osw_sweep_result *result)
{
    switch (result->stop) {
    case OSW_SWEEP_TIME_LIMIT:
        return result->rest ? OSW_TURN_REST : OSW_TURN_OVER;
    case OSW_SWEEP_FAILURES:
    case OSW_SWEEP_BROKEN:
        return OSW_TURN_FAILED;
    case OSW_SWEEP_LOST:
        return result->cut ? OSW_TURN_LOST : OSW_TURN_FAILED;
    case OSW_SWEEP_DONE:
    case OSW_SWEEP_MAX_ORDERS:
    case OSW_SWEEP_HARD_LIMIT:
    case OSW_SWEEP_SIGNAL:
        break;
    }
    return OSW_TURN_OVER;
}

static enum osw_turn_end
sweep_shares(struct osw_worker *worker,
             struct osw_turn *turn,
             struct osw_definition *definition,
             int64_t soft_ms)
{
    struct osw_stream stream;
    struct osw_sweep_result *result = &turn->result;

    if (osw_stream_open(&stream,
                        worker->jobs.pgs,
                        worker->jobs.count,
                        definition,
                        worker->task.window,
                        turn->run_id,
                        &result->error)) {
        sweep_share(worker, turn, &stream, turn->slot, soft_ms);
        sweep_free_shares(worker, turn, &stream, soft_ms);
    } else {
        result->stop = OSW_SWEEP_LOST;
        result->cut = true;
        result->rest = true;
        osw_task_tell(&worker->task, turn->name, &result->error);
    }
    osw_stream_close(&stream);
    return end_of(result);
}

/* What goes on under the definition as it is now. */
static enum osw_turn_end
work(struct osw_worker *worker,
     struct osw_turn *turn,
     struct osw_definition *definition,
     int64_t soft_ms)
{
    struct osw_error error = OSW_ERROR_INIT;

    if (!open_books(worker, turn, soft_ms, &error)) {
        osw_fault_classify(&error);
        osw_task_fail(&worker->task, turn->name, &error);
        return OSW_TURN_LOST;
    }
    osw_jobs_gather(&worker->jobs,
                    worker->task.options->jobs,
                    &definition->cancel,
                    &worker->task.session,
                    &worker->task.target,
                    &worker->limits,
                    soft_ms);
    return sweep_shares(worker, turn, definition, soft_ms);
}

/* Also where the server says why it ends the connection. */
static bool
is_loss(const struct osw_error *error)
{
    return error->exit == OSW_EXIT_UNAVAILABLE &&
           (error->sqlstate[0] == '\0' ||
            osw_sqlstate_class(error->sqlstate, "57"));
}

enum osw_turn_end
osw_turn_work(struct osw_worker *worker, struct osw_turn *turn, int64_t soft_ms)
{
    struct osw_definition definition;
    struct osw_error error = OSW_ERROR_INIT;
    enum osw_turn_end end = OSW_TURN_PAUSED;
    bool there = false;

    osw_turn_enter(turn);
    if (!osw_definition_load(worker->task.pg,
                             turn->name,
                             worker->task.hard_ms,
                             &definition,
                             &there,
                             &error)) {
        osw_fault_classify(&error);
        osw_task_fail(&worker->task, turn->name, &error);
        return is_loss(&error) ? OSW_TURN_LOST : OSW_TURN_FAILED;
    }
    if (there) {
        end = work(worker, turn, &definition, soft_ms);
    }
    osw_definition_clear(&definition);
    return end;
}
