#include "run.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "claim.h"
#include "clock.h"
#include "connect.h"
#include "definition.h"
#include "explain.h"
#include "fault.h"
#include "injection_point.h"
#include "interrupt.h"
#include "log.h"
#include "migrate.h"
#include "pg.h"
#include "preview.h"
#include "probe.h"
#include "report.h"
#include "runlog.h"
#include "session.h"
#include "stream.h"
#include "sweep.h"

/* How long after the hard limit answers are still waited for. */
#define DRAIN_MS 2000

/* A sweep without a sign of life for so long is looked after by nobody. */
#define SILENT_S 300

struct run {
    const struct osw_options *options;
    FILE *out;
    enum osw_report_format format;
    struct osw_connect_target target;
    struct osw_pg *pg;
    struct osw_session session;
    struct osw_session_limits limits;
    struct osw_claim claim;
    struct osw_probe probe;
    char window_text[40];
    const char *window; /* window_text, or NULL: as defined */
    int64_t soft_ms;
    int64_t hard_ms;
    int64_t drain_ms;
    int64_t orders_left; /* of --max-orders; 0: no limit */
    enum osw_exit exit;
};

/* What a turn of one sweep came to. */
enum turn {
    TURN_OVER,
    TURN_REST, /* worth another turn if there is time */
    TURN_LOST, /* the connection is of no more use */
};

static void
note(struct run *run, enum osw_exit exit)
{
    run->exit = osw_exit_graver(run->exit, exit);
}

/* Log an error under the name of the sweep it belongs to. */
static void
fail(struct run *run, const char *sweep, const struct osw_error *error)
{
    struct osw_error named = *error;

    if (sweep != NULL) {
        osw_error_set(&named, error->exit, "%s: %s", sweep, error->message);
        if (error->hint[0] != '\0') {
            osw_error_hint(&named, "%s", error->hint);
        }
    }
    osw_log_error(&named);
    note(run, error->exit);
}

static enum osw_report_format
choose_format(const struct osw_options *options, FILE *out)
{
    switch (options->format) {
    case OSW_FORMAT_TEXT:
        return OSW_REPORT_TEXT;
    case OSW_FORMAT_JSON:
        return OSW_REPORT_JSON;
    case OSW_FORMAT_AUTO:
        break;
    }
    /* cron mails whatever is printed, each minute */
    if (options->verbosity > 0 ||
        (options->verbosity == 0 && isatty(fileno(out)) == 1)) {
        return OSW_REPORT_TEXT;
    }
    return OSW_REPORT_NONE;
}

static void
prepare(struct run *run,
        const struct osw_options *options,
        int64_t started_ms,
        FILE *out)
{
    memset(run, 0, sizeof(*run));
    run->options = options;
    run->out = out;
    run->format = choose_format(options, out);
    run->soft_ms = started_ms + options->time_limit_ms;
    run->hard_ms = started_ms + options->hard_limit_ms;
    run->drain_ms = run->hard_ms + DRAIN_MS;
    run->orders_left = options->max_orders;
    /* One order that takes for ever must not eat the whole run, each run. */
    run->limits.statement_ms = options->time_limit_ms / 4;
    run->limits.idle_ms = options->time_limit_ms + 10000;
    run->limits.asynchronous = options->durability == OSW_DURABILITY_BATCH;
    if (options->window_ms >= 0) {
        (void)snprintf(run->window_text,
                       sizeof(run->window_text),
                       "%" PRId64 " milliseconds",
                       options->window_ms);
        run->window = run->window_text;
    }
}

/* A question wants its answer, and the whole time for it. */
static void
prepare_answer(struct run *run,
               const struct osw_options *options,
               int64_t started_ms,
               FILE *out)
{
    prepare(run, options, started_ms, out);
    if (run->format == OSW_REPORT_NONE) {
        run->format = OSW_REPORT_TEXT;
    }
    run->limits.statement_ms = options->hard_limit_ms;
}

static bool
connect_to(struct run *run, bool primary, struct osw_error *error)
{
    const struct osw_options *options = run->options;

    run->target.dbname = options->dbname;
    run->target.host = options->host;
    run->target.port = options->port;
    run->target.user = options->user;
    run->target.primary = primary;
    OSW_INJECTION_POINT("before-connect");
    if (!osw_pg_connect(&run->pg, &run->target, run->hard_ms, error)) {
        return false;
    }
    osw_session_begin(&run->session, run->pg, &run->limits);
    osw_claim_open(&run->claim, &run->session, &run->target, &run->limits);
    return true;
}

