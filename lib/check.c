#include "check.h"

#include <string.h>

#include "clock.h"
#include "fault.h"
#include "json.h"
#include "lock.h"
#include "probe.h"
#include "screen.h"
#include "sql_text.h"

/* The name that check_texts() counts on. */
#define PREPARED "order_sweep_checked"

/* No sweep has this id: the lock that the probe tries. */
static const struct osw_lock_key probe_key = {.sweep_id = -1};

struct finding {
    const char *level;
    const char *sweep; /* NULL: all */
    const char *item;
    const char *what;
    const char *why;  /* NULL: nothing to say */
    const char *mend; /* NULL: nothing to do */
};

struct check {
    struct osw_pg *pg;
    int64_t deadline_ms;
    enum osw_report_format format;
    struct osw_screen screen;
    struct osw_check_counts *counts;
};

/* The columns of a statement to prepare, see check_texts.sql. */
enum text_column {
    SWEEP,
    ARGUMENT,
    PATH,
    ROLE,
    ROW_SECURITY,
    SETTINGS,
    PARAMETERS,
    STATEMENT,
    EXPLAIN,
    TEXT_COLUMNS,
};

#define FINDING_COLUMNS 6

/* SQLSTATE 42501 */
static const char INSUFFICIENT_PRIVILEGE[] = "42501";

static enum osw_colour
colour_of(const char *level)
{
    if (strcmp(level, "ok") == 0 || strcmp(level, "note") == 0) {
        return OSW_PLAIN;
    }
    return strcmp(level, "warn") == 0 ? OSW_YELLOW : OSW_RED;
}

static void
write_text(const struct osw_screen *screen, const struct finding *finding)
{
    FILE *out = screen->out;

    osw_screen_write(screen, colour_of(finding->level), finding->level);
    (void)fprintf(out, "%*s", 6 - osw_screen_width(finding->level), "");
    if (finding->sweep != NULL) {
        (void)fprintf(out, "%s: ", finding->sweep);
    }
    (void)fprintf(out, "%s: ", finding->item);
    (void)osw_report_plain(out, finding->what);
    (void)fputc('\n', out);
    if (finding->why != NULL) {
        (void)fputs("      why:  ", out);
        (void)osw_report_plain(out, finding->why);
        (void)fputc('\n', out);
    }
    if (finding->mend != NULL) {
        (void)fputs("      mend: ", out);
        osw_report_lines(out, finding->mend, 12);
        (void)fputc('\n', out);
    }
}

static void
write_json(FILE *out, const struct finding *finding)
{
    const char *const names[] = {
        "level", "sweep", "item", "what", "why", "mend"};
    const char *const values[] = {finding->level,
                                  finding->sweep,
                                  finding->item,
                                  finding->what,
                                  finding->why,
                                  finding->mend};

    for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        (void)fprintf(out, "%s\"%s\":", i == 0 ? "{" : ",", names[i]);
        osw_json_string(out, values[i]);
    }
    (void)fputs("}\n", out);
}

static void
tell(struct check *check, const struct finding *finding)
{
    if (strcmp(finding->level, "ok") == 0) {
        check->counts->ok++;
    } else if (strcmp(finding->level, "note") == 0) {
        check->counts->note++;
    } else if (strcmp(finding->level, "warn") == 0) {
        check->counts->warn++;
    } else {
        check->counts->fail++;
    }
    if (check->format == OSW_REPORT_JSON) {
        write_json(check->screen.out, finding);
    } else {
        write_text(&check->screen, finding);
    }
}

static void
tell_all(struct check *check, const struct osw_pg_answer *answer)
{
    for (int row = 0; row < answer->rows; row++) {
        const struct finding finding = {osw_pg_value(answer, row, 0),
                                        osw_pg_value(answer, row, 1),
                                        osw_pg_value(answer, row, 2),
                                        osw_pg_value(answer, row, 3),
                                        osw_pg_value(answer, row, 4),
                                        osw_pg_value(answer, row, 5)};

        tell(check, &finding);
    }
}

/* Run a statement of ours, of so many columns. */
static bool
query(struct check *check,
      const char *text,
      int parameters,
      const char *const *values,
      int columns,
      struct osw_pg_answer *answer,
      struct osw_error *error)
{
    const struct osw_pg_statement statement = {NULL, text, parameters};

    if (!osw_pg_query(check->pg,
                      &statement,
                      values,
                      columns,
                      check->deadline_ms,
                      answer,
                      error)) {
        osw_fault_classify(error);
        return false;
    }
    return true;
}

static bool
command(struct check *check, const char *text, struct osw_error *error)
{
    if (!osw_pg_command(check->pg, text, check->deadline_ms, error)) {
        osw_fault_classify(error);
        return false;
    }
    return true;
}

