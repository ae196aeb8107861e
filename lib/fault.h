/*
 * fault: what an error of the server means for a run: which exit code, and
 * how to mend it.
 */
#ifndef OSW_FAULT_H
#define OSW_FAULT_H

#include "status.h"

/*
 * Set the exit code of an error by its SQLSTATE, and a hint where the server
 * gave none: the error of a statement of ours, not of a single order.  One
 * without SQLSTATE did not come from the server and is left as it is, but for
 * a pooler's refusal of transaction blocks.
 */
void osw_fault_classify(struct osw_error *error);

#endif
