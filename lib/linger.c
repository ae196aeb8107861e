#include "linger.h"

#include <stdlib.h>
#include <string.h>

#include <bsd/string.h>

#include "clock.h"
#include "fault.h"
#include "injection_point.h"
#include "interrupt.h"
#include "log.h"
#include "metrics.h"

/* A wait for a slot holds a snapshot, so it is made of short ones. */
#define PATIENCE_MS INT64_C(10000)

/* What is due and could not be swept, since others hold it, is tried again
 * after this time, doubled up to a second or that between two looks. */
#define AGAIN_MS      INT64_C(250)
#define LAST_AGAIN_MS INT64_C(1000)

/* A run's row is closed when it has been open for so long: longer than a run
 * that cron starts stays. */
#define ROW_MS INT64_C(90000)

/* A sign of life comes well before others take the sweep for dead; looks are a
 * minute apart at most. */
#define SIGN_S (OSW_SILENT_S - 70)

/* One sweep's backlog keeps the others waiting for so long at most, if it gets
 * on at all in this time. */
#define TURN_MS INT64_C(1000)

/* A sweep that failed is tried again after so many looks, a minute at most: as
 * by cron. */
#define REST_LOOKS 12
#define REST_MS    INT64_C(60000)

/* A seat that others hold is tried for again after this time at the latest. */
#define SEATS_MS INT64_C(5000)

/* The metrics are written about so often: while nothing is near, or else when
 * they are late by half of it.  What the database does for them keeps orders
 * waiting, so it is not much. */
#define METRICS_EVERY_MS INT64_C(60000)
#define METRICS_QUIET_MS 1000
#define METRICS_MS       500

#define NEVER INT64_MAX

/* A sweep that this run looks after, or would. */
struct seat {
    struct osw_turn turn;
    char name[64];
    bool held;        /* it has a slot, or needs none */
    bool due;         /* sweep it now */
    bool told_broken; /* its look fails */
    bool told_busy;   /* others hold its lock without a sign of life */
    bool busy;        /* others held its lock when it was to be swept */
    bool in_vain;     /* its last sweeping did not sweep any */
    int64_t due_ms;   /* its next deadline, on our clock */
    int64_t rest_ms;  /* it failed: not before this; 0: it did not */
    int64_t turn_ms;  /* so long at a time, if there are others */
    int64_t again_ms; /* the wait before what is left is tried again */
    int64_t after_ms; /* then */
};

struct linger {
    struct osw_worker *worker;
    struct seat **seats;
    int count;
    int held;           /* of them */
    bool lost;          /* the connection */
    int64_t look_ms;    /* look then at the latest */
    int64_t seats_ms;   /* try then to get the seats that others hold */
    int64_t metrics_ms; /* write the metrics then */
};

/* --- Seats ---------------------------------------------------------------- */

static struct seat *
find_seat(const struct linger *linger, int sweep_id)
{
    for (int i = 0; i < linger->count; i++) {
        if (linger->seats[i]->turn.sweep_id == sweep_id) {
            return linger->seats[i];
        }
    }
    return NULL;
}

static struct seat *
add_seat(struct linger *linger, const struct osw_probe_sweep *sweep)
{
    const size_t count = (size_t)linger->count + 1;
    struct seat **seats =
        reallocarray(linger->seats, count, sizeof(struct seat *));
    struct seat *seat = calloc(1, sizeof(*seat));

    if (seats != NULL) {
        linger->seats = seats;
    }
    if (seats == NULL || seat == NULL) {
        free(seat);
        return NULL;
    }
    (void)strlcpy(seat->name, sweep->name, sizeof(seat->name));
    seat->turn.sweep_id = sweep->id;
    seat->turn.name = seat->name;
    seat->turn.slot = 1;
    seat->due_ms = NEVER;
    seat->turn_ms = TURN_MS;
    seats[linger->count++] = seat;
    return seat;
}

/* A seat for each sweep that was seen; one that is gone keeps its own, and is
 * never due. */
static bool
have_seats(struct linger *linger)
{
    const struct osw_probe *probe = &linger->worker->task.probe;
    struct osw_error error = OSW_ERROR_INIT;

    for (int i = 0; i < probe->count; i++) {
        if (find_seat(linger, probe->sweeps[i].id) == NULL &&
            add_seat(linger, &probe->sweeps[i]) == NULL) {
            osw_error_set(&error, OSW_EXIT_INTERNAL, "out of memory");
            osw_task_fail(&linger->worker->task, NULL, &error);
            return false;
        }
    }
    return true;
}

