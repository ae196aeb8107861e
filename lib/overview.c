#include "overview.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "duration.h"
#include "holders.h"
#include "json.h"

/* States that begin so name the rule that keeps an order. */
#define KEEP "keep: "

/* A bar of the histogram, and the columns before it. */
#define BAR_LENGTH 30
#define BAR_LABEL  13

static int64_t
book(const struct osw_overview *o, enum osw_book column)
{
    return osw_situation_book(o->situation, column);
}

static bool
is_paused(const struct osw_overview *o)
{
    return osw_pg_is_true(&o->situation->books, 0, BOOK_PAUSED);
}

/* --- Limits --------------------------------------------------------------- */

static bool
is_overdue(const struct osw_overview *o)
{
    return o->limits.overdue_ms >= 0 &&
           o->situation->overdue_ms > o->limits.overdue_ms;
}

static bool
is_old(const struct osw_overview *o)
{
    const int64_t age_ms = book(o, BOOK_SUCCESS_AGE);

    return o->limits.age_ms >= 0 && (age_ms < 0 || age_ms > o->limits.age_ms);
}

static bool
has_quarantined(const struct osw_overview *o)
{
    return o->limits.quarantined >= 0 &&
           book(o, BOOK_QUARANTINED) > o->limits.quarantined;
}

bool
osw_overview_is_over(const struct osw_overview *overview)
{
    return is_overdue(overview) || is_old(overview) ||
           has_quarantined(overview);
}

/* --- The orders by state -------------------------------------------------- */

/* The rule that keeps the orders of a row; NULL: none does. */
static const char *
rule_of(const struct osw_pg_answer *states, int row)
{
    const char *state = osw_pg_value(states, row, STATE);

    return strncmp(state, KEEP, strlen(KEEP)) == 0 ? state + strlen(KEEP)
                                                   : NULL;
}

/* The number of orders of a state, which has several rows; *row becomes the
 * first of the next state. */
static int64_t
sum_state(const struct osw_pg_answer *states, int *row)
{
    const char *state = osw_pg_value(states, *row, STATE);
    int64_t sum = 0;

    while (*row < states->rows &&
           strcmp(osw_pg_value(states, *row, STATE), state) == 0) {
        sum += osw_pg_number(states, *row, STATE_ORDERS);
        (*row)++;
    }
    return sum;
}

/* --- For people: a function writes a field's text ------------------------- */

static void
say(FILE *out, int64_t ms)
{
    char text[OSW_DURATION_TEXT_SIZE];

    osw_duration_say(ms, text, sizeof(text));
    (void)fputs(text, out);
}

/* SQL, which may have several lines, or a message. */
static void
put(FILE *out, const char *text)
{
    char line[512];

    osw_one_line(line, sizeof(line), text);
    (void)osw_report_plain(out, line);
}

static void
put_limit(FILE *out, bool over, const char *option, int64_t limit_ms)
{
    char text[OSW_DURATION_TEXT_SIZE];

    if (over) {
        osw_duration_format(limit_ms, text, sizeof(text));
        (void)fprintf(out, ": over --%s %s", option, text);
    }
}

static void
write_due(FILE *out, const struct osw_overview *o)
{
    const int64_t due = o->situation->due;
    const bool more = !o->situation->states_known && due >= OSW_SITUATION_MOST;

    if (due < 0) {
        (void)fputs("not known", out);
    } else if (due == 0) {
        (void)fputs("nothing", out);
    } else {
        (void)fprintf(out,
                      "%" PRId64 " order%s%s",
                      due,
                      due == 1 ? "" : "s",
                      more ? " or more" : "");
    }
}

static void
write_oldest(FILE *out, const struct osw_overview *o)
{
    const struct osw_situation *situation = o->situation;

    if (situation->states_known) {
        (void)osw_report_plain(
            out, osw_pg_value(&situation->states, 0, STATE_OLDEST));
        (void)fputs(", ", out);
    }
    (void)fputs("overdue for ", out);
    say(out, situation->overdue_ms);
    put_limit(out, is_overdue(o), "max-overdue", o->limits.overdue_ms);
}

static void
write_window(FILE *out, const struct osw_overview *o)
{
    if (book(o, BOOK_AFTER) >= 0) {
        say(out, book(o, BOOK_AFTER));
        (void)fputs(" since ", out);
    } else {
        (void)fputs("until ", out);
    }
    put(out, osw_pg_value(&o->situation->books, 0, BOOK_CLOCK));
    if (book(o, BOOK_GRACE) > 0) {
        (void)fputs(", and ", out);
        say(out, book(o, BOOK_GRACE));
        (void)fputs(" of grace", out);
    }
}

