/*
 * The log of the system, for tests: listens at PATH as syslogd does, and writes
 * each datagram to stdout as a line, but the word "ready" first.
 *
 *     listener PATH [deaf]
 *
 * A line on stdin ends it, when it has written what still waits; with "deaf" it
 * reads nothing before.
 */
#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

static void
die(const char *what)
{
    (void)fprintf(stderr, "listener: %s: %s\n", what, strerror(errno));
    exit(1);
}

static int
open_socket(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0);

    (void)snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
    (void)unlink(path);
    if (fd < 0 ||
        bind(fd, (const struct sockaddr *)&address, sizeof(address)) != 0 ||
        chmod(path, 0666) != 0) {
        die(path);
    }
    return fd;
}

/* All that waits. */
static void
take(int fd)
{
    char datagram[65536];
    ssize_t length = 0;

    while ((length = recv(fd, datagram, sizeof(datagram), 0)) >= 0) {
        (void)fwrite(datagram, 1, (size_t)length, stdout);
        (void)putchar('\n');
    }
    if (errno != EAGAIN || fflush(stdout) != 0) {
        die("reading");
    }
}

int
main(int argc, char **argv)
{
    const bool deaf = argc == 3 && strcmp(argv[2], "deaf") == 0;
    struct pollfd fds[2] = {{.fd = STDIN_FILENO, .events = POLLIN},
                            {.fd = -1, .events = POLLIN}};
    int fd = -1;

    if (argc < 2) {
        die("no path");
    }
    fd = open_socket(argv[1]);
    fds[1].fd = deaf ? -1 : fd;
    (void)puts("ready");
    (void)fflush(stdout);
    for (;;) {
        if (poll(fds, 2, -1) < 0) {
            die("poll");
        }
        if (fds[0].revents != 0) {
            break;
        }
        if (fds[1].revents != 0) {
            take(fd);
        }
    }
    take(fd);
    return 0;
}
