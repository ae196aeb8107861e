#include "duration.h"

#include <stdio.h>
#include <string.h>

#define MS_SECOND INT64_C(1000)
#define MS_MINUTE (60 * MS_SECOND)
#define MS_HOUR   (60 * MS_MINUTE)
#define MS_DAY    (24 * MS_HOUR)
#define MS_WEEK   (7 * MS_DAY)

/* Marks the units that are known, but have no fixed length. */
#define VARIES INT64_C(0)

struct unit {
    const char *name;
    int64_t ms;
};

static const struct unit units[] = {
    {"ms", 1},
    {"msec", 1},
    {"msecs", 1},
    {"millisecond", 1},
    {"milliseconds", 1},
    {"s", MS_SECOND},
    {"sec", MS_SECOND},
    {"secs", MS_SECOND},
    {"second", MS_SECOND},
    {"seconds", MS_SECOND},
    {"m", MS_MINUTE},
    {"min", MS_MINUTE},
    {"mins", MS_MINUTE},
    {"minute", MS_MINUTE},
    {"minutes", MS_MINUTE},
    {"h", MS_HOUR},
    {"hr", MS_HOUR},
    {"hrs", MS_HOUR},
    {"hour", MS_HOUR},
    {"hours", MS_HOUR},
    {"d", MS_DAY},
    {"day", MS_DAY},
    {"days", MS_DAY},
    {"w", MS_WEEK},
    {"week", MS_WEEK},
    {"weeks", MS_WEEK},
    {"mon", VARIES},
    {"mons", VARIES},
    {"month", VARIES},
    {"months", VARIES},
    {"y", VARIES},
    {"yr", VARIES},
    {"yrs", VARIES},
    {"year", VARIES},
    {"years", VARIES},
};

/* A text being read; option and whole are for the messages. */
struct reader {
    const char *option;
    const char *whole;
    const char *at;
    struct osw_error *error;
};

static bool
is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static void
skip_blanks(struct reader *reader)
{
    reader->at += strspn(reader->at, " ");
}

/* Say what is wrong with the text; a hint follows at the caller. */
static bool
refuse(const struct reader *reader, const char *what)
{
    return osw_error_set(reader->error,
                         OSW_EXIT_USAGE,
                         "%s: \"%s\" %s",
                         reader->option,
                         reader->whole,
                         what);
}

static bool
refuse_edge_blank(const struct reader *reader)
{
    (void)refuse(reader, "begins or ends with a blank");
    return osw_error_hint(reader->error, "leave the blank out");
}

static bool
refuse_no_number(const struct reader *reader)
{
    if (*reader->at == '-' || *reader->at == '+') {
        (void)refuse(reader, "has a sign");
        return osw_error_hint(reader->error,
                              "write the length alone, such as 30m");
    }
    (void)refuse(reader, "has no number where one is due");
    return osw_error_hint(reader->error,
                          "write a whole number and a unit, such as 30m");
}

static bool
refuse_fraction(const struct reader *reader)
{
    (void)refuse(reader, "has a fraction");
    return osw_error_hint(reader->error,
                          "write whole numbers, such as 1h30m for 1.5h");
}

static bool
refuse_no_unit(const struct reader *reader, const char *digits, int count)
{
    (void)refuse(reader,
                 digits == reader->whole ? "has no unit"
                                         : "ends without a unit");
    return osw_error_hint(reader->error,
                          "write %.*ss, %.*sm or %.*sh",
                          count,
                          digits,
                          count,
                          digits,
                          count,
                          digits);
}

static bool
refuse_unknown_unit(const struct reader *reader, const char *word, int count)
{
    (void)osw_error_set(reader->error,
                        OSW_EXIT_USAGE,
                        "%s: \"%s\" has an unknown unit \"%.*s\"",
                        reader->option,
                        reader->whole,
                        count,
                        word);
    return osw_error_hint(reader->error, "use ms, s, m, h, d or w");
}

static bool
refuse_varying_unit(const struct reader *reader)
{
    (void)refuse(reader, "has months or years, whose length varies");
    return osw_error_hint(reader->error, "write days, such as 30d");
}

static bool
refuse_too_long(const struct reader *reader, int64_t max_ms)
{
    char most[OSW_DURATION_TEXT_SIZE];

    osw_duration_format(max_ms, most, sizeof most);
    (void)refuse(reader, "is too long");
    return osw_error_hint(reader->error, "write %s or less", most);
}

static bool
refuse_too_short(const struct reader *reader, int64_t min_ms)
{
    char least[OSW_DURATION_TEXT_SIZE];

    osw_duration_format(min_ms, least, sizeof least);
    (void)refuse(reader, "is too short");
    return osw_error_hint(reader->error, "write %s or more", least);
}

static const struct unit *
find_unit(const char *word, size_t length)
{
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        if (strlen(units[i].name) == length &&
            memcmp(units[i].name, word, length) == 0) {
            return &units[i];
        }
    }
    return NULL;
}

