/*
 * order-sweep: cancels unpaid orders in PostgreSQL when their payment window
 * is over.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "command.h"
#include "command_line.h"
#include "help.h"
#include "interrupt.h"
#include "log.h"
#include "relay.h"
#include "run.h"

#ifndef OSW_VERSION
#error "OSW_VERSION must be defined by the build"
#endif

/*
 * Whoever closed one of the standard streams would else find the connection
 * to the server in its place, and the report in the connection.  Opened for
 * the wrong direction: a report to a closed stdout must fail.
 */
static bool
hold_standard_streams(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        int mode = fd == STDIN_FILENO ? O_WRONLY : O_RDONLY;

        if (fcntl(fd, F_GETFD) == -1 && open("/dev/null", mode) != fd) {
            return false;
        }
    }
    return true;
}

/* Questions about the program itself; true if one was answered. */
static bool
answer(const struct osw_options *options)
{
    if (options->help) {
        osw_help_write(stdout);
    } else if (options->version) {
        (void)puts("order-sweep " OSW_VERSION);
    } else if (options->list_options) {
        osw_help_list(stdout);
    } else if (options->list_exit_codes) {
        osw_exit_list(stdout);
    } else {
        return false;
    }
    return true;
}

static enum osw_exit
work(const struct osw_options *options, int64_t started_ms)
{
    switch (options->verb) {
    case OSW_VERB_MIGRATE:
        return osw_command_migrate(options, stdout);
    case OSW_VERB_CHECK:
        return osw_command_check(options, started_ms, stdout);
    case OSW_VERB_EXPLAIN:
        return osw_command_explain(options, started_ms, stdout);
    case OSW_VERB_STATUS:
        return osw_command_status(options, started_ms, stdout);
    case OSW_VERB_RETRY:
        return osw_command_retry(options, started_ms, stdout);
    case OSW_VERB_LATE:
        return osw_command_late(options, started_ms, stdout);
    case OSW_VERB_RELAY:
        return osw_relay(options, started_ms, stdout);
    case OSW_VERB_RUN:
        break;
    }
    if (options->dry_run) {
        return osw_command_dry_run(options, started_ms, stdout);
    }
    return osw_run(options, started_ms, stdout);
}

/* A run or a relay ends in good order on a signal; anything else may just end.
 */
static bool
changes(const struct osw_options *options)
{
    return (options->verb == OSW_VERB_RUN && !options->dry_run) ||
           options->verb == OSW_VERB_RELAY;
}

static enum osw_log_level
level_of(int verbosity)
{
    if (verbosity < 0) {
        return OSW_LOG_ERROR;
    }
    if (verbosity == 0) {
        return OSW_LOG_WARNING;
    }
    return verbosity == 1 ? OSW_LOG_INFO : OSW_LOG_DEBUG;
}

int
main(int argc, char **argv)
{
    const int64_t started_ms = osw_clock_now_ms();
    struct osw_options options;
    struct osw_error error = OSW_ERROR_INIT;
    enum osw_exit exit = OSW_EXIT_OK;

    if (!hold_standard_streams()) {
        return (int)OSW_EXIT_INTERNAL;
    }
    if (!osw_options_parse(argc, argv, &options, &error)) {
        osw_log_error(NULL, &error);
        return (int)error.exit;
    }
    osw_log_set_level(level_of(options.verbosity));
    osw_log_set_format(options.log_format);
    if (!answer(&options)) {
        osw_log_set_target(options.log);
        osw_interrupt_ignore_pipe();
        if (changes(&options) && !osw_interrupt_install()) {
            osw_log(OSW_LOG_ERROR, "signals: %s", strerror(errno));
            return (int)OSW_EXIT_INTERNAL;
        }
        exit = work(&options, started_ms);
    }
    if (fflush(stdout) != 0 || ferror(stdout) != 0) {
        osw_log(OSW_LOG_ERROR,
                "the report could not be written: %s",
                strerror(errno));
        exit = osw_exit_graver(exit, OSW_EXIT_IO);
    }
    return (int)exit;
}