static void
write_deadline(FILE *out, const struct osw_overview *o)
{
    if (book(o, BOOK_DEADLINE_IN) < 0) {
        (void)fputs(book(o, BOOK_ORDERS) < 0 ? "not known" : "none in sight",
                    out);
        return;
    }
    (void)fputs("in ", out);
    say(out, book(o, BOOK_DEADLINE_IN));
    (void)fprintf(
        out, ", %s", osw_pg_value(&o->situation->books, 0, BOOK_DEADLINE));
}

static void
write_not_known(FILE *out, const struct osw_overview *o)
{
    if (strcmp(o->situation->why.sqlstate, "57014") == 0) {
        (void)fputs("not known within ", out);
        say(out, OSW_SITUATION_LOOK_MS);
        (void)fputs("; order-sweep --dry-run takes the time", out);
    } else {
        (void)fputs("not known: ", out);
        put(out, o->situation->why.message);
    }
}

static void
write_kept(FILE *out, const struct osw_overview *o)
{
    const struct osw_pg_answer *states = &o->situation->states;
    const char *separator = "";

    if (!o->situation->states_known) {
        write_not_known(out, o);
        return;
    }
    for (int row = 0; row < states->rows;) {
        const char *rule = rule_of(states, row);
        const int64_t orders = sum_state(states, &row);

        if (rule != NULL) {
            (void)fprintf(out, "%s%" PRId64 " ", separator, orders);
            (void)osw_report_plain(out, rule);
            separator = ", ";
        }
    }
    if (separator[0] == '\0') {
        (void)fputs("none", out);
    }
}

static void
write_failed(FILE *out, const struct osw_overview *o)
{
    const int64_t waiting = book(o, BOOK_BACKOFF);
    const int64_t quarantined = book(o, BOOK_QUARANTINED);

    if (waiting == 0 && quarantined == 0) {
        (void)fputs("none", out);
    }
    if (waiting > 0) {
        (void)fprintf(out, "%" PRId64 " in back-off, next try in ", waiting);
        say(out, book(o, BOOK_NEXT_TRY_IN));
    }
    if (quarantined > 0) {
        (void)fprintf(out,
                      "%s%" PRId64 " quarantined",
                      waiting > 0 ? "; " : "",
                      quarantined);
    }
    if (has_quarantined(o)) {
        (void)fprintf(
            out, ": over --max-quarantined %" PRId64, o->limits.quarantined);
    }
    if (quarantined > 0) {
        (void)fputs("; see order-sweep retry", out);
    }
}

static void
write_events(FILE *out, const struct osw_overview *o)
{
    const int64_t events = book(o, BOOK_EVENTS);

    if (events == 0) {
        (void)fputs("all relayed", out);
        return;
    }
    (void)fprintf(out, "%" PRId64 " to relay, the oldest for ", events);
    say(out, book(o, BOOK_EVENTS_AGE));
    if (book(o, BOOK_EVENTS_REFUSED) > 0) {
        (void)fprintf(
            out, "; %" PRId64 " refused", book(o, BOOK_EVENTS_REFUSED));
    }
    if (book(o, BOOK_EVENTS_PARKED) > 0) {
        (void)fprintf(out,
                      "; %" PRId64 " parked; see order-sweep retry",
                      book(o, BOOK_EVENTS_PARKED));
    }
}

static void
write_success(FILE *out, const struct osw_overview *o)
{
    if (book(o, BOOK_SUCCESS_AGE) < 0) {
        (void)fputs("never", out);
    } else {
        say(out, book(o, BOOK_SUCCESS_AGE));
        (void)fputs(" ago", out);
    }
    put_limit(out, is_old(o), "max-age", o->limits.age_ms);
}

