#include "sweep.h"

#include <stdlib.h>
#include <string.h>

#include "injection_point.h"
#include "log.h"

/* What is in flight is meant to be settled in this time. */
#define FLIGHT_MS 1000

/* So late an order may be, and those behind it still catch up: waiting is exact
 * to a millisecond, and the machine may be busy. */
#define PACE_SLACK_NS INT64_C(10000000)

#define NS_PER_MS INT64_C(1000000)
#define NS_PER_S  INT64_C(1000000000)

/* So many answers are remembered: as many as can be in flight. */
enum {
    ANSWERED = OSW_SWEEP_DEPTH * OSW_SWEEP_JOBS
};

enum phase {
    WALKING,  /* through the due orders, oldest first */
    DRAINING, /* many failed in a row: send nothing, settle what is out */
    SOUNDING, /* trying the newest orders, to tell whose fault it is */
};

/* A failure whose booking waits until it is known whose fault it is. */
struct held {
    struct held *next;
    struct osw_order *order;
    struct osw_error error;
};

struct sweep {
    const struct osw_sweep_config *config;
    const struct osw_sweep_ops *ops;
    void *context;
    struct osw_sweep_result *result;

    struct osw_order_queue waiting;              /* listed, not yet sent */
    struct osw_order_queue jobs[OSW_SWEEP_JOBS]; /* sent, not yet settled */
    int in_flight;                               /* in all jobs */
    struct osw_order *cursor;                    /* the last order listed */
    struct osw_order *sent;        /* the last order sent, a copy */
    bool looking;                  /* a batch has been asked for */
    bool exhausted;                /* the last batch was empty */
    int64_t booking;               /* failures sent and not answered */
    int64_t answered;              /* orders settled so far */
    int64_t answered_ms[ANSWERED]; /* when; a ring */

    enum phase phase;
    struct held *held; /* oldest first */
    struct held **held_end;
    char streak_state[6];
    int streak;        /* failures in a row with this SQLSTATE */
    int lock_streak;   /* locks in a row that others hold */
    bool sounded;      /* a sounding has had its verdict */
    bool success_seen; /* in this sounding */

    bool stopping;
    bool cancelled;
    int64_t drain_ms; /* when cancelled: give up waiting */
    bool mute;        /* a send has failed: wait will tell the loss */
    bool over;        /* wait for nothing more */
    int64_t failures_logged;
    int64_t quarantined; /* by bookings of this run */
};

const char *
osw_sweep_stop_name(enum osw_sweep_stop stop)
{
    switch (stop) {
    case OSW_SWEEP_DONE:
        return "done";
    case OSW_SWEEP_MAX_ORDERS:
        return "max orders";
    case OSW_SWEEP_TIME_LIMIT:
        return "time limit";
    case OSW_SWEEP_HARD_LIMIT:
        return "hard limit";
    case OSW_SWEEP_SIGNAL:
        return "signal";
    case OSW_SWEEP_FAILURES:
        return "failures";
    case OSW_SWEEP_BROKEN:
        return "broken";
    case OSW_SWEEP_LOST:
        return "lost";
    }
    return "unknown";
}

static void
stop(struct sweep *s, enum osw_sweep_stop reason, const struct osw_error *error)
{
    if (!s->stopping) {
        s->stopping = true;
        s->result->stop = reason;
        if (error != NULL) {
            s->result->error = *error;
        }
    }
}

static bool
anything_out(const struct sweep *s)
{
    return s->in_flight > 0 || s->looking || s->booking > 0 || s->mute;
}

/* Draining takes as long after a signal as after the hard limit. */
static int64_t
drain_deadline(const struct sweep *s)
{
    const struct osw_sweep_config *config = s->config;
    int64_t drain_ms = s->ops->now(s->context) + config->drain_deadline_ms -
                       config->hard_deadline_ms;

    return drain_ms < config->drain_deadline_ms ? drain_ms
                                                : config->drain_deadline_ms;
}

