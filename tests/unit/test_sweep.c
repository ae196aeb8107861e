/*
 * sweep: the loop against a fake database, a behaviour a test, and then with
 * random shops against what must always hold.
 *
 * The fake is strict: it fails a test by itself when the loop breaks the
 * contract of struct osw_sweep_ops or tries or books an order twice, and after
 * each run it checks the books (see assert_books).
 */
#include "sweep.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "log.h"

#define ROWS     1200
#define SEGMENTS 4096
#define LINES    16
#define NEVER    INT64_MAX
#define LATE_MS  7 /* each order, as it is listed */

/* An order of the shop; row 0 is the oldest. */
struct row {
    const char *answer; /* of cancel; "!P0001" raises that SQLSTATE */
    int64_t cost_ms;    /* what cancel takes */
    int64_t paid_ms;    /* when the buyer pays: not due from then on */
    bool listed;        /* in an answer to the loop */
    bool tried;         /* sent, and not only found locked */
    bool settled;       /* not due any more */
    const char *raised; /* SQLSTATE of the try, or NULL */
    int bookings;       /* failures that the loop sent */
    bool backs_off;     /* a failure is booked: not listed */
};

struct segment {
    enum osw_sweep_event_type type; /* of its answer */
    int job;
    int row; /* ORDER, RECORDED; BATCH: listed behind */
    int limit;
    bool newest;
};

struct shop {
    struct row rows[ROWS];
    int count;
    struct osw_sweep_config config;
    struct osw_sweep_result result;
    int64_t pace_ns;

    /* script; numbers count from 1, 0 is never */
    int look_that_fails;
    int send_that_fails;
    int answer_that_is_loss;
    int job_that_is_lost; /* then */
    bool bookings_fail;
    int64_t signals_ms[2];

    /* the connections: each answers in the order of sending */
    struct segment sent[SEGMENTS];
    int first;
    int last;
    int64_t left_ms; /* until the first is answered */
    int64_t now_ms;
    bool cancelled_first; /* the first will answer 57014 */
    bool refused;         /* a send has failed, to this job */
    int refusing;
    bool lost;
    bool lost_one; /* another than the first */
    int forgotten; /* orders that were in flight on it */
    bool stopped;  /* the loop knows that it must not begin anything */
    bool looking;

    /* what was seen */
    int sends;
    int answers;
    int tries[ROWS * 2]; /* rows in the order of sending */
    int tries_count;
    int width[ROWS]; /* orders in flight when this one was sent */
    int in_flight;
    int in_job[OSW_SWEEP_JOBS];
    int64_t sent_ms[ROWS]; /* when this one was sent */
    int waits;
    int widest;
    int looks;
    int looks_at_newest;
    int dry_looks; /* with no order in flight */
    int cancels;
    int swept;
    int settled; /* orders answered, own cancels not among them */
    int64_t answered_ms[ROWS * 2]; /* when, with own cancels */
    int answered;
    int log_lines;
    char log[LINES][256];
};

static struct shop the_shop;

static uint64_t random_state;

/* xorshift64*: the same everywhere, other than rand(). */
static int
draw(int below)
{
    random_state ^= random_state >> 12;
    random_state ^= random_state << 25;
    random_state ^= random_state >> 27;
    return (int)((random_state * UINT64_C(2685821657736338717)) >> 33) % below;
}

static bool
one_in(int chance)
{
    return draw(chance) == 0;
}

/* --- The fake ------------------------------------------------------------ */

void __wrap_osw_log_of(enum osw_log_level level,
                       const char *sweep,
                       const char *format,
                       ...) __attribute__((format(printf, 3, 4)));

void
__wrap_osw_log_of(enum osw_log_level level,
                  const char *sweep,
                  const char *format,
                  ...)
{
    char *line = NULL;
    int length = 0;
    va_list arguments;

    if (level > OSW_LOG_WARNING) {
        return; /* said with -v only */
    }
    assert_in_range(the_shop.log_lines, 0, LINES - 1);
    line = the_shop.log[the_shop.log_lines++];
    length = snprintf(line, sizeof the_shop.log[0], "%s: ", sweep);
    va_start(arguments, format);
    (void)vsnprintf(line + length,
                    sizeof the_shop.log[0] - (size_t)length,
                    format,
                    arguments);
    va_end(arguments);
}

/* Does it speak against the order? */
static bool
is_attempt(const char *sqlstate)
{
    static const char *const others[] = {
        "55P03", "40001", "40P01", "42703", "26000"};

    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        if (strcmp(sqlstate, others[i]) == 0) {
            return false;
        }
    }
    return true;
}

static bool
is_due(const struct shop *shop, const struct row *row)
{
    return !row->settled && !row->backs_off && row->paid_ms > shop->now_ms;
}

static int
row_of(const struct shop *shop, const struct osw_order *order)
{
    int row = (int)strtol(order->values[1], NULL, 10);

    assert_int_equal(order->count, 2);
    assert_in_range(row, 0, shop->count - 1);
    return row;
}

/* The connections work side by side: any of them may answer next. */
static void
put_a_job_first(struct shop *shop)
{
    int job = draw(shop->config.jobs);
    struct segment chosen;

    for (int i = shop->first; i < shop->last; i++) {
        if (shop->sent[i].job == job) {
            chosen = shop->sent[i];
            memmove(&shop->sent[shop->first + 1],
                    &shop->sent[shop->first],
                    (size_t)(i - shop->first) * sizeof chosen);
            shop->sent[shop->first] = chosen;
            return;
        }
    }
}

static void
begin_first(struct shop *shop)
{
    const struct segment *first = &shop->sent[shop->first];

    if (shop->config.jobs > 1) {
        put_a_job_first(shop);
    }
    shop->cancelled_first = false;
    shop->left_ms = first->type == OSW_SWEEP_EVENT_ORDER
                        ? shop->rows[first->row].cost_ms
                        : 0;
}

static bool
put(struct shop *shop, struct segment segment)
{
    shop->sends++;
    if (shop->refused || shop->sends == shop->send_that_fails) {
        shop->refused = true;
        shop->refusing = segment.job;
        return false;
    }
    assert_in_range(shop->last, 0, SEGMENTS - 1);
    shop->sent[shop->last++] = segment;
    if (shop->last - shop->first == 1) {
        begin_first(shop);
    }
    return true;
}

static void
assert_may_begin(const struct shop *shop)
{
    if (shop->stopped || shop->refused || shop->lost) {
        fail_msg("begins something after a stop, or on a lost connection");
    }
}

static bool
look(struct shop *shop, struct segment segment)
{
    assert_may_begin(shop);
    assert_false(shop->looking);
    shop->looking = put(shop, segment);
    return shop->looking;
}

static bool
fake_send_batch(void *context, const struct osw_order *after, int limit)
{
    struct shop *shop = context;
    int behind = after != NULL ? row_of(shop, after) : -1;

    assert_int_equal(limit, shop->config.batch_size);
    shop->looks++;
    shop->dry_looks += shop->in_flight == 0 ? 1 : 0;
    return look(
        shop, (struct segment){OSW_SWEEP_EVENT_BATCH, 0, behind, limit, false});
}

static bool
fake_send_newest(void *context, int limit)
{
    struct shop *shop = context;

    assert_int_equal(limit, OSW_SWEEP_STREAK);
    assert_int_equal(shop->in_flight, 0);
    shop->looks_at_newest++;
    return look(shop,
                (struct segment){OSW_SWEEP_EVENT_BATCH, 0, 0, limit, true});
}

static int
answered_in_the_last_second(const struct shop *shop)
{
    int count = 0;

    while (count < shop->answered &&
           shop->answered_ms[shop->answered - count - 1] >
               shop->now_ms - 1000) {
        count++;
    }
    return count;
}

static bool
fake_send_order(void *context, int job, const struct osw_order *order)
{
    struct shop *shop = context;
    int number = row_of(shop, order);
    struct row *row = &shop->rows[number];

    assert_may_begin(shop);
    if (!row->listed || row->tried) {
        fail_msg("order %d is sent unlisted or a second time", number);
    }
    assert_in_range(job, 0, shop->config.jobs - 1);
    assert_in_range(shop->in_job[job], 0, shop->config.depth - 1);
    assert_true(shop->in_flight == 0 ||
                shop->in_flight < answered_in_the_last_second(shop));
    if (shop->config.max_orders > 0) {
        assert_true(shop->swept + shop->in_flight < shop->config.max_orders);
    }
    if (!put(shop,
             (struct segment){OSW_SWEEP_EVENT_ORDER, job, number, 0, false})) {
        return false;
    }
    row->tried = true;
    shop->tries[shop->tries_count++] = number;
    shop->in_flight++;
    shop->in_job[job]++;
    shop->width[number] = shop->in_flight;
    shop->sent_ms[number] = shop->now_ms;
    shop->widest =
        shop->in_flight > shop->widest ? shop->in_flight : shop->widest;
    return true;
}

static bool
fake_send_failure(void *context,
                  const struct osw_order *order,
                  const struct osw_error *error,
                  bool counts)
{
    struct shop *shop = context;
    int number = row_of(shop, order);
    struct row *row = &shop->rows[number];

    assert_false(shop->lost);
    if (row->raised == NULL || row->bookings > 0) {
        fail_msg("order %d did not fail, or is booked twice", number);
    }
    assert_string_equal(error->sqlstate, row->raised);
    assert_string_equal(error->message, "raised");
    assert_int_equal(counts, is_attempt(row->raised));
    if (!put(shop,
             (struct segment){OSW_SWEEP_EVENT_RECORDED, 0, number, 0, false})) {
        return false;
    }
    row->bookings++;
    return true;
}

