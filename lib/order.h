/*
 * order: one due row as the database listed it, and queues of them.
 *
 * The program knows no shop table: an order is its clock value and its key
 * columns, as text that goes back to the server unread.
 */
#ifndef OSW_ORDER_H
#define OSW_ORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct osw_order {
    struct osw_order *next;
    int64_t due_ms; /* its deadline, on the clock of the run; 0 in a new one */
    int count;
    const char *values[]; /* clock, then the key columns; never NULL */
};

struct osw_order_queue {
    struct osw_order *head;
    struct osw_order *tail;
    int length;
};

#define OSW_ORDER_QUEUE_INIT                                                   \
    {                                                                          \
        NULL, NULL, 0                                                          \
    }

/*
 * A new order with copies of the values (NULL becomes ""), in one piece of
 * memory, to be freed with free().  NULL if there is no memory.
 */
struct osw_order *osw_order_new(int count, const char *const *values);

/* Append; the queue owns the order now. */
void osw_order_push(struct osw_order_queue *queue, struct osw_order *order);

/* Take the first, NULL if there is none; the caller owns it now. */
struct osw_order *osw_order_pop(struct osw_order_queue *queue);

/* Move all of from behind the last of queue; from is empty then. */
void osw_order_append(struct osw_order_queue *queue,
                      struct osw_order_queue *from);

/* Free every order of the queue. */
void osw_order_clear(struct osw_order_queue *queue);

/* True if the keys are equal, whatever the clocks. */
bool osw_order_same(const struct osw_order *a, const struct osw_order *b);

/* The key for a message, its columns joined by ", ", cut at size. */
void osw_order_key(const struct osw_order *order, char *text, size_t size);

#endif
