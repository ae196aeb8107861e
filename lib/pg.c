#include "pg.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libpq-fe.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <bsd/stdlib.h>
#include <bsd/string.h>

#include "clock.h"
#include "connect.h"
#include "injection_point.h"
#include "interrupt.h"
#include "log.h"
#include "sql_text.h"

#define OLDEST_SERVER 140000
#define HURRY_MS      2000

/*
 * With so many segments in flight on each connection no server runs dry within
 * a millisecond: better to meet a good many answers after it than to be woken
 * by each.
 */
#define NAP_SEGMENTS 40
#define NAP_MS       1

struct osw_pg {
    PGconn *conn;
    int in_flight; /* segments synced and not answered */
    bool queued;   /* something since the last sync */
    const struct osw_pg_statement *prologue; /* of each transaction */
    const char *const *prologue_values;
    bool on_the_way; /* with a prologue: a segment is, and no other may be */
    struct osw_waiting_queue waiting; /* the segments behind it */
    bool failed;                      /* to queue or send something */
    bool dead;         /* the error in partial is the end of the session */
    pid_t canceller;   /* the child that asks for a cancel; 0: none */
    int canceller_end; /* readable when it has ended */
    struct osw_pg_answer partial; /* of the segment being read */
};

/* A text of libpq, without a severity that our log has its own word for. */
static void
fill_from_text(struct osw_error *error, enum osw_exit exit, const char *text)
{
    const char *start = text;

    if (strncmp(start, "FATAL:  ", 8) == 0 ||
        strncmp(start, "ERROR:  ", 8) == 0) {
        start += 8;
    }
    osw_error_set_lines(error, exit, start);
}

static bool
lost(struct osw_pg *pg, struct osw_error *error)
{
    fill_from_text(error, OSW_EXIT_UNAVAILABLE, PQerrorMessage(pg->conn));
    return false;
}

static void
fill_from_result(struct osw_error *error, const PGresult *result)
{
    const char *state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
    const char *message = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
    const char *hint = PQresultErrorField(result, PG_DIAG_MESSAGE_HINT);

    if (message != NULL) {
        osw_error_set(error, OSW_EXIT_INTERNAL, "%s", message);
        if (error->message[0] == '\0') {
            osw_error_set(error, OSW_EXIT_INTERNAL, "(no message)");
        }
    } else {
        fill_from_text(
            error, OSW_EXIT_UNAVAILABLE, PQresultErrorMessage(result));
    }
    if (state != NULL) {
        osw_one_line(error->sqlstate, sizeof(error->sqlstate), state);
    }
    if (hint != NULL) {
        osw_error_hint(error, "%s", hint);
    }
}

static void
log_notice(void *unused, const PGresult *result)
{
    const char *message = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);

    (void)unused;
    if (message != NULL) {
        osw_log(OSW_LOG_DEBUG, "server: %s", message);
    }
}

static bool
check_server(struct osw_pg *pg, struct osw_error *error)
{
    int version = PQserverVersion(pg->conn);

    if (version < OLDEST_SERVER) {
        osw_error_set(error,
                      OSW_EXIT_CONFIG,
                      "the server is PostgreSQL %d; order-sweep needs %d or "
                      "newer",
                      version / 10000,
                      OLDEST_SERVER / 10000);
        return false;
    }
    if (PQsetnonblocking(pg->conn, 1) != 0 ||
        PQenterPipelineMode(pg->conn) != 1) {
        return lost(pg, error);
    }
    return true;
}

bool
osw_pg_connect(struct osw_pg **pg,
               const struct osw_connect_target *target,
               int64_t deadline_ms,
               struct osw_error *error)
{
    struct osw_pg *opened = NULL;

    *pg = NULL;
    opened = calloc(1, sizeof(*opened));
    if (opened == NULL) {
        return osw_error_set(error, OSW_EXIT_INTERNAL, "out of memory");
    }
    opened->conn = osw_connect(target, deadline_ms, error);
    if (opened->conn == NULL) {
        osw_pg_close(opened);
        return false;
    }
    (void)PQsetNoticeReceiver(opened->conn, log_notice, NULL);
    if (!check_server(opened, error)) {
        osw_pg_close(opened);
        return false;
    }
    *pg = opened;
    return true;
}

/*
 * Wait for the child that asks for a cancel, until the deadline, then end it.
 * A cancel that is still on its way could hit what is sent next.
 */
