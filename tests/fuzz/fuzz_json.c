/*
 * JSON of reports: the texts are what a report holds.
 *
 * Whatever they are, the output is one line of valid JSON, as another library
 * reads it, and UTF-8 comes out as it went in.
 */
#include "json.h"
#include "report.h"

#include <string.h>

#include <jansson.h>

#include "fuzz.h"

static json_t *
parse(const char *text)
{
    json_t *value =
        json_loads(text, JSON_DECODE_ANY | JSON_REJECT_DUPLICATES, NULL);

    REQUIRE(value != NULL);
    return value;
}

/* U+FFFD stands for what is no UTF-8. */
static void
require_text(const json_t *value, const char *text)
{
    REQUIRE(json_is_string(value));
    if (fuzz_is_utf8(text)) {
        REQUIRE(strcmp(json_string_value(value), text) == 0);
    } else {
        REQUIRE(strstr(json_string_value(value), "\xef\xbf\xbd") != NULL);
    }
}

static void
require_string(const char *text)
{
    struct fuzz_page page;
    char *written = NULL;
    json_t *value = NULL;

    fuzz_page_open(&page);
    osw_json_string(page.out, text);
    written = fuzz_page_close(&page);
    REQUIRE(strchr(written, '\n') == NULL);
    value = parse(written);
    require_text(value, text);
    json_decref(value);
    free(written);
}

/* Cut, it is still a string, and begins as the whole one does. */
static void
require_field(const char *text, size_t size)
{
    char *field = malloc(size);
    size_t length = 0;
    json_t *value = NULL;

    REQUIRE(field != NULL);
    length = osw_json_field(field, size, text);
    REQUIRE(length < size && strlen(field) == length);
    value = parse(field);
    if (length < size - 1 &&
        (length < 5 || strcmp(field + length - 4, "...\"") != 0)) {
        require_text(value, text);
    }
    json_decref(value);
    free(field);
}

static void
require_member(const json_t *object, const char *name, const char *text)
{
    const json_t *value = json_object_get(object, name);

    if (text == NULL) {
        REQUIRE(json_is_null(value));
    } else {
        require_text(value, text);
    }
}

static void
require_report(const struct osw_report *report)
{
    struct fuzz_page page;
    char *written = NULL;
    json_t *object = NULL;

    fuzz_page_open(&page);
    osw_report_write(page.out, OSW_REPORT_JSON, report);
    written = fuzz_page_close(&page);
    REQUIRE(strchr(written, '\n') == written + strlen(written) - 1);
    object = parse(written);
    require_member(object, "sweep", report->sweep);
    require_member(object, "stopped", report->stopped);
    require_member(object, "next_deadline", report->next_deadline);
    require_member(object, "error", report->error);
    for (int i = 0; i < OSW_OUTCOME_COUNT; i++) {
        const char *name = osw_outcome_name((enum osw_outcome)i);

        REQUIRE(json_integer_value(json_object_get(object, name)) ==
                report->counts[i]);
    }
    REQUIRE(json_is_real(json_object_get(object, "seconds")));
    REQUIRE(json_boolean_value(json_object_get(object, "rest")) ==
            report->rest);
    json_decref(object);
    free(written);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    unsigned choice = fuzz_take(&data, &size);
    struct osw_report report = {0};
    struct fuzz_texts texts;

    fuzz_split(data, size, &texts);
    for (int i = 0; i < texts.count; i++) {
        require_string(texts.text[i]);
        require_field(texts.text[i], 6 + choice);
    }
    report.sweep = fuzz_text(&texts, 0);
    report.stopped = fuzz_text(&texts, 1);
    report.next_deadline = (choice & 1) != 0 ? fuzz_text(&texts, 2) : NULL;
    report.error = (choice & 2) != 0 ? fuzz_text(&texts, 3) : NULL;
    report.run_id = (choice & 4) != 0 ? "4711" : NULL;
    report.rest = (choice & 8) != 0;
    report.elapsed_ms = (int64_t)(size * 37);
    for (int i = 0; i < OSW_OUTCOME_COUNT; i++) {
        report.counts[i] = (int64_t)size << (8 * i % 40);
    }
    require_report(&report);
    fuzz_free(&texts);
    return 0;
}
