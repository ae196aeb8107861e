#include "metrics.h"

#include <errno.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <bsd/string.h>

#include "clock.h"
#include "log.h"
#include "pg.h"
#include "sql_text.h"
#include "whole_file.h"

enum column {
    NAME,
    TYPE,
    HELP,
    LABEL,
    WORD,
    VALUE,
    COLUMNS,
};

/* A file of ours begins, goes on with the sweeps, and ends so. */
#define BEGIN  "# Written by order-sweep.\n"
#define SWEEPS "# The sweeps.\n"
#define END    "# The end.\n"

#define SUCCESS "order_sweep_last_success_timestamp_seconds"

/* A file of ours has some kilobytes for each sweep. */
#define MOST_BYTES (4U << 20U)

/* An answer that takes longer than this, whatever limit the statement has, will
 * not come: the connection is given up. */
#define ANSWER_MS 10000

/* What the run and the last file have to tell. */
struct telling {
    char file[256]; /* the label: its name without .prom */
    bool up;
    enum osw_exit exit;
    int64_t elapsed_ms;
    int64_t now_s;
    int64_t success_s;  /* 0: never */
    const char *sweeps; /* the lines of the last file, or "" */
};

bool
osw_metrics_check(const char *file, struct osw_error *error)
{
    if (osw_whole_file_may_write(file)) {
        return true;
    }
    osw_error_set(error,
                  OSW_EXIT_USAGE,
                  "--metrics-file: %s cannot be written: %s",
                  file,
                  strerror(errno));
    return osw_error_hint(error,
                          "make its folder, and let this user write there");
}

/* --- The last file -------------------------------------------------------- */

static bool
are_lines(char *text, const regex_t *regex)
{
    bool sound = true;

    while (*text != '\0' && sound) {
        char *end = strchr(text, '\n');

        if (end == NULL) {
            return false;
        }
        *end = '\0';
        sound = regexec(regex, text, 0, NULL, 0) == 0;
        *end = '\n';
        text = end + 1;
    }
    return sound;
}

/* Every line a comment, or a value of ours under the label of this file; who
 * reads it would refuse the whole file for one that is not. */
static bool
is_sound(char *text, const char *file)
{
    char pattern[512];
    regex_t regex;
    bool sound = false;

    (void)snprintf(pattern,
                   sizeof(pattern),
                   "^(# [ -~]*|order_sweep_[a-z_]+\\{file=\"%s\""
                   "(,[a-z]+=\"([^\"\\\\]|\\\\[n\"\\\\])*\")*\\} "
                   "(NaN|[-+]?([0-9]+([.][0-9]+)?(e[-+]?[0-9]+)?|Infinity)))$",
                   file);
    if (regcomp(&regex, pattern, REG_EXTENDED | REG_NOSUB) != 0) {
        return false;
    }
    sound = are_lines(text, &regex);
    regfree(&regex);
    return sound;
}

/* Take from the last file what this run may not know.  Text is cut in two. */
static void
remember(struct telling *telling, char *text)
{
    const size_t length = strlen(text);
    char *sweeps = strstr(text, "\n" SWEEPS);
    char start[sizeof(telling->file) + sizeof(SUCCESS) + 16];
    const char *success = NULL;

    if (sweeps == NULL || length < strlen(BEGIN) + strlen(END) ||
        strncmp(text, BEGIN, strlen(BEGIN)) != 0 ||
        strcmp(text + length - strlen(END), END) != 0 ||
        !is_sound(text, telling->file)) {
        return;
    }
    (void)snprintf(
        start, sizeof(start), "\n" SUCCESS "{file=\"%s\"} ", telling->file);
    success = strstr(text, start);
    if (success != NULL) {
        telling->success_s = strtoll(success + strlen(start), NULL, 10);
    }
    text[length - strlen(END)] = '\0';
    telling->sweeps = sweeps + strlen("\n" SWEEPS);
}

/* --- The new one ---------------------------------------------------------- */