static bool
open_database(struct run *run, bool primary)
{
    struct osw_error error = OSW_ERROR_INIT;

    if (!connect_to(run, primary, &error)) {
        fail(run, NULL, &error);
        return false;
    }
    return true;
}

/* The server that a run would find among several hosts, else any. */
static bool
open_any(struct run *run)
{
    struct osw_error ignored = OSW_ERROR_INIT;

    return connect_to(run, true, &ignored) || open_database(run, false);
}

/* A window that the definition cannot take, or that means several at once. */
static bool
check_window(struct run *run)
{
    const struct osw_probe *probe = &run->probe;
    struct osw_error error = OSW_ERROR_INIT;

    if (run->window == NULL) {
        return true;
    }
    if (probe->count > 1) {
        osw_error_set(&error,
                      OSW_EXIT_USAGE,
                      "--window: there are %d sweeps; say which with --sweep",
                      probe->count);
    } else if (probe->sweeps[0].shorter && !run->options->dry_run) {
        osw_error_set(
            &error,
            OSW_EXIT_USAGE,
            "--window: shorter than the one %s is defined with; write "
            "a longer one, or add --dry-run to see what it would mean",
            probe->sweeps[0].name);
    } else if (!probe->sweeps[0].takes_window) {
        osw_error_set(&error,
                      OSW_EXIT_USAGE,
                      "--window: %s has a deadline for each order; leave "
                      "--window out",
                      probe->sweeps[0].name);
    } else {
        return true;
    }
    fail(run, NULL, &error);
    return false;
}

static bool
look(struct run *run)
{
    struct osw_error error = OSW_ERROR_INIT;

    if (!osw_probe(run->pg,
                   run->options->sweep,
                   run->window,
                   run->hard_ms,
                   &run->probe,
                   &error) ||
        !osw_session_settle(&run->session,
                            run->options->pooler,
                            run->probe.server_pid,
                            run->probe.isolation,
                            &error)) {
        fail(run, NULL, &error);
        return false;
    }
    OSW_INJECTION_POINT("after-probe");
    return check_window(run);
}

static bool
set_session(struct run *run)
{
    struct osw_error error = OSW_ERROR_INIT;

    if (!osw_session_set(&run->session, run->hard_ms, &error)) {
        fail(run, NULL, &error);
        return false;
    }
    return true;
}