static void
hard_stop(struct sweep *s, enum osw_sweep_stop reason)
{
    if (s->stopping && s->result->stop == OSW_SWEEP_TIME_LIMIT) {
        s->result->stop = reason;
    }
    stop(s, reason, NULL);
    s->cancelled = true;
    s->drain_ms = drain_deadline(s);
    if (anything_out(s)) {
        s->ops->cancel(s->context);
    }
}

static void
log_failure(struct sweep *s,
            const struct osw_order *order,
            const struct osw_error *error)
{
    char key[128];
    const char *remark = "";

    s->failures_logged++;
    if (s->failures_logged > OSW_SWEEP_LOGGED) {
        return;
    }
    osw_order_key(order, key, sizeof(key));
    if (strcmp(error->sqlstate, "57014") == 0) {
        remark = "; one order may take a quarter of --time-limit";
    }
    osw_log_of(OSW_LOG_ERROR,
               s->config->name,
               "order %s failed: %s (SQLSTATE %s)%s",
               key,
               error->message,
               error->sqlstate,
               remark);
}

/* Only what the order is to blame for is a reason to quarantine it. */
static bool
is_attempt(const struct osw_error *error)
{
    return !osw_sqlstate_is_setup(error->sqlstate);
}

static void
book(struct sweep *s,
     const struct osw_order *order,
     const struct osw_error *error,
     bool counts)
{
    if (counts || !is_attempt(error)) {
        log_failure(s, order, error);
    }
    if (s->ops->send_failure(s->context, order, error, counts)) {
        s->booking++;
    } else {
        s->mute = true;
    }
}

/* Book the failures that waited, or forget them. */
static void
release_held(struct sweep *s, bool booked)
{
    while (s->held != NULL) {
        struct held *first = s->held;

        s->held = first->next;
        if (booked) {
            book(s, first->order, &first->error, is_attempt(&first->error));
        }
        free(first->order);
        free(first);
    }
    s->held_end = &s->held;
    s->streak = 0;
}

/* Owns the order from here on. */
static void
hold(struct sweep *s, struct osw_order *order, const struct osw_error *error)
{
    struct held *held = malloc(sizeof(*held));

    if (held == NULL) {
        book(s, order, error, is_attempt(error));
        free(order);
        return;
    }
    held->next = NULL;
    held->order = order;
    held->error = *error;
    *s->held_end = held;
    s->held_end = &held->next;
}

/*
 * Stop walking.  What is listed and not sent is forgotten and will be listed
 * again, behind the last order sent.
 */
static void
suspect(struct sweep *s)
{
    free(s->cursor);
    s->cursor = s->sent;
    s->sent = NULL;
    osw_order_clear(&s->waiting);
    s->exhausted = false;
    s->phase = DRAINING;
    s->success_seen = false;
}

/* An order's own failure; owns the order. */
static void
order_failed(struct sweep *s,
             struct osw_order *order,
             const struct osw_error *error)
{
    s->lock_streak = 0;
    if (s->sounded) {
        book(s, order, error, is_attempt(error));
        free(order);
        return;
    }
    /* Fifty of one kind stay a suspicion, whatever comes behind them. */
    if (s->streak < OSW_SWEEP_STREAK &&
        strcmp(s->streak_state, error->sqlstate) != 0) {
        release_held(s, true);
        memcpy(s->streak_state, error->sqlstate, sizeof(s->streak_state));
    }
    s->streak++;
    if (s->phase == WALKING && s->streak >= OSW_SWEEP_STREAK) {
        suspect(s);
    }
    hold(s, order, error);
}

/* Somebody else holds what the order needs; owns the order. */
static void
order_blocked(struct sweep *s,
              struct osw_order *order,
              const struct osw_error *error)
{
    s->lock_streak++;
    if (s->phase == WALKING && !s->sounded &&
        s->lock_streak >= OSW_SWEEP_STREAK) {
        suspect(s);
    }
    book(s, order, error, false);
    free(order);
}

