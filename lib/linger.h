/*
 * linger: a run that stays until its time is over and sweeps each order the
 * moment it is due.
 *
 * It holds a slot of each of its sweeps for as long as it lives; who comes
 * later waits in the server for one, and so takes over the moment that it ends
 * or dies.  The lock of a sweep, which define waits for, it holds only while it
 * sweeps.  Between two deadlines it sleeps here: no transaction is open.
 */
#ifndef OSW_LINGER_H
#define OSW_LINGER_H

#include "turn.h"

/* Linger to the end, and report; after the first look. */
void osw_linger(struct osw_worker *worker);

#endif