static void
raise_error(struct osw_sweep_event *event, const char *sqlstate)
{
    event->ok = false;
    (void)osw_error_set(&event->error, OSW_EXIT_CONFIG, "raised");
    (void)snprintf(
        event->error.sqlstate, sizeof event->error.sqlstate, "%s", sqlstate);
}

static void
list(struct shop *shop,
     const struct segment *segment,
     struct osw_order_queue *orders)
{
    int step = segment->newest ? -1 : 1;
    int row = segment->newest ? shop->count - 1 : segment->row + 1;

    for (; row >= 0 && row < shop->count && orders->length < segment->limit;
         row += step) {
        char text[16];
        const char *const values[] = {text, text};

        if (is_due(shop, &shop->rows[row])) {
            (void)snprintf(text, sizeof text, "%d", row);
            shop->rows[row].listed = true;
            osw_order_push(orders, osw_order_new(2, values));
            orders->tail->due_ms = shop->now_ms - LATE_MS;
        }
    }
}

static void
answer_look(struct shop *shop,
            const struct segment *segment,
            struct osw_sweep_event *event)
{
    shop->looking = false;
    assert_int_equal(event->orders.length, 0);
    if (shop->looks + shop->looks_at_newest == shop->look_that_fails) {
        raise_error(event, "42P01");
        shop->stopped = true;
    } else {
        list(shop, segment, &event->orders);
    }
}

static void
answer_order(struct shop *shop, int number, struct osw_sweep_event *event)
{
    struct row *row = &shop->rows[number];
    const char *answer = row->answer;
    enum osw_outcome outcome = OSW_OUTCOME_UNKNOWN;
    const char *rule = NULL;

    shop->in_flight--;
    shop->in_job[event->job]--;
    shop->answered_ms[shop->answered++] = shop->now_ms;
    if (shop->cancelled_first) {
        raise_error(event, "57014");
        return;
    }
    shop->settled++;
    if (answer != NULL && answer[0] == '!') {
        row->raised = answer + 1;
        raise_error(event, row->raised);
        return;
    }
    event->text = row->paid_ms <= shop->now_ms ? "changed" : answer;
    if (!osw_outcome_parse(event->text, &outcome, &rule)) {
        shop->stopped = true;
    } else if (outcome == OSW_OUTCOME_LOCKED) {
        row->tried = false;
    } else {
        row->settled = true;
        shop->swept += outcome == OSW_OUTCOME_SWEPT ? 1 : 0;
    }
}

static void
answer_first(struct shop *shop, struct osw_sweep_event *event)
{
    const struct segment *segment = &shop->sent[shop->first];

    shop->answers++;
    event->type = segment->type;
    event->job = segment->job;
    event->ok = true;
    event->text = NULL;
    if (segment->type == OSW_SWEEP_EVENT_BATCH) {
        answer_look(shop, segment, event);
    } else if (segment->type == OSW_SWEEP_EVENT_ORDER) {
        answer_order(shop, segment->row, event);
    } else if (shop->bookings_fail) {
        raise_error(event, "42501");
    } else {
        shop->rows[segment->row].backs_off = true;
    }
    shop->first++;
    begin_first(shop);
}

static int64_t
next_signal_ms(const struct shop *shop)
{
    for (int i = 0; i < 2; i++) {
        if (shop->signals_ms[i] > shop->now_ms) {
            return shop->signals_ms[i];
        }
    }
    return NEVER;
}

static void
pass_time(struct shop *shop, int64_t until_ms)
{
    if (until_ms > shop->now_ms) {
        shop->left_ms -= until_ms - shop->now_ms;
        shop->now_ms = until_ms;
    }
}

/* Nothing more comes from this job: the others go on. */
static void
forget_job(struct shop *shop, int job)
{
    int kept = shop->first;

    for (int i = shop->first; i < shop->last; i++) {
        if (shop->sent[i].job != job) {
            shop->sent[kept++] = shop->sent[i];
        }
    }
    shop->last = kept;
    shop->forgotten += shop->in_job[job];
    shop->in_flight -= shop->in_job[job];
    shop->in_job[job] = 0;
    shop->refused = false;
    shop->stopped = true;
    shop->lost_one = true;
    begin_first(shop);
}

static void
lose(struct shop *shop, struct osw_sweep_event *event)
{
    event->type = OSW_SWEEP_EVENT_LOST;
    event->job = shop->refused ? shop->refusing : shop->job_that_is_lost;
    raise_error(event, "");
    event->error.exit = OSW_EXIT_UNAVAILABLE;
    shop->answer_that_is_loss = 0;
    if (event->job == 0) {
        shop->lost = true;
    } else {
        forget_job(shop, event->job);
    }
}

static void
fake_wait(void *context, int64_t deadline_ms, struct osw_sweep_event *event)
{
    struct shop *shop = context;
    int64_t signal_ms = next_signal_ms(shop);
    int64_t ready_ms = shop->now_ms + shop->left_ms;
    bool idle = shop->first == shop->last && !shop->refused;

    shop->waits++;
    if (idle) {
        ready_ms = NEVER; /* only the pace may be waited for */
    }
    if (shop->lost || (idle && (shop->config.max_rate == 0 ||
                                deadline_ms > shop->now_ms + 1000))) {
        fail_msg("waits for nothing");
    }
    if (shop->refused || shop->answers + 1 == shop->answer_that_is_loss) {
        lose(shop, event);
    } else if (signal_ms <= ready_ms && signal_ms <= deadline_ms) {
        pass_time(shop, signal_ms);
        event->type = OSW_SWEEP_EVENT_INTERRUPTED;
    } else if (shop->now_ms >= deadline_ms || ready_ms > deadline_ms) {
        pass_time(shop, deadline_ms);
        shop->stopped =
            shop->stopped || deadline_ms >= shop->config.soft_deadline_ms;
        event->type = OSW_SWEEP_EVENT_TIMED_OUT;
    } else {
        pass_time(shop, ready_ms);
        answer_first(shop, event);
    }
}

/* As PostgreSQL: only what is being executed is cancelled. */
static void
fake_cancel(void *context)
{
    struct shop *shop = context;

    assert_true(shop->first < shop->last);
    shop->cancels++;
    shop->left_ms = 0;
    shop->cancelled_first = true;
}

static int
fake_interrupts(void *context)
{
    struct shop *shop = context;
    int count = 0;

    for (int i = 0; i < 2; i++) {
        count += shop->signals_ms[i] <= shop->now_ms ? 1 : 0;
    }
    shop->stopped = shop->stopped || count > 0;
    return count;
}

static int64_t
fake_now(void *context)
{
    const struct shop *shop = context;

    return shop->now_ms;
}

static const struct osw_sweep_ops fake_ops = {
    .send_batch = fake_send_batch,
    .send_newest = fake_send_newest,
    .send_order = fake_send_order,
    .send_failure = fake_send_failure,
    .wait = fake_wait,
    .cancel = fake_cancel,
    .interrupts = fake_interrupts,
    .now = fake_now,
};

/* --- Scripts and checks -------------------------------------------------- */

/* A shop where so many orders are due, all of which can be swept in 1 ms. */
static struct shop *
open_shop(int count)
{
    struct shop *shop = &the_shop;

    memset(shop, 0, sizeof *shop);
    assert_in_range(count, 0, ROWS);
    shop->count = count;
    shop->signals_ms[0] = NEVER;
    shop->signals_ms[1] = NEVER;
    shop->config = (struct osw_sweep_config){.name = "test",
                                             .batch_size = 100,
                                             .jobs = 1,
                                             .depth = 64,
                                             .soft_deadline_ms = 100000,
                                             .hard_deadline_ms = 200000,
                                             .drain_deadline_ms = 300000};
    for (int i = 0; i < count; i++) {
        shop->rows[i] =
            (struct row){.answer = "swept", .cost_ms = 1, .paid_ms = NEVER};
    }
    return shop;
}

/* Rows first to last - 1 answer so. */
static void
script(struct shop *shop, int first, int last, const char *answer)
{
    for (int i = first; i < last; i++) {
        shop->rows[i].answer = answer;
    }
}

static void
script_cost(struct shop *shop, int first, int last, int64_t cost_ms)
{
    for (int i = first; i < last; i++) {
        shop->rows[i].cost_ms = cost_ms;
    }
}

static int
count_bookings(const struct shop *shop)
{
    int bookings = 0;

    for (int i = 0; i < shop->count; i++) {
        bookings += shop->rows[i].bookings;
    }
    return bookings;
}

/* Whether the row raised something that the server knows of. */
static bool
is_bookable(const struct row *row)
{
    return row->raised != NULL && row->raised[0] != '\0' &&
           strcmp(row->raised, "OS001") != 0 && /* the session's faults */
           strcmp(row->raised, "OS005") != 0 &&
           strcmp(row->raised, "OS007") != 0;
}

/* Nothing that could be swept is passed over by a run that says it is done. */
static void
assert_nothing_passed_over(const struct shop *shop)
{
    for (int i = 0; i < shop->count; i++) {
        const struct row *row = &shop->rows[i];

        if (is_due(shop, row) && row->raised == NULL &&
            strcmp(row->answer, "locked") != 0) {
            fail_msg("order %d was not tried", i);
        }
    }
}

