/*
 * situation: how a sweep is, as the database tells: its books, its orders that
 * are due, and who is at work.
 */
#ifndef OSW_SITUATION_H
#define OSW_SITUATION_H

#include "pg.h"

/* The columns of osw_situation.books, one row; lengths of time in ms. */
enum osw_book {
    BOOK_AFTER, /* NULL: its deadlines are per row */
    BOOK_GRACE,
    BOOK_CLOCK,
    BOOK_PAUSED,
    BOOK_ORDERS, /* counted to OSW_SITUATION_MOST */
    BOOK_OVERDUE,
    BOOK_DEADLINE,
    BOOK_DEADLINE_IN,
    BOOK_BACKOFF,
    BOOK_NEXT_TRY_IN,
    BOOK_QUARANTINED,
    BOOK_SUCCESS,
    BOOK_SUCCESS_AGE,
    BOOK_RUN_ENDED, /* NULL, with all that follow: none had work */
    BOOK_RUN_AGE,
    BOOK_RUN_STOPPED,
    BOOK_RUN_TIME,
    BOOK_RUN_SWEPT,
    BOOK_RUN_FAILED,
    BOOK_RUN_UNKNOWN,
    BOOK_LATE_P50, /* NULL: none was swept */
    BOOK_LATE_P99,
    BOOK_LATE_MAX,
    BOOK_EVENTS, /* NULL, with all that follow: none is published */
    BOOK_EVENTS_AGE,
    BOOK_EVENTS_REFUSED,
    BOOK_EVENTS_PARKED,
    BOOKS,
};

/* The columns of osw_situation.states: orders of a state and of a class, by
 * state. */
enum osw_state_column {
    STATE,
    STATE_CLASS,
    STATE_ORDERS,
    STATE_OLDEST,
    STATE_OLDEST_JSON,
    STATE_OLDEST_OVERDUE,
    STATE_COLUMNS,
};

/* For how long the backlog is overdue, in classes that begin so. */
#define OSW_SITUATION_CLASSES 6
extern const int64_t osw_situation_from_ms[OSW_SITUATION_CLASSES];

/* A look at all orders that are due is given up after this time; then they are
 * counted, and no further than to the second. */
#define OSW_SITUATION_LOOK_MS 5000
#define OSW_SITUATION_MOST    100000

/* To be initialised with OSW_SITUATION_INIT, cleared with
 * osw_situation_clear. */
struct osw_situation {
    struct osw_pg_answer books;
    struct osw_pg_answer states; /* no rows unless states_known */
    struct osw_pg_answer holders;
    bool states_known;
    struct osw_error why;                   /* they are not, if so */
    int64_t due;                            /* to sweep; -1: not known */
    int64_t overdue_ms;                     /* the oldest of them; -1: none */
    int64_t backlog[OSW_SITUATION_CLASSES]; /* all of them, by class */
};

#define OSW_SITUATION_INIT                                                     \
    {                                                                          \
        .books = OSW_PG_ANSWER_INIT, .states = OSW_PG_ANSWER_INIT,             \
        .holders = OSW_PG_ANSWER_INIT, .why = OSW_ERROR_INIT                   \
    }

/*
 * Ask.  broken: a look at its orders fails, so that none is taken.  False with
 * the error filled if the database does not tell.
 */
bool osw_situation_ask(struct osw_pg *pg,
                       int sweep_id,
                       const char *sweep,
                       bool broken,
                       int64_t deadline_ms,
                       struct osw_situation *situation,
                       struct osw_error *error);

void osw_situation_clear(struct osw_situation *situation);

/* A number of the books; -1: NULL. */
int64_t osw_situation_book(const struct osw_situation *situation,
                           enum osw_book column);

#endif
