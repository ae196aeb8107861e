/*
 * stream: the orders' way through one connection; the sweep loop's operations
 * on a real database.
 */
#ifndef OSW_STREAM_H
#define OSW_STREAM_H

#include "definition.h"
#include "pg.h"
#include "sweep.h"

struct osw_stream {
    struct osw_pg *pg;
    const struct osw_definition *definition;
    const char *window; /* as an interval, NULL: as defined */
    const char *run_id;
    /* what each segment in flight will answer, oldest first */
    enum osw_sweep_event_type *expected;
    int expected_first;
    int expected_count;
    int expected_size;
    bool cancelling;             /* none of them is to be executed */
    int64_t told_ms;             /* the last deadline that was told as passed */
    struct osw_pg_answer answer; /* the last one; event texts point into it */
};

/* The operations; their context is a struct osw_stream. */
extern const struct osw_sweep_ops osw_stream_ops;

/*
 * Make a stream on a connection with nothing in flight and queue the
 * preparation of the definition's statements.  The strings and the definition
 * must outlive the stream.
 */
bool osw_stream_open(struct osw_stream *stream,
                     struct osw_pg *pg,
                     const struct osw_definition *definition,
                     const char *window,
                     const char *run_id,
                     struct osw_error *error);

/* Free what the stream holds; the connection stays open. */
void osw_stream_close(struct osw_stream *stream);

#endif