static void
order_swept(struct sweep *s)
{
    s->lock_streak = 0;
    s->success_seen = true;
    release_held(s, true);
}

static void
answer_is_strange(struct sweep *s, const char *text)
{
    struct osw_error error = OSW_ERROR_INIT;

    osw_error_set(&error,
                  OSW_EXIT_CONFIG,
                  "the cancel function answered \"%s\"",
                  text != NULL ? text : "NULL");
    osw_error_hint(&error, "run order-sweep migrate");
    stop(s, OSW_SWEEP_BROKEN, &error);
}

/*
 * The connection has answered to the end of the order's transaction, so what
 * looks like its own trouble is that of a statement in it: of a foreign table
 * whose server is away, say.
 */
static enum osw_outcome
outcome_of_error(const struct osw_error *error)
{
    enum osw_outcome outcome = osw_outcome_of_sqlstate(error->sqlstate);

    if (outcome == OSW_OUTCOME_UNKNOWN && error->sqlstate[0] != '\0') {
        return OSW_OUTCOME_FAILED;
    }
    return outcome;
}

/*
 * The cancel function refuses the session that it runs in (its isolation, time
 * zone abbreviations or temporary tables): no order is to blame, and none will
 * go.
 */
static bool
is_sessions_fault(const struct osw_error *error)
{
    return strcmp(error->sqlstate, "OS001") == 0 ||
           strcmp(error->sqlstate, "OS005") == 0 ||
           strcmp(error->sqlstate, "OS007") == 0;
}

static void
log_kept(const struct sweep *s, const struct osw_order *order, const char *rule)
{
    char key[128];

    osw_order_key(order, key, sizeof(key));
    osw_log_of(OSW_LOG_INFO, s->config->name, "order %s kept: %s", key, rule);
}

/* When the order of this number was settled, of the last ones. */
static int64_t *
answered_ms(struct sweep *s, int64_t number)
{
    return &s->answered_ms[number % ANSWERED];
}

static void
handle_order(struct sweep *s, const struct osw_sweep_event *event)
{
    struct osw_order *order = osw_order_pop(&s->jobs[event->job]);
    enum osw_outcome outcome = OSW_OUTCOME_UNKNOWN;
    const char *rule = NULL;
    const int64_t now_ms = s->ops->now(s->context);

    s->in_flight--;
    *answered_ms(s, s->answered++) = now_ms;
    if (event->ok && !osw_outcome_parse(event->text, &outcome, &rule)) {
        answer_is_strange(s, event->text);
    } else if (!event->ok && s->cancelled &&
               strcmp(event->error.sqlstate, "57014") == 0) {
        /* Our own cancel: rolled back, as if never tried. */
        s->result->rest = true;
        free(order);
        return;
    } else if (!event->ok) {
        outcome = outcome_of_error(&event->error);
    }
    s->result->counts[outcome]++;

    if (!event->ok && is_sessions_fault(&event->error)) {
        stop(s, OSW_SWEEP_BROKEN, &event->error);
        free(order);
        return;
    }
    if (!event->ok && outcome == OSW_OUTCOME_FAILED) {
        order_failed(s, order, &event->error);
        return;
    }
    if (!event->ok && outcome == OSW_OUTCOME_LOCKED) {
        order_blocked(s, order, &event->error);
        return;
    }
    if (outcome == OSW_OUTCOME_SWEPT) {
        osw_lateness_add(&s->result->lateness, now_ms - order->due_ms);
        order_swept(s);
    } else if (rule != NULL) {
        log_kept(s, order, rule);
    }
    free(order);
}

static bool
is_held(const struct sweep *s, const struct osw_order *order)
{
    const struct held *held = s->held;

    while (held != NULL && !osw_order_same(held->order, order)) {
        held = held->next;
    }
    return held != NULL;
}

/*
 * The newest orders reach into those already tried where few are due, and a
 * failure that is not booked yet hides none of them: one attempt a run.
 */
