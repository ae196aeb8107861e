#include "relay.h"

#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "events.h"
#include "fault.h"
#include "feeder.h"
#include "injection_point.h"
#include "interrupt.h"
#include "log.h"
#include "report.h"
#include "sql_text.h"
#include "task.h"

/* So many refused in a row: does the command take anything? */
#define IN_A_ROW 10

/* More than it takes to halve the largest batch to one event. */
#define HALVINGS 16

/* A command that takes nothing is asked again after this time. */
#define OUTAGE_MS 5000

/* What is left for the books when a command is told to end. */
#define BOOKS_MS 3000

struct counts {
    int64_t published;
    int64_t refused;
    int64_t parked;
};

struct relay {
    struct osw_task *task;
    int64_t feed_ms;         /* how long a command may take */
    struct osw_events batch; /* the present one */
    struct counts counts;
    bool takes;             /* the command took an event since it was asked */
    int in_a_row;           /* so many were refused since it took one */
    bool hung;              /* it did not end in time, in this batch */
    bool outage;            /* it takes nothing */
    bool told;              /* that it does */
    struct osw_error cause; /* of an outage: what the command said */
    char *text;             /* the lines of the present batch */
    size_t *ends;           /* where each of them ends */
};

/* --- Feeding -------------------------------------------------------------- */

static bool
is_over(const struct relay *r)
{
    return r->outage || osw_interrupt_count() > 0 ||
           osw_clock_left_ms(r->task->soft_ms) == 0;
}

/* The lines one after the other; an event that has none ends where it begins.
 */
static bool
write_lines(struct relay *r, struct osw_error *error)
{
    const struct osw_events *batch = &r->batch;
    size_t size = 0;
    FILE *out = open_memstream(&r->text, &size);

    r->ends = calloc((size_t)batch->count + 1, sizeof(*r->ends));
    for (int i = 0; out != NULL && r->ends != NULL && i < batch->count; i++) {
        if (batch->events[i].fate == OSW_FATE_UNTOLD) {
            (void)fprintf(out, "%s\n", batch->events[i].line);
        }
        (void)fflush(out);
        r->ends[i] = size;
    }
    if (out == NULL || r->ends == NULL || fclose(out) != 0) {
        return osw_error_set(error, OSW_EXIT_INTERNAL, "out of memory");
    }
    return true;
}

static enum osw_fed
feed(struct relay *r, int from, int to, struct osw_error *why)
{
    const size_t begin = from > 0 ? r->ends[from - 1] : 0;
    const size_t length = r->ends[to - 1] - begin;
    const int64_t deadline_ms =
        osw_clock_until_ms(r->feed_ms, r->task->hard_ms - BOOKS_MS);
    enum osw_fed fed = OSW_FED_BROKEN;

    OSW_INJECTION_POINT("before-feed");
    fed = osw_feed(
        r->task->options->command, r->text + begin, length, deadline_ms, why);
    OSW_INJECTION_POINT("after-feed");
    if (fed == OSW_FED_ACCEPTED) {
        r->takes = true;
        r->in_a_row = 0;
        for (int i = from; i < to; i++) {
            if (r->batch.events[i].fate == OSW_FATE_UNTOLD) {
                r->batch.events[i].fate = OSW_FATE_PUBLISHED;
            }
        }
    }
    return fed;
}

/* Nothing of it is to be held against the events. */
static void
end_by_outage(struct relay *r, const struct osw_error *why)
{
    r->outage = true;
    r->cause = *why;
    for (int i = 0; i < r->batch.count; i++) {
        if (r->batch.events[i].fate == OSW_FATE_REFUSED && !r->batch.retried) {
            r->batch.events[i].fate = OSW_FATE_UNTOLD;
        }
    }
}

/* Many in a row were refused: others, from the newest one on and from all over
 * the batch, will tell. */
static void
ask_for_others(struct relay *r)
{
    const int last = r->batch.count - 1;
    struct osw_error why = OSW_ERROR_INIT;
    bool asked = false;

    for (int n = 0; n < IN_A_ROW && !is_over(r); n++) {
        const int i = (int)(last - (int64_t)last * n / IN_A_ROW);

        if (r->batch.events[i].fate == OSW_FATE_UNTOLD) {
            if (feed(r, i, i + 1, &why) == OSW_FED_ACCEPTED) {
                return;
            }
            asked = true;
        }
    }
    if (asked && !is_over(r)) {
        end_by_outage(r, &why);
    }
}