/* Read the digits at hand; anything beyond the longest duration stays there. */
static bool
read_number(struct reader *reader, int64_t *number)
{
    const int64_t beyond = OSW_DURATION_MAX_MS + 1;

    if (!is_digit(*reader->at)) {
        return refuse_no_number(reader);
    }
    *number = 0;
    for (; is_digit(*reader->at); reader->at++) {
        *number = *number * 10 + (*reader->at - '0');
        if (*number > beyond) {
            *number = beyond;
        }
    }
    return true;
}

/* Read the unit that belongs to the digits before it. */
static bool
read_unit(struct reader *reader, const char *digits, int64_t *unit_ms)
{
    int digit_count = (int)(reader->at - digits);
    const struct unit *unit = NULL;
    const char *word = NULL;
    size_t length = 0;

    if (*reader->at == '.' || *reader->at == ',') {
        return refuse_fraction(reader);
    }
    skip_blanks(reader);
    word = reader->at;
    length = strcspn(word, " +-0123456789");
    if (length == 0) {
        return refuse_no_unit(reader, digits, digit_count);
    }
    unit = find_unit(word, length);
    if (unit == NULL) {
        return refuse_unknown_unit(reader, word, (int)length);
    }
    if (unit->ms == VARIES) {
        return refuse_varying_unit(reader);
    }
    reader->at += length;
    *unit_ms = unit->ms;
    return true;
}

/* Read one number with its unit and add it to the total. */
static bool
read_pair(struct reader *reader, int64_t max_ms, int64_t *total_ms)
{
    const char *digits = reader->at;
    int64_t number = 0;
    int64_t unit_ms = 1;

    if (!read_number(reader, &number) || !read_unit(reader, digits, &unit_ms)) {
        return false;
    }
    /* Compared before it is multiplied: nothing here can overflow. */
    if (number > (max_ms - *total_ms) / unit_ms) {
        return refuse_too_long(reader, max_ms);
    }
    *total_ms += number * unit_ms;
    return true;
}

bool
osw_duration_parse(const char *option,
                   const char *text,
                   int64_t min_ms,
                   int64_t max_ms,
                   int64_t *ms,
                   struct osw_error *error)
{
    struct reader reader = {option, text, text, error};
    size_t length = strlen(text);
    int64_t total_ms = 0;

    if (length > 0 && (text[0] == ' ' || text[length - 1] == ' ')) {
        return refuse_edge_blank(&reader);
    }
    do {
        if (!read_pair(&reader, max_ms, &total_ms)) {
            return false;
        }
        skip_blanks(&reader);
    } while (*reader.at != '\0');

    if (total_ms < min_ms) {
        return refuse_too_short(&reader, min_ms);
    }
    *ms = total_ms;
    return true;
}

void
osw_duration_format(int64_t ms, char *text, size_t size)
{
    static const struct unit steps[] = {
        {"d", MS_DAY},
        {"h", MS_HOUR},
        {"m", MS_MINUTE},
        {"s", MS_SECOND},
        {"ms", 1},
    };
    size_t used = 0;

    if (ms == 0) {
        (void)snprintf(text, size, "0s");
        return;
    }
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        int64_t number = ms / steps[i].ms;

        ms -= number * steps[i].ms;
        if (number != 0) {
            int wrote = snprintf(text + used,
                                 size - used,
                                 "%lld%s",
                                 (long long)number,
                                 steps[i].name);

            if (wrote < 0 || (size_t)wrote >= size - used) {
                return;
            }
            used += (size_t)wrote;
        }
    }
}

/* Write number units, and put what is left over in *ms. */
static void
say_one(int64_t *ms, const struct unit *unit, char *text, size_t size)
{
    const long long number = *ms / unit->ms;

    *ms -= number * unit->ms;
    (void)snprintf(text,
                   size,
                   "%lld %s%s",
                   number,
                   unit->name,
                   unit->ms == MS_DAY && number != 1 ? "s" : "");
}

void
osw_duration_say(int64_t ms, char *text, size_t size)
{
    static const struct unit steps[] = {
        {"day", MS_DAY},
        {"h", MS_HOUR},
        {"min", MS_MINUTE},
        {"s", MS_SECOND},
        {"ms", 1},
    };
    const size_t last = sizeof steps / sizeof steps[0] - 1;
    size_t i = 0;
    size_t used = 0;

    while (i < last && ms < steps[i].ms) {
        i++;
    }
    if (i == last - 1) {
        /* Tenths tell enough, and of ten seconds and more nothing is lost. */
        (void)snprintf(text,
                       size,
                       ms < 10 * MS_SECOND ? "%lld.%lld s" : "%lld s",
                       (long long)(ms / MS_SECOND),
                       (long long)(ms % MS_SECOND / 100));
        return;
    }
    say_one(&ms, &steps[i], text, size);
    used = strlen(text);
    if (i < last && ms >= steps[i + 1].ms && used + 1 < size) {
        text[used] = ' ';
        say_one(&ms, &steps[i + 1], text + used + 1, size - used - 1);
    }
}