static void
write_run(FILE *out, const struct osw_overview *o)
{
    const int64_t time_ms = book(o, BOOK_RUN_TIME);
    const int64_t swept = book(o, BOOK_RUN_SWEPT);

    say(out, book(o, BOOK_RUN_AGE));
    (void)fprintf(out, " ago: %" PRId64 " swept in ", swept);
    say(out, time_ms);
    if (time_ms > 0 && swept * 1000 / time_ms > 0) {
        (void)fprintf(out, " (%" PRId64 "/s)", swept * 1000 / time_ms);
    }
    if (book(o, BOOK_RUN_FAILED) > 0) {
        (void)fprintf(out, ", %" PRId64 " failed", book(o, BOOK_RUN_FAILED));
    }
    if (book(o, BOOK_RUN_UNKNOWN) > 0) {
        (void)fprintf(out, ", %" PRId64 " unknown", book(o, BOOK_RUN_UNKNOWN));
    }
    (void)fputs("; ", out);
    put(out, osw_pg_value(&o->situation->books, 0, BOOK_RUN_STOPPED));
}

static void
write_lateness(FILE *out, const struct osw_overview *o)
{
    (void)fputs("p50 ", out);
    say(out, book(o, BOOK_LATE_P50));
    (void)fputs(", p99 ", out);
    say(out, book(o, BOOK_LATE_P99));
    (void)fputs(", max ", out);
    say(out, book(o, BOOK_LATE_MAX));
}

/* --- The screen ----------------------------------------------------------- */

/* A text that is being made for a field. */
struct text {
    FILE *out; /* NULL: no memory */
    char *text;
    size_t size;
};

static void
begin_text(struct text *text)
{
    text->text = NULL;
    text->out = open_memstream(&text->text, &text->size);
}

static bool
end_field(struct text *text,
          const struct osw_screen *screen,
          enum osw_colour colour,
          const char *label)
{
    const bool done = text->out != NULL && fclose(text->out) == 0;

    if (done) {
        osw_screen_field(screen, colour, label, text->text);
    }
    free(text->text);
    return done;
}

static bool
show(const struct osw_overview *o,
     const struct osw_screen *screen,
     enum osw_colour colour,
     const char *label,
     void (*write)(FILE *out, const struct osw_overview *o))
{
    struct text text;

    begin_text(&text);
    if (text.out != NULL) {
        write(text.out, o);
    }
    return end_field(&text, screen, colour, label);
}

static bool
show_holders(const struct osw_overview *o, const struct osw_screen *screen)
{
    const struct osw_pg_answer *holders = &o->situation->holders;
    bool done = true;

    if (holders->rows == 0) {
        osw_screen_field(screen, OSW_PLAIN, "at work", "nobody");
    }
    for (int row = 0; row < holders->rows && done; row++) {
        struct text text;

        begin_text(&text);
        if (text.out != NULL) {
            osw_holders_text(text.out, holders, row);
        }
        done = end_field(&text, screen, OSW_PLAIN, row == 0 ? "at work" : "");
    }
    return done;
}

/* The bars' lengths: the most orders have the longest, one has at least one. */
static int
bar_length(int64_t orders, int64_t most)
{
    if (most <= BAR_LENGTH) {
        return (int)orders;
    }
    return (int)((orders * BAR_LENGTH + most - 1) / most);
}

/* For how long the backlog is overdue. */
static void
show_backlog(const struct osw_overview *o, const struct osw_screen *screen)
{
    static const char bar[BAR_LENGTH + 1] = "##############################";
    const int64_t *backlog = o->situation->backlog;
    const char *label = "overdue for";
    int64_t most = 0;

    for (int i = 0; i < OSW_SITUATION_CLASSES; i++) {
        most = backlog[i] > most ? backlog[i] : most;
    }
    for (int i = 0; i < OSW_SITUATION_CLASSES && most > 0; i++) {
        const int length = bar_length(backlog[i], most);
        /* Those of the first class are not overdue for as long as the second.
         */
        const int64_t bound_ms = osw_situation_from_ms[i > 0 ? i : 1];
        char bound[OSW_DURATION_TEXT_SIZE];
        char class[OSW_DURATION_TEXT_SIZE + 8];

        osw_duration_say(bound_ms, bound, sizeof(bound));
        (void)snprintf(
            class, sizeof(class), "%s %s", i > 0 ? "from" : "under", bound);
        (void)fprintf(screen->out,
                      "  %-*s%-*s%.*s%s%" PRId64 "\n",
                      OSW_SCREEN_LABEL - 2,
                      label,
                      BAR_LABEL,
                      class,
                      length,
                      bar,
                      length > 0 ? " " : "",
                      backlog[i]);
        label = "";
    }
}

static enum osw_colour
colour_of(bool bad, bool doubtful)
{
    if (bad) {
        return OSW_RED;
    }
    return doubtful ? OSW_YELLOW : OSW_PLAIN;
}

