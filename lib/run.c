#include "run.h"

#include "clock.h"
#include "injection_point.h"
#include "interrupt.h"
#include "linger.h"
#include "log.h"
#include "metrics.h"
#include "turn.h"

/* The end of a turn that leaves as much time to each sweep still due. */
static int64_t
share_of_time(const struct osw_worker *worker, int from)
{
    int64_t now = osw_clock_now_ms();
    int sharing = 0;

    for (int i = from; i < worker->task.probe.count; i++) {
        sharing += worker->task.probe.sweeps[i].due ? 1 : 0;
    }
    return sharing > 1 ? now + (worker->task.soft_ms - now) / sharing
                       : worker->task.soft_ms;
}

/*
 * No turn for this one: a signal has come, or time or orders are used up.  One
 * that had a turn before has its report.
 */
static enum osw_turn_end
pass_over(struct osw_worker *worker,
          const struct osw_probe_sweep *sweep,
          bool again)
{
    bool stopped = osw_interrupt_count() > 0;

    if (stopped) {
        osw_turn_tell_stop(worker, sweep->name, again);
    }
    if (!again) {
        osw_turn_report_none(worker,
                             sweep,
                             stopped ? "signal" : "no turn",
                             stopped ? OSW_EXIT_TEMPORARY : OSW_EXIT_OK,
                             NULL);
    }
    return OSW_TURN_OVER;
}

/* Sweep until soft_ms and close the books. */
static enum osw_turn_end
work(struct osw_worker *worker,
     const struct osw_probe_sweep *sweep,
     int slot,
     int64_t soft_ms)
{
    struct osw_turn turn = {
        .sweep_id = sweep->id, .name = sweep->name, .slot = slot};
    const enum osw_turn_end end = osw_turn_work(worker, &turn, soft_ms);

    if (turn.open && !osw_turn_close(worker, &turn)) {
        return OSW_TURN_LOST;
    }
    osw_turn_enter(NULL);
    if (end == OSW_TURN_PAUSED) {
        osw_turn_report_none(worker, sweep, "paused", OSW_EXIT_OK, NULL);
    }
    return end;
}

/* One turn of one sweep: claim it, sweep until soft_ms, let it go. */
static enum osw_turn_end
take_turn(struct osw_worker *worker,
          const struct osw_probe_sweep *sweep,
          int64_t soft_ms,
          bool again)
{
    const int slots = worker->task.options->slots;
    const struct osw_lock_key key = {.sweep_id = sweep->id,
                                     .shared = slots > 1};
    struct osw_lock_key slot = {.sweep_id = sweep->id, .slots = slots};
    struct osw_error error = OSW_ERROR_INIT;
    enum osw_claim_result claimed = OSW_CLAIM_WITHOUT;
    enum osw_turn_end end = OSW_TURN_OVER;
    int number = 1;

    if (slots > 1) {
        claimed = osw_claim_take_slot(&worker->claim,
                                      sweep->name,
                                      sweep->id,
                                      slots,
                                      0,
                                      worker->task.hard_ms,
                                      &number,
                                      &error);
        slot.slot = claimed == OSW_CLAIM_HELD ? number : 0;
    }
    if (worker->task.options->lock && (slots == 1 || slot.slot > 0)) {
        claimed = osw_claim_take(
            &worker->claim, sweep->name, &key, worker->task.hard_ms, &error);
    }
    switch (claimed) {
    case OSW_CLAIM_HELD:
    case OSW_CLAIM_WITHOUT:
        OSW_INJECTION_POINT("after-lock");
        end = work(worker, sweep, number, soft_ms);
        if (end != OSW_TURN_LOST && claimed == OSW_CLAIM_HELD) {
            osw_claim_give_back(
                &worker->claim, sweep->name, &key, worker->task.drain_ms);
        }
        break;
    case OSW_CLAIM_BUSY:
        osw_turn_report_busy(worker, sweep);
        break;
    case OSW_CLAIM_STOPPED:
        end = pass_over(worker, sweep, again);
        break;
    case OSW_CLAIM_FAILED:
        osw_task_fail(&worker->task, sweep->name, &error);
        return OSW_TURN_LOST;
    }
    if (end != OSW_TURN_LOST && slot.slot > 0 && !worker->claim.without) {
        osw_claim_give_back(
            &worker->claim, sweep->name, &slot, worker->task.drain_ms);
    }
    return end;
}

