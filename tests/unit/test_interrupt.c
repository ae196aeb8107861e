/*
 * interrupt: signals wait until the poll, and none is lost.
 *
 * The counter never goes back, so each test compares with its start.
 */
#include "interrupt.h"

#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static int
install(void **state)
{
    (void)state;
    return osw_interrupt_install() ? 0 : -1;
}

static void
a_signal_waits_for_the_poll(void **state)
{
    static const int numbers[] = {SIGTERM, SIGINT, SIGHUP};

    (void)state;
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        int before = osw_interrupt_count();

        assert_int_equal(raise(numbers[i]), 0);
        assert_int_equal(osw_interrupt_count(), before);
        assert_int_equal(osw_interrupt_poll(NULL, 0, 0), -1);
        assert_int_equal(errno, EINTR);
        assert_int_equal(osw_interrupt_count(), before + 1);
    }
}

static void
a_poll_without_signals_times_out(void **state)
{
    int before = osw_interrupt_count();

    (void)state;
    assert_int_equal(osw_interrupt_poll(NULL, 0, 0), 0);
    assert_int_equal(osw_interrupt_poll(NULL, 0, 1), 0);
    assert_int_equal(osw_interrupt_count(), before);
}

static void
a_pending_signal_ends_an_endless_wait(void **state)
{
    (void)state;
    assert_int_equal(raise(SIGTERM), 0);
    assert_int_equal(osw_interrupt_poll(NULL, 0, -1), -1);
    assert_int_equal(errno, EINTR);
}

static void
two_kinds_of_signal_count_twice_in_one_poll(void **state)
{
    int before = osw_interrupt_count();

    (void)state;
    assert_int_equal(raise(SIGTERM), 0);
    assert_int_equal(raise(SIGINT), 0);
    assert_int_equal(osw_interrupt_poll(NULL, 0, -1), -1);
    assert_int_equal(errno, EINTR);
    assert_int_equal(osw_interrupt_count(), before + 2);
}

/* A pipe with a byte in it: its reading end is always ready. */
static void
open_ready_pipe(int ends[2])
{
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], "x", 1), 1);
}

static void
close_pipe(const int ends[2])
{
    assert_int_equal(close(ends[0]), 0);
    assert_int_equal(close(ends[1]), 0);
}

static void
a_ready_descriptor_is_reported(void **state)
{
    int ends[2];
    struct pollfd fd = {.events = POLLIN};

    (void)state;
    open_ready_pipe(ends);
    fd.fd = ends[0];
    assert_int_equal(osw_interrupt_poll(&fd, 1, -1), 1);
    assert_int_equal(fd.revents, POLLIN);
    close_pipe(ends);
}

static void
a_ready_descriptor_hides_no_signal(void **state)
{
    int ends[2];
    struct pollfd fd = {.events = POLLIN};
    int before = osw_interrupt_count();

    (void)state;
    open_ready_pipe(ends);
    fd.fd = ends[0];
    assert_int_equal(raise(SIGTERM), 0);
    assert_int_equal(osw_interrupt_poll(&fd, 1, -1), 1);
    assert_int_equal(osw_interrupt_count(), before + 1);
    close_pipe(ends);
}

static void
a_refused_poll_keeps_its_errno(void **state)
{
    (void)state;
    /* More descriptors than any process may have. */
    assert_int_equal(osw_interrupt_poll(NULL, (nfds_t)-1, 0), -1);
    assert_int_equal(errno, EINVAL);
}

static void
a_broken_pipe_is_an_error_not_a_death(void **state)
{
    int ends[2];

    (void)state;
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(close(ends[0]), 0);
    assert_int_equal(write(ends[1], "x", 1), -1);
    assert_int_equal(errno, EPIPE);
    assert_int_equal(close(ends[1]), 0);
}

/*
 * In a child: all three are ignored beforehand, as nohup and background jobs
 * have it for two of them; TERM counts all the same.
 */
static int
count_under_nohup(void)
{
    static const int numbers[] = {SIGHUP, SIGINT, SIGTERM};

    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        if (signal(numbers[i], SIG_IGN) == SIG_ERR) {
            return 100;
        }
    }
    if (!osw_interrupt_install()) {
        return 102;
    }
    if (raise(SIGHUP) != 0 || raise(SIGINT) != 0 ||
        osw_interrupt_poll(NULL, 0, 0) != 0) {
        return 103;
    }
    if (raise(SIGTERM) != 0 || osw_interrupt_poll(NULL, 0, 0) != -1) {
        return 104;
    }
    return osw_interrupt_count();
}

/* Runs before install, while nothing is blocked yet. */
static void
what_the_parent_ignores_stays_ignored(void **state)
{
    int status = 0;
    pid_t child = fork();

    (void)state;
    assert_true(child >= 0);
    if (child == 0) {
        _exit(count_under_nohup());
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 1);
}

int
main(void)
{
    static const struct CMUnitTest before[] = {
        cmocka_unit_test(what_the_parent_ignores_stays_ignored),
    };
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_signal_waits_for_the_poll),
        cmocka_unit_test(a_poll_without_signals_times_out),
        cmocka_unit_test(a_pending_signal_ends_an_endless_wait),
        cmocka_unit_test(two_kinds_of_signal_count_twice_in_one_poll),
        cmocka_unit_test(a_ready_descriptor_is_reported),
        cmocka_unit_test(a_ready_descriptor_hides_no_signal),
        cmocka_unit_test(a_refused_poll_keeps_its_errno),
        cmocka_unit_test(a_broken_pipe_is_an_error_not_a_death),
    };
    int failed = cmocka_run_group_tests(before, NULL, NULL);

    return failed + cmocka_run_group_tests(tests, install, NULL);
}
