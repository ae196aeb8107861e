#include "events.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fault.h"
#include "log.h"
#include "sql_text.h"

enum claim_column {
    CLAIM_IDS,
    CLAIM_EVENTS,
    CLAIM_RETRIED,
    CLAIM_COLUMNS,
};

enum taken_column {
    TAKEN_NUMBER,
    TAKEN_LINE,
    TAKEN_PROBLEM,
    TAKEN_COLUMNS,
};

static bool
query(struct osw_pg *pg,
      const char *text,
      const char *const *values,
      int count,
      int columns,
      int64_t deadline_ms,
      struct osw_pg_answer *answer,
      struct osw_error *error)
{
    const struct osw_pg_statement statement = {NULL, text, count};

    if (!osw_pg_query(
            pg, &statement, values, columns, deadline_ms, answer, error)) {
        osw_fault_classify(error);
        return false;
    }
    return true;
}

bool
osw_events_claim(struct osw_events *events,
                 struct osw_pg *pg,
                 const char *sweep,
                 int most,
                 int64_t deadline_ms,
                 bool *any,
                 struct osw_error *error)
{
    char number[16];
    const char *const values[] = {sweep, number};

    events->pg = pg;
    events->sweep = sweep;
    (void)snprintf(number, sizeof(number), "%d", most);
    if (!query(pg,
               osw_sql_claim_events,
               values,
               2,
               CLAIM_COLUMNS,
               deadline_ms,
               &events->claim,
               error)) {
        return false;
    }
    *any = osw_pg_number(&events->claim, 0, CLAIM_EVENTS) > 0;
    events->retried = osw_pg_is_true(&events->claim, 0, CLAIM_RETRIED);
    return true;
}

static void
read_event(const struct osw_events *events, int row, struct osw_event *event)
{
    const struct osw_pg_answer *taken = &events->taken;
    const char *problem = osw_pg_value(taken, row, TAKEN_PROBLEM);

    *event = (struct osw_event){
        .number = (int)osw_pg_number(taken, row, TAKEN_NUMBER),
        .line = osw_pg_value(taken, row, TAKEN_LINE)};
    if (problem != NULL) {
        osw_events_refuse(event, problem);
    } else if (event->line == NULL) {
        event->fate = OSW_FATE_PUBLISHED;
    }
}

bool
osw_events_take(struct osw_events *events,
                int64_t deadline_ms,
                struct osw_error *error)
{
    const char *const values[] = {events->sweep,
                                  osw_pg_value(&events->claim, 0, CLAIM_IDS)};

    if (!osw_pg_begin(events->pg, osw_sql_begin, deadline_ms, error)) {
        osw_fault_classify(error);
        return false;
    }
    if (!query(events->pg,
               osw_sql_take_events,
               values,
               2,
               TAKEN_COLUMNS,
               deadline_ms,
               &events->taken,
               error)) {
        return false;
    }
    events->count = events->taken.rows;
    events->events = calloc((size_t)events->count + 1, sizeof(*events->events));
    if (events->events == NULL) {
        return osw_error_set(error, OSW_EXIT_INTERNAL, "out of memory");
    }
    for (int i = 0; i < events->count; i++) {
        read_event(events, i, &events->events[i]);
    }
    return true;
}

void
osw_events_refuse(struct osw_event *event, const char *reason)
{
    event->fate = OSW_FATE_REFUSED;
    free(event->reason);
    event->reason = strdup(reason);
}

/* Their numbers as an SQL array, to be freed; NULL: no memory. */
static char *
numbers_of(const struct osw_events *events, enum osw_fate fate, int *count)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);

    *count = 0;
    if (out == NULL) {
        return NULL;
    }
    (void)fputc('{', out);
    for (int i = 0; i < events->count; i++) {
        if (events->events[i].fate == fate) {
            (void)fprintf(
                out, "%s%d", *count > 0 ? "," : "", events->events[i].number);
            (*count)++;
        }
    }
    (void)fputc('}', out);
    if (fclose(out) != 0) {
        free(text);
        return NULL;
    }
    return text;
}

