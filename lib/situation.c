#include "situation.h"

#include <string.h>

#include "fault.h"
#include "holders.h"
#include "sql_text.h"

const int64_t osw_situation_from_ms[OSW_SITUATION_CLASSES] =
    {0, 60000, 300000, 1800000, 7200000, 86400000};

/* The same, but for the first. */
static const char bounds[] = "{60000,300000,1800000,7200000,86400000}";

int64_t
osw_situation_book(const struct osw_situation *situation, enum osw_book column)
{
    return osw_pg_value(&situation->books, 0, (int)column) != NULL
               ? osw_pg_number(&situation->books, 0, (int)column)
               : -1;
}

static void
count_states(struct osw_situation *situation)
{
    const struct osw_pg_answer *states = &situation->states;

    situation->due = 0;
    situation->overdue_ms = -1;
    for (int row = 0; row < states->rows; row++) {
        const char *state = osw_pg_value(states, row, STATE);
        const int64_t orders = osw_pg_number(states, row, STATE_ORDERS);
        const int64_t class = osw_pg_number(states, row, STATE_CLASS);

        if (strcmp(state, "sweep") != 0) {
            continue;
        }
        if (class >= 0 && class < OSW_SITUATION_CLASSES) {
            situation->backlog[class] += orders;
        }
        situation->due += orders;
        situation->overdue_ms =
            osw_pg_number(states, row, STATE_OLDEST_OVERDUE);
    }
}

/* False only if the connection is of no more use. */
static bool
ask_states(struct osw_pg *pg,
           const char *sweep,
           int64_t deadline_ms,
           struct osw_situation *situation)
{
    const struct osw_pg_statement statement = {NULL, osw_sql_status_orders, 2};
    const char *values[] = {sweep, bounds};

    situation->states_known = osw_pg_query_within(pg,
                                                  OSW_SITUATION_LOOK_MS,
                                                  &statement,
                                                  values,
                                                  STATE_COLUMNS,
                                                  deadline_ms,
                                                  &situation->states,
                                                  &situation->why);
    if (situation->states_known) {
        count_states(situation);
    }
    return situation->states_known || situation->why.sqlstate[0] != '\0';
}

bool
osw_situation_ask(struct osw_pg *pg,
                  int sweep_id,
                  const char *sweep,
                  bool broken,
                  int64_t deadline_ms,
                  struct osw_situation *situation,
                  struct osw_error *error)
{
    const struct osw_pg_statement statement = {NULL, osw_sql_status, 1};
    const char *values[] = {sweep};

    if (!osw_pg_query_within(pg,
                             OSW_SITUATION_LOOK_MS,
                             &statement,
                             values,
                             BOOKS,
                             deadline_ms,
                             &situation->books,
                             error)) {
        osw_fault_classify(error);
        return false;
    }
    situation->due = osw_situation_book(situation, BOOK_ORDERS);
    situation->overdue_ms = osw_situation_book(situation, BOOK_OVERDUE);
    if (!broken && !ask_states(pg, sweep, deadline_ms, situation)) {
        *error = situation->why;
        osw_fault_classify(error);
        return false;
    }
    return osw_holders_ask(
        pg, sweep_id, deadline_ms, &situation->holders, error);
}

void
osw_situation_clear(struct osw_situation *situation)
{
    osw_pg_answer_clear(&situation->books);
    osw_pg_answer_clear(&situation->states);
    osw_pg_answer_clear(&situation->holders);
}