static void
list_untried(struct sweep *s, struct osw_order_queue *orders)
{
    struct osw_order *order = osw_order_pop(orders);

    while (order != NULL) {
        if (is_held(s, order)) {
            free(order);
        } else {
            osw_order_push(&s->waiting, order);
        }
        order = osw_order_pop(orders);
    }
}

static void
handle_batch(struct sweep *s, struct osw_sweep_event *event)
{
    s->looking = false;
    OSW_INJECTION_POINT("after-batch");
    if (!event->ok) {
        stop(s, OSW_SWEEP_BROKEN, &event->error);
    } else if (event->orders.length == 0) {
        s->exhausted = s->phase == WALKING;
    } else if (s->phase == DRAINING || s->stopping) {
        /* Asked for before; will be listed again. */
        osw_order_clear(&event->orders);
    } else if (s->phase == SOUNDING) {
        list_untried(s, &event->orders);
    } else {
        const struct osw_order *last = event->orders.tail;

        free(s->cursor);
        s->cursor = osw_order_new(last->count, last->values);
        osw_order_append(&s->waiting, &event->orders);
    }
}

static void
handle_time(struct sweep *s)
{
    if (!s->stopping) {
        stop(s, OSW_SWEEP_TIME_LIMIT, NULL);
    } else if (!s->cancelled) {
        hard_stop(s, OSW_SWEEP_HARD_LIMIT);
    } else {
        s->over = true;
    }
}

static void
look_for_signals(struct sweep *s)
{
    int signals = s->ops->interrupts(s->context);

    if (signals >= 2 && !s->cancelled) {
        hard_stop(s, OSW_SWEEP_SIGNAL);
    } else if (signals >= 1) {
        stop(s, OSW_SWEEP_SIGNAL, NULL);
    }
}

static void
handle_booking(struct sweep *s, const struct osw_sweep_event *event)
{
    s->booking--;
    if (event->ok && event->text != NULL && strcmp(event->text, "t") == 0) {
        s->quarantined++;
    }
    if (!event->ok) {
        osw_log_of(OSW_LOG_WARNING,
                   s->config->name,
                   "a failed order could not be booked: %s",
                   event->error.message);
    }
}

/* Of one that was lost nobody knows what became of its orders. */
static void
forget_job(struct sweep *s, int job)
{
    s->result->counts[OSW_OUTCOME_UNKNOWN] += s->jobs[job].length;
    s->in_flight -= s->jobs[job].length;
    osw_order_clear(&s->jobs[job]);
}

/* The others' orders are still settled, unless it was the first. */
static void
handle_loss(struct sweep *s, const struct osw_sweep_event *event)
{
    /* Whatever the reason was, this is graver; but with the first still there
     * a broken definition is. */
    s->stopping =
        event->job > 0 && s->stopping && s->result->stop == OSW_SWEEP_BROKEN;
    stop(s, OSW_SWEEP_LOST, &event->error);
    s->result->rest = true;
    forget_job(s, event->job);
    s->mute = false;
    s->over = event->job == 0;
    s->result->cut = s->over;
}

static void
handle(struct sweep *s, struct osw_sweep_event *event)
{
    switch (event->type) {
    case OSW_SWEEP_EVENT_BATCH:
        handle_batch(s, event);
        break;
    case OSW_SWEEP_EVENT_ORDER:
        handle_order(s, event);
        break;
    case OSW_SWEEP_EVENT_RECORDED:
        handle_booking(s, event);
        break;
    case OSW_SWEEP_EVENT_TIMED_OUT:
        handle_time(s);
        break;
    case OSW_SWEEP_EVENT_INTERRUPTED:
        break; /* only woke us: the signals are counted */
    case OSW_SWEEP_EVENT_LOST:
        handle_loss(s, event);
        break;
    }
}

static bool
may_sweep_more(const struct sweep *s)
{
    return s->config->max_orders == 0 ||
           s->result->counts[OSW_OUTCOME_SWEPT] + s->in_flight <
               s->config->max_orders;
}