/* What holds after each run, whatever happened. */
static void
assert_books(const struct shop *shop)
{
    const struct osw_sweep_result *result = &shop->result;
    bool finished = shop->first == shop->last;
    int64_t sum = 0;

    for (int i = 0; i < OSW_OUTCOME_COUNT; i++) {
        sum += result->counts[i];
    }
    assert_int_equal(sum, shop->settled + shop->in_flight + shop->forgotten);
    assert_int_equal(result->counts[OSW_OUTCOME_SWEPT], shop->swept);
    assert_int_equal(result->lateness.count, shop->swept);
    assert_in_range(shop->cancels, 0, 1);
    assert_true(finished || shop->lost || shop->cancels == 1);
    assert_int_equal(result->stop == OSW_SWEEP_LOST,
                     shop->lost ||
                         (shop->lost_one && result->stop != OSW_SWEEP_BROKEN));
    assert_int_equal(result->cut, shop->lost);
    if (shop->in_flight + shop->forgotten > 0) {
        assert_true(result->rest);
    }
    for (int i = 0; finished && !shop->lost && i < shop->count; i++) {
        const struct row *row = &shop->rows[i];

        if (is_bookable(row) && result->stop != OSW_SWEEP_FAILURES) {
            assert_int_equal(row->bookings, 1);
        }
    }
    if (result->stop == OSW_SWEEP_DONE) {
        assert_nothing_passed_over(shop);
    }
}

static void
sweep(struct shop *shop)
{
    shop->config.pace_ns = &shop->pace_ns;
    osw_sweep(&shop->config, &fake_ops, shop, &shop->result);
    assert_books(shop);
}

/* Counts as "swept 3, failed 1"; what is 0 is left out. */
static void
assert_counts(const struct shop *shop, const char *expected)
{
    char text[256] = "";
    size_t length = 0;

    for (unsigned i = 0; i < OSW_OUTCOME_COUNT; i++) {
        long long count = (long long)shop->result.counts[i];

        if (count > 0) {
            length += (size_t)snprintf(text + length,
                                       sizeof text - length,
                                       "%s%s %lld",
                                       length > 0 ? ", " : "",
                                       osw_outcome_name((enum osw_outcome)i),
                                       count);
        }
    }
    assert_string_equal(text, expected);
}

static void
assert_end(const struct shop *shop, enum osw_sweep_stop stop, bool rest)
{
    assert_string_equal(osw_sweep_stop_name(shop->result.stop),
                        osw_sweep_stop_name(stop));
    assert_int_equal(shop->result.rest, rest);
}

/* --- The walk ------------------------------------------------------------ */

/* From the deadline to the answer: the wait for those before it, too. */
static void
lateness_is_that_of_what_was_swept(void **state)
{
    struct shop *shop = open_shop(4);

    (void)state;
    script(shop, 1, 2, "kept: rule");
    script_cost(shop, 0, 4, 10);
    sweep(shop);
    assert_counts(shop, "swept 3, kept 1");
    assert_int_equal(shop->result.lateness.count, 3);
    assert_int_equal(osw_lateness_percentile(&shop->result.lateness, 1),
                     LATE_MS + 10);
    assert_int_equal(shop->result.lateness.max_ms, LATE_MS + 40);
}

static void
nothing_due_ends_the_run_after_one_look(void **state)
{
    struct shop *shop = open_shop(0);

    (void)state;
    sweep(shop);
    assert_counts(shop, "");
    assert_end(shop, OSW_SWEEP_DONE, false);
    assert_int_equal(shop->sends, 1);
}

static void
one_due_order_is_swept(void **state)
{
    struct shop *shop = open_shop(1);

    (void)state;
    sweep(shop);
    assert_counts(shop, "swept 1");
    assert_end(shop, OSW_SWEEP_DONE, false);
}

static void
all_due_orders_are_swept_once_and_oldest_first(void **state)
{
    static const int sizes[] = {1, 2, 3, 63, 64, 65, 500, 10000};

    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        for (int depth = 1; depth <= 64; depth += 21) {
            struct shop *shop = open_shop(ROWS);

            shop->config.batch_size = sizes[i];
            shop->config.depth = depth;
            sweep(shop);
            assert_end(shop, OSW_SWEEP_DONE, false);
            assert_int_equal(shop->tries_count, ROWS);
            for (int row = 0; row < ROWS; row++) {
                assert_int_equal(shop->tries[row], row);
            }
        }
    }
}

static void
the_stream_widens_with_each_answer_up_to_its_depth(void **state)
{
    struct shop *shop = open_shop(300);

    (void)state;
    shop->config.depth = 7;
    sweep(shop);
    assert_int_equal(shop->width[0], 1);
    assert_int_equal(shop->width[1], 1);
    assert_int_equal(shop->width[3], 2);
    assert_int_equal(shop->width[100], 7);
    assert_int_equal(shop->widest, 7);
}

static void
the_orders_are_dealt_out_among_the_jobs(void **state)
{
    struct shop *shop = open_shop(600);

    (void)state;
    shop->config.jobs = 4;
    shop->config.depth = 8;
    sweep(shop);
    assert_counts(shop, "swept 600");
    assert_end(shop, OSW_SWEEP_DONE, false);
    assert_int_equal(shop->widest,
                     32); /* and 8 a job at most: the fake looks */
}

static void
as_many_are_in_flight_as_were_answered_in_the_last_second(void **state)
{
    struct shop *shop = open_shop(600);

    (void)state;
    script_cost(shop, 200, 300, 200);
    sweep(shop);
    assert_int_equal(shop->width[199], 64);
    assert_in_range(shop->width[280], 4, 5);
    assert_int_equal(shop->width[599], 64);
}

static void
orders_of_more_than_a_second_go_one_by_one(void **state)
{
    struct shop *shop = open_shop(10);

    (void)state;
    script_cost(shop, 0, 10, 1500);
    sweep(shop);
    assert_int_equal(shop->widest, 1);
    assert_counts(shop, "swept 10");
}

static void
the_next_batch_is_asked_for_while_orders_are_in_flight(void **state)
{
    struct shop *shop = open_shop(1000);

    (void)state;
    sweep(shop);
    assert_int_equal(shop->looks, 11);
    assert_int_equal(shop->dry_looks, 1);
}

static void
a_batch_is_not_asked_for_while_enough_is_listed(void **state)
{
    struct shop *shop = open_shop(1000);

    (void)state;
    shop->config.batch_size = 1000;
    shop->config.max_orders = 900;
    sweep(shop);
    assert_int_equal(shop->looks, 1);
}

static void
an_order_paid_after_the_look_is_counted_changed(void **state)
{
    struct shop *shop = open_shop(10);

    (void)state;
    shop->config.depth = 1;
    shop->rows[6].paid_ms = 3;
    sweep(shop);
    assert_counts(shop, "swept 9, changed 1");
    assert_end(shop, OSW_SWEEP_DONE, false);
}

/* What a watcher was told. */
struct watcher {
    const struct shop *shop;
    int calls;
    int64_t swept;
    int64_t settled;
};

static void
watch(void *context, int64_t now_ms, int64_t swept, int64_t settled)
{
    struct watcher *watcher = context;

    assert_int_equal(now_ms, watcher->shop->now_ms);
    assert_int_equal(swept, watcher->shop->swept);
    assert_int_equal(settled, watcher->shop->settled);
    watcher->calls++;
    watcher->swept = swept;
    watcher->settled = settled;
}

static void
a_watcher_is_told_after_each_event(void **state)
{
    struct shop *shop = open_shop(100);
    struct watcher watcher = {.shop = shop};

    (void)state;
    script(shop, 20, 30, "!P0001");
    script(shop, 40, 45, "locked");
    shop->config.watch = watch;
    shop->config.watcher = &watcher;
    sweep(shop);
    assert_counts(shop, "swept 85, locked 5, failed 10");
    assert_int_equal(watcher.calls, shop->answers);
    assert_int_equal(watcher.swept, 85);
    assert_int_equal(watcher.settled, 100);
}

static void
orders_that_vanish_between_two_looks_are_passed(void **state)
{
    struct shop *shop = open_shop(400);

    (void)state;
    for (int i = 100; i < 400; i += 3) {
        shop->rows[i].paid_ms = 5;
    }
    sweep(shop);
    assert_counts(shop, "swept 300");
    assert_end(shop, OSW_SWEEP_DONE, false);
}

/* --- Outcomes ------------------------------------------------------------ */

static void
every_outcome_is_counted_under_its_name(void **state)
{
    struct shop *shop = open_shop(28);
    static const struct {
        const char *answer;
        int count;
    } scripts[] = {
        {"swept", 1},
        {"kept: payment running", 2},
        {"locked", 3},
        {"changed", 4},
        {"gone", 5},
        {"!23514", 6},
        {"!", 7}, /* not even a SQLSTATE */
    };
    int row = 0;

    (void)state;
    for (size_t i = 0; i < sizeof scripts / sizeof scripts[0]; i++) {
        script(shop, row, row + scripts[i].count, scripts[i].answer);
        row += scripts[i].count;
    }
    sweep(shop);
    assert_counts(shop,
                  "swept 1, kept 2, locked 3, changed 4, gone 5, failed 6, "
                  "unknown 7");
    assert_int_equal(shop->result.stop, OSW_SWEEP_DONE);
}

static void
an_order_of_unknown_outcome_may_be_left(void **state)
{
    struct shop *shop = open_shop(3);

    (void)state;
    script(shop, 1, 2, "!");
    sweep(shop);
    assert_counts(shop, "swept 2, unknown 1");
    assert_end(shop, OSW_SWEEP_DONE, true);
}

static void
an_answer_that_is_none_of_ours_breaks_the_run(void **state)
{
    static const struct {
        const char *answer;
        const char *message;
    } cases[] = {
        {NULL, "the cancel function answered \"NULL\""},
        {"", "the cancel function answered \"\""},
        {"t", "the cancel function answered \"t\""},
        {"failed", "the cancel function answered \"failed\""},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct shop *shop = open_shop(200);

        shop->config.depth = 4;
        script(shop, 10, 11, cases[i].answer);
        sweep(shop);
        /* what was in flight is settled */
        assert_counts(shop, "swept 13, unknown 1");
        assert_end(shop, OSW_SWEEP_BROKEN, true);
        assert_int_equal(shop->result.error.exit, OSW_EXIT_CONFIG);
        assert_string_equal(shop->result.error.message, cases[i].message);
        assert_string_equal(shop->result.error.hint, "run order-sweep migrate");
    }
}