/* Time for one wait: its statement has a limit, too. */
static int64_t
patience(const struct linger *linger)
{
    const struct osw_task *task = &linger->worker->task;
    const int64_t left_ms = osw_clock_left_ms(task->soft_ms);
    /* One waits for one slot only, and another one may become free. */
    const int64_t most_ms =
        task->options->slots > 1 ? PATIENCE_MS / 10 : PATIENCE_MS;
    int64_t patience_ms = task->limits.statement_ms * 4 / 5;

    if (patience_ms > most_ms) {
        patience_ms = most_ms;
    }
    return left_ms < patience_ms ? left_ms : patience_ms;
}

/* False if the connection is of no more use, or a signal has come. */
static bool
take_seat(struct linger *linger, struct seat *seat, int64_t patience_ms)
{
    struct osw_worker *worker = linger->worker;
    struct osw_error error = OSW_ERROR_INIT;
    enum osw_claim_result claimed = OSW_CLAIM_WITHOUT;

    if (worker->task.options->lock) {
        claimed = osw_claim_take_slot(&worker->claim,
                                      seat->name,
                                      seat->turn.sweep_id,
                                      worker->task.options->slots,
                                      patience_ms,
                                      worker->task.hard_ms,
                                      &seat->turn.slot,
                                      &error);
    }
    switch (claimed) {
    case OSW_CLAIM_HELD:
    case OSW_CLAIM_WITHOUT:
        osw_log_of(
            OSW_LOG_DEBUG, seat->name, "lingers in slot %d", seat->turn.slot);
        seat->held = true;
        linger->held++;
        linger->look_ms = 0;  /* what was seen before is old */
        linger->seats_ms = 0; /* who had this one may have had others */
        return true;
    case OSW_CLAIM_BUSY:
        return true;
    case OSW_CLAIM_STOPPED:
        return false;
    case OSW_CLAIM_FAILED:
        osw_task_fail(&worker->task, seat->name, &error);
        return false;
    }
    return false;
}

/*
 * Take what seats there are.  Who has none waits for the last of them; who has
 * one only tries, now and then, to get those that others hold.
 */
static bool
take_seats(struct linger *linger)
{
    const int64_t now_ms = osw_clock_now_ms();
    const int64_t every_ms = linger->worker->task.options->look_every_ms;

    if (linger->held > 0 && now_ms < linger->seats_ms) {
        return true;
    }
    linger->seats_ms = now_ms + (every_ms < SEATS_MS ? every_ms : SEATS_MS);
    for (int i = 0; i < linger->count; i++) {
        const bool wait = linger->held == 0 && i == linger->count - 1;

        if (!linger->seats[i]->held &&
            !take_seat(linger, linger->seats[i], wait ? patience(linger) : 0)) {
            return false;
        }
    }
    return true;
}

/* --- Looks ---------------------------------------------------------------- */

/* Broken sweeps are told of once. */
static void
tell_broken(struct linger *linger,
            struct seat *seat,
            const struct osw_probe_sweep *sweep)
{
    struct osw_task *task = &linger->worker->task;
    struct osw_error error = OSW_ERROR_INIT;

    if (!seat->told_broken &&
        osw_probe_failed(task->pg, sweep, task->hard_ms, &error)) {
        osw_turn_enter(&seat->turn);
        osw_task_fail(task, seat->name, &error);
        osw_turn_enter(NULL);
        seat->told_broken = true;
    }
}

/*
 * When is a sweep to be swept?  What is due although it was just swept is held
 * by others: it is tried again now and then, and does not hide the next
 * deadline.
 */
static void
plan(struct seat *seat, const struct osw_probe_sweep *sweep)
{
    const int64_t now_ms = osw_clock_now_ms();

    seat->told_broken = false;
    /* Rounded up, and the clock may be within a millisecond: never early. */
    seat->due_ms = sweep->next_ms < 0 ? NEVER : now_ms + sweep->next_ms + 1;
    if (now_ms < seat->rest_ms) {
        if (sweep->due || seat->due_ms < seat->rest_ms) {
            seat->due_ms = seat->rest_ms;
        }
    } else if (!sweep->due) {
        seat->again_ms = 0;
        seat->in_vain = false;
    } else if (seat->again_ms == 0 || now_ms >= seat->after_ms) {
        seat->due = true;
    } else if (seat->after_ms < seat->due_ms) {
        seat->due_ms = seat->after_ms;
    }
}