static void
report_idle(struct run *run,
            const struct osw_probe_sweep *sweep,
            const char *why,
            enum osw_exit exit,
            const char *error)
{
    const struct osw_report report = {.sweep = sweep->name,
                                      .stopped = why,
                                      .rest = sweep->due,
                                      .next_deadline = sweep->next_deadline,
                                      .exit = exit,
                                      .error = error};

    osw_report_write(run->out, run->format, &report);
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
    osw_report_write(run->out, run->format, &report);
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
                      "%s: another run has held the lock without a sign of "
                      "life for %" PRId64 " s",
                      sweep->name,
                      sweep->silent_s);
        osw_error_hint(&error,
                       "look for its session in pg_stat_activity and "
                       "pg_locks");
        fail(run, NULL, &error);
        exit = error.exit;
    } else if (run->options->fail_if_busy) {
        osw_error_set(&error,
                      OSW_EXIT_TEMPORARY,
                      "%s: another run is working on it",
                      sweep->name);
        fail(run, NULL, &error);
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
        exit = osw_sqlstate_class(result->error.sqlstate, "42")
                   ? OSW_EXIT_CONFIG
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
        osw_probe_blame(run->pg, name, run->drain_ms, error);
        osw_fault_classify(error);
        fail(run, name, error);
        break;
    case OSW_SWEEP_LOST:
        fail(run, name, error);
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
 * Close the books: only after this flush is anything told as done.  On a lost
 * connection the books cannot be closed.
 */
static enum turn
close_run(struct run *run,
          const struct osw_probe_sweep *sweep,
          const char *run_id,
          struct osw_sweep_result *result)
{
    struct osw_error error = OSW_ERROR_INIT;
    bool closed = result->stop != OSW_SWEEP_LOST;

    OSW_INJECTION_POINT("before-close");
    if (closed &&
        !osw_runlog_finish(run->pg, run_id, result, run->drain_ms, &error)) {
        closed = false;
        osw_fault_classify(&error);
        fail(run, sweep->name, &error);
        result->stop = OSW_SWEEP_LOST;
        result->error = error;
    }
    if (closed) {
        return result->rest && result->stop == OSW_SWEEP_TIME_LIMIT ? TURN_REST
                                                                    : TURN_OVER;
    }
    if (run->limits.asynchronous && result->counts[OSW_OUTCOME_SWEPT] > 0) {
        osw_log(OSW_LOG_ERROR,
                "%s: %" PRId64 " orders were swept, but are not known to be "
                "durable",
                sweep->name,
                result->counts[OSW_OUTCOME_SWEPT]);
        result->rest = true;
    }
    return TURN_LOST;
}

static void
count_orders(struct run *run, const struct osw_sweep_result *result)
{
    if (run->options->max_orders > 0) {
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
        .batch_size = run->options->batch_size,
        .depth = OSW_SWEEP_DEPTH,
        .max_orders = run->orders_left,
        .soft_deadline_ms = soft_ms,
        .hard_deadline_ms = run->hard_ms,
        .drain_deadline_ms = run->drain_ms,
    };
    struct osw_stream stream;
    struct osw_sweep_result result;
    struct osw_error error = OSW_ERROR_INIT;
    int64_t began_ms = osw_clock_now_ms();
    enum turn turn = TURN_LOST;
    enum osw_exit exit = OSW_EXIT_OK;

    if (!osw_stream_open(
            &stream, run->pg, definition, run->window, run_id, &error)) {
        osw_stream_close(&stream);
        fail(run, sweep->name, &error);
        return TURN_LOST;
    }
    osw_sweep(&config, &osw_stream_ops, &stream, &result);
    log_end(run, sweep->name, &result);
    turn = close_run(run, sweep, run_id, &result);
    exit = exit_of(&result);
    note(run, exit);
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

    if (!osw_definition_load(
            run->pg, sweep->name, run->hard_ms, &definition, &error)) {
        osw_fault_classify(&error);
        fail(run, sweep->name, &error);
        return error.sqlstate[0] == '\0' && error.exit == OSW_EXIT_UNAVAILABLE
                   ? TURN_LOST
                   : TURN_OVER;
    }
    if (osw_runlog_begin(
            run->pg, sweep->name, run->window, run->hard_ms, run_id, &error)) {
        turn = sweep_orders(run, sweep, &definition, run_id, soft_ms);
    } else {
        osw_fault_classify(&error);
        fail(run, sweep->name, &error);
        turn = TURN_LOST;
    }
    osw_definition_clear(&definition);
    return turn;
}

/* One turn of one sweep: claim it, sweep until soft_ms, let it go. */
static enum turn
take_turn(struct run *run, const struct osw_probe_sweep *sweep, int64_t soft_ms)
{
    struct osw_error error = OSW_ERROR_INIT;
    enum osw_claim_result claimed = OSW_CLAIM_WITHOUT;
    enum turn turn = TURN_LOST;

    if (run->options->lock) {
        claimed = osw_claim_take(
            &run->claim, sweep->name, sweep->id, run->hard_ms, &error);
    }
    switch (claimed) {
    case OSW_CLAIM_HELD:
    case OSW_CLAIM_WITHOUT:
        break;
    case OSW_CLAIM_BUSY:
        handle_busy(run, sweep);
        return TURN_OVER;
    case OSW_CLAIM_FAILED:
        fail(run, sweep->name, &error);
        return TURN_LOST;
    }
    OSW_INJECTION_POINT("after-lock");
    turn = open_run(run, sweep, soft_ms);
    if (turn != TURN_LOST && claimed == OSW_CLAIM_HELD &&
        !osw_claim_release(&run->claim, sweep->id, run->drain_ms, &error)) {
        osw_log(OSW_LOG_WARNING, "%s: %s", sweep->name, error.message);
    }
    return turn;
}

static bool
may_go_on(const struct run *run)
{
    return osw_clock_now_ms() < run->soft_ms &&
           (run->options->max_orders == 0 || run->orders_left > 0) &&
           osw_interrupt_count() == 0;
}

/* The end of a turn that leaves as much time to each sweep still due. */
static int64_t
share_of_time(const struct run *run, int from)
{
    int64_t now = osw_clock_now_ms();
    int sharing = 0;

    for (int i = from; i < run->probe.count; i++) {
        sharing += run->probe.sweeps[i].due ? 1 : 0;
    }
    return sharing > 1 ? now + (run->soft_ms - now) / sharing : run->soft_ms;
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
        note(run, exit);
    }
    if (!again) {
        report_idle(run, sweep, stopped ? "signal" : "no turn", exit, NULL);
    }
    return TURN_OVER;
}

