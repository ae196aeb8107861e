#include "stream.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "interrupt.h"

#define MAX_KEY_COLUMNS 32 /* PostgreSQL's limit for a key */

/* A cancel that came between two statements hits nothing: ask again. */
#define CANCEL_AGAIN_MS 10

/* Segments that a job's ring holds before it grows. */
#define EXPECTED 64

/* Room for one more expected answer; the ring is made straight when it grows.
 */
static bool
make_room(struct osw_stream_job *job)
{
    int size = job->expected_size * 2;
    enum osw_sweep_event_type *grown = NULL;

    if (job->expected_count < job->expected_size) {
        return true;
    }
    grown = calloc((size_t)size, sizeof(*grown));
    if (grown == NULL) {
        return false;
    }
    for (int i = 0; i < job->expected_count; i++) {
        grown[i] =
            job->expected[(job->expected_first + i) % job->expected_size];
    }
    free(job->expected);
    job->expected = grown;
    job->expected_size = size;
    job->expected_first = 0;
    return true;
}

static bool
send(struct osw_stream *stream,
     int number,
     const struct osw_pg_statement *statement,
     const char *const *values,
     enum osw_sweep_event_type answer)
{
    struct osw_stream_job *job = &stream->jobs[number];
    struct osw_pg *pg = stream->pgs[number];
    struct osw_error ignored = OSW_ERROR_INIT; /* wait tells it again */

    if (!make_room(job)) {
        osw_pg_give_up(pg);
        return false;
    }
    if (!osw_pg_queue(pg, statement, values, &ignored) ||
        !osw_pg_sync(pg, &ignored)) {
        return false;
    }
    job->expected[(job->expected_first + job->expected_count) %
                  job->expected_size] = answer;
    job->expected_count++;
    return true;
}

static bool
send_batch(void *context, const struct osw_order *after, int limit)
{
    struct osw_stream *stream = context;
    const char *values[MAX_KEY_COLUMNS + 5] = {stream->window};
    char limit_text[16];
    char share_text[16];
    char shares_text[16];
    int columns = stream->definition->key_columns + 1;

    for (int i = 0; after != NULL && i < columns; i++) {
        values[1 + i] = after->values[i];
    }
    (void)snprintf(limit_text, sizeof(limit_text), "%d", limit);
    values[1 + columns] = limit_text;
    (void)snprintf(share_text, sizeof(share_text), "%d", stream->share);
    values[2 + columns] = share_text;
    (void)snprintf(shares_text, sizeof(shares_text), "%d", stream->shares);
    values[3 + columns] = shares_text;
    return send(
        stream, 0, &stream->definition->batch, values, OSW_SWEEP_EVENT_BATCH);
}

static bool
send_newest(void *context, int limit)
{
    struct osw_stream *stream = context;
    const char *values[2] = {stream->window};
    char limit_text[16];

    (void)snprintf(limit_text, sizeof(limit_text), "%d", limit);
    values[1] = limit_text;
    return send(
        stream, 0, &stream->definition->newest, values, OSW_SWEEP_EVENT_BATCH);
}

/* Put the key into values; returns how many columns it has. */
static int
put_key(const struct osw_stream *stream,
        const struct osw_order *order,
        const char **values)
{
    int keys = stream->definition->key_columns;

    for (int i = 0; i < keys; i++) {
        values[i] = order->values[1 + i];
    }
    return keys;
}

static bool
send_order(void *context, int job, const struct osw_order *order)
{
    struct osw_stream *stream = context;
    const char *values[MAX_KEY_COLUMNS + 2];
    int keys = put_key(stream, order, values);

    values[keys] = stream->window;
    values[keys + 1] = stream->run_id;
    return send(stream,
                job,
                &stream->definition->cancel,
                values,
                OSW_SWEEP_EVENT_ORDER);
}

