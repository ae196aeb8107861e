/*
 * migrate: bring the schema order_sweep to this program's version.
 */
#ifndef OSW_MIGRATE_H
#define OSW_MIGRATE_H

#include <stdio.h>

#include "pg.h"

struct osw_migrate_result {
    int from; /* version before; 0: there was no schema */
    int to;
    int regenerated; /* definitions whose functions were made anew */
};

/*
 * Apply the pending migrations and the functions, and generate every
 * definition anew: one transaction, under a lock.  On failure nothing is
 * changed, and the connection is to be closed.
 */
bool osw_migrate(struct osw_pg *pg,
                 struct osw_migrate_result *result,
                 struct osw_error *error);

/* Write the script that makes the schema in a database without one. */
void osw_migrate_print(FILE *out);

#endif
