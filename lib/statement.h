/*
 * statement: a statement that the program sends, and queues of those that wait
 * to be sent.
 */
#ifndef OSW_STATEMENT_H
#define OSW_STATEMENT_H

#include <stdbool.h>

/*
 * A statement: its text and, where it is to be prepared once and then
 * executed by name, that name.  Texts must outlive their last use.
 */
struct osw_pg_statement {
    const char *name; /* NULL: parsed anew each time */
    const char *text;
    int parameters;
};

/* A statement that waits, or the end of a segment. */
struct osw_waiting {
    struct osw_waiting *next;
    bool is_end;
    struct osw_pg_statement statement;
    const char *values[];
};

struct osw_waiting_queue {
    struct osw_waiting *head;
    struct osw_waiting *tail;
};

/*
 * Append a statement with copies of its values, or (NULL) the end of a
 * segment.  False if there is no memory.
 */
bool osw_waiting_push(struct osw_waiting_queue *queue,
                      const struct osw_pg_statement *statement,
                      const char *const *values);

/* Take the first, to be freed with free(); NULL if there is none. */
struct osw_waiting *osw_waiting_pop(struct osw_waiting_queue *queue);

/* Free all of them. */
void osw_waiting_clear(struct osw_waiting_queue *queue);

#endif