/* Is the loss of the connection the reason, and not the statement? */
static bool
is_lost(const struct osw_error *error)
{
    return error->sqlstate[0] == '\0';
}

/*
 * Take on the settings of a definition, within the transaction: as its
 * owner, under its path.
 */
static bool
set_as_defined(struct check *check,
               const struct osw_pg_answer *texts,
               int row,
               struct osw_error *error)
{
    const char *settings[] = {osw_pg_value(texts, row, PATH),
                              osw_pg_value(texts, row, ROLE),
                              osw_pg_value(texts, row, ROW_SECURITY),
                              osw_pg_value(texts, row, SETTINGS)};
    struct osw_pg_answer answer = OSW_PG_ANSWER_INIT;
    bool done =
        query(check, osw_sql_check_settings, 4, settings, 1, &answer, error);

    osw_pg_answer_clear(&answer);
    return done;
}

/* Prepare a listed statement and ask for its plan; the error is the cause. */
static bool
prepare_and_plan(struct check *check,
                 const struct osw_pg_answer *texts,
                 int row,
                 bool *prepared,
                 struct osw_pg_answer *plan,
                 struct osw_error *cause)
{
    const struct osw_pg_statement explain = {
        NULL, osw_pg_value(texts, row, EXPLAIN), 0};

    *prepared = osw_pg_prepare_typed(check->pg,
                                     PREPARED,
                                     osw_pg_value(texts, row, STATEMENT),
                                     osw_pg_value(texts, row, PARAMETERS),
                                     check->deadline_ms,
                                     cause);
    return *prepared &&
           osw_pg_command(
               check->pg, "SAVEPOINT prepared", check->deadline_ms, cause) &&
           osw_pg_query(
               check->pg, &explain, NULL, 1, check->deadline_ms, plan, cause);
}

/*
 * Prepare a listed statement as its definition's owner and ask for its plan.
 * *fits tells whether that went; false only if the check cannot go on.  All in
 * one transaction, which leaves nothing behind in a session that may belong to
 * a pooler: even the prepared statement, which no rollback takes back.
 */
static bool
ask_for_plan(struct check *check,
             const struct osw_pg_answer *texts,
             int row,
             struct osw_pg_answer *plan,
             bool *fits,
             struct osw_error *cause,
             struct osw_error *error)
{
    bool prepared = false;

    if (!osw_pg_begin(check->pg, osw_sql_begin, check->deadline_ms, error)) {
        osw_fault_classify(error);
        return false;
    }
    if (!set_as_defined(check, texts, row, error)) {
        return false;
    }
    *fits = prepare_and_plan(check, texts, row, &prepared, plan, cause);
    if (!*fits && is_lost(cause)) {
        *error = *cause;
        return false;
    }
    if (prepared &&
        !((*fits || command(check, "ROLLBACK TO prepared", error)) &&
          command(check, "DEALLOCATE " PREPARED, error))) {
        return false;
    }
    return command(check, "ROLLBACK", error);
}

/* Have SQL say what a plan means. */
static bool
judge_plan(struct check *check,
           const struct osw_pg_answer *texts,
           int row,
           const struct osw_pg_answer *plan,
           struct osw_error *error)
{
    const char *values[] = {osw_pg_value(texts, row, SWEEP),
                            osw_pg_value(texts, row, ARGUMENT),
                            osw_pg_value(plan, 0, 0)};
    struct osw_pg_answer findings = OSW_PG_ANSWER_INIT;
    bool done = query(check,
                      osw_sql_check_plan,
                      3,
                      values,
                      FINDING_COLUMNS,
                      &findings,
                      error);

    if (done) {
        tell_all(check, &findings);
    }
    osw_pg_answer_clear(&findings);
    return done;
}

/* The GRANTs that would do; NULL if that cannot be told. */
static const char *
ask_for_grants(struct check *check,
               const struct osw_pg_answer *texts,
               int row,
               const struct osw_error *cause,
               struct osw_pg_answer *grants)
{
    const char *values[] = {osw_pg_value(texts, row, ROLE),
                            osw_pg_value(texts, row, STATEMENT),
                            cause->message};
    struct osw_error ignored = OSW_ERROR_INIT;

    return query(check, osw_sql_check_denied, 3, values, 1, grants, &ignored)
               ? osw_pg_value(grants, 0, 0)
               : NULL;
}

