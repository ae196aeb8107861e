/*
 * storm: the actors of tests/fault/storm.sh, which makes their shop, restarts
 * their server and judges what they leave.
 *
 *     storm SEED SECONDS FOLDER POOLER_HOST POOLER_PORT
 *
 * Buyers and an admin do what the table of actions says, sweepers start
 * order-sweep (ORDER_SWEEP_BIN), straight and through the pooler, and kill,
 * stop or let be each run, a killer ends sessions, a watcher looks for orders
 * that are half done.  Each is a process; the first violation ends them all.
 *
 * Repeatable: what an actor does as its n-th step comes from the seed, the
 * actor's number and n alone, whatever became of the steps before: the action,
 * the options of a run, its fate and when, every pause, and the place of the
 * order that an action is for, in the queue of the sweep or behind the newest
 * one.  Not repeatable: how the steps of the processes fall together, and so
 * which order that is, who gets to it first, and how many steps there are.
 *
 * FOLDER gets a line for each step (actions.K, runs.K; the columns are those
 * of the tables storm.action and storm.run), what runs wrote to stderr
 * (stderr.K), and a line for each violation seen on the way (violations).
 * Ends with 0 if there was none, with 1 if there was.
 */
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libpq-fe.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define BUYERS   6
#define SWEEPERS 4 /* with the lock and without, straight and pooled */

#define STEPS_MAX 4

/* Past its hard limit a run may take so long: to settle what is in flight, as
 * documented, and to connect. */
#define SETTLE_MS  2000
#define CONNECT_MS 10000

/* In which an actor ends its last step, on the slowest machine. */
#define PATIENCE_MS 60000

/* --- What all processes share ------------------------------------------- */

/* In memory that is shared. */
struct shared {
    atomic_bool stop;
    _Atomic int64_t newest; /* the highest number of an order */
};

static struct shared *shared;
static uint64_t seed;
static int64_t end_ms;
static const char *folder;
static const char *pooler_host;
static const char *pooler_port;

struct actor {
    int number;
    const char *name;
    int64_t step;
    uint64_t random; /* of this step */
    FILE *log;
    PGconn *conn;
};