static void
write_head(FILE *out, const char *name, const char *type, const char *help)
{
    (void)fprintf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void
write_label(FILE *out, const char *label, const char *value)
{
    (void)fprintf(out, ",%s=\"", label);
    for (; *value != '\0'; value++) {
        if (*value == '\n') {
            (void)fputs("\\n", out);
        } else {
            if (*value == '"' || *value == '\\') {
                (void)fputc('\\', out);
            }
            (void)fputc(*value, out);
        }
    }
    (void)fputc('"', out);
}

static void
write_run(FILE *out, const struct telling *telling)
{
    const struct {
        const char *name;
        const char *help;
        double value;
    } rows[] = {
        {"order_sweep_up",
         "1 if the last run was told by the database how its sweeps are, "
         "else 0.",
         telling->up ? 1 : 0},
        {"order_sweep_last_exit_code",
         "Exit code of the last run, so far if it is still at work.",
         (double)telling->exit},
        {"order_sweep_last_run_timestamp_seconds",
         "When the last run ended, or wrote this while at work.",
         (double)telling->now_s},
        {SUCCESS,
         "When a run last was without a fault; 0: never.",
         (double)telling->success_s},
        {"order_sweep_last_run_duration_seconds",
         "How long the last run took, so far if it is still at work.",
         (double)telling->elapsed_ms / 1000},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        write_head(out, rows[i].name, "gauge", rows[i].help);
        (void)fprintf(out,
                      "%s{file=\"%s\"} %.15g\n",
                      rows[i].name,
                      telling->file,
                      rows[i].value);
    }
}

/* The lines of one metric must stand together, those of all sweeps. */
static void
write_sweeps(FILE *out,
             const struct telling *telling,
             const struct osw_probe *probe,
             const struct osw_pg_answer *answers)
{
    const char *last = "";

    for (int row = 0; probe->count > 0 && row < answers[0].rows; row++) {
        for (int i = 0; i < probe->count; i++) {
            const char *name = osw_pg_value(&answers[i], row, NAME);
            const char *label = osw_pg_value(&answers[i], row, LABEL);
            const char *value = osw_pg_value(&answers[i], row, VALUE);

            if (value == NULL) {
                continue; /* not known */
            }
            if (strcmp(name, last) != 0) {
                write_head(out,
                           name,
                           osw_pg_value(&answers[i], row, TYPE),
                           osw_pg_value(&answers[i], row, HELP));
                last = name;
            }
            (void)fprintf(out, "%s{file=\"%s\"", name, telling->file);
            write_label(out, "sweep", probe->sweeps[i].name);
            if (label != NULL) {
                write_label(out, label, osw_pg_value(&answers[i], row, WORD));
            }
            (void)fprintf(out, "} %s\n", value);
        }
    }
}

/* Of all sweeps, or of none. */
static bool
ask_all(struct osw_task *task, int64_t limit_ms, struct osw_pg_answer *answers)
{
    const struct osw_pg_statement statement = {NULL, osw_sql_metrics, 1};
    const struct osw_probe *probe = &task->probe;
    const int64_t until_ms = osw_clock_until_ms(limit_ms, task->hard_ms);
    struct osw_error error = OSW_ERROR_INIT;
    bool told = task->pg != NULL && probe->count > 0;

    for (int i = 0; i < probe->count && told; i++) {
        /* Each has its share of what the ones before left; 0 is no limit. */
        const int64_t share_ms =
            osw_clock_left_ms(until_ms) / (probe->count - i);
        const char *values[] = {probe->sweeps[i].name};

        told =
            share_ms > 0 &&
            osw_pg_query_within(task->pg,
                                share_ms,
                                &statement,
                                values,
                                COLUMNS,
                                osw_clock_until_ms(ANSWER_MS, task->drain_ms),
                                &answers[i],
                                &error) &&
            answers[i].rows == answers[0].rows;
    }
    if (error.sqlstate[0] != '\0') {
        osw_log(OSW_LOG_WARNING,
                "--metrics-file: the database does not tell how the sweeps "
                "are: %s",
                error.message);
    }
    return told;
}

/* The text of the file; NULL if there is no memory. */
static char *
compose(struct osw_task *task,
        struct telling *telling,
        int64_t limit_ms,
        size_t *length)
{
    const int count = task->probe.count;
    struct osw_pg_answer *answers = calloc((size_t)count + 1, sizeof(*answers));
    char *text = NULL;
    FILE *out = answers != NULL ? open_memstream(&text, length) : NULL;

    if (out == NULL) {
        free(answers);
        return NULL;
    }
    telling->up = ask_all(task, limit_ms, answers);
    (void)fputs(BEGIN, out);
    write_run(out, telling);
    (void)fputs(SWEEPS, out);
    if (telling->up) {
        write_sweeps(out, telling, &task->probe, answers);
    } else {
        (void)fputs(telling->sweeps, out);
    }
    (void)fputs(END, out);
    for (int i = 0; i < count; i++) {
        osw_pg_answer_clear(&answers[i]);
    }
    free(answers);
    if (fclose(out) != 0) {
        free(text);
        return NULL;
    }
    return text;
}

static bool
tell(struct osw_task *task, int64_t limit_ms)
{
    const char *file = task->options->metrics_file;
    const char *slash = strrchr(file, '/');
    const char *name = slash != NULL ? slash + 1 : file;
    struct telling telling = {.exit = task->exit,
                              .elapsed_ms = osw_clock_now_ms() - task->began_ms,
                              .now_s = (int64_t)time(NULL),
                              .sweeps = ""};
    char *old = osw_whole_file_read(file, MOST_BYTES);
    char *text = NULL;
    size_t length = 0;
    bool done = false;
    int why = ENOMEM;

    (void)strlcpy(telling.file, name, strlen(name) - strlen(".prom") + 1);
    if (old != NULL) {
        remember(&telling, old);
    }
    if (task->exit == OSW_EXIT_OK) {
        telling.success_s = telling.now_s;
    }
    text = compose(task, &telling, limit_ms, &length);
    if (text != NULL) {
        done = osw_whole_file_write(file, text, length);
        why = errno;
    }
    free(text);
    free(old);
    errno = why;
    return done;
}

void
osw_metrics_write(struct osw_task *task, int64_t limit_ms)
{
    struct osw_error error = OSW_ERROR_INIT;

    if (task->options->metrics_file == NULL || tell(task, limit_ms) ||
        task->told_metrics) {
        return;
    }
    osw_error_set(&error,
                  OSW_EXIT_IO,
                  "--metrics-file: %s could not be written: %s",
                  task->options->metrics_file,
                  strerror(errno));
    osw_error_hint(&error,
                   "make room or mend its folder; the sweep is not concerned");
    osw_task_tell(task, NULL, &error);
    task->told_metrics = true;
}
