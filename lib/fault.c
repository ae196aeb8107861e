#include "fault.h"

#include <stddef.h>
#include <string.h>

#include "outcome.h"

struct fault {
    const char *sqlstate; /* or the beginning of one */
    enum osw_exit exit;
    const char *hint;
};

/* The first that fits counts. */
static const struct fault faults[] = {
    {"26000",
     OSW_EXIT_CONFIG,
     "a connection pooler gives another session each time: leave out --pooler "
     "no"},
    {"3F000", OSW_EXIT_CONFIG, "run order-sweep migrate on this database"},
    {"42883",
     OSW_EXIT_CONFIG,
     "order-sweep check says what changed; after an update of order-sweep, run "
     "order-sweep migrate"},
    {"42P01", OSW_EXIT_CONFIG, "look for a table that was renamed or dropped"},
    {"42703", OSW_EXIT_CONFIG, "look for a column that was renamed or dropped"},
    {"42501",
     OSW_EXIT_CONFIG,
     "let the owner of schema order_sweep run order-sweep check --role NAME: "
     "it names the missing right; order_sweep.grant_to(role) gives those on "
     "order_sweep"},
    {"42", OSW_EXIT_CONFIG, "call order_sweep.define anew"},
    {"22",
     OSW_EXIT_CONFIG,
     "a value is none of its type: guard a cast by CASE WHEN ... THEN ... END, "
     "or use order_sweep.moment(text); if the type changed, call "
     "order_sweep.define anew"},
    {"55P03",
     OSW_EXIT_TEMPORARY,
     "another session holds a lock on the table; the next run tries again"},
    {"40", OSW_EXIT_TEMPORARY, "the next run tries again"},
    {"57014",
     OSW_EXIT_TEMPORARY,
     "it took too long; see if an index on the clock is there (order-sweep "
     "check), if another session holds a lock on a table of order_sweep, or "
     "if the role has a short statement_timeout"},
    {"08", OSW_EXIT_UNAVAILABLE, ""},
    {"25006",
     OSW_EXIT_UNAVAILABLE,
     "this server takes no writes; name the primary"},
    {"53", OSW_EXIT_UNAVAILABLE, ""},
    {"57", OSW_EXIT_UNAVAILABLE, ""},
    {"58", OSW_EXIT_UNAVAILABLE, ""},
    {"XX", OSW_EXIT_UNAVAILABLE, ""},
    {"", OSW_EXIT_CONFIG, ""},
};

/* PgBouncer ends the connection over it, and would do so each time. */
static const struct fault no_blocks = {
    "",
    OSW_EXIT_CONFIG,
    "only a run and explain do without transaction blocks: connect to "
    "PostgreSQL itself",
};

static const struct fault *
find(const struct osw_error *error)
{
    const struct fault *fault = faults;

    if (strstr(error->message, "in statement pooling mode") != NULL) {
        return &no_blocks;
    }
    if (error->sqlstate[0] == '\0') {
        return NULL;
    }
    while (!osw_sqlstate_class(error->sqlstate, fault->sqlstate)) {
        fault++; /* the last one fits all */
    }
    return fault;
}

void
osw_fault_classify(struct osw_error *error)
{
    const struct fault *fault = find(error);

    if (fault == NULL) {
        return;
    }
    error->exit = fault->exit;
    if (error->hint[0] == '\0' && fault->hint[0] != '\0') {
        osw_error_hint(error, "%s", fault->hint);
    }
}
