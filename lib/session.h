/*
 * session: the settings that our statements run under.
 *
 * Straight on a server they are given once.  Behind a connection pooler the
 * next transaction may meet another server session, and what is set for one
 * would leak to other clients: there each transaction brings its own, which
 * end with it.
 */
#ifndef OSW_SESSION_H
#define OSW_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "options.h"
#include "pg.h"

struct osw_session_limits {
    int64_t statement_ms;
    int64_t idle_ms;   /* how long the session or a transaction of it may be
                          idle; 0: no limit */
    bool asynchronous; /* commits of orders are not waited for */
};

/* Must stay where it is as long as its connection is used. */
struct osw_session {
    struct osw_pg *pg;
    bool pooled;
    char statement_ms[24];
    char idle_ms[24];
    const char *values[4];
};

/* Have each transaction on pg bring the settings, until osw_session_set. */
void osw_session_begin(struct osw_session *session,
                       struct osw_pg *pg,
                       const struct osw_session_limits *limits);

/*
 * The same, but until it is settled bring the limit of a statement alone: for
 * a first look, mostly the only one, at what pins the other settings itself.
 */
void osw_session_begin_look(struct osw_session *session,
                            struct osw_pg *pg,
                            const struct osw_session_limits *limits);

/*
 * Decide between the two ways, by the process id that the server gave in an
 * answer and by the isolation level that a transaction has here.  False with
 * the error filled, exit code OSW_EXIT_CONFIG, if a pooler's transactions are
 * not read committed: only a setting of the session could mend that.
 */
bool osw_session_settle(struct osw_session *session,
                        enum osw_pooler pooler,
                        int server_pid,
                        const char *isolation,
                        struct osw_error *error);

/* The same, asking the server for both first. */
bool osw_session_ask(struct osw_session *session,
                     enum osw_pooler pooler,
                     int64_t deadline_ms,
                     struct osw_error *error);

/* Settle it as another one to the same server was. */
void osw_session_follow(struct osw_session *session,
                        const struct osw_session *other);

/* Settled: give a session of our own its settings, for as long as it lasts. */
bool osw_session_set(struct osw_session *session,
                     int64_t deadline_ms,
                     struct osw_error *error);

#endif