/*
 * Room for one more in flight?  No more may be than were answered in the last
 * second: slow orders are few at a time, so that a stop is quick, and quick
 * ones soon are as many as the depth allows.
 */
static bool
has_room(struct sweep *s)
{
    int64_t after = s->in_flight + 1;
    int64_t since = s->answered - after;

    if (after == 1) {
        return true;
    }
    return after <= (int64_t)s->config->depth * s->config->jobs && since >= 0 &&
           s->ops->now(s->context) - *answered_ms(s, since) < FLIGHT_MS;
}

/* The job with the fewest orders in flight gets the next one. */
static int
choose_job(const struct sweep *s)
{
    int chosen = 0;

    for (int job = 1; job < s->config->jobs; job++) {
        if (s->jobs[job].length < s->jobs[chosen].length) {
            chosen = job;
        }
    }
    return chosen;
}

/* The time of the next order, in what the clock counts. */
static int64_t
pace_ms(const struct sweep *s)
{
    return s->config->max_rate == 0
               ? 0
               : (*s->config->pace_ns + NS_PER_MS - 1) / NS_PER_MS;
}

static bool
is_too_early(const struct sweep *s)
{
    return s->ops->now(s->context) < pace_ms(s);
}

/* An order is sent.  Time in which none could be is not made up for: a burst
 * is what the rate is to spare the shop. */
static void
keep_pace(struct sweep *s)
{
    int64_t rate = s->config->max_rate;
    int64_t *pace_ns = s->config->pace_ns;
    int64_t earliest_ns = s->ops->now(s->context) * NS_PER_MS - PACE_SLACK_NS;

    if (rate > 0) {
        if (*pace_ns < earliest_ns) {
            *pace_ns = earliest_ns;
        }
        *pace_ns += (NS_PER_S + rate - 1) / rate;
    }
}

/* Is there an order to send, were it not for the pace? */
static bool
may_send(struct sweep *s)
{
    return s->phase != DRAINING && s->waiting.length > 0 && has_room(s) &&
           may_sweep_more(s);
}

/* Having sent what may go now: does the next one only wait for its time? */
static bool
is_paced(struct sweep *s)
{
    return s->config->max_rate > 0 && !s->stopping && may_send(s);
}

static void
send_orders(struct sweep *s)
{
    while (may_send(s) && !is_too_early(s)) {
        struct osw_order *order = osw_order_pop(&s->waiting);
        int job = choose_job(s);

        if (!s->ops->send_order(s->context, job, order)) {
            s->mute = true;
            s->result->rest = true;
            free(order);
            return;
        }
        free(s->sent);
        s->sent = osw_order_new(order->count, order->values);
        osw_order_push(&s->jobs[job], order);
        s->in_flight++;
        keep_pace(s);
        OSW_INJECTION_POINT("after-order");
    }
}

/* Keep the stream full: the next batch is asked for before this one is out. */
static void
fill(struct sweep *s)
{
    if (s->result->counts[OSW_OUTCOME_SWEPT] == s->config->max_orders &&
        s->config->max_orders > 0) {
        stop(s, OSW_SWEEP_MAX_ORDERS, NULL);
        return;
    }
    send_orders(s);
    if (s->phase == WALKING && !s->mute && !s->looking && !s->exhausted &&
        s->waiting.length < s->config->depth * s->config->jobs &&
        may_sweep_more(s)) {
        s->looking =
            s->ops->send_batch(s->context, s->cursor, s->config->batch_size);
        s->mute = !s->looking;
    }
}

/*
 * Nothing is in flight.  A suspicion goes on to the sounding, and a sounding
 * to its verdict; false if the loop is at its end.
 */