static bool
book_all(const struct osw_events *events,
         enum osw_fate fate,
         const char *statement,
         int64_t deadline_ms,
         struct osw_error *error)
{
    int count = 0;
    char *numbers = numbers_of(events, fate, &count);
    const char *const values[] = {
        events->sweep, osw_pg_value(&events->claim, 0, CLAIM_IDS), numbers};
    struct osw_pg_answer answer = OSW_PG_ANSWER_INIT;
    bool done = true;

    if (numbers == NULL) {
        return osw_error_set(error, OSW_EXIT_INTERNAL, "out of memory");
    }
    if (count > 0) {
        done = query(
            events->pg, statement, values, 3, 1, deadline_ms, &answer, error);
        osw_pg_answer_clear(&answer);
    }
    free(numbers);
    return done;
}

/* A reason as SQL's bytea, to be freed: a command may write what is no text to
 * the database, and that must not undo what others were told. */
static char *
bytes_of(const char *reason)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);

    if (out == NULL) {
        return NULL;
    }
    (void)fputs("\\x", out);
    for (; *reason != '\0'; reason++) {
        (void)fprintf(out, "%02x", (unsigned)(unsigned char)*reason);
    }
    if (fclose(out) != 0) {
        free(text);
        return NULL;
    }
    return text;
}

static bool
book_refusal(const struct osw_events *events,
             const struct osw_event *event,
             int64_t deadline_ms,
             int64_t *parked,
             struct osw_error *error)
{
    char number[16];
    const char *reason = event->reason != NULL ? event->reason : "";
    char *bytes = bytes_of(reason);
    const char *const values[] = {events->sweep,
                                  osw_pg_value(&events->claim, 0, CLAIM_IDS),
                                  number,
                                  bytes};
    struct osw_pg_answer answer = OSW_PG_ANSWER_INIT;
    bool is_parked = false;
    bool done = false;

    if (bytes == NULL) {
        return osw_error_set(error, OSW_EXIT_INTERNAL, "out of memory");
    }
    (void)snprintf(number, sizeof(number), "%d", event->number);
    done = query(events->pg,
                 osw_sql_refuse_event,
                 values,
                 4,
                 2,
                 deadline_ms,
                 &answer,
                 error);
    free(bytes);
    if (!done) {
        return false;
    }
    is_parked = osw_pg_is_true(&answer, 0, 0);
    *parked += is_parked ? 1 : 0;
    osw_log_of(OSW_LOG_WARNING,
               events->sweep,
               "event of order %s refused%s: %s",
               osw_pg_value(&answer, 0, 1),
               is_parked ? " for the tenth time, and parked" : "",
               reason);
    osw_pg_answer_clear(&answer);
    return true;
}

bool
osw_events_book(struct osw_events *events,
                bool postpone,
                int64_t deadline_ms,
                int64_t *parked,
                struct osw_error *error)
{
    if (!book_all(events,
                  OSW_FATE_PUBLISHED,
                  osw_sql_publish_events,
                  deadline_ms,
                  error) ||
        !book_all(events,
                  OSW_FATE_UNTOLD,
                  postpone ? osw_sql_postpone_events : osw_sql_release_events,
                  deadline_ms,
                  error)) {
        return false;
    }
    for (int i = 0; i < events->count; i++) {
        if (events->events[i].fate == OSW_FATE_REFUSED &&
            !book_refusal(
                events, &events->events[i], deadline_ms, parked, error)) {
            return false;
        }
    }
    if (!osw_pg_command(events->pg, "COMMIT", deadline_ms, error)) {
        osw_fault_classify(error);
        return false;
    }
    return true;
}

void
osw_events_clear(struct osw_events *events)
{
    const struct osw_events empty = OSW_EVENTS_INIT;

    for (int i = 0; i < events->count && events->events != NULL; i++) {
        free(events->events[i].reason);
    }
    free(events->events);
    osw_pg_answer_clear(&events->taken);
    osw_pg_answer_clear(&events->claim);
    *events = empty;
}