static void
refuse(struct relay *r, int i, const struct osw_error *why)
{
    osw_events_refuse(&r->batch.events[i], why->message);
    r->in_a_row++;
    if (!r->batch.retried && r->in_a_row % IN_A_ROW == 0) {
        ask_for_others(r);
    }
}

/* Feed these.  True if nothing of them is left to feed, whatever became of
 * them; else they are to be halved. */
static bool
feed_range(struct relay *r, int from, int to)
{
    struct osw_error why = OSW_ERROR_INIT;
    const enum osw_fed fed = feed(r, from, to, &why);

    if (fed == OSW_FED_ACCEPTED) {
        return true;
    }
    if (fed == OSW_FED_BROKEN) {
        end_by_outage(r, &why);
        return true;
    }
    r->hung = r->hung || fed == OSW_FED_LATE;
    if (to - from == 1) {
        refuse(r, from, &why);
        return true;
    }
    osw_log_of(OSW_LOG_DEBUG,
               r->batch.sweep,
               "%d events are fed in halves: %s",
               to - from,
               why.message);
    return false;
}

/* Feed the batch, and halve what is refused: the halves that are still to come
 * end where ends says, the next one first. */
static void
feed_all(struct relay *r)
{
    int ends[HALVINGS] = {r->batch.count};
    int depth = 0;
    int from = 0;

    while (depth >= 0 && !is_over(r)) {
        const int to = ends[depth];

        if (from < to && r->batch.events[from].fate != OSW_FATE_UNTOLD) {
            from++;
        } else if (from == to || feed_range(r, from, to)) {
            from = to;
            depth--;
        } else {
            ends[++depth] = from + (to - from) / 2;
        }
    }
}

/* None was taken, and several were refused: that is the command. */
static void
judge(struct relay *r)
{
    const struct osw_event *refused = NULL;
    struct osw_error why = OSW_ERROR_INIT;
    int count = 0;

    for (int i = 0; i < r->batch.count; i++) {
        if (r->batch.events[i].fate == OSW_FATE_REFUSED) {
            refused = &r->batch.events[i];
            count++;
        }
    }
    if (r->takes || r->batch.retried || r->outage || count < 2) {
        return;
    }
    osw_error_set(&why, OSW_EXIT_OK, "%s", refused->reason);
    end_by_outage(r, &why);
}

/* --- A batch -------------------------------------------------------------- */

static void
count_fates(struct relay *r)
{
    for (int i = 0; i < r->batch.count; i++) {
        switch (r->batch.events[i].fate) {
        case OSW_FATE_PUBLISHED:
            r->counts.published++;
            break;
        case OSW_FATE_REFUSED:
            r->counts.refused++;
            break;
        case OSW_FATE_UNTOLD:
            break;
        }
    }
}

static bool
feed_batch(struct relay *r, struct osw_error *error)
{
    r->hung = false;
    if (!osw_events_take(&r->batch, r->task->hard_ms, error)) {
        return false;
    }
    OSW_INJECTION_POINT("events-taken");
    if (r->batch.count > 0) {
        if (!write_lines(r, error)) {
            return false;
        }
        feed_all(r);
        judge(r);
    }
    OSW_INJECTION_POINT("before-book");
    if (!osw_events_book(
            &r->batch, r->hung, r->task->drain_ms, &r->counts.parked, error)) {
        return false;
    }
    count_fates(r);
    return true;
}

/* *any is false if nothing waited. */
static bool
relay_batch(struct relay *r, const char *sweep, bool *any)
{
    struct osw_error error = OSW_ERROR_INIT;
    const bool done = osw_events_claim(&r->batch,
                                       r->task->pg,
                                       sweep,
                                       r->task->options->batch_size,
                                       r->task->hard_ms,
                                       any,
                                       &error) &&
                      (!*any || feed_batch(r, &error));

    if (!done) {
        osw_task_fail(r->task, sweep, &error);
    }
    osw_events_clear(&r->batch);
    free(r->text);
    free(r->ends);
    r->text = NULL;
    r->ends = NULL;
    return done;
}

/* --- The sweeps ----------------------------------------------------------- */

/* A batch of each in turn, so that none waits for another one's backlog, until
 * none waits or the time is over. */
