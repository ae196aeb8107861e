/* progress: what reaches the terminal, byte by byte, and when. */
#include "progress.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <pty.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <cmocka.h>

#include "log.h"

#define BEGAN   INT64_C(5000)
#define MINUTE  INT64_C(60000)
#define UNKNOWN (-1)

/* stderr is a terminal of the test's own; what is written there is read at its
 * other end. */
struct terminal {
    int other_end;
    int fd;
    int saved_fd;
    bool background;
    char text[4096];
};

static struct terminal terminal;

/* It cannot be the controlling terminal of a test. */
pid_t __wrap_tcgetpgrp(int fd);

pid_t
__wrap_tcgetpgrp(int fd)
{
    assert_int_equal(fd, STDERR_FILENO);
    return getpgrp() + (terminal.background ? 1 : 0);
}

static void
set_width(unsigned short columns)
{
    const struct winsize size = {.ws_row = 24, .ws_col = columns};

    assert_int_equal(ioctl(terminal.other_end, TIOCSWINSZ, &size), 0);
}

static int
open_terminal(void **state)
{
    struct termios raw;

    (void)state;
    memset(&terminal, 0, sizeof terminal);
    if (openpty(&terminal.other_end, &terminal.fd, NULL, NULL, NULL) != 0 ||
        tcgetattr(terminal.fd, &raw) != 0) {
        return -1;
    }
    cfmakeraw(&raw); /* bytes come out as they went in */
    terminal.saved_fd = dup(STDERR_FILENO);
    if (tcsetattr(terminal.fd, TCSANOW, &raw) != 0 || terminal.saved_fd < 0) {
        return -1;
    }
    set_width(80);
    return dup2(terminal.fd, STDERR_FILENO) < 0 ? -1 : 0;
}

static int
close_terminal(void **state)
{
    (void)state;
    osw_progress_clear();
    (void)dup2(terminal.saved_fd, STDERR_FILENO);
    (void)close(terminal.saved_fd);
    (void)close(terminal.fd);
    return close(terminal.other_end);
}

/* What was written since the last call.  It may be on its way still: it has
 * come when a mark written behind it has. */
static const char *
written(void)
{
    const char mark = '\004';
    size_t length = 0;

    assert_int_equal(write(terminal.fd, &mark, 1), 1);
    do {
        assert_in_range(length, 0, sizeof terminal.text - 1);
        assert_int_equal(read(terminal.other_end, &terminal.text[length], 1),
                         1);
        length++;
    } while (terminal.text[length - 1] != mark);
    terminal.text[length - 1] = '\0';
    return terminal.text;
}

static struct osw_progress
sweep_of(int64_t due, int64_t max_orders)
{
    return (struct osw_progress){.sweep = "close",
                                 .began_ms = BEGAN,
                                 .soft_deadline_ms = BEGAN + MINUTE,
                                 .max_orders = max_orders,
                                 .due = due};
}

/* The text of the line so long after the beginning. */
static void
assert_line(const struct osw_progress *progress,
            int64_t elapsed_ms,
            int64_t swept,
            int64_t settled,
            const char *expected)
{
    struct osw_progress copy = *progress;
    char line[256];

    (void)snprintf(
        line, sizeof line, "\rorder-sweep: close: %s\033[K", expected);
    osw_progress_update(&copy, BEGAN + elapsed_ms, swept, settled);
    assert_string_equal(written(), line);
}

static void
only_a_terminal_that_can_redraw_is_wanted(void **state)
{
    static const struct {
        const char *term;
        bool wanted;
    } cases[] = {{"xterm", true}, {"dumb", false}, {"", false}, {NULL, false}};
    int ends[2];

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        (void)unsetenv("TERM");
        if (cases[i].term != NULL) {
            (void)setenv("TERM", cases[i].term, 1);
        }
        assert_int_equal(osw_progress_is_wanted(), cases[i].wanted);
    }
    (void)setenv("TERM", "xterm", 1);
    assert_int_equal(pipe(ends), 0);
    (void)dup2(ends[1], STDERR_FILENO);
    assert_false(osw_progress_is_wanted());
    (void)close(ends[0]);
    (void)close(ends[1]);
}

static void
the_rest_takes_as_long_as_the_orders_before(void **state)
{
    const struct osw_progress counted = sweep_of(1000, 0);

    (void)state;
    assert_line(&counted, 2000, 250, 250, "250 swept, 125/s, about 6 s left");
    /* what was settled in another way counts for the rest alone */
    assert_line(&counted, 2000, 200, 250, "200 swept, 100/s, about 6 s left");
    assert_line(&counted, 9999, 999, 999, "999 swept, 99/s, about 1 s left");
    assert_line(
        &counted, 9000, 1000, 1000, "1000 swept, 111/s, about 0 s left");
}

static void
the_rest_is_bounded_by_max_orders(void **state)
{
    const struct osw_progress bounded = sweep_of(1000, 300);
    const struct osw_progress wide = sweep_of(1000, 5000);

    (void)state;
    assert_line(&bounded, 2000, 200, 200, "200 swept, 100/s, about 1 s left");
    assert_line(&wide, 2000, 200, 200, "200 swept, 100/s, about 8 s left");
}

static void
the_time_limit_is_told_where_it_comes_first(void **state)
{
    const struct osw_progress long_one = sweep_of(1000000, 0);

    (void)state;
    assert_line(
        &long_one, 2000, 200, 200, "200 swept, 100/s, time limit in 58 s");
    assert_line(&long_one,
                MINUTE + 1,
                6000,
                6000,
                "6000 swept, 99/s, time limit in 0 s");
}