/* Of a pooler whose sessions are not alike, say: no order is to blame. */
static void
a_session_that_cancel_refuses_ends_the_run(void **state)
{
    static const char *const answers[] = {"!OS001", "!OS005", "!OS007"};

    (void)state;
    for (size_t i = 0; i < sizeof answers / sizeof answers[0]; i++) {
        struct shop *shop = open_shop(200);

        shop->config.depth = 4;
        script(shop, 10, 200, answers[i]);
        sweep(shop);
        assert_counts(shop, "swept 10, failed 4");
        assert_end(shop, OSW_SWEEP_BROKEN, true);
        assert_string_equal(shop->result.error.sqlstate, answers[i] + 1);
        assert_int_equal(count_bookings(shop), 0);
    }
}

/* --- Failing orders ------------------------------------------------------ */

static void
failing_orders_are_passed_and_booked(void **state)
{
    struct shop *shop = open_shop(300);

    (void)state;
    for (int i = 0; i < 300; i += 3) {
        script(shop, i, i + 1, "!P0001");
    }
    sweep(shop);
    assert_counts(shop, "swept 200, failed 100");
    assert_end(shop, OSW_SWEEP_DONE, false);
    assert_int_equal(count_bookings(shop), 100);
}

static void
a_statement_that_does_not_fit_is_no_attempt(void **state)
{
    struct shop *shop = open_shop(300);

    (void)state;
    script(shop, 10, 11, "!42703");
    script(shop, 20, 21, "!26000"); /* prepared in another session */
    sweep(shop);
    assert_counts(shop, "swept 298, failed 2");
    assert_int_equal(count_bookings(shop), 2); /* the fake looks at them */
}

static void
a_statement_timeout_is_the_orders_failure(void **state)
{
    struct shop *shop = open_shop(2);

    (void)state;
    script(shop, 0, 1, "!57014");
    sweep(shop);
    assert_counts(shop, "swept 1, failed 1");
    assert_int_equal(shop->rows[0].bookings, 1);
}

/* Of a foreign table, say: the connection of ours has answered. */
static void
a_connection_error_that_an_order_raises_is_its_failure(void **state)
{
    struct shop *shop = open_shop(3);

    (void)state;
    script(shop, 1, 2, "!08001");
    sweep(shop);
    assert_counts(shop, "swept 2, failed 1");
    assert_end(shop, OSW_SWEEP_DONE, false);
    assert_int_equal(shop->rows[1].bookings, 1);
}

/* That they count no attempt is checked at each booking. */
static void
passing_errors_are_counted_locked_and_booked(void **state)
{
    struct shop *shop = open_shop(6);

    (void)state;
    script(shop, 0, 1, "!55P03");
    script(shop, 2, 3, "!40001");
    script(shop, 4, 5, "!40P01");
    sweep(shop);
    assert_counts(shop, "swept 3, locked 3");
    assert_int_equal(count_bookings(shop), 3);
}

static void
an_order_found_locked_is_not_booked(void **state)
{
    struct shop *shop = open_shop(2);

    (void)state;
    script(shop, 0, 1, "locked");
    sweep(shop);
    assert_counts(shop, "swept 1, locked 1");
    assert_int_equal(count_bookings(shop), 0);
}

static void
a_booking_that_fails_is_warned_of_and_the_run_goes_on(void **state)
{
    struct shop *shop = open_shop(10);

    (void)state;
    script(shop, 4, 5, "!40001");
    shop->bookings_fail = true;
    sweep(shop);
    assert_counts(shop, "swept 9, locked 1");
    assert_int_equal(shop->log_lines, 1);
    assert_string_equal(shop->log[0],
                        "test: a failed order could not be booked: raised");
}

static void
ten_failing_orders_are_logged_oldest_first_and_the_others_counted(void **state)
{
    struct shop *shop = open_shop(40);

    (void)state;
    script(shop, 0, 35, "!P0001");
    sweep(shop);
    assert_int_equal(shop->log_lines, OSW_SWEEP_LOGGED + 1);
    assert_string_equal(shop->log[0],
                        "test: order 0 failed: raised (SQLSTATE P0001)");
    assert_string_equal(shop->log[9],
                        "test: order 9 failed: raised (SQLSTATE P0001)");
    assert_string_equal(shop->log[10],
                        "test: 25 more orders failed; see order_sweep.failure");
}

static void
ten_failing_orders_need_no_line_about_others(void **state)
{
    struct shop *shop = open_shop(10);

    (void)state;
    script(shop, 0, 10, "!P0001");
    sweep(shop);
    assert_int_equal(shop->log_lines, OSW_SWEEP_LOGGED);
}

/* --- The shop's fault or the orders' ------------------------------------- */

static void
good_newest_orders_show_that_the_failing_ones_are_at_fault(void **state)
{
    struct shop *shop = open_shop(610);

    (void)state;
    script(shop, 0, 600, "!P0001");
    sweep(shop);
    assert_counts(shop, "swept 10, failed 600");
    assert_end(shop, OSW_SWEEP_DONE, false);
    assert_int_equal(count_bookings(shop), 600);
    assert_int_equal(shop->looks_at_newest, 1);
}

static void
good_newest_orders_are_swept_right_after_the_suspicion(void **state)
{
    struct shop *shop = open_shop(610);
    int before = OSW_SWEEP_STREAK + 15; /* sent by then */

    (void)state;
    shop->config.depth = 16;
    shop->config.batch_size = 500;
    script(shop, 0, 600, "!P0001");
    sweep(shop);
    for (int i = 0; i < 10; i++) {
        assert_int_equal(shop->tries[before + i], 609 - i);
    }
}

static void
a_shop_where_nothing_succeeds_ends_the_run_and_books_nothing(void **state)
{
    struct shop *shop = open_shop(600);

    (void)state;
    script(shop, 0, 600, "!42703");
    sweep(shop);
    assert_end(shop, OSW_SWEEP_FAILURES, true);
    assert_string_equal(shop->result.error.sqlstate, "42703");
    assert_string_equal(shop->result.error.message, "raised");
    assert_int_equal(count_bookings(shop), 0);
    assert_in_range(shop->tries_count,
                    2 * OSW_SWEEP_STREAK,
                    2 * OSW_SWEEP_STREAK + shop->config.depth - 1);
    assert_int_equal(shop->result.counts[OSW_OUTCOME_FAILED],
                     shop->tries_count);
    assert_int_equal(shop->log_lines, 0);
}

static void
forty_nine_failures_are_the_orders_own(void **state)
{
    struct shop *shop = open_shop(OSW_SWEEP_STREAK - 1);

    (void)state;
    script(shop, 0, shop->count, "!P0001");
    sweep(shop);
    assert_counts(shop, "failed 49");
    assert_end(shop, OSW_SWEEP_DONE, false);
    assert_int_equal(shop->looks_at_newest, 0);
    assert_int_equal(count_bookings(shop), 49);
}

static void
fifty_failures_and_no_other_order_are_the_shops_fault(void **state)
{
    struct shop *shop = open_shop(OSW_SWEEP_STREAK);

    (void)state;
    script(shop, 0, shop->count, "!P0001");
    sweep(shop);
    assert_counts(shop, "failed 50");
    assert_end(shop, OSW_SWEEP_FAILURES, true);
    assert_int_equal(count_bookings(shop), 0);
}

static void
fifty_failures_behind_all_others_are_the_shops_fault_too(void **state)
{
    struct shop *shop = open_shop(100);

    (void)state;
    script(shop, 50, 100, "!P0001");
    sweep(shop);
    assert_counts(shop, "swept 50, failed 50");
    assert_end(shop, OSW_SWEEP_FAILURES, true);
    assert_int_equal(count_bookings(shop), 0);
}

/* The newest 50 reach into those that the walk has tried. */
static void
the_sounding_tries_no_order_again(void **state)
{
    (void)state;
    for (int count = 114; count <= 170; count += 7) {
        struct shop *shop = open_shop(count);

        script(shop, 0, count - 1, "!P0001");
        sweep(shop);
        assert_end(shop, OSW_SWEEP_DONE, false);
        assert_int_equal(shop->tries_count, count);
        assert_int_equal(count_bookings(shop), count - 1);
    }
}

static void
a_success_breaks_the_streak(void **state)
{
    struct shop *shop = open_shop(99);

    (void)state;
    script(shop, 0, 99, "!P0001");
    script(shop, 49, 50, "swept");
    sweep(shop);
    assert_counts(shop, "swept 1, failed 98");
    assert_end(shop, OSW_SWEEP_DONE, false);
    assert_int_equal(shop->looks_at_newest, 0);
    assert_int_equal(count_bookings(shop), 98);
}

static void
an_order_kept_or_changed_is_no_success(void **state)
{
    struct shop *shop = open_shop(600);

    (void)state;
    script(shop, 0, 600, "!P0001");
    for (int i = 0; i < 600; i += 4) {
        script(shop, i, i + 1, i % 8 == 0 ? "kept: paid" : "changed");
    }
    sweep(shop);
    assert_end(shop, OSW_SWEEP_FAILURES, true);
    assert_int_equal(count_bookings(shop), 0);
}

