/*
 * pg: the one place that talks to libpq, once it is connected.
 *
 * A connection works in pipeline mode.  Statements are queued, a sync ends a
 * segment, and each segment is one implicit transaction: its answer arrives
 * once that transaction is committed or rolled back, in the order of the
 * syncs.  All waiting is bounded by an absolute deadline and ends early on a
 * signal.
 */
#ifndef OSW_PG_H
#define OSW_PG_H

#include <stdbool.h>
#include <stdint.h>

#include "statement.h"
#include "status.h"

struct osw_connect_target;
struct osw_pg;

/*
 * What a segment brought back: the rows of its last statement, or an error.
 * sqlstate is "" in an answer without error, and in an error that did not
 * come from the server.
 */
struct osw_pg_answer {
    bool failed; /* an error came, whatever its text */
    bool ok;
    int rows;
    int columns;
    void *result; /* libpq's, owned by the answer */
    struct osw_error error;
};

#define OSW_PG_ANSWER_INIT                                                     \
    {                                                                          \
        false, false, 0, 0, NULL, OSW_ERROR_INIT                               \
    }

enum osw_pg_event {
    OSW_PG_ANSWERED,    /* *answer is filled; clear it after use */
    OSW_PG_TIMED_OUT,   /* the deadline passed first */
    OSW_PG_INTERRUPTED, /* a signal came first */
    OSW_PG_LOST,        /* the connection is gone; nothing more will come */
};

/*
 * Connect, as osw_connect does, and enter pipeline mode.  On success *pg is to
 * be closed by the caller; on failure it is NULL and the error is that of
 * osw_connect, or has exit code OSW_EXIT_CONFIG for a server too old.
 */
bool osw_pg_connect(struct osw_pg **pg,
                    const struct osw_connect_target *target,
                    int64_t deadline_ms,
                    struct osw_error *error);

/* Close and free; NULL is allowed.  What is in flight is left to the server. */
void osw_pg_close(struct osw_pg *pg);

/*
 * True if someone stands between: the process id that the server told at the
 * start is not server_pid, which a statement of ours was answered from.
 */
bool osw_pg_is_pooled(const struct osw_pg *pg, int server_pid);

/*
 * Have each transaction begin with this statement from now on, and send
 * statements without their names: the next transaction may meet another
 * session of the server.  A segment is sent only when the one before it is
 * answered: where a client dies with more of them on the way, a pooler may
 * hand the answers to the next client.  NULL: no longer.  Statement and values
 * must outlive that.
 */
void osw_pg_set_prologue(struct osw_pg *pg,
                         const struct osw_pg_statement *statement,
                         const char *const *values);

/*
 * Queue a statement with text parameters (NULL is SQL NULL).  Nothing is
 * answered before osw_pg_sync.  False if the connection is lost.
 */
bool osw_pg_queue(struct osw_pg *pg,
                  const struct osw_pg_statement *statement,
                  const char *const *values,
                  struct osw_error *error);

/* Queue the preparation of a named statement; with a prologue, nothing. */
bool osw_pg_prepare(struct osw_pg *pg,
                    const struct osw_pg_statement *statement,
                    struct osw_error *error);

/* The same at once: false if the server refuses it.  Only with no segment in
 * flight. */
bool osw_pg_prepare_now(struct osw_pg *pg,
                        const struct osw_pg_statement *statement,
                        int64_t deadline_ms,
                        struct osw_error *error);

/* Forget what was prepared by name, so that the names can be used again. */
bool
osw_pg_forget(struct osw_pg *pg, int64_t deadline_ms, struct osw_error *error);

/*
 * Have the server parse a statement under a name, without running it, and wait
 * for its opinion.  types are the parameters' type OIDs with commas between.
 * False with the error filled if it does not parse; the error has no SQLSTATE
 * if the connection is the reason.  Only with no segment in flight.
 */
bool osw_pg_prepare_typed(struct osw_pg *pg,
                          const char *name,
                          const char *text,
                          const char *types,
                          int64_t deadline_ms,
                          struct osw_error *error);