static void
the_time_limit_is_told_where_the_rest_is_unknown(void **state)
{
    const struct osw_progress uncounted = sweep_of(UNKNOWN, 0);
    const struct osw_progress counted = sweep_of(4000, 0);

    (void)state;
    assert_line(
        &uncounted, 2000, 200, 200, "200 swept, 100/s, time limit in 58 s");
    /* more became due than were counted */
    assert_line(
        &counted, 2000, 4001, 4001, "4001 swept, 2000/s, time limit in 58 s");
    /* nothing is settled yet */
    assert_line(&counted, 2000, 0, 0, "0 swept, 0/s, time limit in 58 s");
}

static void
long_times_are_minutes(void **state)
{
    struct osw_progress day = sweep_of(UNKNOWN, 0);

    (void)state;
    day.soft_deadline_ms = BEGAN + 1000 + 119 * 1000;
    assert_line(&day, 1000, 1, 1, "1 swept, 1/s, time limit in 119 s");
    day.soft_deadline_ms = BEGAN + 1000 + 24 * 60 * MINUTE;
    assert_line(&day, 1000, 1, 1, "1 swept, 1/s, time limit in 1440 min");
}

static void
nothing_in_the_first_second(void **state)
{
    struct osw_progress progress = sweep_of(1000, 0);

    (void)state;
    osw_progress_update(&progress, BEGAN, 0, 0);
    osw_progress_update(&progress, BEGAN + 999, 100, 100);
    assert_string_equal(written(), "");
    osw_progress_update(&progress, BEGAN + 1000, 100, 100);
    assert_string_not_equal(written(), "");
}

static void
five_times_a_second_at_most(void **state)
{
    struct osw_progress progress = sweep_of(1000, 0);
    int drawn = 0;

    (void)state;
    for (int64_t ms = 1000; ms < 3000; ms++) {
        osw_progress_update(&progress, BEGAN + ms, ms / 10, ms / 10);
        drawn += written()[0] != '\0' ? 1 : 0;
    }
    assert_int_equal(drawn, 10);
}

static void
a_line_never_wraps(void **state)
{
    const struct osw_progress progress = sweep_of(1000, 0);
    const char *long_name = "a_sweep_whose_name_is_as_long_as_may_be1";

    (void)state;
    set_width(30);
    assert_line(&progress, 2000, 200, 200, "200 s"); /* 25 columns */
    set_width(4);
    osw_progress_update(
        &(struct osw_progress){.sweep = "close"}, 2000, 200, 200);
    assert_string_equal(written(), "\r\033[K");
    set_width(0); /* unknown: as if 80 */
    osw_progress_update(
        &(struct osw_progress){.sweep = long_name, .due = -1}, 2000, 200, 200);
    assert_int_equal(strlen(written()), 1 + 75 + strlen("\033[K"));
}

static void
it_is_taken_away_once(void **state)
{
    struct osw_progress progress = sweep_of(1000, 0);

    (void)state;
    osw_progress_clear();
    assert_string_equal(written(), "");
    osw_progress_update(&progress, BEGAN + 2000, 200, 200);
    (void)written();
    osw_progress_clear();
    osw_progress_clear();
    assert_string_equal(written(), "\r\033[K");
}

static void
a_message_takes_its_place(void **state)
{
    struct osw_progress progress = sweep_of(1000, 0);

    (void)state;
    osw_progress_update(&progress, BEGAN + 2000, 200, 200);
    (void)written();
    osw_log(OSW_LOG_DEBUG, "unseen");
    assert_string_equal(written(), "");
    osw_log(OSW_LOG_ERROR, "one");
    osw_log(OSW_LOG_ERROR, "two");
    assert_string_equal(written(),
                        "\r\033[Korder-sweep: one\norder-sweep: two\n");
}

static void
in_the_background_the_line_is_the_shells(void **state)
{
    struct osw_progress progress = sweep_of(1000, 0);

    (void)state;
    osw_progress_update(&progress, BEGAN + 2000, 200, 200);
    (void)written();
    terminal.background = true;
    osw_progress_update(&progress, BEGAN + 3000, 300, 300);
    osw_progress_clear();
    assert_string_equal(written(), "");
}

/* Without the guard this hangs. */
static void
a_terminal_that_is_stopped_stops_nothing(void **state)
{
    struct osw_progress progress = sweep_of(1000, 0);

    (void)state;
    assert_int_equal(tcflow(terminal.fd, TCOOFF), 0);
    (void)alarm(20);
    osw_progress_update(&progress, BEGAN + 2000, 200, 200);
    (void)alarm(0);
    assert_int_equal(tcflow(terminal.fd, TCOON), 0);
    assert_string_equal(written(), "");
    osw_progress_update(&progress, BEGAN + 3000, 300, 300);
    assert_string_not_equal(written(), "");
}

int
main(void)
{
#define PROGRESS_TEST(name)                                                    \
    cmocka_unit_test_setup_teardown(name, open_terminal, close_terminal)
    static const struct CMUnitTest tests[] = {
        PROGRESS_TEST(only_a_terminal_that_can_redraw_is_wanted),
        PROGRESS_TEST(the_rest_takes_as_long_as_the_orders_before),
        PROGRESS_TEST(the_rest_is_bounded_by_max_orders),
        PROGRESS_TEST(the_time_limit_is_told_where_it_comes_first),
        PROGRESS_TEST(the_time_limit_is_told_where_the_rest_is_unknown),
        PROGRESS_TEST(long_times_are_minutes),
        PROGRESS_TEST(nothing_in_the_first_second),
        PROGRESS_TEST(five_times_a_second_at_most),
        PROGRESS_TEST(a_line_never_wraps),
        PROGRESS_TEST(it_is_taken_away_once),
        PROGRESS_TEST(a_message_takes_its_place),
        PROGRESS_TEST(in_the_background_the_line_is_the_shells),
        PROGRESS_TEST(a_terminal_that_is_stopped_stops_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
