/*
 * retry: orders that fail, tried again as if they had not.
 */
#ifndef OSW_RETRY_H
#define OSW_RETRY_H

#include <stdio.h>

#include "pg.h"
#include "report.h"

/*
 * Release the order with this key, or all failed orders of a sweep (no key
 * columns), and write of each what is known of its last failure.  *released is
 * raised by their number.  On failure nothing was released.
 */
bool osw_retry(struct osw_pg *pg,
               const char *sweep,
               const char *const *key,
               int key_columns,
               int64_t deadline_ms,
               enum osw_report_format format,
               FILE *out,
               int64_t *released,
               struct osw_error *error);

#endif
