/*
 * connect: opens a connection with libpq, within a budget of time.
 *
 * PQconnectdb knows a limit for each address of each host, so that a list of
 * hosts that do not answer takes as long as the list is, and it hears no
 * signal meanwhile.  Here all of them together have one deadline, each gets a
 * fair share of the time left, and a signal ends it.
 */
#ifndef OSW_CONNECT_H
#define OSW_CONNECT_H

#include <stdbool.h>
#include <stdint.h>

#include "status.h"

struct pg_conn; /* libpq's PGconn */

/* Where to connect; NULL leaves a part to libpq (PG* variables, services). */
struct osw_connect_target {
    const char *dbname; /* may be a whole connection string */
    const char *host;
    const char *port;
    const char *user;
    bool primary; /* accept only a server that takes writes; else as
                     PGTARGETSESSIONATTRS says */
};

/*
 * Connect.  An address that does not answer is given up after 5 s, or after
 * the user's connect_timeout if that is shorter, or sooner where others wait
 * for their turn; all is given up after 10 s, or at the deadline if that comes
 * first.  Only the time in which the resolver looks for a name cannot be cut
 * short.
 *
 * Notices of the server are ignored; the caller may set another receiver.  The
 * connection is to be closed with PQfinish.  NULL on failure: the error
 * has exit code OSW_EXIT_UNAVAILABLE, OSW_EXIT_TEMPORARY after a signal, or
 * OSW_EXIT_USAGE for a connection string that is no such thing.
 */
struct pg_conn *osw_connect(const struct osw_connect_target *target,
                            int64_t deadline_ms,
                            struct osw_error *error);

#endif