static void
end_canceller(struct osw_pg *pg, int64_t deadline_ms)
{
    struct pollfd ended = {.fd = pg->canceller_end, .events = POLLIN};
    int ready = -1;

    if (pg->canceller == 0) {
        return;
    }
    while (ready < 0) {
        ready = osw_interrupt_poll(&ended, 1, osw_clock_left_ms(deadline_ms));
    }
    if (ready == 0) {
        (void)kill(pg->canceller, SIGKILL);
    }
    (void)waitpid(pg->canceller, NULL, 0);
    (void)close(pg->canceller_end);
    pg->canceller = 0;
}

/* True if no child is at work; one that is done is buried. */
static bool
canceller_is_done(struct osw_pg *pg)
{
    struct pollfd ended = {.fd = pg->canceller_end, .events = POLLIN};

    if (pg->canceller != 0 && poll(&ended, 1, 0) == 1) {
        end_canceller(pg, 0);
    }
    return pg->canceller == 0;
}

void
osw_pg_close(struct osw_pg *pg)
{
    if (pg != NULL) {
        end_canceller(pg, 0);
        osw_pg_answer_clear(&pg->partial);
        osw_waiting_clear(&pg->waiting);
        PQfinish(pg->conn);
        free(pg);
    }
}

bool
osw_pg_is_pooled(const struct osw_pg *pg, int server_pid)
{
    return PQbackendPID(pg->conn) != server_pid;
}

void
osw_pg_set_prologue(struct osw_pg *pg,
                    const struct osw_pg_statement *statement,
                    const char *const *values)
{
    pg->prologue = statement;
    pg->prologue_values = values;
}

static bool
send_statement(struct osw_pg *pg,
               const struct osw_pg_statement *statement,
               const char *const *values)
{
    if (statement->name != NULL && pg->prologue == NULL) {
        return PQsendQueryPrepared(pg->conn,
                                   statement->name,
                                   statement->parameters,
                                   values,
                                   NULL,
                                   NULL,
                                   0) == 1;
    }
    return PQsendQueryParams(pg->conn,
                             statement->text,
                             statement->parameters,
                             NULL,
                             values,
                             NULL,
                             NULL,
                             0) == 1;
}

static bool
send_prologue(struct osw_pg *pg)
{
    return pg->prologue == NULL ||
           send_statement(pg, pg->prologue, pg->prologue_values);
}

/* Is this the first statement of its transaction? */
static bool
is_first(const struct osw_pg *pg)
{
    PGTransactionStatusType status = PQtransactionStatus(pg->conn);

    return !pg->queued && status != PQTRANS_INTRANS &&
           status != PQTRANS_INERROR;
}

static bool
must_wait(const struct osw_pg *pg)
{
    return pg->prologue != NULL && (pg->on_the_way || pg->waiting.head != NULL);
}

static bool
put_to_wait(struct osw_pg *pg,
            const struct osw_pg_statement *statement,
            const char *const *values,
            struct osw_error *error)
{
    return osw_waiting_push(&pg->waiting, statement, values) ||
           osw_error_set(error, OSW_EXIT_INTERNAL, "out of memory");
}

static bool
queue_now(struct osw_pg *pg,
          const struct osw_pg_statement *statement,
          const char *const *values,
          struct osw_error *error)
{
    bool first = is_first(pg);

    pg->queued = true;
    if ((first && !send_prologue(pg)) ||
        !send_statement(pg, statement, values)) {
        return lost(pg, error);
    }
    return true;
}

bool
osw_pg_queue(struct osw_pg *pg,
             const struct osw_pg_statement *statement,
             const char *const *values,
             struct osw_error *error)
{
    bool done = must_wait(pg) ? put_to_wait(pg, statement, values, error)
                              : queue_now(pg, statement, values, error);

    pg->failed = pg->failed || !done;
    return done;
}

bool
osw_pg_prepare(struct osw_pg *pg,
               const struct osw_pg_statement *statement,
               struct osw_error *error)
{
    int sent = 0;

    if (pg->prologue != NULL) {
        return true;
    }
    pg->queued = true;
    sent = PQsendPrepare(pg->conn,
                         statement->name,
                         statement->text,
                         statement->parameters,
                         NULL);
    return sent == 1 ? true : lost(pg, error);
}