static bool
send_failure(void *context,
             const struct osw_order *order,
             const struct osw_error *error,
             bool counts)
{
    struct osw_stream *stream = context;
    const char *values[MAX_KEY_COLUMNS + 3];
    int keys = put_key(stream, order, values);

    values[keys] = error->sqlstate;
    values[keys + 1] = error->message;
    values[keys + 2] = counts ? "t" : "f";
    return send(
        stream, 0, &stream->definition->fail, values, OSW_SWEEP_EVENT_RECORDED);
}

/* Somebody defined the sweep anew while this run is at work without the lock.
 */
static bool
check_columns(const struct osw_stream *stream, struct osw_error *error)
{
    if (stream->answer.columns == stream->definition->key_columns + 2) {
        return true;
    }
    return osw_error_set(
        error, OSW_EXIT_CONFIG, "the definition was changed meanwhile");
}

static bool
list_orders(const struct osw_pg_answer *answer,
            struct osw_order_queue *orders,
            struct osw_error *error)
{
    const char *values[MAX_KEY_COLUMNS + 1];
    const int64_t now_ms = osw_clock_now_ms();
    const int late = answer->columns - 1;

    for (int row = 0; row < answer->rows; row++) {
        struct osw_order *order = NULL;

        for (int column = 0; column < late; column++) {
            values[column] = osw_pg_value(answer, row, column);
        }
        order = osw_order_new(late, values);
        if (order == NULL) {
            osw_order_clear(orders);
            return osw_error_set(error, OSW_EXIT_INTERNAL, "out of memory");
        }
        order->due_ms = now_ms - osw_pg_number(answer, row, late);
        osw_order_push(orders, order);
    }
    return true;
}

static void
take_answer(struct osw_stream *stream,
            int number,
            struct osw_sweep_event *event)
{
    const struct osw_pg_answer *answer = &stream->answer;
    struct osw_stream_job *job = &stream->jobs[number];

    event->type = job->expected[job->expected_first];
    event->job = number;
    job->expected_first = (job->expected_first + 1) % job->expected_size;
    job->expected_count--;
    event->ok = answer->ok;
    event->text = NULL;
    if (!answer->ok) {
        event->error = answer->error;
    } else if (event->type == OSW_SWEEP_EVENT_BATCH) {
        event->ok = check_columns(stream, &event->error) &&
                    list_orders(answer, &event->orders, &event->error);
    } else if (answer->rows == 1) {
        event->text = osw_pg_value(answer, 0, 0);
    }
}

static enum osw_pg_event
wait_until(struct osw_stream *stream, int64_t deadline_ms, int *job)
{
    return osw_pg_wait_any(
        stream->pgs, stream->count, deadline_ms, job, &stream->answer);
}

/* Is the server to stop what it executes for this job?  Bookings are short,
 * and wanted. */
static bool
is_to_cancel(const struct osw_stream_job *job)
{
    return job->expected_count > 0 &&
           job->expected[job->expected_first] != OSW_SWEEP_EVENT_RECORDED;
}

/* Cancel what is to be; false if there is nothing. */
static bool
cancel_jobs(struct osw_stream *stream)
{
    bool any = false;

    for (int i = 0; i < stream->count; i++) {
        if (is_to_cancel(&stream->jobs[i])) {
            osw_pg_cancel(stream->pgs[i]);
            any = true;
        }
    }
    return any;
}

/*
 * Wait; once cancelled, see that nothing more is executed.  A cancel ends one
 * statement only, and the orders sent behind it come to their turn: each needs
 * its own, unless its answer is already there; one that came too early is
 * repeated.
 */
static enum osw_pg_event
wait_or_cancel(struct osw_stream *stream, int64_t deadline_ms, int *job)
{
    if (stream->cancelling) {
        enum osw_pg_event event = wait_until(stream, 0, job);

        if (event != OSW_PG_TIMED_OUT) {
            return event;
        }
        if (cancel_jobs(stream)) {
            deadline_ms = osw_clock_until_ms(CANCEL_AGAIN_MS, deadline_ms);
        }
    }
    return wait_until(stream, deadline_ms, job);
}

