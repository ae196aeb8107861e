/*
 * duration: a first byte chooses the limits, the rest is the text.
 *
 * What is read is what a second, simpler reader makes of the text, it lies
 * within the limits, and what is written of it is read as the same.
 */
#include "duration.h"

#include <string.h>

#include "fuzz.h"

#define DAY_MS INT64_C(86400000)

static const struct limits {
    int64_t min_ms;
    int64_t max_ms;
} all_limits[] = {
    {0, OSW_DURATION_MAX_MS},
    {1000, DAY_MS},
    {1000, 2 * DAY_MS},
    {7, 7},
};

/* The unit by its first letters. */
static int64_t
unit_ms(const char *word)
{
    switch (word[0]) {
    case 's':
        return 1000;
    case 'h':
        return DAY_MS / 24;
    case 'd':
        return DAY_MS;
    case 'w':
        return 7 * DAY_MS;
    default:
        return word[1] == 's' || strncmp(word, "mil", 3) == 0 ? 1 : 60000;
    }
}

/* Add up numbers and units; the text is one that was taken. */
static int64_t
add_up(const char *text)
{
    int64_t total_ms = 0;

    while (*text != '\0') {
        char *unit = NULL;
        long long number = strtoll(text, &unit, 10);

        REQUIRE(unit != text);
        unit += strspn(unit, " ");
        REQUIRE(strspn(unit, "abcdefghijklmnopqrstuvwxyz") > 0);
        total_ms += number * unit_ms(unit);
        text = unit + strspn(unit, "abcdefghijklmnopqrstuvwxyz ");
    }
    return total_ms;
}

static void
require_same_again(int64_t ms)
{
    struct osw_error error = OSW_ERROR_INIT;
    char text[OSW_DURATION_TEXT_SIZE];
    int64_t again = -1;

    osw_duration_format(ms, text, sizeof text);
    REQUIRE(osw_duration_parse(
        "--again", text, ms, OSW_DURATION_MAX_MS, &again, &error));
    REQUIRE(again == ms);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct limits *limits = &all_limits[fuzz_take(&data, &size) % 4];
    const int64_t untouched = -4711;
    struct osw_error error = OSW_ERROR_INIT;
    struct fuzz_texts texts;
    int64_t ms = untouched;
    uint64_t any = 0;

    if (size >= sizeof any) {
        memcpy(&any, data, sizeof any);
        require_same_again((int64_t)(any % (OSW_DURATION_MAX_MS + 1)));
    }
    fuzz_split(data, size, &texts);
    if (osw_duration_parse("--time",
                           texts.text[0],
                           limits->min_ms,
                           limits->max_ms,
                           &ms,
                           &error)) {
        REQUIRE(ms >= limits->min_ms && ms <= limits->max_ms);
        REQUIRE(ms == add_up(texts.text[0]));
        require_same_again(ms);
    } else {
        REQUIRE(ms == untouched);
        fuzz_require_usage_error(&error);
        REQUIRE(strncmp(error.message, "--time: \"", 9) == 0);
    }
    fuzz_free(&texts);
    return 0;
}