static bool
sync_now(struct osw_pg *pg, struct osw_error *error)
{
    OSW_INJECTION_POINT("before-sync");
    if (PQpipelineSync(pg->conn) != 1) {
        return lost(pg, error);
    }
    pg->queued = false;
    pg->on_the_way = pg->prologue != NULL;
    OSW_INJECTION_POINT("after-sync");
    return true;
}

bool
osw_pg_sync(struct osw_pg *pg, struct osw_error *error)
{
    bool done = must_wait(pg) ? put_to_wait(pg, NULL, NULL, error)
                              : sync_now(pg, error);

    pg->in_flight += done ? 1 : 0;
    pg->failed = pg->failed || !done;
    return done;
}

void
osw_pg_give_up(struct osw_pg *pg)
{
    pg->failed = true;
}

/* Send the segment that has waited longest. */
static void
send_waiting(struct osw_pg *pg)
{
    struct osw_error ignored = OSW_ERROR_INIT; /* the next wait tells it */
    bool ended = pg->waiting.head == NULL;

    while (!ended && !pg->failed) {
        struct osw_waiting *first = osw_waiting_pop(&pg->waiting);

        ended = first->is_end;
        pg->failed =
            ended ? !sync_now(pg, &ignored)
                  : !queue_now(pg, &first->statement, first->values, &ignored);
        free(first);
    }
}

/* Else it is that of a statement; libpq's own have no severity. */
static bool
ends_session(const PGresult *result)
{
    const char *severity =
        PQresultErrorField(result, PG_DIAG_SEVERITY_NONLOCALIZED);

    return severity == NULL || strcmp(severity, "ERROR") != 0;
}

/* Take one result of the segment being read; true if it was the segment's end.
 */
static bool
take(struct osw_pg *pg, PGresult *result)
{
    struct osw_pg_answer *partial = &pg->partial;

    switch (PQresultStatus(result)) {
    case PGRES_PIPELINE_SYNC:
        PQclear(result);
        return true;
    case PGRES_TUPLES_OK:
        PQclear(partial->result);
        partial->result = result;
        partial->rows = PQntuples(result);
        partial->columns = PQnfields(result);
        return false;
    case PGRES_FATAL_ERROR:
        /* What ended the session counts, not an order's error before, nor
         * what libpq finds then. */
        if (!partial->failed || (!pg->dead && ends_session(result))) {
            partial->failed = true;
            fill_from_result(&partial->error, result);
        }
        pg->dead = pg->dead || ends_session(result);
        PQclear(result);
        return false;
    case PGRES_EMPTY_QUERY:
    case PGRES_COMMAND_OK:
    case PGRES_COPY_OUT:
    case PGRES_COPY_IN:
    case PGRES_BAD_RESPONSE:
    case PGRES_NONFATAL_ERROR:
    case PGRES_COPY_BOTH:
    case PGRES_SINGLE_TUPLE:
    case PGRES_PIPELINE_ABORTED:
        PQclear(result);
        return false;
    }
    PQclear(result);
    return false;
}

/*
 * The answer counts only now, at its sync: an error at the commit arrives
 * after the rows.
 */
static void
hand_over(struct osw_pg *pg, struct osw_pg_answer *answer)
{
    *answer = pg->partial;
    memset(&pg->partial, 0, sizeof(pg->partial));
    answer->ok = !answer->failed;
    if (!answer->ok) {
        PQclear(answer->result);
        answer->result = NULL;
        answer->rows = 0;
        answer->columns = 0;
    }
    pg->in_flight--;
    pg->on_the_way = false;
    send_waiting(pg);
}

/* Read what has arrived, up to the end of a segment. */
static bool
read_segment(struct osw_pg *pg, struct osw_pg_answer *answer)
{
    PGresult *result = NULL;
    int nothing = 0;

    /* NULL stands between the statements of a segment; on a connection that
     * is lost it comes for ever. */
    while (nothing < 2 &&
           (PQstatus(pg->conn) != CONNECTION_OK || PQisBusy(pg->conn) == 0)) {
        result = PQgetResult(pg->conn);
        if (result == NULL) {
            nothing++;
        } else if (take(pg, result)) {
            hand_over(pg, answer);
            return true;
        } else {
            nothing = 0;
        }
    }
    return false;
}

