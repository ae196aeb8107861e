#include "progress.h"

#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* Short sweeps show nothing. */
#define FIRST_MS 1000
/* Five times a second. */
#define AGAIN_MS 200

/* Left free at the end of the line: the terminal echoes ^C, maybe twice, and a
 * line that wraps cannot be taken away. */
#define MARGIN 5
/* Of a terminal that does not tell. */
#define COLUMNS 80

static bool shown;

bool
osw_progress_is_wanted(void)
{
    const char *term = getenv("TERM");

    return term != NULL && term[0] != '\0' && strcmp(term, "dumb") != 0 &&
           isatty(STDERR_FILENO) == 1;
}

static bool
in_foreground(void)
{
    return tcgetpgrp(STDERR_FILENO) == getpgrp();
}

/* Would it be taken at once? */
static bool
is_writable(void)
{
    struct pollfd terminal = {.fd = STDERR_FILENO, .events = POLLOUT};

    return poll(&terminal, 1, 0) == 1 && (terminal.revents & POLLOUT) != 0;
}

static int
width(void)
{
    struct winsize size = {.ws_col = 0};

    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) {
        return COLUMNS - MARGIN;
    }
    return size.ws_col > MARGIN ? size.ws_col - MARGIN : 0;
}

/* Put the text where the line was. */
static void
draw(const char *text)
{
    /* One call, one write. */
    shown = dprintf(STDERR_FILENO, "\r%.*s\033[K", width(), text) > 0;
}

/*
 * How long what is left takes; -1 if nobody knows.  Orders that became due
 * meanwhile were not counted: with them the count is used up before the end.
 */
static int64_t
time_left_ms(const struct osw_progress *progress,
             int64_t elapsed_ms,
             int64_t swept,
             int64_t settled)
{
    int64_t left = progress->due - settled;

    if (left < 0 || settled == 0) {
        return -1;
    }
    if (progress->max_orders > 0 && progress->max_orders - swept < left) {
        left = progress->max_orders - swept;
    }
    return left * elapsed_ms / settled;
}

static int64_t
divide_up(int64_t number, int64_t by)
{
    return number > 0 ? (number + by - 1) / by : 0;
}

static void
write_time(char *text, size_t size, int64_t time_ms)
{
    int64_t seconds = divide_up(time_ms, 1000);

    if (seconds < 120) {
        (void)snprintf(text, size, "%" PRId64 " s", seconds);
    } else {
        (void)snprintf(text, size, "%" PRId64 " min", divide_up(seconds, 60));
    }
}

static void
write_line(char *line,
           size_t size,
           const struct osw_progress *progress,
           int64_t now_ms,
           int64_t swept,
           int64_t settled)
{
    int64_t elapsed_ms = now_ms - progress->began_ms;
    int64_t left_ms = time_left_ms(progress, elapsed_ms, swept, settled);
    int64_t limit_ms = progress->soft_deadline_ms - now_ms;
    bool in_time = left_ms >= 0 && left_ms <= limit_ms;
    char time[32];

    write_time(time, sizeof(time), in_time ? left_ms : limit_ms);
    (void)snprintf(line,
                   size,
                   "order-sweep: %s: %" PRId64 " swept, %" PRId64 "/s, %s %s%s",
                   progress->sweep,
                   swept,
                   swept * 1000 / elapsed_ms,
                   in_time ? "about" : "time limit in",
                   time,
                   in_time ? " left" : "");
}

void
osw_progress_update(struct osw_progress *progress,
                    int64_t now_ms,
                    int64_t swept,
                    int64_t settled)
{
    char line[256];

    if (now_ms - progress->began_ms < FIRST_MS ||
        now_ms - progress->drawn_ms < AGAIN_MS) {
        return;
    }
    progress->drawn_ms = now_ms;
    if (in_foreground() && is_writable()) {
        write_line(line, sizeof(line), progress, now_ms, swept, settled);
        draw(line);
    }
}

void
osw_progress_clear(void)
{
    if (shown && in_foreground()) {
        draw("");
    }
    shown = false;
}
