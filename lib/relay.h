/*
 * relay: hands the events of the journal to a command, a line each, at least
 * once.
 *
 * A batch is fed whole.  One that is refused is halved until the event that
 * the command does not take stands alone: only that one is tried again later.
 * Where the command takes nothing at all it is the command that is wrong, not
 * the events: the run ends and nothing is held against them.
 */
#ifndef OSW_RELAY_H
#define OSW_RELAY_H

#include <stdint.h>
#include <stdio.h>

#include "options.h"
#include "status.h"

/* Relay what waits; with --linger, what comes until the time is over, too. */
enum osw_exit
osw_relay(const struct osw_options *options, int64_t started_ms, FILE *out);

#endif