/* Nothing more will come from this one; the first is the end of all. */
static void
lose(struct osw_stream *stream, int job)
{
    if (job > 0 && job < OSW_SWEEP_JOBS) {
        stream->pgs[job] = NULL;
        stream->jobs[job].expected_count = 0;
    }
}

static void
wait_for_answer(void *context,
                int64_t deadline_ms,
                struct osw_sweep_event *event)
{
    struct osw_stream *stream = context;
    int job = 0;

    /* Answers that keep coming must not hide a deadline. */
    if (deadline_ms != stream->told_ms && osw_clock_left_ms(deadline_ms) == 0) {
        stream->told_ms = deadline_ms;
        event->type = OSW_SWEEP_EVENT_TIMED_OUT;
        return;
    }
    osw_pg_answer_clear(&stream->answer);
    switch (wait_or_cancel(stream, deadline_ms, &job)) {
    case OSW_PG_ANSWERED:
        take_answer(stream, job, event);
        break;
    case OSW_PG_TIMED_OUT:
        event->type = osw_clock_left_ms(deadline_ms) > 0
                          ? OSW_SWEEP_EVENT_INTERRUPTED /* cancel again */
                          : OSW_SWEEP_EVENT_TIMED_OUT;
        break;
    case OSW_PG_INTERRUPTED:
        event->type = OSW_SWEEP_EVENT_INTERRUPTED;
        break;
    case OSW_PG_LOST:
        lose(stream, job);
        event->type = OSW_SWEEP_EVENT_LOST;
        event->job = job;
        event->ok = false;
        event->error = stream->answer.error;
        break;
    }
}

static void
cancel(void *context)
{
    struct osw_stream *stream = context;

    stream->cancelling = true; /* the next wait does it */
}

static int
interrupts(void *context)
{
    (void)context;
    return osw_interrupt_count();
}

static int64_t
now(void *context)
{
    (void)context;
    return osw_clock_now_ms();
}

const struct osw_sweep_ops osw_stream_ops = {
    .send_batch = send_batch,
    .send_newest = send_newest,
    .send_order = send_order,
    .send_failure = send_failure,
    .wait = wait_for_answer,
    .cancel = cancel,
    .interrupts = interrupts,
    .now = now,
};

static bool
make_jobs(struct osw_stream *stream, struct osw_error *error)
{
    for (int i = 0; i < stream->count; i++) {
        struct osw_stream_job *job = &stream->jobs[i];

        job->expected_size = EXPECTED;
        job->expected = calloc(EXPECTED, sizeof(*job->expected));
        if (job->expected == NULL) {
            return osw_error_set(error, OSW_EXIT_INTERNAL, "out of memory");
        }
    }
    return true;
}

bool
osw_stream_open(struct osw_stream *stream,
                struct osw_pg *const *pgs,
                int count,
                const struct osw_definition *definition,
                const char *window,
                const char *run_id,
                struct osw_error *error)
{
    memset(stream, 0, sizeof(*stream));
    for (int i = 0; i < count; i++) {
        stream->pgs[i] = pgs[i];
    }
    stream->count = count;
    stream->definition = definition;
    stream->window = window;
    stream->run_id = run_id;
    osw_stream_share(stream, 1, 1);
    if (definition->key_columns > MAX_KEY_COLUMNS) {
        return osw_error_set(error,
                             OSW_EXIT_CONFIG,
                             "the key has more than %d columns",
                             MAX_KEY_COLUMNS);
    }
    /* Errors show in the segment of the first look, which they are part of: no
     * order is to blame. */
    return make_jobs(stream, error) &&
           osw_pg_prepare(pgs[0], &definition->cancel, error) &&
           osw_pg_prepare(pgs[0], &definition->batch, error);
}

void
osw_stream_share(struct osw_stream *stream, int share, int shares)
{
    stream->share = share;
    stream->shares = shares;
}

void
osw_stream_close(struct osw_stream *stream)
{
    osw_pg_answer_clear(&stream->answer);
    for (int i = 0; i < stream->count; i++) {
        free(stream->jobs[i].expected);
        stream->jobs[i].expected = NULL;
    }
}