static bool
next_phase(struct sweep *s)
{
    if (s->stopping) {
        return false;
    }
    switch (s->phase) {
    case WALKING:
        return false;
    case DRAINING:
        s->phase = SOUNDING;
        s->looking = s->ops->send_newest(s->context, OSW_SWEEP_STREAK);
        s->mute = !s->looking;
        return true;
    case SOUNDING:
        if (s->streak >= OSW_SWEEP_STREAK && !s->success_seen) {
            stop(s,
                 OSW_SWEEP_FAILURES,
                 s->held != NULL ? &s->held->error : NULL);
            release_held(s, false);
            return false;
        }
        s->sounded = true;
        release_held(s, true);
        s->phase = WALKING;
        return true;
    }
    return false;
}

static void
wait_for_event(struct sweep *s, struct osw_sweep_event *event)
{
    int64_t deadline = s->config->soft_deadline_ms;

    if (s->cancelled) {
        deadline = s->drain_ms;
    } else if (s->stopping) {
        deadline = s->config->hard_deadline_ms;
    }
    if (is_paced(s) && pace_ms(s) < deadline) {
        s->ops->wait(s->context, pace_ms(s), event);
        if (event->type == OSW_SWEEP_EVENT_TIMED_OUT) {
            event->type = OSW_SWEEP_EVENT_INTERRUPTED; /* no limit is reached */
        }
        return;
    }
    s->ops->wait(s->context, deadline, event);
}

static void
tell_watcher(const struct sweep *s)
{
    const struct osw_sweep_config *config = s->config;
    const int64_t *counts = s->result->counts;
    int64_t settled = 0;

    if (config->watch == NULL) {
        return;
    }
    for (int i = 0; i < OSW_OUTCOME_COUNT; i++) {
        settled += counts[i];
    }
    config->watch(config->watcher,
                  s->ops->now(s->context),
                  counts[OSW_OUTCOME_SWEPT],
                  settled);
}

static void
settle_accounts(struct sweep *s)
{
    /* Failures held when a stop came in between are the orders' own, for all
     * that is known; on a lost connection they cannot be booked. */
    s->result->counts[OSW_OUTCOME_UNKNOWN] += s->in_flight;
    if (s->waiting.length > 0 || (s->stopping && !s->exhausted) ||
        s->result->counts[OSW_OUTCOME_UNKNOWN] > 0) {
        s->result->rest = true;
    }
    if (s->quarantined > 0) {
        osw_log_of(
            OSW_LOG_ERROR,
            s->config->name,
            "%lld %s quarantined; see order_sweep.failure, then order-sweep "
            "retry",
            (long long)s->quarantined,
            s->quarantined == 1 ? "order failed for the tenth time and is"
                                : "orders failed for the tenth time and are");
    }
    if (s->failures_logged > OSW_SWEEP_LOGGED) {
        osw_log_of(OSW_LOG_ERROR,
                   s->config->name,
                   "%lld more order%s failed; see order_sweep.failure",
                   (long long)(s->failures_logged - OSW_SWEEP_LOGGED),
                   s->failures_logged - OSW_SWEEP_LOGGED == 1 ? "" : "s");
    }
    osw_order_clear(&s->waiting);
    for (int job = 0; job < s->config->jobs; job++) {
        osw_order_clear(&s->jobs[job]);
    }
    free(s->cursor);
    free(s->sent);
}

void
osw_sweep(const struct osw_sweep_config *config,
          const struct osw_sweep_ops *ops,
          void *context,
          struct osw_sweep_result *result)
{
    struct sweep s = {
        .config = config, .ops = ops, .context = context, .result = result};
    struct osw_sweep_event event;

    s.held_end = &s.held;
    memset(result, 0, sizeof(*result));
    memset(&event, 0, sizeof(event));
    while (!s.over) {
        look_for_signals(&s);
        if (!s.stopping && !s.mute) {
            fill(&s);
        }
        if (!anything_out(&s) && !is_paced(&s) && !next_phase(&s)) {
            if (s.held == NULL) {
                break;
            }
            release_held(&s, true);
            continue;
        }
        if (anything_out(&s) || is_paced(&s)) {
            wait_for_event(&s, &event);
            handle(&s, &event);
            tell_watcher(&s);
        }
    }
    release_held(&s, false);
    settle_accounts(&s);
}