static void
another_sqlstate_breaks_the_streak(void **state)
{
    struct shop *shop = open_shop(300);

    (void)state;
    for (int i = 0; i < 300; i++) {
        script(shop, i, i + 1, i % 2 == 0 ? "!P0001" : "!23514");
    }
    sweep(shop);
    assert_counts(shop, "failed 300");
    assert_end(shop, OSW_SWEEP_DONE, false);
    assert_int_equal(shop->looks_at_newest, 0);
    assert_int_equal(count_bookings(shop), 300);
}

static void
a_streak_begins_anew_with_another_sqlstate(void **state)
{
    struct shop *shop = open_shop(600);

    (void)state;
    script(shop, 0, 30, "!23514");
    script(shop, 30, 600, "!42703");
    sweep(shop);
    assert_end(shop, OSW_SWEEP_FAILURES, true);
    assert_int_equal(count_bookings(shop), 30);
    assert_string_equal(shop->result.error.sqlstate, "42703");
}

static void
a_success_among_those_in_flight_clears_the_shop(void **state)
{
    struct shop *shop = open_shop(600);

    (void)state;
    script(shop, 0, 600, "!P0001");
    script(shop, 60, 61, "swept");
    sweep(shop);
    assert_counts(shop, "swept 1, failed 599");
    assert_end(shop, OSW_SWEEP_DONE, false);
}

static void
the_walk_goes_on_where_it_was_suspended(void **state)
{
    struct shop *shop = open_shop(1000);
    int suspended = OSW_SWEEP_STREAK + 15;

    (void)state;
    shop->config.depth = 16;
    shop->config.batch_size = 500;
    script(shop, 0, 200, "!P0001");
    sweep(shop);
    assert_counts(shop, "swept 800, failed 200");
    for (int i = 0; i < suspended; i++) {
        assert_int_equal(shop->tries[i], i);
    }
    for (int i = suspended; i < 950; i++) {
        assert_int_equal(shop->tries[i + OSW_SWEEP_STREAK], i);
    }
}

/* Else those found locked would be tried and counted again. */
static void
the_walk_goes_on_behind_what_was_in_flight(void **state)
{
    struct shop *shop = open_shop(400);

    (void)state;
    shop->config.batch_size = 500;
    script(shop, 0, 50, "!P0001");
    script(shop, 50, 113, "locked");
    sweep(shop);
    assert_counts(shop, "swept 287, locked 63, failed 50");
}

static void
the_shop_is_sounded_once_a_run(void **state)
{
    struct shop *shop = open_shop(1000);

    (void)state;
    script(shop, 0, 1000, "!P0001");
    script(shop, 500, 501, "swept");
    script(shop, 999, 1000, "swept");
    sweep(shop);
    assert_counts(shop, "swept 2, failed 998");
    assert_end(shop, OSW_SWEEP_DONE, false);
    assert_int_equal(shop->looks_at_newest, 1);
}

static void
the_error_told_is_the_streaks_not_the_soundings(void **state)
{
    struct shop *shop = open_shop(600);

    (void)state;
    script(shop, 0, 300, "!42703");
    script(shop, 300, 600, "!23514");
    sweep(shop);
    assert_end(shop, OSW_SWEEP_FAILURES, true);
    assert_string_equal(shop->result.error.sqlstate, "42703");
}

static void
good_newest_orders_are_swept_before_the_rest_of_many_locked(void **state)
{
    struct shop *shop = open_shop(210);
    int before = OSW_SWEEP_STREAK + shop->config.depth - 1;

    (void)state;
    script(shop, 0, 200, "!55P03");
    script_cost(shop, 0, 200, 200);
    sweep(shop);
    assert_counts(shop, "swept 10, locked 200");
    assert_end(shop, OSW_SWEEP_DONE, false);
    assert_int_equal(count_bookings(shop), 200);
    assert_int_equal(shop->looks_at_newest, 1);
    for (int i = 0; i < 10; i++) {
        assert_in_range(shop->tries[before - i], 0, 209);
        assert_true(shop->rows[209 - i].settled);
    }
    assert_int_equal(shop->width[209], 1);
}

static void
fifty_locks_in_a_row_have_the_newest_orders_tried(void **state)
{
    struct shop *shop = NULL;

    (void)state;
    for (int locks = 49; locks <= 50; locks++) {
        shop = open_shop(300);
        script(shop, 10, 10 + locks, "!55P03");
        sweep(shop);
        assert_int_equal(shop->looks_at_newest, locks == 50 ? 1 : 0);
    }
}

static void
a_success_or_failure_breaks_the_row_of_locks(void **state)
{
    static const char *const answers[] = {"swept", "!P0001"};

    (void)state;
    for (size_t i = 0; i < sizeof answers / sizeof answers[0]; i++) {
        struct shop *shop = open_shop(99);

        script(shop, 0, 99, "!55P03");
        script(shop, 49, 50, answers[i]);
        sweep(shop);
        assert_int_equal(shop->looks_at_newest, 0);
    }
}

static void
locks_alone_never_end_a_run(void **state)
{
    struct shop *shop = open_shop(300);

    (void)state;
    script(shop, 0, 300, "!55P03");
    sweep(shop);
    assert_counts(shop, "locked 300");
    assert_end(shop, OSW_SWEEP_DONE, false);
}

static void
a_sounding_after_locks_needs_fifty_failures_of_one_kind(void **state)
{
    struct shop *shop = open_shop(200);

    (void)state;
    script(shop, 0, 150, "!55P03");
    for (int i = 150; i < 200; i++) {
        script(shop, i, i + 1, i % 2 == 0 ? "!P0001" : "!23514");
    }
    sweep(shop);
    assert_counts(shop, "locked 150, failed 50");
    assert_end(shop, OSW_SWEEP_DONE, false);

    shop = open_shop(200);
    script(shop, 0, 150, "!55P03");
    script(shop, 150, 200, "!P0001");
    sweep(shop);
    assert_end(shop, OSW_SWEEP_FAILURES, true);
}

/* --- The most orders ----------------------------------------------------- */

static void
no_more_orders_are_swept_than_allowed(void **state)
{
    static const int limits[] = {1, 2, 63, 64, 65, 100, 299};

    (void)state;
    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++) {
        struct shop *shop = open_shop(300);

        shop->config.max_orders = limits[i];
        sweep(shop);
        assert_int_equal(shop->swept, limits[i]);
        assert_int_equal(shop->tries_count, limits[i]);
        assert_end(shop, OSW_SWEEP_MAX_ORDERS, true);
    }
}

static void
only_swept_orders_use_up_what_is_allowed(void **state)
{
    struct shop *shop = open_shop(300);

    (void)state;
    for (int i = 0; i < 300; i += 2) {
        script(shop, i, i + 1, i % 4 == 0 ? "!P0001" : "kept: paid");
    }
    shop->config.max_orders = 70;
    sweep(shop);
    assert_counts(shop, "swept 70, kept 35, failed 35");
    assert_end(shop, OSW_SWEEP_MAX_ORDERS, true);
    assert_int_equal(count_bookings(shop), 35);
}

static void
a_limit_that_is_not_reached_is_not_told(void **state)
{
    struct shop *shop = open_shop(10);

    (void)state;
    shop->config.max_orders = 11;
    sweep(shop);
    assert_counts(shop, "swept 10");
    assert_end(shop, OSW_SWEEP_DONE, false);
}

static void
the_limit_holds_in_a_sounding(void **state)
{
    struct shop *shop = open_shop(610);

    (void)state;
    script(shop, 0, 600, "!P0001");
    shop->config.max_orders = 4;
    sweep(shop);
    assert_int_equal(shop->swept, 4);
    assert_end(shop, OSW_SWEEP_MAX_ORDERS, true);
}

/* --- Time ---------------------------------------------------------------- */

static void
at_the_time_limit_what_is_in_flight_is_settled_and_no_more_sent(void **state)
{
    struct shop *shop = open_shop(300);

    (void)state;
    shop->config.depth = 4;
    shop->config.soft_deadline_ms = 95;
    script_cost(shop, 0, 300, 10);
    sweep(shop);
    assert_counts(shop, "swept 13");
    assert_end(shop, OSW_SWEEP_TIME_LIMIT, true);
    assert_int_equal(shop->cancels, 0);
}

static void
no_rest_is_told_where_all_was_listed_and_sent_in_time(void **state)
{
    struct shop *shop = open_shop(2);

    (void)state;
    shop->config.depth = 4;
    shop->config.batch_size = 1;
    shop->config.soft_deadline_ms = 95;
    script_cost(shop, 1, 2, 95);
    sweep(shop);
    /* the look that finds nothing is answered behind the last order */
    assert_end(shop, OSW_SWEEP_TIME_LIMIT, false);
}

static void
failures_held_back_are_booked_at_the_time_limit(void **state)
{
    struct shop *shop = open_shop(300);

    (void)state;
    shop->config.depth = 4;
    shop->config.soft_deadline_ms = 20;
    script(shop, 0, 300, "!P0001");
    sweep(shop);
    assert_counts(shop, "failed 24");
    assert_end(shop, OSW_SWEEP_TIME_LIMIT, true);
    assert_int_equal(count_bookings(shop), 24);
}

/* Draining until 100 ms, sounding until 150 ms: no verdict yet. */
static void
failures_of_a_suspicion_without_verdict_are_booked(void **state)
{
    (void)state;
    for (int64_t limit_ms = 50; limit_ms <= 140; limit_ms += 10) {
        struct shop *shop = open_shop(600);

        shop->config.soft_deadline_ms = limit_ms;
        script(shop, 0, 600, "!P0001");
        sweep(shop);
        assert_end(shop, OSW_SWEEP_TIME_LIMIT, true);
        assert_int_equal(count_bookings(shop), shop->tries_count);
    }
}

