#include "session.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "fault.h"
#include "sql_text.h"

static const struct osw_pg_statement settings = {.text = osw_sql_settings,
                                                 .parameters = 4};
static const struct osw_pg_statement look_limit = {.text = osw_sql_look_limit,
                                                   .parameters = 1};

void
osw_session_begin(struct osw_session *session,
                  struct osw_pg *pg,
                  const struct osw_session_limits *limits)
{
    memset(session, 0, sizeof(*session));
    session->pg = pg;
    (void)snprintf(session->statement_ms,
                   sizeof(session->statement_ms),
                   "%" PRId64,
                   limits->statement_ms);
    (void)snprintf(session->idle_ms,
                   sizeof(session->idle_ms),
                   "%" PRId64,
                   limits->idle_ms);
    session->values[0] = "t"; /* for the transaction only */
    session->values[1] = session->statement_ms;
    session->values[2] = session->idle_ms;
    session->values[3] = limits->asynchronous ? "t" : "f";
    osw_pg_set_prologue(pg, &settings, session->values);
}

void
osw_session_begin_look(struct osw_session *session,
                       struct osw_pg *pg,
                       const struct osw_session_limits *limits)
{
    osw_session_begin(session, pg, limits);
    osw_pg_set_prologue(pg, &look_limit, &session->values[1]);
}

static void
set_pooled(struct osw_session *session, bool pooled)
{
    session->pooled = pooled;
    osw_pg_set_prologue(session->pg, &settings, session->values);
    if (pooled) {
        /* A crash of the server between two transactions goes unseen there,
         * and a flush at the end would not cover what it undid. */
        session->values[3] = "f";
    }
}

void
osw_session_follow(struct osw_session *session, const struct osw_session *other)
{
    set_pooled(session, other->pooled);
}

bool
osw_session_settle(struct osw_session *session,
                   enum osw_pooler pooler,
                   int server_pid,
                   const char *isolation,
                   struct osw_error *error)
{
    set_pooled(session,
               pooler == OSW_POOLER_YES ||
                   (pooler == OSW_POOLER_AUTO &&
                    osw_pg_is_pooled(session->pg, server_pid)));
    if (!session->pooled || strcmp(isolation, "read committed") == 0) {
        return true;
    }
    osw_error_set(error,
                  OSW_EXIT_CONFIG,
                  "behind the connection pooler transactions are %s, not read "
                  "committed",
                  isolation);
    return osw_error_hint(
        error,
        "ALTER ROLE ... SET default_transaction_isolation = 'read committed', "
        "or connect to PostgreSQL itself");
}

bool
osw_session_ask(struct osw_session *session,
                enum osw_pooler pooler,
                int64_t deadline_ms,
                struct osw_error *error)
{
    const struct osw_pg_statement ask = {.text = osw_sql_session};
    struct osw_pg_answer answer = OSW_PG_ANSWER_INIT;
    bool done = false;

    if (!osw_pg_query(
            session->pg, &ask, NULL, 2, deadline_ms, &answer, error)) {
        osw_fault_classify(error);
        return false;
    }
    done = osw_session_settle(session,
                              pooler,
                              (int)osw_pg_number(&answer, 0, 0),
                              osw_pg_value(&answer, 0, 1),
                              error);
    osw_pg_answer_clear(&answer);
    return done;
}

bool
osw_session_set(struct osw_session *session,
                int64_t deadline_ms,
                struct osw_error *error)
{
    struct osw_pg_answer answer = OSW_PG_ANSWER_INIT;

    if (session->pooled) {
        return true;
    }
    osw_pg_set_prologue(session->pg, NULL, NULL);
    session->values[0] = "f"; /* for the session */
    if (!osw_pg_query(session->pg,
                      &settings,
                      session->values,
                      1,
                      deadline_ms,
                      &answer,
                      error)) {
        osw_fault_classify(error);
        return false;
    }
    osw_pg_answer_clear(&answer);
    return true;
}