static enum osw_pg_event
report_loss(struct osw_pg *pg, struct osw_pg_answer *answer)
{
    if (pg->dead) {
        answer->error = pg->partial.error;
        answer->error.exit = OSW_EXIT_UNAVAILABLE;
    } else if (PQerrorMessage(pg->conn)[0] == '\0') {
        (void)osw_error_set(&answer->error, OSW_EXIT_INTERNAL, "out of memory");
    } else {
        (void)lost(pg, &answer->error);
    }
    return OSW_PG_LOST;
}

/*
 * Write what can be written, read what has come.  OSW_PG_TIMED_OUT: nothing is
 * to tell before *fd is ready.
 */
static enum osw_pg_event
serve(struct osw_pg *pg, struct pollfd *fd, struct osw_pg_answer *answer)
{
    /* Reads while it writes: with both socket buffers full, a client that only
     * writes and a server that only answers wait for ever. */
    int unsent = PQflush(pg->conn);

    if (pg->in_flight > 0 && read_segment(pg, answer)) {
        return OSW_PG_ANSWERED;
    }
    if (PQstatus(pg->conn) != CONNECTION_OK || pg->failed) {
        return report_loss(pg, answer);
    }
    fd->fd = PQsocket(pg->conn);
    fd->events = (short)(POLLIN | (unsent > 0 ? POLLOUT : 0));
    return OSW_PG_TIMED_OUT;
}

static bool
may_nap(struct osw_pg *const *pgs, int count)
{
    for (int i = 0; i < count; i++) {
        if (pgs[i] != NULL &&
            (pgs[i]->in_flight < NAP_SEGMENTS || pgs[i]->prologue != NULL)) {
            return false;
        }
    }
    return true;
}

/* poll(2) for all of them, until the deadline. */
static int
poll_all(struct osw_pg *const *pgs,
         struct pollfd *fds,
         int count,
         int64_t deadline_ms)
{
    if (may_nap(pgs, count) && osw_clock_left_ms(deadline_ms) > NAP_MS &&
        osw_interrupt_poll(NULL, 0, NAP_MS) != 0) {
        return -1; /* a signal */
    }
    return osw_interrupt_poll(
        fds, (nfds_t)count, osw_clock_left_ms(deadline_ms));
}

enum osw_pg_event
osw_pg_wait_any(struct osw_pg *const *pgs,
                int count,
                int64_t deadline_ms,
                int *which,
                struct osw_pg_answer *answer)
{
    const int signals = osw_interrupt_count();
    struct pollfd fds[OSW_PG_TOGETHER];

    for (;;) {
        int ready = 0;

        for (int i = 0; i < count; i++) {
            enum osw_pg_event event = OSW_PG_TIMED_OUT;

            fds[i] = (struct pollfd){.fd = -1};
            if (pgs[i] != NULL) {
                event = serve(pgs[i], &fds[i], answer);
            }
            if (event != OSW_PG_TIMED_OUT) {
                *which = i;
                return event;
            }
        }
        ready = poll_all(pgs, fds, count, deadline_ms);
        if (osw_interrupt_count() != signals) {
            return OSW_PG_INTERRUPTED;
        }
        if (ready < 0 && errno != EINTR) {
            *which = 0;
            return report_loss(pgs[0], answer);
        }
        if (ready == 0) {
            return OSW_PG_TIMED_OUT;
        }
        for (int i = 0; ready > 0 && i < count; i++) {
            if ((fds[i].revents & ~POLLOUT) != 0) {
                /* a failure shows in the status */
                (void)PQconsumeInput(pgs[i]->conn);
            }
        }
    }
}

enum osw_pg_event
osw_pg_wait(struct osw_pg *pg,
            int64_t deadline_ms,
            struct osw_pg_answer *answer)
{
    int which = 0;

    return osw_pg_wait_any(&pg, 1, deadline_ms, &which, answer);
}

bool
osw_pg_owes(const struct osw_pg *pg)
{
    return pg->in_flight > 0;
}

/* A second signal is like the hard limit: nobody waits long any more. */
static int64_t
hurry(int64_t deadline_ms)
{
    return osw_interrupt_count() >= 2
               ? osw_clock_until_ms(HURRY_MS, deadline_ms)
               : deadline_ms;
}

