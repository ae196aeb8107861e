/*
 * key: an order's key, as it is given on the command line.
 */
#ifndef OSW_KEY_H
#define OSW_KEY_H

#include "status.h"

/*
 * The key as a JSON array of texts, to be freed.  NULL with the error filled if
 * it is no UTF-8: the server would take no other text, and JSON holds no other.
 */
char *
osw_key_as_json(const char *const *key, int columns, struct osw_error *error);

/* What an error of a statement that was given a key means for the run. */
void osw_key_classify(struct osw_error *error);

#endif
