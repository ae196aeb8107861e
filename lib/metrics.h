/*
 * metrics: the file that tells a monitoring system of this run and of its
 * sweeps, in Prometheus' text format, for node_exporter's textfile collector.
 */
#ifndef OSW_METRICS_H
#define OSW_METRICS_H

#include <stdbool.h>
#include <stdint.h>

#include "task.h"

/* False with the error filled if the file of the options cannot be written. */
bool osw_metrics_check(const char *file, struct osw_error *error);

/*
 * Write the file that the options name, if they do.  The database has limit_ms
 * for its part: what is not known of the sweeps then is as it was in the last
 * file.  The connection may be lost, or none.  A failure is told and noted;
 * the second and later ones of a process are not.
 */
void osw_metrics_write(struct osw_task *task, int64_t limit_ms);

#endif