static bool
relay_sweeps(struct relay *r, const struct osw_pg_answer *sweeps)
{
    bool any = true;

    while (any) {
        any = false;
        for (int row = 0; row < sweeps->rows && !is_over(r); row++) {
            bool had = false;

            if (!relay_batch(r, osw_pg_value(sweeps, row, 0), &had)) {
                return false;
            }
            any = any || had;
        }
    }
    return !r->outage;
}

/* False if the connection, or the command, is of no use. */
static bool
relay_all(struct relay *r)
{
    const struct osw_pg_statement statement = {NULL, osw_sql_relay_sweeps, 1};
    const char *const values[] = {r->task->options->sweep};
    struct osw_pg_answer sweeps = OSW_PG_ANSWER_INIT;
    struct osw_error error = OSW_ERROR_INIT;
    bool fine = false;

    if (!osw_pg_query(r->task->pg,
                      &statement,
                      values,
                      1,
                      r->task->hard_ms,
                      &sweeps,
                      &error)) {
        osw_fault_classify(&error);
        if (strcmp(error.sqlstate, "22023") == 0) { /* it refuses --sweep */
            error.exit = OSW_EXIT_USAGE;
        }
        osw_task_fail(r->task, NULL, &error);
        return false;
    }
    if (sweeps.rows > 0) {
        fine = relay_sweeps(r, &sweeps);
    } else {
        osw_error_set(&error,
                      OSW_EXIT_CONFIG,
                      "there are no events; SELECT order_sweep.publish('NAME') "
                      "makes what a sweep does one");
        osw_task_fail(r->task, NULL, &error);
    }
    osw_pg_answer_clear(&sweeps);
    return fine;
}

/* Each time it begins, not each time it is seen. */
static void
tell_outage(struct relay *r)
{
    struct osw_error error = OSW_ERROR_INIT;

    if (!r->told || r->takes) {
        osw_error_set(&error,
                      r->cause.exit != OSW_EXIT_OK ? r->cause.exit
                                                   : OSW_EXIT_TEMPORARY,
                      "the command takes no event: %s",
                      r->cause.message);
        osw_task_tell(r->task, NULL, &error);
    }
    r->told = true;
    r->takes = false;
}

/* Until the time is over, or the connection is; a command that takes nothing
 * may take it later, but for one that cannot be run. */
static void
stay(struct relay *r)
{
    const int64_t pause_ms = r->task->options->look_every_ms;

    for (;;) {
        const bool fine = relay_all(r);

        if (r->outage) {
            tell_outage(r);
        }
        if (!r->task->options->linger ||
            (!fine && (!r->outage || r->cause.exit != OSW_EXIT_OK))) {
            return;
        }
        r->outage = false;
        (void)osw_interrupt_poll(
            NULL,
            0,
            osw_clock_left_ms(osw_clock_until_ms(fine ? pause_ms : OUTAGE_MS,
                                                 r->task->soft_ms)));
        if (is_over(r)) {
            return;
        }
    }
}

static void
report(const struct relay *r)
{
    FILE *out = r->task->out;
    const struct counts *c = &r->counts;

    if (r->task->format == OSW_REPORT_JSON) {
        (void)fprintf(out,
                      "{\"published\":%" PRId64 ",\"refused\":%" PRId64
                      ",\"parked\":%" PRId64 ",\"exit\":%d}\n",
                      c->published,
                      c->refused,
                      c->parked,
                      (int)r->task->exit);
    } else if (r->task->format == OSW_REPORT_TEXT) {
        (void)fprintf(out,
                      "events: %" PRId64 " published, %" PRId64
                      " refused, %" PRId64 " of them parked\n",
                      c->published,
                      c->refused,
                      c->parked);
    }
}

enum osw_exit
osw_relay(const struct osw_options *options, int64_t started_ms, FILE *out)
{
    struct osw_task task;
    struct relay r = {.task = &task,
                      .feed_ms = options->time_limit_ms / 4,
                      .batch = OSW_EVENTS_INIT};

    osw_task_begin(&task, options, started_ms, out);
    if (osw_task_open(&task, true) && osw_task_know_session(&task)) {
        stay(&r);
        if (r.counts.refused > 0) {
            osw_task_note(&task, OSW_EXIT_PARTIAL);
        }
        report(&r);
    }
    osw_task_end(&task);
    return task.exit;
}
