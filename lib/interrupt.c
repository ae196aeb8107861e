#include "interrupt.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <time.h>

static volatile sig_atomic_t arrived;

/* The signals that are counted, and the mask with which poll waits. */
static sigset_t counted;
static sigset_t wait_mask;

static void
count_signal(int number)
{
    (void)number;
    arrived = arrived + 1;
}

/* A parent that ignores HUP or INT means it; TERM is always ours. */
static bool
choose_signals(void)
{
    static const int numbers[] = {SIGTERM, SIGINT, SIGHUP};

    (void)sigemptyset(&counted);
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        struct sigaction old;

        if (sigaction(numbers[i], NULL, &old) != 0) {
            return false;
        }
        if (numbers[i] == SIGTERM || old.sa_handler != SIG_IGN) {
            (void)sigaddset(&counted, numbers[i]);
        }
    }
    return true;
}

/* Block the counted signals, and note the mask that lets them through. */
static bool
block_signals(void)
{
    if (sigprocmask(SIG_BLOCK, &counted, &wait_mask) != 0) {
        return false;
    }
    for (int number = 1; number < NSIG; number++) {
        if (sigismember(&counted, number) == 1) {
            (void)sigdelset(&wait_mask, number);
        }
    }
    return true;
}

static bool
install_handlers(void)
{
    struct sigaction action = {.sa_handler = count_signal, .sa_mask = counted};

    for (int number = 1; number < NSIG; number++) {
        if (sigismember(&counted, number) == 1 &&
            sigaction(number, &action, NULL) != 0) {
            return false;
        }
    }
    return true;
}

void
osw_interrupt_ignore_pipe(void)
{
    struct sigaction action = {.sa_handler = SIG_IGN};

    (void)sigaction(SIGPIPE, &action, NULL); /* cannot fail for this signal */
}

bool
osw_interrupt_install(void)
{
    osw_interrupt_ignore_pipe();
    return choose_signals() && block_signals() && install_handlers();
}

int
osw_interrupt_count(void)
{
    return (int)arrived;
}

/*
 * Count what is still pending.  ppoll hands over no signal when a descriptor
 * is ready at once, and only one of several; without this a connection that
 * always has something to read would hide every signal.
 */
static void
collect_pending(void)
{
    static const struct timespec no_wait = {0, 0};

    while (sigtimedwait(&counted, NULL, &no_wait) > 0) {
        arrived = arrived + 1;
    }
}

int
osw_interrupt_poll(struct pollfd *fds, nfds_t count, int timeout_ms)
{
    struct timespec timeout = {
        .tv_sec = timeout_ms / 1000,
        .tv_nsec = (long)(timeout_ms % 1000) * 1000000,
    };
    int before = osw_interrupt_count();
    int ready = ppoll(fds, count, timeout_ms < 0 ? NULL : &timeout, &wait_mask);
    int poll_errno = errno;

    collect_pending();
    if (ready == 0 && osw_interrupt_count() != before) {
        errno = EINTR;
        return -1;
    }
    errno = poll_errno;
    return ready;
}
