#include "system_log.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

/* Not cron, which is what cron itself says; and some runs are systemd's. */
#define FACILITY LOG_DAEMON

static int fd = -1;

const char *
osw_system_log_path(void)
{
    return _PATH_LOG;
}

bool
osw_system_log_open(void)
{
    const struct sockaddr_un address = {.sun_family = AF_UNIX,
                                        .sun_path = _PATH_LOG};
    int failure = 0;

    osw_system_log_close();
    fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) {
        return false;
    }
    if (connect(fd, (const struct sockaddr *)&address, sizeof(address)) == 0) {
        return true;
    }
    failure = errno;
    osw_system_log_close();
    errno = failure;
    return false;
}

void
osw_system_log_close(void)
{
    if (fd >= 0) {
        (void)close(fd);
    }
    fd = -1;
}

/* What syslog(3) sends, which every listener knows. */
static size_t
compose(char *datagram, size_t size, int priority, const char *line)
{
    const time_t now = time(NULL);
    struct tm local;
    char moment[32] = "";
    int length = 0;

    if (localtime_r(&now, &local) != NULL) {
        (void)strftime(moment, sizeof(moment), "%b %e %T ", &local);
    }
    length = snprintf(datagram,
                      size,
                      "<%d>%sorder-sweep[%ld]: %s",
                      FACILITY | priority,
                      moment,
                      (long)getpid(),
                      line);
    return (size_t)length < size ? (size_t)length : size - 1;
}

static bool
hand_over(const char *datagram, size_t length)
{
    return send(fd, datagram, length, MSG_NOSIGNAL) >= 0;
}

/* True if there may be room now. */
static bool
wait_for_room(int wait_ms)
{
    struct pollfd room = {.fd = fd, .events = POLLOUT};
    const int failure = errno;

    if (wait_ms > 0 && poll(&room, 1, wait_ms) > 0) {
        return true;
    }
    errno = failure;
    return false;
}

bool
osw_system_log_write(int priority, const char *line, int wait_ms)
{
    char datagram[4096]; /* more than any line of the log */
    const size_t length = compose(datagram, sizeof(datagram), priority, line);

    if (hand_over(datagram, length)) {
        return true;
    }
    if (errno == EAGAIN) {
        return wait_for_room(wait_ms) && hand_over(datagram, length);
    }
    return osw_system_log_open() && hand_over(datagram, length);
}