static bool
look(struct linger *linger)
{
    struct osw_worker *worker = linger->worker;
    const struct osw_probe *probe = &worker->task.probe;

    for (int i = 0; i < linger->count; i++) {
        linger->seats[i]->due_ms = NEVER;
    }
    if (!osw_task_look_again(&worker->task) || !have_seats(linger)) {
        return false;
    }
    linger->look_ms = osw_clock_now_ms() + worker->task.options->look_every_ms;
    for (int i = 0; i < probe->count; i++) {
        const struct osw_probe_sweep *sweep = &probe->sweeps[i];
        struct seat *seat = find_seat(linger, sweep->id);

        if (sweep->error_message != NULL) {
            tell_broken(linger, seat, sweep);
        } else if (seat->held) {
            plan(seat, sweep);
            /* What is due and not swept is no sign of life. */
            if (sweep->silent_s > SIGN_S && !sweep->paused && !sweep->due &&
                !osw_turn_live(worker, seat->name)) {
                return false;
            }
        }
    }
    return true;
}

/* --- Work ----------------------------------------------------------------- */

static void
plan_again(const struct linger *linger, struct seat *seat, bool swept)
{
    int64_t most_ms = linger->worker->task.options->look_every_ms;

    /* Once in vain may be that others were quicker, or that the next one fell
     * due meanwhile: twice in a row is that others hold what is due. */
    if (swept || !seat->in_vain) {
        seat->again_ms = 0;
        seat->in_vain = !swept;
        return;
    }
    if (most_ms > LAST_AGAIN_MS) {
        most_ms = LAST_AGAIN_MS;
    }
    seat->again_ms = seat->again_ms == 0 ? AGAIN_MS : seat->again_ms * 2;
    if (seat->again_ms > most_ms) {
        seat->again_ms = most_ms;
    }
    seat->after_ms = osw_clock_now_ms() + seat->again_ms;
}

/* Others have the sweep's lock: a run without slots, or define. */
static void
tell_busy(struct linger *linger, struct seat *seat)
{
    const struct osw_probe *probe = &linger->worker->task.probe;

    for (int i = 0; i < probe->count; i++) {
        if (probe->sweeps[i].id == seat->turn.sweep_id &&
            probe->sweeps[i].silent_s > OSW_SILENT_S && !seat->told_busy) {
            osw_turn_report_busy(linger->worker, &probe->sweeps[i]);
            seat->told_busy = true;
        }
    }
}

/* Orders that had an outcome, whatever it was. */
static int64_t
settled(const struct osw_turn *turn)
{
    int64_t sum = 0;

    for (int i = 0; i < OSW_OUTCOME_COUNT && turn->open; i++) {
        sum += turn->result.counts[i];
    }
    return sum;
}

/* For the others' sake, or for the row's. */
static int64_t
end_of_turn(const struct linger *linger, const struct seat *seat)
{
    return osw_clock_until_ms(linger->count > 1 ? seat->turn_ms : ROW_MS,
                              linger->worker->task.soft_ms);
}

/* Sweep under the lock.  False if nothing more can be done. */
static bool
sweep_seat(struct linger *linger, struct seat *seat)
{
    struct osw_worker *worker = linger->worker;
    struct osw_turn *turn = &seat->turn;
    const int64_t settled_before = settled(turn);
    const int64_t before = turn->open ? turn->result.lateness.count : 0;
    const enum osw_turn_end end =
        osw_turn_work(worker, turn, end_of_turn(linger, seat));
    const int64_t look_every_ms = worker->task.options->look_every_ms;
    const bool swept = turn->open && turn->result.lateness.count > before;

    plan_again(linger, seat, swept || end == OSW_TURN_REST);
    /* A look that takes longer than a turn must not be the end of each. */
    if (end != OSW_TURN_REST) {
        seat->turn_ms = TURN_MS;
    } else if (settled(turn) == settled_before) {
        seat->turn_ms *= 2;
    }
    seat->rest_ms = 0;
    linger->lost = end == OSW_TURN_LOST;
    if (end == OSW_TURN_FAILED) {
        /* If a connection beside the first is lost, another takes its place. */
        if (!turn->open || turn->result.stop != OSW_SWEEP_LOST) {
            seat->rest_ms = osw_clock_until_ms(REST_LOOKS * look_every_ms,
                                               osw_clock_now_ms() + REST_MS);
        }
        return !turn->open || osw_turn_close(worker, turn);
    }
    return end != OSW_TURN_LOST;
}