bool
osw_pg_await(struct osw_pg *pg,
             int64_t deadline_ms,
             struct osw_pg_answer *answer,
             struct osw_error *error)
{
    enum osw_pg_event event = OSW_PG_INTERRUPTED;

    while (event == OSW_PG_INTERRUPTED) {
        deadline_ms = hurry(deadline_ms);
        event = osw_pg_wait(pg, deadline_ms, answer);
    }
    switch (event) {
    case OSW_PG_ANSWERED:
    case OSW_PG_INTERRUPTED:
        break;
    case OSW_PG_TIMED_OUT:
        return osw_error_set(
            error, OSW_EXIT_UNAVAILABLE, "no answer from the server in time");
    case OSW_PG_LOST:
        *error = answer->error;
        return false;
    }
    if (!answer->ok) {
        *error = answer->error;
        osw_pg_answer_clear(answer);
        return false;
    }
    return true;
}

/* Is the line free for a question and its answer? */
static bool
is_free(struct osw_pg *pg, int64_t deadline_ms, struct osw_error *error)
{
    if (pg->in_flight > 0) {
        /* A wait before was given up: the next answer is not ours. */
        return osw_error_set(
            error, OSW_EXIT_UNAVAILABLE, "the server still owes an answer");
    }
    end_canceller(pg, deadline_ms);
    return true;
}

bool
osw_pg_query(struct osw_pg *pg,
             const struct osw_pg_statement *statement,
             const char *const *values,
             int columns,
             int64_t deadline_ms,
             struct osw_pg_answer *answer,
             struct osw_error *error)
{
    if (!is_free(pg, deadline_ms, error) ||
        !osw_pg_queue(pg, statement, values, error) ||
        !osw_pg_sync(pg, error) ||
        !osw_pg_await(pg, deadline_ms, answer, error)) {
        return false;
    }
    if (columns >= 0 && answer->columns != columns) {
        osw_error_set(error,
                      OSW_EXIT_CONFIG,
                      "the schema answers %d columns where %d are expected",
                      answer->columns,
                      columns);
        osw_pg_answer_clear(answer);
        return false;
    }
    return true;
}

bool
osw_pg_query_within(struct osw_pg *pg,
                    int64_t limit_ms,
                    const struct osw_pg_statement *statement,
                    const char *const *values,
                    int columns,
                    int64_t deadline_ms,
                    struct osw_pg_answer *answer,
                    struct osw_error *error)
{
    const struct osw_pg_statement limit = {NULL, osw_sql_look_limit, 1};
    char limit_text[24];
    const char *limits[] = {limit_text};

    (void)snprintf(limit_text, sizeof(limit_text), "%" PRId64, limit_ms);
    /* One segment, so one transaction, with which the limit ends. */
    return osw_pg_queue(pg, &limit, limits, error) &&
           osw_pg_query(
               pg, statement, values, columns, deadline_ms, answer, error);
}

bool
osw_pg_command(struct osw_pg *pg,
               const char *text,
               int64_t deadline_ms,
               struct osw_error *error)
{
    const struct osw_pg_statement statement = {NULL, text, 0};
    struct osw_pg_answer answer = OSW_PG_ANSWER_INIT;
    bool done =
        osw_pg_query(pg, &statement, NULL, -1, deadline_ms, &answer, error);

    osw_pg_answer_clear(&answer);
    return done;
}

/* End the segment and wait for its answer, whose rows do not matter. */
static bool
finish_segment(struct osw_pg *pg, int64_t deadline_ms, struct osw_error *error)
{
    struct osw_pg_answer answer = OSW_PG_ANSWER_INIT;

    if (!osw_pg_sync(pg, error) ||
        !osw_pg_await(pg, deadline_ms, &answer, error)) {
        return false;
    }
    osw_pg_answer_clear(&answer);
    return true;
}

bool
osw_pg_begin(struct osw_pg *pg,
             const char *text,
             int64_t deadline_ms,
             struct osw_error *error)
{
    const struct osw_pg_statement statement = {NULL, text, 0};

    if (!is_free(pg, deadline_ms, error)) {
        return false;
    }
    /* The prologue may have taken a snapshot, which an isolation level must
     * come before. */
    if (!send_statement(pg, &statement, NULL) || !send_prologue(pg)) {
        return lost(pg, error);
    }
    return finish_segment(pg, deadline_ms, error);
}