/* End the segment: what was queued since the last sync is one transaction. */
bool osw_pg_sync(struct osw_pg *pg, struct osw_error *error);

/*
 * The caller cannot go on with this connection: the next wait tells a loss, as
 * it does by itself once something could not be queued or synced.
 */
void osw_pg_give_up(struct osw_pg *pg);

/*
 * Send what is queued and wait for the answer of the oldest segment that has
 * none yet.  After OSW_PG_LOST the answer's error says what was last heard.
 */
enum osw_pg_event osw_pg_wait(struct osw_pg *pg,
                              int64_t deadline_ms,
                              struct osw_pg_answer *answer);

/* Connections that can be waited for together, at most. */
#define OSW_PG_TOGETHER 16

/*
 * The same for the first of several connections that has something to tell;
 * *which is its number.  After a passed deadline or a signal it is not set.
 * NULL stands for one that is waited for no more; the first is none of them.
 */
enum osw_pg_event osw_pg_wait_any(struct osw_pg *const *pgs,
                                  int count,
                                  int64_t deadline_ms,
                                  int *which,
                                  struct osw_pg_answer *answer);

/* True if a segment has no answer yet. */
bool osw_pg_owes(const struct osw_pg *pg);

/*
 * Wait for the answer of the oldest segment, whatever signals come.  False
 * with the error filled if it is an error, if the connection is lost or if the
 * deadline passes first: then it is owed still.
 */
bool osw_pg_await(struct osw_pg *pg,
                  int64_t deadline_ms,
                  struct osw_pg_answer *answer,
                  struct osw_error *error);

/*
 * Queue, sync and wait: one statement, one answer, whatever signals come; but
 * after the second one it has 2 s at most.
 * Refused while another segment is in flight.  An error of the server, a lost
 * connection and a passed deadline are all returned as false with the error
 * filled; *answer is then empty.  A true answer has exactly the given number
 * of columns (-1: any).
 */
bool osw_pg_query(struct osw_pg *pg,
                  const struct osw_pg_statement *statement,
                  const char *const *values,
                  int columns,
                  int64_t deadline_ms,
                  struct osw_pg_answer *answer,
                  struct osw_error *error);

/*
 * The same in a transaction of its own, in which the server ends the statement
 * after limit_ms (0: no limit): for a look that may be given up.
 */
bool osw_pg_query_within(struct osw_pg *pg,
                         int64_t limit_ms,
                         const struct osw_pg_statement *statement,
                         const char *const *values,
                         int columns,
                         int64_t deadline_ms,
                         struct osw_pg_answer *answer,
                         struct osw_error *error);

/* osw_pg_query for a statement without parameters, whose rows do not matter. */
bool osw_pg_command(struct osw_pg *pg,
                    const char *text,
                    int64_t deadline_ms,
                    struct osw_error *error);

/*
 * Begin a transaction block: the segments until its end are one transaction.
 * text is the statement that does.
 */
bool osw_pg_begin(struct osw_pg *pg,
                  const char *text,
                  int64_t deadline_ms,
                  struct osw_error *error);

/*
 * Run a script of several statements without parameters, outside of pipeline
 * mode, as one request: for migrations.  Waits without limit.
 */
bool
osw_pg_script(struct osw_pg *pg, const char *text, struct osw_error *error);

/*
 * Ask the server to cancel what it is executing.  Does not wait: the request
 * is a connection of its own, which may hang, so a child process makes it;
 * while that one works, another request is not begun.  The child is gone when
 * osw_pg_close returns.
 */
void osw_pg_cancel(struct osw_pg *pg);

/* A value of an answer as text; NULL for SQL NULL.  Owned by the answer. */
const char *
osw_pg_value(const struct osw_pg_answer *answer, int row, int column);

/* A value that is a boolean; SQL NULL is false. */
bool osw_pg_is_true(const struct osw_pg_answer *answer, int row, int column);

/* A value that is a whole number; SQL NULL is 0. */
int64_t osw_pg_number(const struct osw_pg_answer *answer, int row, int column);

/* Free what the answer holds and make it empty. */
void osw_pg_answer_clear(struct osw_pg_answer *answer);

#endif