/* All due sweeps share the time in turns, until none has a rest. */
static void
sweep_all(struct osw_worker *worker, int due)
{
    enum osw_turn_end end = OSW_TURN_OVER;
    bool again = false;

    while (due > 0) {
        for (int i = 0; i < worker->task.probe.count; i++) {
            struct osw_probe_sweep *sweep = &worker->task.probe.sweeps[i];

            if (!sweep->due) {
                continue;
            }
            end =
                osw_turn_may_begin(worker)
                    ? take_turn(worker, sweep, share_of_time(worker, i), again)
                    : pass_over(worker, sweep, again);
            if (end == OSW_TURN_LOST) {
                return;
            }
            if (end != OSW_TURN_REST) {
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
sort_out(struct osw_worker *worker)
{
    struct osw_error error = OSW_ERROR_INIT;
    int due = 0;

    for (int i = 0; i < worker->task.probe.count; i++) {
        const struct osw_probe_sweep *sweep = &worker->task.probe.sweeps[i];

        if (osw_probe_failed(
                worker->task.pg, sweep, worker->task.hard_ms, &error)) {
            osw_task_tell(&worker->task, sweep->name, &error);
            osw_turn_report_none(
                worker, sweep, "broken", error.exit, error.message);
        } else if (sweep->due) {
            due++;
        } else {
            osw_turn_report_none(worker,
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
           sweep->silent_s > OSW_SILENT_S;
}

/* A quiet sweep is told from a dead one by this; seldom, since it writes. */
static void
give_signs_of_life(struct osw_worker *worker)
{
    for (int i = 0; i < worker->task.probe.count; i++) {
        const struct osw_probe_sweep *sweep = &worker->task.probe.sweeps[i];

        if (is_silent(sweep) && !osw_turn_live(worker, sweep->name)) {
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

/* At the end of a run the metrics may take so long; less if the hard limit is
 * near. */
#define METRICS_MS 2000

static bool
may_write_metrics(struct osw_task *task)
{
    struct osw_error error = OSW_ERROR_INIT;

    if (task->options->metrics_file != NULL &&
        !osw_metrics_check(task->options->metrics_file, &error)) {
        osw_task_fail(task, NULL, &error);
        return false;
    }
    return true;
}

static void
run_once(struct osw_worker *worker)
{
    int due = sort_out(worker);

    if ((due > 0 || is_any_silent(&worker->task.probe)) &&
        osw_task_set_session(&worker->task)) {
        give_signs_of_life(worker);
        sweep_all(worker, due);
    }
}

enum osw_exit
osw_run(const struct osw_options *options, int64_t started_ms, FILE *out)
{
    struct osw_worker worker = {
        .orders_left = options->max_orders,
        .watched = options->verbosity >= 0 && !options->linger &&
                   osw_progress_is_wanted(),
    };

    osw_task_begin(&worker.task, options, started_ms, out);
    if (!may_write_metrics(&worker.task)) {
        return worker.task.exit;
    }
    worker.limits = worker.task.limits;
    if (options->linger) {
        /* It is idle no longer than between two looks, or while another
         * connection has an order: who is stopped is known by it soon. */
        worker.task.limits.idle_ms =
            (options->look_every_ms > worker.limits.statement_ms
                 ? options->look_every_ms
                 : worker.limits.statement_ms) +
            OSW_IDLE_MARGIN_MS;
    }
    osw_claim_open(&worker.claim,
                   &worker.task.session,
                   &worker.task.target,
                   &worker.limits);
    if (osw_task_open(&worker.task, true) && osw_task_look(&worker.task)) {
        osw_jobs_begin(&worker.jobs, worker.task.pg);
        if (options->linger) {
            osw_linger(&worker);
        } else {
            run_once(&worker);
        }
    }
    osw_claim_close(&worker.claim);
    osw_jobs_end(&worker.jobs);
    osw_metrics_write(&worker.task, METRICS_MS);
    osw_task_end(&worker.task);
    return worker.task.exit;
}
