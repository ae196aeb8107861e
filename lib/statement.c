#include "statement.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static size_t
size_of(const char *value)
{
    return value != NULL ? strlen(value) + 1 : 0;
}

/* In one piece of memory: the values stand behind the pointers to them. */
static struct osw_waiting *
copy(const struct osw_pg_statement *statement, const char *const *values)
{
    size_t count = statement != NULL ? (size_t)statement->parameters : 0;
    size_t size = sizeof(struct osw_waiting) + count * sizeof(char *);
    struct osw_waiting *waiting = NULL;
    char *text = NULL;

    for (size_t i = 0; i < count; i++) {
        size += size_of(values[i]);
    }
    waiting = calloc(1, size);
    if (waiting == NULL) {
        return NULL;
    }
    waiting->is_end = statement == NULL;
    if (statement != NULL) {
        waiting->statement = *statement;
    }
    text = (char *)&waiting->values[count];
    for (size_t i = 0; i < count; i++) {
        if (values[i] != NULL) {
            waiting->values[i] = memcpy(text, values[i], size_of(values[i]));
            text += size_of(values[i]);
        }
    }
    return waiting;
}

bool
osw_waiting_push(struct osw_waiting_queue *queue,
                 const struct osw_pg_statement *statement,
                 const char *const *values)
{
    struct osw_waiting *waiting = copy(statement, values);

    if (waiting == NULL) {
        return false;
    }
    if (queue->tail != NULL) {
        queue->tail->next = waiting;
    } else {
        queue->head = waiting;
    }
    queue->tail = waiting;
    return true;
}

struct osw_waiting *
osw_waiting_pop(struct osw_waiting_queue *queue)
{
    struct osw_waiting *first = queue->head;

    if (first != NULL) {
        queue->head = first->next;
        if (queue->head == NULL) {
            queue->tail = NULL;
        }
    }
    return first;
}

void
osw_waiting_clear(struct osw_waiting_queue *queue)
{
    struct osw_waiting *first = osw_waiting_pop(queue);

    while (first != NULL) {
        free(first);
        first = osw_waiting_pop(queue);
    }
}