static void
tell_misfit(struct check *check,
            const struct osw_pg_answer *texts,
            int row,
            const struct osw_error *cause)
{
    struct osw_error what = OSW_ERROR_INIT;
    struct osw_error mend = OSW_ERROR_INIT;
    struct osw_pg_answer grants = OSW_PG_ANSWER_INIT;
    struct finding finding = {
        .level = "fail",
        .sweep = osw_pg_value(texts, row, SWEEP),
        .item = "statement",
        .why = "The shop's tables are not what they were when it was defined.",
        .mend = "Call order_sweep.define anew, with SQL that fits."};

    osw_error_set(&what,
                  OSW_EXIT_CONFIG,
                  "%s: %s",
                  osw_pg_value(texts, row, ARGUMENT),
                  cause->message);
    finding.what = what.message;
    if (strcmp(cause->sqlstate, INSUFFICIENT_PRIVILEGE) == 0) {
        finding.item = "privileges";
        finding.why = "A sweep's functions run with the rights of its owner.";
        finding.mend = ask_for_grants(check, texts, row, cause, &grants);
        if (finding.mend == NULL) {
            osw_error_set(&mend,
                          OSW_EXIT_CONFIG,
                          "GRANT role %s, or the owner of a view in it, what "
                          "%s does with that.",
                          osw_pg_value(texts, row, ROLE),
                          osw_pg_value(texts, row, ARGUMENT));
            finding.mend = mend.message;
        }
        /* It has the same SQLSTATE; a translated message is not told apart. */
        if (strstr(cause->message, "row-level security") != NULL) {
            finding.item = "row security";
            finding.why = "Rows that policies hide from the owner of a sweep "
                          "would be passed in silence.";
            finding.mend = "Call order_sweep.define with a run_as that the "
                           "policies do not bind.";
        }
    }
    tell(check, &finding);
    osw_pg_answer_clear(&grants);
}

static bool
check_text(struct check *check,
           const struct osw_pg_answer *texts,
           int row,
           struct osw_error *error)
{
    struct osw_pg_answer plan = OSW_PG_ANSWER_INIT;
    struct osw_error cause = OSW_ERROR_INIT;
    bool fits = false;
    bool done = ask_for_plan(check, texts, row, &plan, &fits, &cause, error);

    if (done && fits) {
        done = judge_plan(check, texts, row, &plan, error);
    } else if (done &&
               strncmp(osw_pg_value(texts, row, ARGUMENT), "look", 4) != 0) {
        tell_misfit(check, texts, row, &cause);
    } /* a look that does not fit is told by the arguments it is made from */
    osw_pg_answer_clear(&plan);
    return done;
}

static bool
check_texts(struct check *check, struct osw_error *error)
{
    struct osw_pg_answer texts = OSW_PG_ANSWER_INIT;
    bool done =
        query(check, osw_sql_check_texts, 0, NULL, TEXT_COLUMNS, &texts, error);

    for (int row = 0; done && row < texts.rows; row++) {
        done = check_text(check, &texts, row, error);
    }
    osw_pg_answer_clear(&texts);
    return done;
}

/*
 * Is the schema of the version that this program works with?  *fits tells;
 * if not, that is a finding, and the only one that can be made.
 */
static bool
check_schema(struct check *check, bool *fits, struct osw_error *error)
{
    struct osw_error cause = OSW_ERROR_INIT;
    struct finding finding = {
        "ok", NULL, "schema", "the schema is the program's", NULL, NULL};
    int version = 0;

    *fits = osw_probe_read_version(
                check->pg, check->deadline_ms, &version, &cause) &&
            osw_probe_check_version(version, &cause);
    if (!*fits && cause.exit == OSW_EXIT_UNAVAILABLE) {
        *error = cause;
        return false;
    }
    if (!*fits) {
        finding.level = "fail";
        finding.what = cause.message;
        finding.why = "A run is refused.";
        finding.mend = cause.hint;
    }
    tell(check, &finding);
    return true;
}

/*
 * A superuser would run, with his rights, what others wrote: a plan is made by
 * running the immutable functions of its statement.
 */
static bool
check_caller(struct check *check, struct osw_error *error)
{
    struct osw_pg_answer answer = OSW_PG_ANSWER_INIT;
    bool own = false;

    if (!query(check, osw_sql_check_caller, 0, NULL, 2, &answer, error)) {
        return false;
    }
    own = answer.rows == 0;
    if (!own) {
        (void)osw_error_set(error,
                            OSW_EXIT_CONFIG,
                            "%s belongs to role %s",
                            osw_pg_value(&answer, 0, 0),
                            osw_pg_value(&answer, 0, 1));
        (void)osw_error_hint(error, "run check as that role, with --username");
    }
    osw_pg_answer_clear(&answer);
    return own;
}

bool
osw_check(struct osw_pg *pg,
          const char *role,
          int64_t deadline_ms,
          enum osw_report_format format,
          FILE *out,
          struct osw_check_counts *counts,
          struct osw_error *error)
{
    struct check check = {.pg = pg,
                          .deadline_ms = deadline_ms,
                          .format = format,
                          .counts = counts};
    struct osw_pg_answer findings = OSW_PG_ANSWER_INIT;
    const char *values[] = {role};
    bool fits = false;
    bool done = false;

