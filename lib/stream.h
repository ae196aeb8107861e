/*
 * stream: the orders' way through one connection or several; the sweep loop's
 * operations on a real database.
 */
#ifndef OSW_STREAM_H
#define OSW_STREAM_H

#include "definition.h"
#include "pg.h"
#include "sweep.h"

/* One of the connections: what each segment in flight on it will answer. */
struct osw_stream_job {
    enum osw_sweep_event_type *expected; /* oldest first, a ring */
    int expected_first;
    int expected_count;
    int expected_size;
};

struct osw_stream {
    struct osw_pg *pgs[OSW_SWEEP_JOBS]; /* the first also looks and books;
                                           NULL: lost */
    struct osw_stream_job jobs[OSW_SWEEP_JOBS];
    int count; /* of both */
    const struct osw_definition *definition;
    const char *window; /* as an interval, NULL: as defined */
    const char *run_id;
    int share;                   /* of the due orders, from 1 */
    int shares;                  /* into so many they are dealt */
    bool cancelling;             /* nothing in flight is to be executed */
    int64_t told_ms;             /* the last deadline that was told as passed */
    struct osw_pg_answer answer; /* the last one; event texts point into it */
};

/* The operations; their context is a struct osw_stream. */
extern const struct osw_sweep_ops osw_stream_ops;

/*
 * Make a stream on connections with nothing in flight, at most OSW_SWEEP_JOBS,
 * and queue the preparation of the definition's statements on the first; on
 * the others the one that cancels is prepared.  What is given must outlive the
 * stream.
 */
bool osw_stream_open(struct osw_stream *stream,
                     struct osw_pg *const *pgs,
                     int count,
                     const struct osw_definition *definition,
                     const char *window,
                     const char *run_id,
                     struct osw_error *error);

/* Of the due orders list this share only, of so many; at first it is all. */
void osw_stream_share(struct osw_stream *stream, int share, int shares);

/* Free what the stream holds; the connection stays open. */
void osw_stream_close(struct osw_stream *stream);

#endif
