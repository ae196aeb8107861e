#include "order.h"

#include <stdlib.h>
#include <string.h>

#include <bsd/string.h>

struct osw_order *
osw_order_new(int count, const char *const *values)
{
    size_t columns = (size_t)count;
    size_t size = sizeof(struct osw_order) + columns * sizeof(char *);
    struct osw_order *order = NULL;
    char *text = NULL;

    for (size_t i = 0; i < columns; i++) {
        size += (values[i] != NULL ? strlen(values[i]) : 0) + 1;
    }
    order = malloc(size);
    if (order == NULL) {
        return NULL;
    }
    order->next = NULL;
    order->due_ms = 0;
    order->count = count;
    text = (char *)&order->values[columns];
    for (size_t i = 0; i < columns; i++) {
        const char *value = values[i] != NULL ? values[i] : "";
        size_t length = strlen(value) + 1;

        memcpy(text, value, length);
        order->values[i] = text;
        text += length;
    }
    return order;
}

void
osw_order_push(struct osw_order_queue *queue, struct osw_order *order)
{
    order->next = NULL;
    if (queue->tail != NULL) {
        queue->tail->next = order;
    } else {
        queue->head = order;
    }
    queue->tail = order;
    queue->length++;
}

struct osw_order *
osw_order_pop(struct osw_order_queue *queue)
{
    struct osw_order *order = queue->head;

    if (order != NULL) {
        queue->head = order->next;
        if (queue->head == NULL) {
            queue->tail = NULL;
        }
        queue->length--;
        order->next = NULL;
    }
    return order;
}

void
osw_order_append(struct osw_order_queue *queue, struct osw_order_queue *from)
{
    if (from->head == NULL) {
        return;
    }
    if (queue->tail != NULL) {
        queue->tail->next = from->head;
    } else {
        queue->head = from->head;
    }
    queue->tail = from->tail;
    queue->length += from->length;
    from->head = NULL;
    from->tail = NULL;
    from->length = 0;
}

void
osw_order_clear(struct osw_order_queue *queue)
{
    struct osw_order *order = osw_order_pop(queue);

    while (order != NULL) {
        free(order);
        order = osw_order_pop(queue);
    }
}

bool
osw_order_same(const struct osw_order *a, const struct osw_order *b)
{
    if (a->count != b->count) {
        return false;
    }
    for (int i = 1; i < a->count; i++) {
        if (strcmp(a->values[i], b->values[i]) != 0) {
            return false;
        }
    }
    return true;
}

void
osw_order_key(const struct osw_order *order, char *text, size_t size)
{
    bool cut = false;

    text[0] = '\0';
    for (int i = 1; i < order->count; i++) {
        cut = strlcat(text, i > 1 ? ", " : "", size) >= size || cut;
        cut = strlcat(text, order->values[i], size) >= size || cut;
    }
    if (cut && size > 4) {
        size_t end = size - 4;

        /* The dots begin where a UTF-8 character does. */
        while (end > 0 && ((unsigned char)text[end] & 0xc0U) == 0x80U) {
            end--;
        }
        memcpy(text + end, "...", 4);
    }
}