/* All due sweeps share the time in turns, until none has a rest. */
static void
sweep_all(struct run *run, int due)
{
    enum turn turn = TURN_OVER;
    bool again = false;

    while (due > 0) {
        for (int i = 0; i < run->probe.count; i++) {
            struct osw_probe_sweep *sweep = &run->probe.sweeps[i];

            if (!sweep->due) {
                continue;
            }
            turn = may_go_on(run) ? take_turn(run, sweep, share_of_time(run, i))
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

/* Sweeps with nothing due, or that cannot be looked at; returns the others. */
static int
sort_out(struct run *run)
{
    struct osw_error error = OSW_ERROR_INIT;
    int due = 0;

    for (int i = 0; i < run->probe.count; i++) {
        const struct osw_probe_sweep *sweep = &run->probe.sweeps[i];

        if (sweep->error_message != NULL) {
            osw_error_set(&error, OSW_EXIT_CONFIG, "%s", sweep->error_message);
            osw_one_line(
                error.sqlstate, sizeof(error.sqlstate), sweep->error_state);
            osw_fault_classify(&error);
            fail(run, sweep->name, &error);
            report_idle(run, sweep, "broken", error.exit, error.message);
        } else if (sweep->due) {
            due++;
        } else {
            report_idle(run,
                        sweep,
                        sweep->paused ? "paused" : "nothing due",
                        OSW_EXIT_OK,
                        NULL);
        }
    }
    return due;
}

/* A quiet sweep is told from a dead one by this; seldom, since it writes. */
static void
give_signs_of_life(struct run *run)
{
    struct osw_error error = OSW_ERROR_INIT;

    for (int i = 0; i < run->probe.count; i++) {
        const struct osw_probe_sweep *sweep = &run->probe.sweeps[i];

        if (!sweep->due && !sweep->paused && sweep->error_message == NULL &&
            sweep->silent_s > SILENT_S &&
            !osw_runlog_alive(run->pg, sweep->name, run->hard_ms, &error)) {
            osw_fault_classify(&error);
            fail(run, sweep->name, &error);
            return;
        }
    }
}

static void
close_database(struct run *run)
{
    osw_probe_clear(&run->probe);
    osw_claim_close(&run->claim);
    osw_pg_close(run->pg);
}

enum osw_exit
osw_run(const struct osw_options *options, int64_t started_ms, FILE *out)
{
    struct run run;

    prepare(&run, options, started_ms, out);
    if (open_database(&run, true) && look(&run)) {
        int due = sort_out(&run);

        give_signs_of_life(&run);
        if (due > 0 && set_session(&run)) {
            sweep_all(&run, due);
        }
    }
    close_database(&run);
    return run.exit;
}

static void
show_all(struct run *run)
{
    struct osw_error error = OSW_ERROR_INIT;

    for (int i = 0; i < run->probe.count; i++) {
        if (!osw_preview(run->pg,
                         run->probe.sweeps[i].name,
                         run->window,
                         run->options->limit,
                         run->hard_ms,
                         run->format,
                         run->out,
                         &error)) {
            fail(run, run->probe.sweeps[i].name, &error);
            return;
        }
    }
    if (!osw_preview_end(run->pg, run->hard_ms, &error)) {
        osw_fault_classify(&error);
        fail(run, NULL, &error);
    }
}

/* Look at all sweeps in one transaction, and leave the database. */
static void
dry_run(struct run *run)
{
    struct osw_error error = OSW_ERROR_INIT;

    if (open_database(run, false) && look(run) && set_session(run)) {
        if (osw_preview_begin(run->pg, run->hard_ms, &error)) {
            show_all(run);
        } else {
            osw_fault_classify(&error);
            fail(run, NULL, &error);
        }
    }
    close_database(run);
}

enum osw_exit
osw_run_dry(const struct osw_options *options, int64_t started_ms, FILE *out)
{
    struct run run;
    struct osw_error error = OSW_ERROR_INIT;
    char *text = NULL;
    size_t size = 0;

    prepare_answer(&run, options, started_ms, out);
    /* Written when the transaction is over: who reads may stop reading. */
    run.out = open_memstream(&text, &size);
    if (run.out != NULL) {
        dry_run(&run);
    }
    if (run.out == NULL || fclose(run.out) != 0) {
        osw_error_set(&error, OSW_EXIT_INTERNAL, "out of memory");
        fail(&run, NULL, &error);
    } else {
        (void)fwrite(text, 1, size, out); /* main tells a failure */
    }
    free(text);
    return run.exit;
}

/* Two connections, each as a run would use it. */
static bool
probe_sessions(struct run *run, struct osw_check_counts *counts)
{
    struct run other;
    struct osw_error error = OSW_ERROR_INIT;
    bool done = false;

    prepare(&other, run->options, osw_clock_now_ms(), run->out);
    other.format = run->format;
    if (!open_database(&other, true)) {
        note(run, other.exit);
        return false;
    }
    done = osw_check_probe(run->pg,
                           other.pg,
                           run->session.pooled,
                           run->hard_ms,
                           run->format,
                           run->out,
                           counts,
                           &error);
    close_database(&other);
    if (!done) {
        fail(run, NULL, &error);
    }
    return done;
}

static bool
know_session(struct run *run)
{
    struct osw_error error = OSW_ERROR_INIT;

    if (!osw_session_ask(
            &run->session, run->options->pooler, run->hard_ms, &error)) {
        fail(run, NULL, &error);
        return false;
    }
    return set_session(run);
}

enum osw_exit
osw_run_check(const struct osw_options *options, int64_t started_ms, FILE *out)
{
    struct run run;
    struct osw_check_counts counts = {0, 0, 0, false};
    struct osw_error error = OSW_ERROR_INIT;

    prepare_answer(&run, options, started_ms, out);
    if (open_any(&run) && know_session(&run)) {
        if (!osw_check(run.pg,
                       options->role,
                       run.hard_ms,
                       run.format,
                       out,
                       &counts,
                       &error)) {
            fail(&run, NULL, &error);
        } else if (options->probe && !counts.blind) {
            (void)probe_sessions(&run, &counts);
        }
    }
    if (counts.fail > 0) {
        note(&run, OSW_EXIT_CONFIG);
    } else if (counts.warn > 0) {
        note(&run, OSW_EXIT_PARTIAL);
    }
    close_database(&run);
    return run.exit;
}

/* explain needs to know which sweep is meant. */
static const char *
only_sweep(struct run *run)
{
    struct osw_error error = OSW_ERROR_INIT;

    if (run->probe.count == 1) {
        return run->probe.sweeps[0].name;
    }
    osw_error_set(&error,
                  OSW_EXIT_USAGE,
                  "explain: there are %d sweeps; say which with --sweep",
                  run->probe.count);
    fail(run, NULL, &error);
    return NULL;
}

enum osw_exit
osw_run_explain(const struct osw_options *options,
                int64_t started_ms,
                FILE *out)
{
    struct run run;
    struct osw_error error = OSW_ERROR_INIT;
    const char *sweep = NULL;

    prepare_answer(&run, options, started_ms, out);
    if (open_database(&run, false) && look(&run) && set_session(&run)) {
        sweep = only_sweep(&run);
    }
    if (sweep != NULL && !osw_explain(run.pg,
                                      sweep,
                                      options->key,
                                      options->key_columns,
                                      run.hard_ms,
                                      run.format,
                                      out,
                                      &error)) {
        fail(&run, NULL, &error);
    }
    close_database(&run);
    return run.exit;
}

enum osw_exit
osw_run_migrate(const struct osw_options *options, FILE *out)
{
    struct run run;
    struct osw_migrate_result result = {0, 0, 0};
    struct osw_error error = OSW_ERROR_INIT;

    if (options->print) {
        osw_migrate_print(out);
        return OSW_EXIT_OK;
    }
    prepare(&run, options, osw_clock_now_ms(), out);
    if (open_database(&run, true)) {
        if (!osw_migrate(run.pg, &result, &error)) {
            fail(&run, NULL, &error);
        } else if (run.format != OSW_REPORT_NONE) {
            (void)fprintf(out,
                          "schema order_sweep: version %d, was %d; %d "
                          "definitions generated anew\n",
                          result.to,
                          result.from,
                          result.regenerated);
        }
    }
    close_database(&run);
    return run.exit;
}