static void
at_the_hard_limit_what_runs_is_cancelled_and_counts_nothing(void **state)
{
    struct shop *shop = open_shop(300);

    (void)state;
    shop->config.depth = 4;
    script_cost(shop, 50, 51, NEVER / 2);
    sweep(shop);
    /* three behind it were in flight */
    assert_counts(shop, "swept 53");
    assert_end(shop, OSW_SWEEP_HARD_LIMIT, true);
    assert_int_equal(shop->cancels, 1);
    assert_int_equal(shop->now_ms, shop->config.hard_deadline_ms + 3);
    assert_int_equal(count_bookings(shop), 0);
}

static void
an_order_cancelled_at_the_hard_limit_is_left_as_the_only_rest(void **state)
{
    struct shop *shop = open_shop(1);

    (void)state;
    script_cost(shop, 0, 1, NEVER / 2);
    sweep(shop);
    assert_counts(shop, "");
    assert_end(shop, OSW_SWEEP_HARD_LIMIT, true);
}

static void
what_is_not_settled_when_draining_ends_is_unknown(void **state)
{
    struct shop *shop = open_shop(300);

    (void)state;
    shop->config.depth = 4;
    script_cost(shop, 50, 300, NEVER / 2);
    sweep(shop);
    assert_counts(shop, "swept 50, unknown 3");
    assert_end(shop, OSW_SWEEP_HARD_LIMIT, true);
    assert_int_equal(shop->cancels, 1);
    assert_int_equal(shop->now_ms, shop->config.drain_deadline_ms);
}

static void
failures_while_draining_are_booked(void **state)
{
    struct shop *shop = open_shop(300);

    (void)state;
    shop->config.depth = 4;
    script_cost(shop, 50, 51, NEVER / 2);
    script(shop, 40, 53, "!P0001");
    sweep(shop);
    assert_counts(shop, "swept 41, failed 12");
    assert_int_equal(count_bookings(shop), 12);
}

/* --- Signals ------------------------------------------------------------- */

static void
a_signal_stops_softly(void **state)
{
    struct shop *shop = open_shop(300);

    (void)state;
    shop->config.depth = 4;
    shop->signals_ms[0] = 50;
    sweep(shop);
    assert_in_range(shop->swept, 50, 54);
    assert_int_equal(shop->tries_count, shop->swept);
    assert_end(shop, OSW_SWEEP_SIGNAL, true);
    assert_int_equal(shop->cancels, 0);
}

static void
a_second_signal_cancels_what_runs(void **state)
{
    struct shop *shop = open_shop(300);

    (void)state;
    shop->config.depth = 4;
    script_cost(shop, 50, 51, NEVER / 2);
    shop->signals_ms[0] = 60;
    shop->signals_ms[1] = 70;
    sweep(shop);
    assert_counts(shop, "swept 53");
    assert_end(shop, OSW_SWEEP_SIGNAL, true);
    assert_int_equal(shop->cancels, 1);
    assert_int_equal(shop->now_ms, 73);
}

/* The cancel ends one order, and the next one hangs too. */
static void
after_a_second_signal_draining_takes_no_longer_than_after_the_limit(
    void **state)
{
    struct shop *shop = open_shop(300);

    (void)state;
    shop->config.soft_deadline_ms = 900;
    shop->config.hard_deadline_ms = 1000;
    shop->config.drain_deadline_ms = 1030;
    script_cost(shop, 50, 52, NEVER / 2);
    shop->signals_ms[0] = 60;
    shop->signals_ms[1] = 70;
    sweep(shop);
    assert_end(shop, OSW_SWEEP_SIGNAL, true);
    assert_int_equal(shop->now_ms, 100);
    assert_true(shop->result.counts[OSW_OUTCOME_UNKNOWN] > 0);
}

static void
a_hard_stop_that_comes_late_does_not_lengthen_the_draining(void **state)
{
    struct shop *shop = open_shop(300);

    (void)state;
    shop->config.soft_deadline_ms = 60;
    shop->config.hard_deadline_ms = 50; /* seen at 60 */
    shop->config.drain_deadline_ms = 80;
    script_cost(shop, 50, 52, NEVER / 2);
    sweep(shop);
    assert_end(shop, OSW_SWEEP_HARD_LIMIT, true);
    assert_int_equal(shop->now_ms, 80);
}

static void
two_signals_after_the_time_limit_end_the_run_as_signals(void **state)
{
    struct shop *shop = open_shop(300);

    (void)state;
    shop->config.soft_deadline_ms = 60;
    script_cost(shop, 50, 51, NEVER / 2);
    shop->signals_ms[0] = 70;
    shop->signals_ms[1] = 80;
    sweep(shop);
    assert_end(shop, OSW_SWEEP_SIGNAL, true);
    assert_int_equal(shop->cancels, 1);
}

static void
one_signal_after_the_time_limit_changes_nothing(void **state)
{
    struct shop *shop = open_shop(300);

    (void)state;
    shop->config.depth = 4;
    shop->config.soft_deadline_ms = 60;
    shop->signals_ms[0] = 61;
    sweep(shop);
    assert_end(shop, OSW_SWEEP_TIME_LIMIT, true);
    assert_int_equal(shop->cancels, 0);
}

static void
the_hard_limit_holds_after_a_signal(void **state)
{
    struct shop *shop = open_shop(300);

    (void)state;
    script_cost(shop, 50, 51, NEVER / 2);
    shop->signals_ms[0] = 60;
    sweep(shop);
    assert_end(shop, OSW_SWEEP_SIGNAL, true);
    assert_int_equal(shop->cancels, 1);
}

static void
after_a_signal_before_the_start_nothing_is_sent(void **state)
{
    struct shop *shop = open_shop(300);

    (void)state;
    shop->signals_ms[0] = 0;
    sweep(shop);
    assert_int_equal(shop->sends, 0);
    assert_end(shop, OSW_SWEEP_SIGNAL, true);
}

static void
with_nothing_in_flight_nothing_is_cancelled(void **state)
{
    struct shop *shop = open_shop(300);

    (void)state;
    shop->signals_ms[0] = 0;
    shop->signals_ms[1] = 0;
    sweep(shop);
    assert_int_equal(shop->cancels, 0);
    assert_end(shop, OSW_SWEEP_SIGNAL, true);
}

static void
a_signal_in_a_suspicion_leaves_no_failure_unbooked(void **state)
{
    (void)state;
    for (int64_t signal_ms = 45; signal_ms <= 145; signal_ms += 10) {
        struct shop *shop = open_shop(600);

        shop->signals_ms[0] = signal_ms;
        script(shop, 0, 600, "!P0001");
        sweep(shop);
        assert_end(shop, OSW_SWEEP_SIGNAL, true);
        assert_int_equal(count_bookings(shop), shop->tries_count);
    }
}

/* --- Things that break --------------------------------------------------- */

static void
a_lost_connection_leaves_what_is_in_flight_unknown(void **state)
{
    struct shop *shop = open_shop(300);

    (void)state;
    shop->config.depth = 4;
    shop->answer_that_is_loss = 52; /* the look, 50 orders, then this */
    sweep(shop);
    assert_counts(shop, "swept 50, unknown 4");
    assert_end(shop, OSW_SWEEP_LOST, true);
    assert_int_equal(shop->result.error.exit, OSW_EXIT_UNAVAILABLE);
    assert_string_equal(shop->result.error.message, "raised");
}

static void
with_another_than_the_first_lost_the_orders_of_the_others_are_settled(
    void **state)
{
    struct shop *shop = open_shop(300);

    (void)state;
    shop->config.jobs = 4;
    shop->config.depth = 4;
    shop->answer_that_is_loss = 52;
    shop->job_that_is_lost = 2;
    sweep(shop);
    assert_counts(shop, "swept 62, unknown 4");
    assert_end(shop, OSW_SWEEP_LOST, true);
    assert_int_equal(shop->result.error.exit, OSW_EXIT_UNAVAILABLE);
}

static void
a_send_that_fails_on_another_than_the_first_is_its_loss(void **state)
{
    (void)state;
    for (int i = 1; i <= 300; i++) {
        struct shop *shop = open_shop(300);

        shop->config.jobs = 2;
        shop->config.depth = 1;
        shop->send_that_fails = i;
        sweep(shop);
        assert_end(shop, OSW_SWEEP_LOST, true);
        assert_int_equal(shop->result.cut, shop->refusing == 0);
    }
}

static void
a_loss_outweighs_the_stop_before_it(void **state)
{
    struct shop *shop = open_shop(300);

    (void)state;
    shop->config.depth = 4;
    shop->config.soft_deadline_ms = 50;
    shop->answer_that_is_loss = 53;
    sweep(shop);
    assert_end(shop, OSW_SWEEP_LOST, true);
    assert_int_equal(shop->result.error.exit, OSW_EXIT_UNAVAILABLE);
}

static void
the_last_orders_lost_in_flight_may_be_left(void **state)
{
    struct shop *shop = open_shop(3);

    (void)state;
    shop->config.batch_size = 1;
    script_cost(shop, 2, 3, 10);
    shop->answer_that_is_loss = 6;
    sweep(shop);
    assert_end(shop, OSW_SWEEP_LOST, true);
}

/* A shop with something of everything, for faults at each place. */
static struct shop *
open_mixed_shop(void)
{
    struct shop *shop = open_shop(260);

    shop->config.batch_size = 30;
    shop->config.depth = 8;
    script(shop, 0, 110, "!P0001");
    script(shop, 110, 120, "kept: paid");
    script(shop, 120, 190, "!55P03");
    script(shop, 200, 205, "!23514");
    return shop;
}