static int64_t
now_ms(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static double
wall_clock(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_REALTIME, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static bool
is_over(void)
{
    return atomic_load(&shared->stop) || now_ms() >= end_ms;
}

static void
pause_ms(int64_t ms)
{
    struct timespec left = {ms / 1000, ms % 1000 * 1000000};

    while (nanosleep(&left, &left) != 0 && errno == EINTR) {
    }
}

/* A stream to the file FOLDER/NAME.K that holds whole lines at any moment. */
static FILE *
open_log(const char *name, int number)
{
    char path[4096];
    FILE *log = NULL;

    (void)snprintf(path, sizeof(path), "%s/%s.%d", folder, name, number);
    log = fopen(path, "ae");
    if (log == NULL) {
        err(2, "%s", path);
    }
    (void)setvbuf(log, NULL, _IOLBF, BUFSIZ);
    return log;
}

/* Note what must not be, and end the storm. */
__attribute__((format(printf, 2, 3))) static void
violation(const struct actor *actor, const char *format, ...)
{
    char text[4096];
    char path[4096];
    va_list arguments;
    FILE *log = NULL;

    va_start(arguments, format);
    (void)vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    (void)snprintf(path, sizeof(path), "%s/violations", folder);
    log = fopen(path, "ae");
    if (log == NULL) {
        err(2, "%s", path);
    }
    (void)fprintf(log,
                  "%s %d, step %" PRId64 ": %s\n",
                  actor->name,
                  actor->number,
                  actor->step,
                  text);
    (void)fclose(log);
    atomic_store(&shared->stop, true);
}

/* --- Chance: splitmix64, begun anew with each step ------------------------ */

static uint64_t
next_random(uint64_t *state)
{
    uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static void
begin_step(struct actor *actor)
{
    actor->step++;
    actor->random = seed;
    actor->random = next_random(&actor->random) + (uint64_t)actor->number;
    actor->random = next_random(&actor->random) + (uint64_t)actor->step;
}

/* From 0 to limit - 1. */
static int64_t
draw(struct actor *actor, int64_t limit)
{
    return (int64_t)(next_random(&actor->random) % (uint64_t)limit);
}

/* --- Sessions ------------------------------------------------------------- */

/* A session that is ended says so: no news here. */
static void
ignore(void *unused, const char *message)
{
    (void)unused;
    (void)message;
}

/* The actor's session, opened again if it was lost; false once time is up. */
static bool
have_session(struct actor *actor)
{
    char conninfo[256];

    if (actor->conn != NULL && PQstatus(actor->conn) == CONNECTION_OK) {
        return true;
    }
    (void)snprintf(conninfo,
                   sizeof(conninfo),
                   "application_name='storm %s' connect_timeout=5 "
                   "options='-c lock_timeout=5s -c statement_timeout=10s "
                   "-c client_min_messages=warning'",
                   actor->name);
    for (;;) {
        PQfinish(actor->conn);
        actor->conn = PQconnectdb(conninfo);
        if (PQstatus(actor->conn) == CONNECTION_OK) {
            (void)PQsetNoticeProcessor(actor->conn, ignore, NULL);
            return true;
        }
        if (is_over()) {
            return false;
        }
        pause_ms(20);
    }
}

/* What an action comes to. */
enum result {
    DONE,    /* committed */
    REFUSED, /* the shop says no: rolled back */
    BUSY,    /* a lock or deadlock: rolled back */
    LOST,    /* no session any more, before COMMIT was sent */
    UNKNOWN, /* no answer to COMMIT */
};

static const char *const result_names[] = {"done",
                                           "refused",
                                           "busy",
                                           "lost",
                                           "unknown"};

static bool
is_one_of(const char *state, const char *const *states)
{
    for (; *states != NULL; states++) {
        if (strncmp(state, *states, strlen(*states)) == 0) {
            return true;
        }
    }
    return false;
}

/* What an error means; one that nobody should see is a violation. */
static enum result
understand(const struct actor *actor, const PGresult *error)
{
    /* raised by the shop; an order that is not there */
    static const char *const refused[] = {"P0001", "23503", NULL};
    static const char *const busy[] = {"40P01", "55P03", "57014", NULL};
    static const char *const lost[] = {"08", "57P", "53300", NULL};
    const char *state = PQresultErrorField(error, PG_DIAG_SQLSTATE);

    if (state == NULL || is_one_of(state, lost)) {
        return LOST;
    }
    if (is_one_of(state, refused)) {
        return REFUSED;
    }
    if (!is_one_of(state, busy)) {
        violation(actor, "unexpected: %s", PQresultErrorMessage(error));
    }
    return BUSY;
}

/* --- Buyers and the admin --------------------------------------------------
 */

/*
 * A transaction.  $1 is an order, $2 a number, $3 a pause in
 * ms.  A statement that returns no row, or NULL, means: refused, roll back.
 */
struct action {
    const char *name;
    int weight;
    bool places; /* its last value is the number of a new order */
    const char *steps[STEPS_MAX];
};

#define PAUSE "SELECT pg_sleep($3 / 1000.0)"
#define PAYMENT                                                                \
    "INSERT INTO shop.payment (order_id, amount) VALUES ($1, 9.90) "           \
    "RETURNING id"
#define PAID                                                                   \
    "UPDATE shop.orders SET order_status = 2, paid_at = "                      \
    "clock_timestamp() WHERE id = $1 AND order_status = 1 RETURNING id"
#define HAS_STATUS(status)                                                     \
    "SELECT id FROM shop.orders WHERE id = $1 AND order_status = " #status
#define EXTEND                                                                 \
    "UPDATE shop.orders SET created = floor(extract(epoch FROM now())) "       \
    "WHERE id = $1 AND order_status = 1 RETURNING id"
#define NO_ROW "SELECT WHERE false"

static const struct action buyer_actions[] = {
    {"place", 30, true, {"SELECT storm.place($2)"}},
    {"place again", 10, true, {"SELECT storm.place_again($1)"}},
    {"pay", 8, false, {"SELECT shop.pay_order($1, 9.90)"}},
    {"pay, payment first", 8, false, {PAYMENT, PAUSE, PAID}},
    {"pay, order first", 8, false, {PAID, PAUSE, PAYMENT}},
    /* By a service that touches the order through the foreign key only. */
    {"book a payment", 18, false, {PAYMENT, HAS_STATUS(1), PAUSE}},
    {"fail to pay", 6, false, {PAID, PAYMENT, PAUSE, NO_ROW}},
    {"pay late", 4, false, {HAS_STATUS(3), PAYMENT}},
    {"edit", 8, false, {"SELECT WHERE storm.edit($1, $2)"}},
    {"extend", 6, false, {EXTEND, PAUSE}},
    {NULL, 0, false, {NULL}},
};

static const struct action admin_actions[] = {
    {"burst", 15, true, {"SELECT storm.burst($2)"}},
    {"cancel", 40, false, {"SELECT WHERE storm.cancel_by_hand($1)", PAUSE}},
    {"settle", 20, false, {"SELECT WHERE storm.settle()"}},
    {"restock", 15, false, {"SELECT WHERE storm.restock()"}},
    {NULL, 0, false, {NULL}},
};

static const struct action *
choose(struct actor *actor, const struct action *actions)
{
    int sum = 0;
    int64_t drawn = 0;

    for (int i = 0; actions[i].name != NULL; i++) {
        sum += actions[i].weight;
    }
    drawn = draw(actor, sum);
    while (drawn >= actions->weight) {
        drawn -= actions->weight;
        actions++;
    }
    return actions;
}

static enum result
command(const struct actor *actor, const char *sql)
{
    PGresult *result = PQexec(actor->conn, sql);
    enum result came_to = DONE;

    if (PQresultStatus(result) != PGRES_COMMAND_OK) {
        came_to = understand(actor, result);
    }
    PQclear(result);
    return came_to;
}

/* One statement of an action; value gets what its first column says. */
static enum result
do_step(const struct actor *actor,
        const char *sql,
        const char *const *values,
        int64_t *value)
{
    static const Oid types[] = {20, 20, 20}; /* bigint */
    enum result came_to = DONE;
    PGresult *result =
        PQexecParams(actor->conn, sql, 3, types, values, NULL, NULL, 0);

    if (PQresultStatus(result) != PGRES_TUPLES_OK) {
        came_to = understand(actor, result);
    } else if (PQntuples(result) == 0) {
        came_to = REFUSED;
    } else if (PQnfields(result) > 0) {
        came_to = PQgetisnull(result, 0, 0) == 1 ? REFUSED : DONE;
        *value = strtoll(PQgetvalue(result, 0, 0), NULL, 10);
    }
    PQclear(result);
    return came_to;
}

static enum result
transact(const struct actor *actor,
         const struct action *action,
         const char *const *values,
         int64_t *value)
{
    enum result came_to = command(actor, "BEGIN");

    for (int i = 0; i < STEPS_MAX && action->steps[i] != NULL; i++) {
        if (came_to == DONE) {
            came_to = do_step(actor, action->steps[i], values, value);
        }
    }
    if (came_to == DONE) {
        came_to = command(actor, "COMMIT");
        return came_to == LOST ? UNKNOWN : came_to;
    }
    if (came_to != LOST) {
        (void)command(actor, "ROLLBACK");
    }
    return came_to;
}

static void
raise_newest(int64_t order)
{
    int64_t newest = atomic_load(&shared->newest);

    while (order > newest &&
           !atomic_compare_exchange_weak(&shared->newest, &newest, order)) {
    }
}

/* The order at this place in the queue of the sweep: the oldest are next. */
static int64_t
queued(const struct actor *actor, int64_t place)
{
    int64_t order = 0;
    char text[32];
    const char *values[] = {text, "0", "0"};

    (void)snprintf(text, sizeof(text), "%" PRId64, place);
    (void)do_step(actor,
                  "SELECT id FROM shop.orders WHERE order_status = 1 "
                  "ORDER BY created, id OFFSET $1 LIMIT 1",
                  values,
                  &order);
    return order;
}

/* One step of somebody who works on the shop. */
static void
work(struct actor *actor, const struct action *actions)
{
    const struct action *action = NULL;
    enum result came_to = LOST;
    int64_t back = 0;
    int64_t place = 0;
    int64_t numbers[3] = {0, 0, 0};
    char texts[3][32];
    const char *values[3] = {NULL, NULL, NULL};
    int64_t pause = 0;
    int64_t value = 0;

    begin_step(actor);
    action = choose(actor, actions);
    back = draw(actor, 1000);
    place = draw(actor, 150);
    numbers[1] = draw(actor, 1000000);
    numbers[2] = draw(actor, draw(actor, 8) == 0 ? 400 : 100);
    pause = draw(actor, 30);
    if (!have_session(actor)) {
        return;
    }
    /* Many at the last moment, while a sweep comes nearer. */
    numbers[0] = place < 120 ? queued(actor, place) : 0;
    if (numbers[0] == 0) {
        numbers[0] = atomic_load(&shared->newest) - back;
    }
    for (int i = 0; i < 3; i++) {
        (void)snprintf(texts[i], sizeof(texts[i]), "%" PRId64, numbers[i]);
        values[i] = texts[i];
    }
    came_to = transact(actor, action, values, &value);
    if (action->places) {
        numbers[0] = value;
        raise_newest(value);
    }
    (void)fprintf(actor->log,
                  "%d\t%" PRId64 "\t%s\t%" PRId64 "\t%" PRId64 "\t%s\t%.6f\n",
                  actor->number,
                  actor->step,
                  action->name,
                  numbers[0],
                  numbers[1],
                  result_names[came_to],
                  wall_clock());
    pause_ms(pause);
}

/* --- Sweepers ------------------------------------------------------------- */

enum fate {
    LET_BE,
    KILL,
    TERM,
    TERM_TWICE,
    STOP
};

static const char *const fate_names[] = {"let be",
                                         "KILL",
                                         "TERM",
                                         "TERM, INT",
                                         "STOP, CONT"};

struct run {
    const char *arguments[20];
    int count;
    bool pooled;
    const char *durability;
    int64_t hard_ms;
    enum fate fate;
    int64_t fate_after_ms;
    int64_t stopped_ms;
    /* What became of it. */
    bool met; /* did the fate find it at work */
    int status;
    int64_t took_ms;
};

static void
add(struct run *run, const char *argument)
{
    run->arguments[run->count++] = argument;
    run->arguments[run->count] = NULL;
}

static void
plan_run(struct actor *actor, int sweeper, struct run *run)
{
    static const char *const batches[] = {"10", "100", "500"};
    static const char *const soft[] = {"2s", "4s", "8s"};
    static const char *const hard[] = {"3s", "5s", "9s"};
    static const int64_t hard_ms[] = {3000, 5000, 9000};
    int64_t limit = draw(actor, 3);
    int64_t fate = draw(actor, 100);

    memset(run, 0, sizeof(*run));
    run->pooled = sweeper >= 2;
    run->durability = draw(actor, 4) == 0 ? "each" : "batch";
    run->hard_ms = hard_ms[limit];
    add(run, getenv("ORDER_SWEEP_BIN"));
    add(run, "--format=json");
    add(run, "--durability");
    add(run, run->durability);
    add(run, "--batch-size");
    add(run, batches[draw(actor, 3)]);
    add(run, "--jobs");
    add(run, draw(actor, 3) == 0 ? "3" : "1");
    add(run, "--time-limit");
    add(run, soft[limit]);
    add(run, "--hard-limit");
    add(run, hard[limit]);
    if (draw(actor, 8) == 0) {
        add(run, "--max-orders");
        add(run, "30");
    }
    if (sweeper % 2 == 1) {
        add(run, "--no-lock");
    }
    run->fate = fate < 70   ? LET_BE
                : fate < 80 ? KILL
                : fate < 88 ? TERM
                : fate < 92 ? TERM_TWICE
                            : STOP;
    run->fate_after_ms = draw(actor, draw(actor, 2) == 0 ? 30 : 200);
    run->stopped_ms = run->fate == STOP ? 50 + draw(actor, 1500) : 0;
}

/* Open FOLDER/run.K.SUFFIX anew, as this descriptor. */
static void
redirect(int descriptor, int number, const char *suffix)
{
    char path[4096];
    int file = -1;

    (void)snprintf(path, sizeof(path), "%s/run.%d.%s", folder, number, suffix);
    file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (file < 0 || dup2(file, descriptor) < 0) {
        err(126, "%s", path);
    }
    (void)close(file);
}

static pid_t
start_run(const struct actor *actor, const struct run *run)
{
    sigset_t none;
    pid_t pid = fork();

    if (pid < 0) {
        err(2, "fork");
    }
    if (pid > 0) {
        return pid;
    }
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    if (run->pooled) {
        (void)setenv("PGHOST", pooler_host, 1);
        (void)setenv("PGPORT", pooler_port, 1);
    }
    redirect(STDOUT_FILENO, actor->number, "out");
    redirect(STDERR_FILENO, actor->number, "err");
    execv(run->arguments[0], (char **)(uintptr_t)run->arguments);
    err(126, "%s", run->arguments[0]);
}

/* Wait for the end of a child until then; SIGCHLD is blocked. */
static bool
ends_until(pid_t pid, int64_t until_ms, int *status)
{
    sigset_t child;

    (void)sigemptyset(&child);
    (void)sigaddset(&child, SIGCHLD);
    while (waitpid(pid, status, WNOHANG) == 0) {
        int64_t left = until_ms - now_ms();
        struct timespec most = {left / 1000, left % 1000 * 1000000};

        if (left <= 0) {
            return false;
        }
        (void)sigtimedwait(&child, NULL, &most);
    }
    return true;
}

static void
meet_fate(pid_t pid, struct run *run)
{
    run->met = true;
    switch (run->fate) {
    case LET_BE:
        break;
    case KILL:
        (void)kill(pid, SIGKILL);
        break;
    case TERM:
        (void)kill(pid, SIGTERM);
        break;
    case TERM_TWICE:
        (void)kill(pid, SIGTERM);
        pause_ms(2);
        (void)kill(pid, SIGINT);
        break;
    case STOP:
        (void)kill(pid, SIGSTOP);
        pause_ms(run->stopped_ms);
        (void)kill(pid, SIGCONT);
        break;
    }
}

static void
carry_out(struct actor *actor, struct run *run)
{
    int64_t began_ms = now_ms();
    int64_t until_ms =
        began_ms + run->hard_ms + run->stopped_ms + SETTLE_MS + CONNECT_MS;
    pid_t pid = start_run(actor, run);
    bool ended = false;

    if (run->fate != LET_BE) {
        ended = ends_until(pid, began_ms + run->fate_after_ms, &run->status);
        if (!ended) {
            meet_fate(pid, run);
        }
    }
    if (!ended && !ends_until(pid, until_ms, &run->status)) {
        violation(actor,
                  "hangs: process %d, hard limit %" PRId64
                  " ms, %s, is not over after %" PRId64 " ms",
                  (int)pid,
                  run->hard_ms,
                  fate_names[run->fate],
                  now_ms() - began_ms);
        (void)kill(pid, SIGKILL);
        (void)waitpid(pid, &run->status, 0);
    }
    run->took_ms = now_ms() - began_ms;
}

/* The file FOLDER/run.K.SUFFIX as a text, to be freed. */
static char *
written(const struct actor *actor, const char *suffix)
{
    char path[4096];
    char *text = NULL;
    size_t size = 0;
    FILE *file = NULL;

    (void)snprintf(
        path, sizeof(path), "%s/run.%d.%s", folder, actor->number, suffix);
    file = fopen(path, "re");
    if (file == NULL || getdelim(&text, &size, '\0', file) < 0) {
        free(text);
        text = strdup("");
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    if (text == NULL) {
        err(2, "strdup");
    }
    return text;
}

/* The exit code, or the signal that ended it as a negative number. */
static int
code_of(const struct run *run)
{
    return WIFSIGNALED(run->status) ? -WTERMSIG(run->status)
                                    : WEXITSTATUS(run->status);
}

/* Was a run allowed to end so? */
static bool
may_end_so(const struct run *run)
{
    switch (code_of(run)) {
    case 0:
    case 1:
    case 69:
    case 75:
        return true;
    case -SIGKILL:
        return run->met && run->fate == KILL;
    case -SIGTERM: /* it had not even begun */
        return run->met && (run->fate == TERM || run->fate == TERM_TWICE);
    default:
        return false;
    }
}

/* What a run says on stderr: one line for each message, of its own. */
static void
judge_stderr(const struct actor *actor, const struct run *run, char *said)
{
    int code = code_of(run);
    char *rest = NULL;

    if (strstr(said, "Sanitizer") != NULL ||
        strstr(said, "runtime error") != NULL) {
        violation(actor, "sanitizer: %s", said);
        return;
    }
    if (!may_end_so(run)) {
        violation(actor,
                  "a run ended with %d (%s): %s",
                  code,
                  fate_names[run->fate],
                  said);
    }
    if (code > 0 && said[0] == '\0') {
        violation(actor, "a run ended with %d in silence", code);
    }
    for (char *line = strtok_r(said, "\n", &rest); line != NULL;
         line = strtok_r(NULL, "\n", &rest)) {
        if (strncmp(line, "order-sweep: ", strlen("order-sweep: ")) != 0 &&
            code >= 0) {
            violation(actor, "no message of a run: %s", line);
        }
    }
}

/* A line for each report of a run, at least one. */
static void
log_run(const struct actor *actor, const struct run *run, char *reports)
{
    char *rest = NULL;
    char *report = strtok_r(reports, "\n", &rest);

    do {
        /* One that was killed may have written half a line. */
        bool whole = report != NULL && code_of(run) >= 0;

        (void)fprintf(actor->log,
                      "%d\t%" PRId64 "\t%s\t%s\t%" PRId64 "\t%s\t%s\t%" PRId64
                      "\t%d\t%" PRId64 "\t%s\t%.6f\n",
                      actor->number,
                      actor->step,
                      run->pooled ? "t" : "f",
                      run->durability,
                      run->hard_ms,
                      fate_names[run->fate],
                      run->met ? "t" : "f",
                      run->met ? run->stopped_ms : 0,
                      code_of(run),
                      run->took_ms,
                      whole ? report : "",
                      wall_clock());
        report = strtok_r(NULL, "\n", &rest);
    } while (report != NULL);
}

static void
sweep(struct actor *actor, int sweeper, FILE *messages)
{
    struct run run;
    int64_t pause = 0;
    char *reports = NULL;
    char *said = NULL;

    begin_step(actor);
    plan_run(actor, sweeper, &run);
    pause = draw(actor, 300);
    carry_out(actor, &run);
    reports = written(actor, "out");
    said = written(actor, "err");
    if (said[0] != '\0') {
        (void)fprintf(messages,
                      "step %" PRId64 ", %s, ended with %d at %.3f\n%s",
                      actor->step,
                      fate_names[run.fate],
                      code_of(&run),
                      wall_clock(),
                      said);
    }
    log_run(actor, &run, reports);
    judge_stderr(actor, &run, said);
    free(reports);
    free(said);
    pause_ms(pause);
}

/* --- The killer and the watcher ----------------------------------------------
 */

/* End one session of a run, of a buyer, or of either. */
static void
end_session(struct actor *actor)
{
    static const char *const whose[] = {
        "^order-sweep$", "^order-sweep$", "^storm buyer$", "order-sweep|storm"};
    const char *values[2];
    char number[32];
    int64_t pause = 0;
    PGresult *result = NULL;

    begin_step(actor);
    values[0] = whose[draw(actor, 4)];
    (void)snprintf(number, sizeof(number), "%" PRId64, draw(actor, 1000000));
    values[1] = number;
    pause = 200 + draw(actor, 1000);
    if (!have_session(actor)) {
        return;
    }
    result = PQexecParams(
        actor->conn,
        "SELECT application_name, pg_terminate_backend(pid) "
        "FROM (SELECT pid, application_name FROM pg_stat_activity "
        "WHERE datname = current_database() AND application_name ~ $1 "
        "AND pid <> pg_backend_pid() ORDER BY md5(pid || $2) LIMIT 1) t",
        2,
        NULL,
        values,
        NULL,
        NULL,
        0);
    if (PQresultStatus(result) != PGRES_TUPLES_OK) {
        (void)understand(actor, result);
    } else if (PQntuples(result) == 1) {
        (void)fprintf(actor->log,
                      "%d\t%" PRId64 "\tend session of %s\t\t%s\tdone\t%.6f\n",
                      actor->number,
                      actor->step,
                      PQgetvalue(result, 0, 0),
                      number,
                      wall_clock());
    }
    PQclear(result);
    pause_ms(pause);
}

/* Look at the orders of late: none is half done at any moment. */
static void
watch(struct actor *actor)
{
    PGresult *result = NULL;
    char newest[32];
    const char *values[] = {newest};

    begin_step(actor);
    (void)snprintf(
        newest, sizeof(newest), "%" PRId64, atomic_load(&shared->newest));
    if (!have_session(actor)) {
        return;
    }
    result = PQexecParams(actor->conn,
                          "SELECT * FROM storm.broken_of_late($1)",
                          1,
                          NULL,
                          values,
                          NULL,
                          NULL,
                          0);
    if (PQresultStatus(result) != PGRES_TUPLES_OK) {
        (void)understand(actor, result);
    }
    for (int i = 0; i < PQntuples(result); i++) {
        violation(actor, "%s", PQgetvalue(result, i, 0));
    }
    PQclear(result);
    pause_ms(200);
}

/* --- The processes ---------------------------------------------------------
 */

enum part {
    BUYER,
    ADMIN,
    SWEEPER,
    KILLER,
    WATCHER
};

static const char *const part_names[] = {"buyer",
                                         "admin",
                                         "sweeper",
                                         "killer",
                                         "watcher"};

_Noreturn static void
play(enum part part, int number, int sweeper)
{
    struct actor actor = {.number = number, .name = part_names[part]};
    FILE *messages = NULL;
    sigset_t child;

    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)sigemptyset(&child);
    (void)sigaddset(&child, SIGCHLD);
    (void)sigprocmask(SIG_BLOCK, &child, NULL);
    actor.log = open_log(part == SWEEPER ? "runs" : "actions", number);
    if (part == SWEEPER) {
        messages = open_log("stderr", number);
    }
    while (!is_over()) {
        switch (part) {
        case BUYER:
            work(&actor, buyer_actions);
            break;
        case ADMIN:
            work(&actor, admin_actions);
            break;
        case SWEEPER:
            sweep(&actor, sweeper, messages);
            break;
        case KILLER:
            end_session(&actor);
            break;
        case WATCHER:
            watch(&actor);
            break;
        }
    }
    PQfinish(actor.conn);
    (void)fclose(actor.log);
    if (messages != NULL) {
        (void)fclose(messages);
    }
    _exit(0);
}

static int processes;

static void
start_actor(enum part part, int sweeper)
{
    pid_t pid = fork();

    processes++;
    if (pid < 0) {
        err(2, "fork");
    }
    if (pid == 0) {
        play(part, processes, sweeper);
    }
}

/* Wait until all have ended, as they do once time is up. */
static void
wait_for_all(void)
{
    struct actor none = {.name = "storm"};

    while (processes > 0) {
        int status = 0;
        pid_t pid = waitpid(-1, &status, WNOHANG);

        if (pid > 0) {
            processes--;
            if (status != 0) {
                violation(
                    &none, "an actor ended with status %#x", (unsigned)status);
            }
        } else if (now_ms() > end_ms + PATIENCE_MS) {
            violation(&none, "%d actors do not end", processes);
            return;
        } else {
            pause_ms(20);
        }
    }
}

int
main(int argc, char **argv)
{
    if (argc != 6 || getenv("ORDER_SWEEP_BIN") == NULL) {
        errx(2, "to be started by tests/fault/storm.sh");
    }
    seed = strtoull(argv[1], NULL, 10);
    end_ms = now_ms() + strtoll(argv[2], NULL, 10) * 1000;
    folder = argv[3];
    pooler_host = argv[4];
    pooler_port = argv[5];
    shared = mmap(NULL,
                  sizeof(*shared),
                  PROT_READ | PROT_WRITE,
                  MAP_SHARED | MAP_ANONYMOUS,
                  -1,
                  0);
    if (shared == MAP_FAILED) {
        err(2, "mmap");
    }
    for (int i = 0; i < BUYERS; i++) {
        start_actor(BUYER, 0);
    }
    start_actor(ADMIN, 0);
    for (int i = 0; i < SWEEPERS; i++) {
        start_actor(SWEEPER, i);
    }
    start_actor(KILLER, 0);
    start_actor(WATCHER, 0);
    wait_for_all();
    return atomic_load(&shared->stop) ? 1 : 0;
}
