/*
 * holders: who sweeps, lingers or waits, by the locks of a sweep.
 */
#ifndef OSW_HOLDERS_H
#define OSW_HOLDERS_H

#include <stdio.h>

#include "pg.h"

/* Ask who holds or waits for the locks of a sweep: a row each, to be cleared
 * with osw_pg_answer_clear.  False with the error filled. */
bool osw_holders_ask(struct osw_pg *pg,
                     int sweep_id,
                     int64_t deadline_ms,
                     struct osw_pg_answer *answer,
                     struct osw_error *error);

/* Write a row for people, without a line break. */
void osw_holders_text(FILE *out, const struct osw_pg_answer *answer, int row);

/* Write all rows as a JSON array. */
void osw_holders_json(FILE *out, const struct osw_pg_answer *answer);

#endif