static void
show_title(const struct osw_overview *o, const struct osw_screen *screen)
{
    osw_screen_write(screen, OSW_BOLD, o->sweep);
    if (is_paused(o)) {
        (void)fputs(": ", screen->out);
        osw_screen_write(screen, OSW_YELLOW, "paused");
    }
    (void)fputc('\n', screen->out);
}

static void
write_broken(FILE *out, const struct osw_overview *o)
{
    put(out, o->broken);
    (void)fputs("; see order-sweep check", out);
}

static bool
show_orders(const struct osw_overview *o, const struct osw_screen *screen)
{
    if (o->broken != NULL) {
        return show(o, screen, OSW_RED, "broken", write_broken);
    }
    return show(o, screen, OSW_PLAIN, "due now", write_due) &&
           (o->situation->overdue_ms < 0 ||
            show(o,
                 screen,
                 colour_of(is_overdue(o), false),
                 "oldest",
                 write_oldest)) &&
           show(o, screen, OSW_PLAIN, "next deadline", write_deadline) &&
           show(o, screen, OSW_PLAIN, "kept", write_kept);
}

static bool
show_runs(const struct osw_overview *o, const struct osw_screen *screen)
{
    const bool failed =
        book(o, BOOK_BACKOFF) > 0 || book(o, BOOK_QUARANTINED) > 0;

    return show(o,
                screen,
                colour_of(has_quarantined(o), failed),
                "failed",
                write_failed) &&
           (book(o, BOOK_EVENTS) < 0 ||
            show(o,
                 screen,
                 colour_of(false,
                           book(o, BOOK_EVENTS_REFUSED) > 0 ||
                               book(o, BOOK_EVENTS_PARKED) > 0),
                 "events",
                 write_events)) &&
           show(o,
                screen,
                colour_of(is_old(o), book(o, BOOK_SUCCESS_AGE) < 0),
                "last success",
                write_success) &&
           (book(o, BOOK_RUN_AGE) < 0 ||
            show(o, screen, OSW_PLAIN, "last run", write_run)) &&
           (book(o, BOOK_LATE_MAX) < 0 ||
            show(o, screen, OSW_PLAIN, "its lateness", write_lateness));
}

static bool
write_text(const struct osw_overview *o, const struct osw_screen *screen)
{
    show_title(o, screen);
    if (!show(o, screen, OSW_PLAIN, "window", write_window) ||
        !show_orders(o, screen) || !show_runs(o, screen) ||
        !show_holders(o, screen)) {
        return false;
    }
    show_backlog(o, screen);
    return true;
}

/* --- For programs --------------------------------------------------------- */

static void
json_text(FILE *out, const char *name, const char *text)
{
    (void)fprintf(out, ",\"%s\":", name);
    osw_json_string(out, text);
}

static void
json_number(FILE *out, const char *name, int64_t number)
{
    (void)fprintf(out, ",\"%s\":", name);
    if (number >= 0) {
        (void)fprintf(out, "%" PRId64, number);
    } else {
        (void)fputs("null", out);
    }
}

static void
json_seconds(FILE *out, const char *name, int64_t ms)
{
    (void)fprintf(out, ",\"%s\":", name);
    if (ms >= 0) {
        (void)fprintf(out, "%" PRId64 ".%03" PRId64, ms / 1000, ms % 1000);
    } else {
        (void)fputs("null", out);
    }
}

static void
json_oldest(FILE *out, const struct osw_overview *o)
{
    const struct osw_situation *situation = o->situation;

    json_seconds(out, "overdue_seconds", situation->overdue_ms);
    (void)fprintf(out,
                  ",\"oldest\":%s",
                  situation->states_known && situation->due > 0
                      ? osw_pg_value(&situation->states, 0, STATE_OLDEST_JSON)
                      : "null");
}

static void
json_kept(FILE *out, const struct osw_overview *o)
{
    const struct osw_pg_answer *states = &o->situation->states;
    const char *separator = "";

    if (!o->situation->states_known) {
        (void)fputs(",\"kept\":null", out);
        return;
    }
    (void)fputs(",\"kept\":{", out);
    for (int row = 0; row < states->rows;) {
        const char *rule = rule_of(states, row);
        const int64_t orders = sum_state(states, &row);

        if (rule != NULL) {
            (void)fputs(separator, out);
            osw_json_string(out, rule);
            (void)fprintf(out, ":%" PRId64, orders);
            separator = ",";
        }
    }
    (void)fputc('}', out);
}

