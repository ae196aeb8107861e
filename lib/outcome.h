/*
 * outcome: what became of one order, and how an error's SQLSTATE is read.
 *
 * Classes come from the SQLSTATE, never from the text of a message: that one
 * is translated and changes between versions.
 */
#ifndef OSW_OUTCOME_H
#define OSW_OUTCOME_H

#include <stdbool.h>

enum osw_outcome {
    OSW_OUTCOME_SWEPT,   /* cancelled, effects done, journal row written */
    OSW_OUTCOME_KEPT,    /* due, but a rule of the definition keeps it */
    OSW_OUTCOME_LOCKED,  /* somebody else works on it; a later run's turn */
    OSW_OUTCOME_CHANGED, /* no longer unpaid and due when looked at again */
    OSW_OUTCOME_GONE,    /* the row exists no more */
    OSW_OUTCOME_FAILED,  /* its transaction raised; rolled back whole */
    OSW_OUTCOME_UNKNOWN, /* connection lost or run ended before the answer */
};

/* How many there are, for arrays of counters. */
#define OSW_OUTCOME_COUNT 7

/* The outcome's name as reports and the run row have it, such as "swept". */
const char *osw_outcome_name(enum osw_outcome outcome);

/*
 * Read what a <sweep>_cancel function returns: "swept", "kept: rule",
 * "locked", "changed" or "gone".  *rule gets the rule's name, pointing into
 * text, or NULL where there is none.  Returns false for anything else, NULL
 * included: then the function is not one of ours, and nothing is set.
 */
bool osw_outcome_parse(const char *text,
                       enum osw_outcome *outcome,
                       const char **rule);

/*
 * Read the SQLSTATE of an error raised in an order's own transaction:
 *
 *  OSW_OUTCOME_FAILED   the order's own failure; counts an attempt.  A
 *                       query_canceled (57014) is one too, by
 *                       statement_timeout; a caller that has itself asked
 *                       for the cancel must not ask here.
 *  OSW_OUTCOME_LOCKED   a passing one, lock_not_available (55P03),
 *                       serialization_failure (40001), deadlock_detected
 *                       (40P01): counts no attempt, but postpones.
 *  OSW_OUTCOME_UNKNOWN  the connection's, not the order's: the server shuts
 *                       down or drops the session (class 08, 57P.., 25P03),
 *                       or there is no SQLSTATE at all (NULL or ""), which
 *                       is how libpq tells its own errors from the server's.
 */
enum osw_outcome osw_outcome_of_sqlstate(const char *sqlstate);

/*
 * True for an error that no order is to blame for: class 42, SQL that does not
 * fit the tables, the definition's fault; class 26, a statement that another
 * session has, that of --pooler no behind one.
 */
bool osw_sqlstate_is_setup(const char *sqlstate);

/*
 * True if sqlstate begins with the given characters, mostly a class of two
 * such as "42".  Never true for NULL or a sqlstate shorter than them.
 */
bool osw_sqlstate_class(const char *sqlstate, const char *class_prefix);

#endif