static void
a_loss_at_any_answer_ends_the_run_as_lost(void **state)
{
    struct shop *shop = open_mixed_shop();
    int answers = 0;

    (void)state;
    sweep(shop);
    assert_end(shop, OSW_SWEEP_DONE, false);
    answers = shop->answers;
    assert_true(answers > 260);
    for (int i = 1; i <= answers; i++) {
        shop = open_mixed_shop();
        shop->answer_that_is_loss = i;
        sweep(shop);
        assert_end(shop, OSW_SWEEP_LOST, true);
    }
}

static void
a_send_that_fails_anywhere_ends_the_run_as_lost(void **state)
{
    struct shop *shop = open_mixed_shop();
    int sends = 0;

    (void)state;
    sweep(shop);
    sends = shop->sends;
    for (int i = 1; i <= sends; i++) {
        shop = open_mixed_shop();
        shop->send_that_fails = i;
        sweep(shop);
        assert_int_equal(shop->result.stop, OSW_SWEEP_LOST);
        assert_int_equal(shop->result.error.exit, OSW_EXIT_UNAVAILABLE);
    }
}

static void
a_look_that_fails_breaks_the_run_with_its_error(void **state)
{
    struct shop *shop = open_shop(300);

    (void)state;
    shop->look_that_fails = 1;
    sweep(shop);
    assert_counts(shop, "");
    assert_end(shop, OSW_SWEEP_BROKEN, true);
    assert_string_equal(shop->result.error.sqlstate, "42P01");
    assert_string_equal(shop->result.error.message, "raised");
}

static void
a_look_that_fails_later_leaves_the_books_closed(void **state)
{
    struct shop *shop = open_shop(300);

    (void)state;
    shop->look_that_fails = 2;
    script(shop, 30, 60, "!P0001");
    sweep(shop);
    assert_int_equal(shop->result.counts[OSW_OUTCOME_UNKNOWN], 0);
    assert_int_equal(shop->result.counts[OSW_OUTCOME_FAILED], 30);
    assert_int_equal(count_bookings(shop), 30);
    assert_end(shop, OSW_SWEEP_BROKEN, true);
}

static void
a_sounding_that_cannot_look_breaks_the_run(void **state)
{
    struct shop *shop = open_shop(600);

    (void)state;
    shop->config.batch_size = 1000;
    shop->look_that_fails = 2;
    script(shop, 0, 600, "!P0001");
    sweep(shop);
    assert_int_equal(shop->looks_at_newest, 1);
    assert_end(shop, OSW_SWEEP_BROKEN, true);
    assert_int_equal(count_bookings(shop), shop->tries_count);
}

static void
each_end_has_its_name(void **state)
{
    static const char *const names[] = {
        [OSW_SWEEP_DONE] = "done",
        [OSW_SWEEP_MAX_ORDERS] = "max orders",
        [OSW_SWEEP_TIME_LIMIT] = "time limit",
        [OSW_SWEEP_HARD_LIMIT] = "hard limit",
        [OSW_SWEEP_SIGNAL] = "signal",
        [OSW_SWEEP_FAILURES] = "failures",
        [OSW_SWEEP_BROKEN] = "broken",
        [OSW_SWEEP_LOST] = "lost",
    };

    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        assert_string_equal(osw_sweep_stop_name((enum osw_sweep_stop)i),
                            names[i]);
    }
    assert_string_equal(osw_sweep_stop_name((enum osw_sweep_stop)99),
                        "unknown");
}

/* --- Pace ---------------------------------------------------------------- */

/* Never more in any second than the rate, and one for the slack of 10 ms. */
static void
assert_pace(const struct shop *shop)
{
    int rate = shop->config.max_rate;
    int slack = rate / 100 + 1;

    for (int i = 0; i < shop->tries_count; i++) {
        int64_t after_ms =
            shop->sent_ms[shop->tries[i]] - shop->sent_ms[shop->tries[0]];

        assert_true((after_ms + 10) * rate >= (int64_t)i * 1000);
    }
    for (int i = 0; i + rate + slack < shop->tries_count; i++) {
        assert_true(shop->sent_ms[shop->tries[i + rate + slack]] -
                        shop->sent_ms[shop->tries[i]] >=
                    1000);
    }
}

static void
orders_are_sent_at_the_rate_and_evenly(void **state)
{
    struct shop *shop = open_shop(400);

    (void)state;
    shop->config.max_rate = 100;
    sweep(shop);
    assert_counts(shop, "swept 400");
    assert_end(shop, OSW_SWEEP_DONE, false);
    assert_pace(shop);
    assert_in_range(shop->now_ms, 3970, 4000);
    for (int i = 2; i < 400; i++) {
        assert_int_equal(shop->sent_ms[i] - shop->sent_ms[i - 1], 10);
    }
    /* one for each order's time, one for its answer, and those of the looks */
    assert_in_range(shop->waits, 800, 820);
}

static void
a_rate_that_is_no_divisor_and_a_high_one_are_reached(void **state)
{
    static const int rates[] = {1, 3, 7, 300, 999, 1000, 1001, 3000};

    (void)state;
    for (size_t i = 0; i < sizeof rates / sizeof rates[0]; i++) {
        int count = rates[i] < 10 ? 30 : ROWS;
        struct shop *shop = open_shop(count);
        int64_t least_ms = (int64_t)(count - 1) * 1000 / rates[i] - 10;

        shop->now_ms = 1000; /* the slack does not reach behind 0 */
        shop->config.max_rate = rates[i];
        script_cost(shop, 0, count, 0);
        sweep(shop);
        assert_int_equal(shop->swept, count);
        assert_pace(shop);
        assert_in_range(shop->now_ms - 1000, least_ms, least_ms + 12);
    }
}

/* A run that lingers sweeps often, and few orders each time. */
static void
the_rate_is_kept_from_one_sweep_to_the_next(void **state)
{
    struct shop *shop = open_shop(40);

    (void)state;
    shop->config.max_rate = 100;
    shop->config.max_orders = 2;
    shop->config.pace_ns = &shop->pace_ns;
    for (int i = 0; i < 20; i++) {
        shop->swept = 0;
        osw_sweep(&shop->config, &fake_ops, shop, &shop->result);
        assert_counts(shop, "swept 2");
    }
    assert_int_equal(shop->tries_count, 40);
    assert_pace(shop);
}

static void
time_that_the_server_lost_is_not_made_up_for(void **state)
{
    struct shop *shop = open_shop(300);

    (void)state;
    shop->config.max_rate = 100;
    script_cost(shop, 50, 51, 3000);
    sweep(shop);
    assert_counts(shop, "swept 300");
    assert_pace(shop);
    assert_true(shop->now_ms >= 5400);
}

static void
the_rate_is_that_of_all_jobs(void **state)
{
    struct shop *shop = open_shop(300);

    (void)state;
    shop->config.max_rate = 100;
    shop->config.jobs = 4;
    script_cost(shop, 0, 300, 2);
    sweep(shop);
    assert_counts(shop, "swept 300");
    assert_pace(shop);
}

static void
the_time_limit_ends_a_wait_for_the_pace(void **state)
{
    struct shop *shop = open_shop(300);

    (void)state;
    shop->config.max_rate = 2;
    shop->config.soft_deadline_ms = 1700;
    sweep(shop);
    /* at 0, 500, 1000 and 1500 ms */
    assert_counts(shop, "swept 4");
    assert_end(shop, OSW_SWEEP_TIME_LIMIT, true);
    assert_int_equal(shop->now_ms, 1700);
    assert_int_equal(shop->cancels, 0);
}

static void
a_signal_ends_a_wait_for_the_pace(void **state)
{
    (void)state;
    for (int signals = 1; signals <= 2; signals++) {
        struct shop *shop = open_shop(300);

        shop->config.max_rate = 2;
        for (int i = 0; i < signals; i++) {
            shop->signals_ms[i] = 1700;
        }
        sweep(shop);
        assert_counts(shop, "swept 4");
        assert_end(shop, OSW_SWEEP_SIGNAL, true);
        assert_int_equal(shop->now_ms, 1700);
        assert_int_equal(shop->cancels, 0);
    }
}

static void
no_more_are_swept_at_a_rate_than_allowed(void **state)
{
    struct shop *shop = open_shop(300);

    (void)state;
    shop->config.max_rate = 100;
    shop->config.max_orders = 20;
    sweep(shop);
    assert_counts(shop, "swept 20");
    assert_end(shop, OSW_SWEEP_MAX_ORDERS, true);
    assert_in_range(shop->now_ms, 170, 200);
}

/* Attempts are paced, those of the sounding too. */
static void
failing_orders_and_a_sounding_keep_the_pace(void **state)
{
    struct shop *shop = open_shop(300);

    (void)state;
    shop->config.max_rate = 100;
    script(shop, 0, 300, "!P0001");
    sweep(shop);
    assert_end(shop, OSW_SWEEP_FAILURES, true);
    assert_int_equal(shop->tries_count, 100);
    assert_pace(shop);
    assert_true(shop->now_ms >= 970);
}

/* --- Any shop ------------------------------------------------------------ */

static void
script_at_random(struct shop *shop)
{
    static const char *const answers[] = {
        "swept",
        "swept",
        "swept",
        "!P0001",
        "!P0001",
        "!23514",
        "!55P03",
        "!55P03",
        "!40001",
        "kept: paid",
        "changed",
        "gone",
        "locked",
        "!08006",
    };
    int kinds = (int)(sizeof answers / sizeof answers[0]);

    for (int first = 0, last = 0; first < shop->count; first = last) {
        /* now and then a long stretch of one kind */
        last = first + 1 + draw(one_in(4) ? 150 : 3);
        last = last < shop->count ? last : shop->count;
        script(shop, first, last, answers[draw(kinds)]);
        script_cost(shop, first, last, draw(4));
        if (one_in(10)) {
            shop->rows[first].paid_ms = draw(500);
        }
    }
}

