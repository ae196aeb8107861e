/*
 * order and outcome: what comes back in result rows.  A first byte is the
 * number of columns, a second one the room for a key; the texts are values,
 * row by row.
 *
 * Orders are copies, queues keep their order, a key is whole or ends in dots,
 * and an outcome is the text that it was read from.
 */
#include "order.h"
#include "outcome.h"

#include <string.h>

#include "fuzz.h"

/* The key as it is if there is room for all of it, to be freed. */
static char *
whole_key(const struct osw_order *order)
{
    struct fuzz_page page;

    fuzz_page_open(&page);
    for (int i = 1; i < order->count; i++) {
        (void)fprintf(page.out, "%s%s", i > 1 ? ", " : "", order->values[i]);
    }
    return fuzz_page_close(&page);
}

static void
require_key(const struct osw_order *order, size_t room)
{
    char *whole = whole_key(order);
    char *key = malloc(room);
    size_t length = 0;

    REQUIRE(key != NULL);
    osw_order_key(order, key, room);
    length = strlen(key);
    if (strlen(whole) < room) {
        REQUIRE(strcmp(key, whole) == 0);
    } else if (room > 4) {
        REQUIRE(length >= 3 && length < room);
        REQUIRE(strcmp(key + length - 3, "...") == 0);
        REQUIRE(strncmp(key, whole, length - 3) == 0);
        if (fuzz_is_utf8(whole)) {
            REQUIRE(fuzz_is_utf8(key));
            REQUIRE(length + 3 >= room - 1); /* no more is lost than needed */
        }
    }
    free(key);
    free(whole);
}

/* The order of this row, whose last value is NULL. */
static struct osw_order *
make_order(const struct fuzz_texts *texts, int columns, int row)
{
    const char *values[FUZZ_TEXTS + 1];
    struct osw_order *order = NULL;

    for (int i = 0; i < columns; i++) {
        values[i] = texts->text[row * columns + i];
    }
    values[columns] = NULL;
    order = osw_order_new(columns + 1, values);
    REQUIRE(order != NULL);
    REQUIRE(order->count == columns + 1);
    for (int i = 0; i < columns; i++) {
        REQUIRE(order->values[i] != values[i]);
        REQUIRE(strcmp(order->values[i], values[i]) == 0);
    }
    REQUIRE(strcmp(order->values[columns], "") == 0);
    return order;
}

static bool
same_keys(const struct fuzz_texts *texts, int columns, int row, int other)
{
    for (int i = 1; i < columns; i++) {
        if (strcmp(texts->text[row * columns + i],
                   texts->text[other * columns + i]) != 0) {
            return false;
        }
    }
    return true;
}

/* Rows in, in two queues, and out again in their order. */
static void
require_orders(const struct fuzz_texts *texts, int columns, size_t room)
{
    struct osw_order_queue queue = OSW_ORDER_QUEUE_INIT;
    struct osw_order_queue later = OSW_ORDER_QUEUE_INIT;
    int rows = texts->count / columns;
    struct osw_order *first = NULL;

    for (int row = 0; row < rows; row++) {
        osw_order_push(row < rows / 2 ? &queue : &later,
                       make_order(texts, columns, row));
    }
    osw_order_append(&queue, &later);
    REQUIRE(later.head == NULL && later.tail == NULL && later.length == 0);
    REQUIRE(queue.length == rows);

    first = osw_order_pop(&queue);
    for (int row = 0; row < rows; row++) {
        struct osw_order *order = row == 0 ? first : osw_order_pop(&queue);

        REQUIRE(order != NULL && order->next == NULL);
        REQUIRE(strcmp(order->values[0], texts->text[row * columns]) == 0);
        REQUIRE(osw_order_same(first, order) ==
                same_keys(texts, columns, 0, row));
        require_key(order, room);
        if (row > 0) {
            free(order);
        }
    }
    REQUIRE(queue.length == 0 && osw_order_pop(&queue) == NULL);
    free(first);
}

static void
require_outcome(const char *text)
{
    static const char untouched[] = "";
    enum osw_outcome outcome = OSW_OUTCOME_UNKNOWN;
    const char *rule = untouched;
    const char *name = NULL;

    if (!osw_outcome_parse(text, &outcome, &rule)) {
        REQUIRE(outcome == OSW_OUTCOME_UNKNOWN && rule == untouched);
        REQUIRE(strcmp(text, "swept") != 0 && strcmp(text, "gone") != 0);
        REQUIRE(strncmp(text, "kept: ", 6) != 0 || text[6] == '\0');
        return;
    }
    name = osw_outcome_name(outcome);
    REQUIRE(strncmp(text, name, strlen(name)) == 0);
    text += strlen(name);
    REQUIRE((rule != NULL) == (outcome == OSW_OUTCOME_KEPT));
    if (rule != NULL) {
        REQUIRE(strncmp(text, ": ", 2) == 0);
        REQUIRE(rule == text + 2 && rule[0] != '\0');
    } else {
        REQUIRE(text[0] == '\0');
        REQUIRE(outcome != OSW_OUTCOME_FAILED);
        REQUIRE(outcome != OSW_OUTCOME_UNKNOWN);
    }
}

static bool
begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

static void
require_sqlstate(const char *text)
{
    enum osw_outcome outcome = osw_outcome_of_sqlstate(text);
    bool lost = text[0] == '\0' || begins(text, "08") || begins(text, "57P") ||
                begins(text, "25P03");
    bool passing =
        begins(text, "55P03") || begins(text, "40001") || begins(text, "40P01");

    REQUIRE((outcome == OSW_OUTCOME_UNKNOWN) == lost);
    REQUIRE((outcome == OSW_OUTCOME_LOCKED) == passing);
    REQUIRE((outcome == OSW_OUTCOME_FAILED) == (!lost && !passing));
    REQUIRE(osw_sqlstate_class(text, text));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int columns = 1 + (int)(fuzz_take(&data, &size) % 5);
    size_t room = 1 + fuzz_take(&data, &size);
    struct fuzz_texts texts;

    fuzz_split(data, size, &texts);
    if (texts.count >= columns) {
        require_orders(&texts, columns, room);
    }
    for (int i = 0; i < texts.count; i++) {
        require_outcome(texts.text[i]);
        require_sqlstate(texts.text[i]);
    }
    fuzz_free(&texts);
    return 0;
}