static bool
claim_and_sweep(struct linger *linger, struct seat *seat)
{
    struct osw_worker *worker = linger->worker;
    const struct osw_lock_key key = {
        .sweep_id = seat->turn.sweep_id,
        .shared = worker->task.options->slots > 1,
    };
    struct osw_error error = OSW_ERROR_INIT;
    enum osw_claim_result claimed = OSW_CLAIM_WITHOUT;

    seat->due = false;
    seat->due_ms = NEVER;
    seat->busy = false;
    linger->look_ms = 0;
    if (worker->task.options->lock) {
        claimed = osw_claim_take(
            &worker->claim, seat->name, &key, worker->task.hard_ms, &error);
    }
    switch (claimed) {
    case OSW_CLAIM_HELD:
    case OSW_CLAIM_WITHOUT:
        break;
    case OSW_CLAIM_BUSY:
        seat->busy = true;
        tell_busy(linger, seat);
        plan_again(linger, seat, false);
        return true;
    case OSW_CLAIM_STOPPED:
        return true;
    case OSW_CLAIM_FAILED:
        osw_task_fail(&worker->task, seat->name, &error);
        return false;
    }
    OSW_INJECTION_POINT("after-lock");
    if (!sweep_seat(linger, seat)) {
        return false;
    }
    if (claimed == OSW_CLAIM_HELD) {
        osw_claim_give_back(
            &worker->claim, seat->name, &key, worker->task.drain_ms);
    }
    return true;
}

/* *any tells if there was one to sweep. */
static bool
sweep_due(struct linger *linger, bool *any)
{
    bool more = true;

    *any = false;
    for (int i = 0; i < linger->count; i++) {
        struct seat *seat = linger->seats[i];

        if (!seat->due || !seat->held || !osw_turn_may_begin(linger->worker)) {
            continue;
        }
        *any = true;
        osw_turn_enter(&seat->turn);
        more = claim_and_sweep(linger, seat);
        osw_turn_enter(NULL);
        if (!more) {
            return false;
        }
    }
    return true;
}

/* --- Sleep ---------------------------------------------------------------- */

static bool
close_old_rows(struct linger *linger)
{
    const int64_t now_ms = osw_clock_now_ms();

    for (int i = 0; i < linger->count; i++) {
        struct osw_turn *turn = &linger->seats[i]->turn;

        if (turn->open && now_ms - turn->opened_ms >= ROW_MS &&
            !osw_turn_close(linger->worker, turn)) {
            return false;
        }
    }
    return true;
}

static int64_t
wake_ms(const struct linger *linger)
{
    int64_t until_ms = linger->worker->task.soft_ms;

    if (linger->look_ms < until_ms) {
        until_ms = linger->look_ms;
    }
    if (linger->held < linger->count && linger->seats_ms < until_ms) {
        until_ms = linger->seats_ms;
    }
    for (int i = 0; i < linger->count; i++) {
        if (linger->seats[i]->due_ms < until_ms) {
            until_ms = linger->seats[i]->due_ms;
        }
    }
    return until_ms;
}

/* The connection is gone while nothing was under way. */
static void
lose(struct linger *linger, struct osw_error *error)
{
    bool told = false;

    linger->lost = true;
    osw_fault_classify(error);
    for (int i = 0; i < linger->count; i++) {
        struct osw_turn *turn = &linger->seats[i]->turn;

        if (turn->open) {
            turn->result.stop = OSW_SWEEP_LOST;
            turn->result.cut = true;
            turn->result.rest = true;
            turn->result.error = *error;
            osw_turn_enter(turn);
            osw_task_tell(&linger->worker->task, turn->name, error);
            told = true;
        }
    }
    osw_turn_enter(NULL);
    if (!told) {
        osw_task_fail(&linger->worker->task, NULL, error);
    }
}

/* Until the next deadline, or look.  False if the connection is lost. */
static bool
sleep_on(struct linger *linger)
{
    const int64_t until_ms = wake_ms(linger);
    struct osw_pg_answer answer = OSW_PG_ANSWER_INIT;
    int64_t now_ms = 0;

    if (osw_pg_wait(linger->worker->task.pg, until_ms, &answer) ==
        OSW_PG_LOST) {
        lose(linger, &answer.error);
        return false;
    }
    now_ms = osw_clock_now_ms();
    for (int i = 0; i < linger->count; i++) {
        struct seat *seat = linger->seats[i];

        seat->due = seat->held && seat->due_ms <= now_ms;
    }
    return true;
}

