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

void
osw_order_key(const struct osw_order *order, char *text, size_t size)
{
    size_t length = 0;

    text[0] = '\0';
    for (int i = 1; i < order->count; i++) {
        (void)strlcat(text, i > 1 ? ", " : "", size);
        length = strlcat(text, order->values[i], size);
    }
    if (length >= size && size > 4) {
        memcpy(text + size - 4, "...", 4);
    }
}