static void
json_backlog(FILE *out, const struct osw_overview *o)
{
    if (!o->situation->states_known) {
        (void)fputs(",\"backlog\":null", out);
        return;
    }
    (void)fputs(",\"backlog\":[", out);
    for (int i = 0; i < OSW_SITUATION_CLASSES; i++) {
        (void)fprintf(out,
                      "%s{\"from_seconds\":%" PRId64 ",\"orders\":%" PRId64 "}",
                      i > 0 ? "," : "",
                      osw_situation_from_ms[i] / 1000,
                      o->situation->backlog[i]);
    }
    (void)fputc(']', out);
}

static void
json_run(FILE *out, const struct osw_overview *o)
{
    const struct osw_pg_answer *books = &o->situation->books;

    if (book(o, BOOK_RUN_AGE) < 0) {
        (void)fputs(",\"last_run\":null", out);
        return;
    }
    (void)fputs(",\"last_run\":{\"ended\":", out);
    osw_json_string(out, osw_pg_value(books, 0, BOOK_RUN_ENDED));
    json_text(out, "stopped", osw_pg_value(books, 0, BOOK_RUN_STOPPED));
    json_number(out, "swept", book(o, BOOK_RUN_SWEPT));
    json_number(out, "failed", book(o, BOOK_RUN_FAILED));
    json_number(out, "unknown", book(o, BOOK_RUN_UNKNOWN));
    json_seconds(out, "late_p50", book(o, BOOK_LATE_P50));
    json_seconds(out, "late_p99", book(o, BOOK_LATE_P99));
    json_seconds(out, "late_max", book(o, BOOK_LATE_MAX));
    json_seconds(out, "seconds", book(o, BOOK_RUN_TIME));
    (void)fputc('}', out);
}

static void
json_over(FILE *out, const struct osw_overview *o)
{
    const struct {
        const char *option;
        bool over;
    } limits[] = {{"max-overdue", is_overdue(o)},
                  {"max-age", is_old(o)},
                  {"max-quarantined", has_quarantined(o)}};
    const char *separator = "";

    (void)fputs(",\"over\":[", out);
    for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
        if (limits[i].over) {
            (void)fprintf(out, "%s\"%s\"", separator, limits[i].option);
            separator = ",";
        }
    }
    (void)fputc(']', out);
}

static void
write_json(FILE *out, const struct osw_overview *o)
{
    const struct osw_pg_answer *books = &o->situation->books;

    (void)fputs("{\"sweep\":", out);
    osw_json_string(out, o->sweep);
    (void)fprintf(out, ",\"paused\":%s", is_paused(o) ? "true" : "false");
    json_text(out, "error", o->broken);
    json_seconds(out, "window_seconds", book(o, BOOK_AFTER));
    json_seconds(out, "grace_seconds", book(o, BOOK_GRACE));
    json_text(out, "clock", osw_pg_value(books, 0, BOOK_CLOCK));
    json_number(out, "due", o->situation->due);
    json_oldest(out, o);
    json_text(out, "next_deadline", osw_pg_value(books, 0, BOOK_DEADLINE));
    json_kept(out, o);
    json_backlog(out, o);
    json_number(out, "back_off", book(o, BOOK_BACKOFF));
    json_number(out, "quarantined", book(o, BOOK_QUARANTINED));
    json_text(out, "last_success", osw_pg_value(books, 0, BOOK_SUCCESS));
    json_seconds(out, "last_success_seconds", book(o, BOOK_SUCCESS_AGE));
    json_run(out, o);
    if (book(o, BOOK_EVENTS) >= 0) {
        json_number(out, "events", book(o, BOOK_EVENTS));
        json_seconds(out, "events_seconds", book(o, BOOK_EVENTS_AGE));
        json_number(out, "events_refused", book(o, BOOK_EVENTS_REFUSED));
        json_number(out, "events_parked", book(o, BOOK_EVENTS_PARKED));
    }
    (void)fputs(",\"holders\":", out);
    osw_holders_json(out, &o->situation->holders);
    json_over(out, o);
    (void)fputs("}\n", out);
}

bool
osw_overview_write(const struct osw_overview *overview,
                   enum osw_report_format format,
                   const struct osw_screen *screen)
{
    if (format == OSW_REPORT_JSON) {
        write_json(screen->out, overview);
        return true;
    }
    return write_text(overview, screen);
}