static void
write_metrics(struct linger *linger)
{
    const int64_t now_ms = osw_clock_now_ms();

    if (now_ms >= linger->metrics_ms &&
        (wake_ms(linger) - now_ms >= METRICS_QUIET_MS ||
         now_ms >= linger->metrics_ms + METRICS_EVERY_MS / 2)) {
        osw_metrics_write(&linger->worker->task, METRICS_MS);
        linger->metrics_ms = now_ms + METRICS_EVERY_MS;
    }
}

/* --- The whole ------------------------------------------------------------ */

static bool
go_on(struct linger *linger)
{
    bool any = false;

    if (!take_seats(linger)) {
        return false;
    }
    if (linger->held == 0) {
        return true; /* waited long enough */
    }
    if (!sweep_due(linger, &any)) {
        return false;
    }
    /* With a look after each round no sweep's backlog hides another's. */
    if (!close_old_rows(linger)) {
        return false;
    }
    write_metrics(linger);
    if (!any && osw_clock_now_ms() < linger->look_ms) {
        return sleep_on(linger);
    }
    return !osw_turn_may_begin(linger->worker) || look(linger);
}

/* Why a sweep had no turn. */
static void
report_none(struct linger *linger,
            const struct seat *seat,
            const struct osw_probe_sweep *sweep)
{
    struct osw_worker *worker = linger->worker;
    const char *why = sweep->paused ? "paused" : "nothing to sweep";

    if (osw_interrupt_count() > 0) {
        osw_turn_tell_stop(worker, seat->name, seat->held);
        osw_turn_report_none(worker, sweep, "signal", OSW_EXIT_TEMPORARY, NULL);
    } else if (seat->told_broken || seat->told_busy || seat->rest_ms > 0) {
        return; /* it has its line */
    } else if (!sweep->paused && (!seat->held || seat->busy)) {
        osw_turn_report_busy(worker, sweep);
    } else {
        osw_turn_report_none(worker, sweep, why, OSW_EXIT_OK, NULL);
    }
}

/* Does what was seen last have one that others hold look dead?  That may be
 * long ago. */
static bool
is_any_dead(const struct linger *linger)
{
    const struct osw_probe *probe = &linger->worker->task.probe;

    for (int i = 0; i < probe->count; i++) {
        const struct seat *seat = find_seat(linger, probe->sweeps[i].id);

        if (seat != NULL && (!seat->held || seat->busy) &&
            !probe->sweeps[i].paused &&
            probe->sweeps[i].silent_s > OSW_SILENT_S) {
            return true;
        }
    }
    return false;
}

/* Rows that are open are closed; a sweep that had none gets its report. */
static void
report(struct linger *linger)
{
    struct osw_worker *worker = linger->worker;
    const struct osw_probe *probe = &worker->task.probe;

    for (int i = 0; i < linger->count; i++) {
        struct osw_turn *turn = &linger->seats[i]->turn;

        if (turn->open) {
            if (osw_interrupt_count() > 0) {
                osw_turn_stop(turn);
            }
            (void)osw_turn_close(worker, turn);
        } else if (osw_interrupt_count() > 0 && turn->opened_ms != 0) {
            osw_turn_tell_stop(worker, turn->name, true);
        }
    }
    if (linger->lost || worker->task.exit == OSW_EXIT_UNAVAILABLE ||
        (osw_interrupt_count() == 0 && is_any_dead(linger) &&
         !osw_task_look_again(&worker->task))) {
        return;
    }
    for (int i = 0; i < probe->count; i++) {
        const struct seat *seat = find_seat(linger, probe->sweeps[i].id);

        if (seat != NULL && seat->turn.opened_ms == 0) {
            report_none(linger, seat, &probe->sweeps[i]);
        }
    }
}

void
osw_linger(struct osw_worker *worker)
{
    struct linger linger = {
        .worker = worker,
        .metrics_ms = osw_clock_now_ms() + METRICS_EVERY_MS,
    };
    bool more = osw_task_set_session(&worker->task) && have_seats(&linger);

    while (more && osw_turn_may_begin(worker)) {
        more = go_on(&linger);
    }
    report(&linger);
    for (int i = 0; i < linger.count; i++) {
        free(linger.seats[i]);
    }
    free(linger.seats);
}