static struct shop *
open_random_shop(unsigned seed)
{
    struct shop *shop = NULL;

    random_state = UINT64_C(0x9e3779b97f4a7c15) * (seed + 1);
    shop = open_shop(draw(one_in(3) ? 60 : 700));
    script_at_random(shop);
    shop->config.batch_size = 1 + draw(one_in(2) ? 10 : 300);
    shop->config.jobs = one_in(2) ? 1 : 1 + draw(OSW_SWEEP_JOBS);
    shop->config.depth = 1 + draw(64);
    shop->config.max_rate = one_in(4) ? 1 + draw(3000) : 0;
    shop->config.max_orders = one_in(3) ? 1 + draw(200) : 0;
    shop->config.soft_deadline_ms = one_in(3) ? draw(600) : 100000;
    shop->config.hard_deadline_ms = shop->config.soft_deadline_ms + draw(100);
    shop->config.drain_deadline_ms = shop->config.hard_deadline_ms + draw(20);
    if (one_in(4)) {
        shop->signals_ms[0] = draw(600);
        shop->signals_ms[1] = shop->signals_ms[0] + draw(60);
    }
    shop->send_that_fails = one_in(12) ? 1 + draw(600) : 0;
    shop->answer_that_is_loss = one_in(12) ? 1 + draw(600) : 0;
    shop->job_that_is_lost = draw(shop->config.jobs);
    shop->look_that_fails = one_in(12) ? 1 + draw(10) : 0;
    shop->bookings_fail = false;
    return shop;
}

static void
whatever_the_shop_the_books_are_right(void **state)
{
    unsigned ends[OSW_SWEEP_LOST + 1] = {0};
    unsigned soundings = 0;

    (void)state;
    for (unsigned seed = 0; seed < 3000; seed++) {
        struct shop *shop = open_random_shop(seed);

        sweep(shop);
        ends[shop->result.stop]++;
        soundings += shop->looks_at_newest > 0 ? 1 : 0;
    }
    /* the shops were many enough to meet everything */
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        assert_true(ends[i] >= 10);
    }
    assert_true(soundings >= 100);
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(lateness_is_that_of_what_was_swept),
        cmocka_unit_test(nothing_due_ends_the_run_after_one_look),
        cmocka_unit_test(one_due_order_is_swept),
        cmocka_unit_test(all_due_orders_are_swept_once_and_oldest_first),
        cmocka_unit_test(the_stream_widens_with_each_answer_up_to_its_depth),
        cmocka_unit_test(the_orders_are_dealt_out_among_the_jobs),
        cmocka_unit_test(
            as_many_are_in_flight_as_were_answered_in_the_last_second),
        cmocka_unit_test(orders_of_more_than_a_second_go_one_by_one),
        cmocka_unit_test(
            the_next_batch_is_asked_for_while_orders_are_in_flight),
        cmocka_unit_test(a_batch_is_not_asked_for_while_enough_is_listed),
        cmocka_unit_test(an_order_paid_after_the_look_is_counted_changed),
        cmocka_unit_test(a_watcher_is_told_after_each_event),
        cmocka_unit_test(orders_that_vanish_between_two_looks_are_passed),
        cmocka_unit_test(every_outcome_is_counted_under_its_name),
        cmocka_unit_test(an_order_of_unknown_outcome_may_be_left),
        cmocka_unit_test(an_answer_that_is_none_of_ours_breaks_the_run),
        cmocka_unit_test(a_session_that_cancel_refuses_ends_the_run),
        cmocka_unit_test(failing_orders_are_passed_and_booked),
        cmocka_unit_test(a_statement_that_does_not_fit_is_no_attempt),
        cmocka_unit_test(a_statement_timeout_is_the_orders_failure),
        cmocka_unit_test(
            a_connection_error_that_an_order_raises_is_its_failure),
        cmocka_unit_test(passing_errors_are_counted_locked_and_booked),
        cmocka_unit_test(an_order_found_locked_is_not_booked),
        cmocka_unit_test(a_booking_that_fails_is_warned_of_and_the_run_goes_on),
        cmocka_unit_test(
            ten_failing_orders_are_logged_oldest_first_and_the_others_counted),
        cmocka_unit_test(ten_failing_orders_need_no_line_about_others),
        cmocka_unit_test(
            good_newest_orders_show_that_the_failing_ones_are_at_fault),
        cmocka_unit_test(
            good_newest_orders_are_swept_right_after_the_suspicion),
        cmocka_unit_test(
            a_shop_where_nothing_succeeds_ends_the_run_and_books_nothing),
        cmocka_unit_test(forty_nine_failures_are_the_orders_own),
        cmocka_unit_test(fifty_failures_and_no_other_order_are_the_shops_fault),
        cmocka_unit_test(
            fifty_failures_behind_all_others_are_the_shops_fault_too),
        cmocka_unit_test(the_sounding_tries_no_order_again),
        cmocka_unit_test(a_success_breaks_the_streak),
        cmocka_unit_test(an_order_kept_or_changed_is_no_success),
        cmocka_unit_test(another_sqlstate_breaks_the_streak),
        cmocka_unit_test(a_streak_begins_anew_with_another_sqlstate),
        cmocka_unit_test(a_success_among_those_in_flight_clears_the_shop),
        cmocka_unit_test(the_walk_goes_on_where_it_was_suspended),
        cmocka_unit_test(the_walk_goes_on_behind_what_was_in_flight),
        cmocka_unit_test(the_shop_is_sounded_once_a_run),
        cmocka_unit_test(the_error_told_is_the_streaks_not_the_soundings),
        cmocka_unit_test(
            good_newest_orders_are_swept_before_the_rest_of_many_locked),
        cmocka_unit_test(fifty_locks_in_a_row_have_the_newest_orders_tried),
        cmocka_unit_test(a_success_or_failure_breaks_the_row_of_locks),
        cmocka_unit_test(locks_alone_never_end_a_run),
        cmocka_unit_test(
            a_sounding_after_locks_needs_fifty_failures_of_one_kind),
        cmocka_unit_test(no_more_orders_are_swept_than_allowed),
        cmocka_unit_test(only_swept_orders_use_up_what_is_allowed),
        cmocka_unit_test(a_limit_that_is_not_reached_is_not_told),
        cmocka_unit_test(the_limit_holds_in_a_sounding),
        cmocka_unit_test(
            at_the_time_limit_what_is_in_flight_is_settled_and_no_more_sent),
        cmocka_unit_test(no_rest_is_told_where_all_was_listed_and_sent_in_time),
        cmocka_unit_test(failures_held_back_are_booked_at_the_time_limit),
        cmocka_unit_test(failures_of_a_suspicion_without_verdict_are_booked),
        cmocka_unit_test(
            at_the_hard_limit_what_runs_is_cancelled_and_counts_nothing),
        cmocka_unit_test(
            an_order_cancelled_at_the_hard_limit_is_left_as_the_only_rest),
        cmocka_unit_test(what_is_not_settled_when_draining_ends_is_unknown),
        cmocka_unit_test(failures_while_draining_are_booked),
        cmocka_unit_test(a_signal_stops_softly),
        cmocka_unit_test(a_second_signal_cancels_what_runs),
        cmocka_unit_test(
            after_a_second_signal_draining_takes_no_longer_than_after_the_limit),
        cmocka_unit_test(
            a_hard_stop_that_comes_late_does_not_lengthen_the_draining),
        cmocka_unit_test(
            two_signals_after_the_time_limit_end_the_run_as_signals),
        cmocka_unit_test(one_signal_after_the_time_limit_changes_nothing),
        cmocka_unit_test(the_hard_limit_holds_after_a_signal),
        cmocka_unit_test(after_a_signal_before_the_start_nothing_is_sent),
        cmocka_unit_test(with_nothing_in_flight_nothing_is_cancelled),
        cmocka_unit_test(a_signal_in_a_suspicion_leaves_no_failure_unbooked),
        cmocka_unit_test(a_lost_connection_leaves_what_is_in_flight_unknown),
        cmocka_unit_test(
            with_another_than_the_first_lost_the_orders_of_the_others_are_settled),
        cmocka_unit_test(
            a_send_that_fails_on_another_than_the_first_is_its_loss),
        cmocka_unit_test(a_loss_outweighs_the_stop_before_it),
        cmocka_unit_test(the_last_orders_lost_in_flight_may_be_left),
        cmocka_unit_test(a_loss_at_any_answer_ends_the_run_as_lost),
        cmocka_unit_test(a_send_that_fails_anywhere_ends_the_run_as_lost),
        cmocka_unit_test(a_look_that_fails_breaks_the_run_with_its_error),
        cmocka_unit_test(a_look_that_fails_later_leaves_the_books_closed),
        cmocka_unit_test(a_sounding_that_cannot_look_breaks_the_run),
        cmocka_unit_test(each_end_has_its_name),
        cmocka_unit_test(orders_are_sent_at_the_rate_and_evenly),
        cmocka_unit_test(a_rate_that_is_no_divisor_and_a_high_one_are_reached),
        cmocka_unit_test(the_rate_is_kept_from_one_sweep_to_the_next),
        cmocka_unit_test(time_that_the_server_lost_is_not_made_up_for),
        cmocka_unit_test(the_rate_is_that_of_all_jobs),
        cmocka_unit_test(the_time_limit_ends_a_wait_for_the_pace),
        cmocka_unit_test(a_signal_ends_a_wait_for_the_pace),
        cmocka_unit_test(no_more_are_swept_at_a_rate_than_allowed),
        cmocka_unit_test(failing_orders_and_a_sounding_keep_the_pace),
        cmocka_unit_test(whatever_the_shop_the_books_are_right),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