    osw_screen_init(&check.screen, out, fileno(out));
    if (!check_schema(&check, &fits, error)) {
        return false;
    }
    counts->blind = !fits;
    if (!fits) {
        return true;
    }
    done = check_caller(&check, error) && query(&check,
                                                osw_sql_check,
                                                1,
                                                values,
                                                FINDING_COLUMNS,
                                                &findings,
                                                error);
    if (!done) {
        if (strcmp(error->sqlstate, INSUFFICIENT_PRIVILEGE) == 0) {
            (void)osw_error_hint(error,
                                 "run check as the role that owns schema "
                                 "order_sweep, as migrate is run");
        }
        return false;
    }
    tell_all(&check, &findings);
    osw_pg_answer_clear(&findings);
    return check_texts(&check, error);
}

/* The second one to try; false if the pooler has no session for it. */
static bool
try_second(struct check *check,
           struct osw_lock *lock,
           bool *taken,
           bool *answered,
           struct osw_error *error)
{
    int64_t until = check->deadline_ms;

    if (lock->in_transaction) {
        until = osw_clock_now_ms() + OSW_LOCK_PATIENCE_MS;
    }
    *answered = osw_lock_try(lock, &probe_key, until, taken, error);
    return *answered || (lock->in_transaction && osw_pg_owes(lock->pg));
}

/* Does one connection's lock keep the other out? */
static bool
probe_lock(struct check *check,
           struct osw_pg *other,
           bool pooled,
           struct osw_error *error)
{
    struct finding finding = {
        "ok", NULL, "lock", "two connections exclude each other", NULL, NULL};
    struct osw_lock first = {check->pg, pooled, 0};
    struct osw_lock second = {other, pooled, 0};
    bool first_taken = false;
    bool second_taken = false;
    bool answered = false;

    if (!osw_lock_try(
            &first, &probe_key, check->deadline_ms, &first_taken, error) ||
        !try_second(check, &second, &second_taken, &answered, error)) {
        return false;
    }
    if ((first_taken &&
         !osw_lock_release(&first, &probe_key, check->deadline_ms, error)) ||
        (second_taken &&
         !osw_lock_release(&second, &probe_key, check->deadline_ms, error))) {
        return false;
    }
    if (!answered) {
        finding.level = "warn";
        finding.what = "the connection pooler has no session for the lock";
        finding.why = "Runs go on without the lock, and warn of it each time.";
        finding.mend = "Give the pool one more session, or run with --no-lock.";
    } else if (!first_taken || second_taken) {
        finding.level = "fail";
        finding.what = "two connections do not exclude each other";
        finding.why = "Something between here and the server shares sessions.";
        finding.mend = "Connect to PostgreSQL itself.";
    }
    tell(check, &finding);
    return true;
}

/* A segment whose second statement fails must leave nothing of its first. */
static bool
probe_segment(struct check *check, struct osw_error *error)
{
    const struct osw_pg_statement write = {NULL, osw_sql_probe_write, 0};
    const struct osw_pg_statement raise = {NULL, osw_sql_probe_raise, 0};
    struct osw_pg_answer answer = OSW_PG_ANSWER_INIT;
    struct osw_error expected = OSW_ERROR_INIT;
    struct finding finding = {"ok",
                              NULL,
                              "segment",
                              "two statements are one transaction",
                              NULL,
                              NULL};
    bool raised = false;

    if (!osw_pg_queue(check->pg, &write, NULL, error)) {
        return false;
    }
    raised = !osw_pg_query(
        check->pg, &raise, NULL, -1, check->deadline_ms, &answer, &expected);
    osw_pg_answer_clear(&answer);
    if (raised && is_lost(&expected)) {
        *error = expected;
        return false;
    }
    if (!query(check, osw_sql_probe_clean, 0, NULL, 1, &answer, error)) {
        return false;
    }
    if (!raised || osw_pg_number(&answer, 0, 0) != 0) {
        finding.level = "fail";
        finding.what = "two statements are not one transaction";
        finding.why = "Something between here and the server takes them apart.";
        finding.mend = "Connect to PostgreSQL itself.";
    }
    osw_pg_answer_clear(&answer);
    tell(check, &finding);
    return true;
}

bool
osw_check_probe(struct osw_pg *pg,
                struct osw_pg *other,
                bool pooled,
                int64_t deadline_ms,
                enum osw_report_format format,
                FILE *out,
                struct osw_check_counts *counts,
                struct osw_error *error)
{
    struct check check = {.pg = pg,
                          .deadline_ms = deadline_ms,
                          .format = format,
                          .counts = counts};

    osw_screen_init(&check.screen, out, fileno(out));
    /* The lock last: it may leave the other connection waiting. */
    return probe_segment(&check, error) &&
           probe_lock(&check, other, pooled, error);
}