bool
osw_pg_forget(struct osw_pg *pg, int64_t deadline_ms, struct osw_error *error)
{
    return pg->prologue != NULL ||
           osw_pg_command(pg, "DEALLOCATE ALL", deadline_ms, error);
}

bool
osw_pg_prepare_now(struct osw_pg *pg,
                   const struct osw_pg_statement *statement,
                   int64_t deadline_ms,
                   struct osw_error *error)
{
    return pg->prologue != NULL || (osw_pg_prepare(pg, statement, error) &&
                                    finish_segment(pg, deadline_ms, error));
}

#define MAX_TYPES 64

/* Read OIDs with commas between; returns how many there are. */
static int
read_types(const char *text, Oid *types)
{
    int count = 0;

    while (*text != '\0' && count < MAX_TYPES) {
        char *end = NULL;

        types[count] = (Oid)strtoul(text, &end, 10);
        count++;
        text = *end == ',' ? end + 1 : end;
    }
    return count;
}

bool
osw_pg_prepare_typed(struct osw_pg *pg,
                     const char *name,
                     const char *text,
                     const char *types,
                     int64_t deadline_ms,
                     struct osw_error *error)
{
    Oid oids[MAX_TYPES];
    int count = read_types(types, oids);

    if (PQsendPrepare(pg->conn, name, text, count, oids) != 1) {
        return lost(pg, error);
    }
    return finish_segment(pg, deadline_ms, error);
}

bool
osw_pg_script(struct osw_pg *pg, const char *text, struct osw_error *error)
{
    PGresult *result = NULL;
    bool done = false;

    if (PQexitPipelineMode(pg->conn) != 1 ||
        PQsetnonblocking(pg->conn, 0) != 0) {
        return lost(pg, error);
    }
    result = PQexec(pg->conn, text);
    switch (PQresultStatus(result)) {
    case PGRES_COMMAND_OK:
    case PGRES_TUPLES_OK:
    case PGRES_EMPTY_QUERY:
        done = true;
        break;
    case PGRES_COPY_OUT:
    case PGRES_COPY_IN:
    case PGRES_BAD_RESPONSE:
    case PGRES_NONFATAL_ERROR:
    case PGRES_FATAL_ERROR:
    case PGRES_COPY_BOTH:
    case PGRES_SINGLE_TUPLE:
    case PGRES_PIPELINE_SYNC:
    case PGRES_PIPELINE_ABORTED:
        fill_from_result(error, result);
        break;
    }
    PQclear(result);
    if (PQsetnonblocking(pg->conn, 1) != 0 ||
        PQenterPipelineMode(pg->conn) != 1) {
        return done ? lost(pg, error) : false;
    }
    return done;
}

void
osw_pg_cancel(struct osw_pg *pg)
{
    char ignored[256];
    int ends[2]; /* the child holds the second as long as it lives */
    PGcancel *cancel = NULL;

    if (!canceller_is_done(pg) || pipe2(ends, O_CLOEXEC) != 0) {
        return;
    }
    cancel = PQgetCancel(pg->conn);
    pg->canceller = cancel != NULL ? fork() : -1;
    if (pg->canceller == 0) {
        (void)PQcancel(cancel, ignored, (int)sizeof(ignored));
        _exit(0); /* nothing of the parent's is to be flushed or closed */
    }
    (void)close(ends[1]);
    pg->canceller_end = ends[0];
    if (pg->canceller == -1) {
        (void)close(ends[0]);
        pg->canceller = 0;
    }
    PQfreeCancel(cancel);
}

const char *
osw_pg_value(const struct osw_pg_answer *answer, int row, int column)
{
    const PGresult *result = answer->result;

    if (PQgetisnull(result, row, column) != 0) {
        return NULL;
    }
    return PQgetvalue(result, row, column);
}

bool
osw_pg_is_true(const struct osw_pg_answer *answer, int row, int column)
{
    const char *value = osw_pg_value(answer, row, column);

    return value != NULL && strcmp(value, "t") == 0;
}

int64_t
osw_pg_number(const struct osw_pg_answer *answer, int row, int column)
{
    const char *value = osw_pg_value(answer, row, column);

    return value == NULL ? 0 : strtoimax(value, NULL, 10);
}

void
osw_pg_answer_clear(struct osw_pg_answer *answer)
{
    PQclear(answer->result);
    memset(answer, 0, sizeof(*answer));
}
