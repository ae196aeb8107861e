/*
 * proxy: a network that misbehaves, between order-sweep and the test server.
 *
 *     proxy TARGET [COMMAND]...
 *
 * TARGET is the path of the server's socket.  The first line on stdout is the
 * port on 127.0.0.1 that it listens on.  Commands come as arguments, then as
 * lines on stdin, and each line is answered by one on stdout that begins with
 * "ok".  It ends at the end of stdin, or with the process that started it.
 *
 *     stop           forward nothing more; all connections stay open
 *     go             forward again
 *     delay MS       deliver each piece so much later
 *     cut client N   close a connection once it has forwarded N bytes of its
 *     cut server N     client, or of its server; 0: never
 *     hole           be silent to whoever connects from now on
 *     drop client    close the client's end of each connection, but not the
 *     drop server      server's; or the other way round
 *     callers        answers "ok N": how many have connected
 *     end            end the proxy, and so all connections
 *     bytes          answers "ok N M": bytes forwarded of the last connection's
 *                      client and server
 */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define CONNECTIONS 512
#define CHUNKS      64

enum side {
    CLIENT,
    SERVER,
    SIDES,
};

/* A piece on its way. */
struct chunk {
    int64_t due_ms;
    size_t length;
    size_t sent;
    char bytes[4096];
};

/* What one side says, on its way to the other: a ring of chunks. */
struct lane {
    struct chunk chunks[CHUNKS];
    int first;
    int count;
    long forwarded; /* bytes taken in */
    bool ended;     /* nothing more is taken in; then both ends are closed */
};

struct connection {
    int fds[SIDES];           /* -1: closed, or never opened */
    struct lane lanes[SIDES]; /* named by who speaks */
    bool hole;
};

static const char *target;
static struct connection *connections[CONNECTIONS];
static int count;
static int callers;
static long last_bytes[SIDES]; /* of the last connection that was closed */

static bool stopped;
static bool hole;
static long delay_ms;
static long cut_at[SIDES]; /* 0: never */

static void
die(const char *what)
{
    (void)fprintf(stderr, "proxy: %s: %s\n", what, strerror(errno));
    exit(1);
}

static int64_t
now_ms(void)
{
    struct timespec now = {0, 0};

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* --- Connections ---------------------------------------------------------- */

static int
listen_anywhere(void)
{
    struct sockaddr_in name = {.sin_family = AF_INET,
                               .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof name;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd < 0 || bind(fd, (struct sockaddr *)&name, length) != 0 ||
        listen(fd, 64) != 0 ||
        getsockname(fd, (struct sockaddr *)&name, &length) != 0) {
        die("listen");
    }
    (void)printf("%d\n", ntohs(name.sin_port));
    (void)fflush(stdout);
    return fd;
}

static int
connect_to_server(void)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    (void)snprintf(name.sun_path, sizeof name.sun_path, "%s", target);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&name, sizeof name) != 0) {
        (void)close(fd);
        return -1;
    }
    return fd;
}

static void
close_side(struct connection *c, enum side side)
{
    if (c->fds[side] >= 0) {
        (void)close(c->fds[side]);
        c->fds[side] = -1;
    }
}

static void
close_both(struct connection *c)
{
    close_side(c, CLIENT);
    close_side(c, SERVER);
    last_bytes[CLIENT] = c->lanes[CLIENT].forwarded;
    last_bytes[SERVER] = c->lanes[SERVER].forwarded;
}

static void
take_caller(int listener)
{
    struct connection *c = NULL;
    int one = 1;

    if (count == CONNECTIONS) {
        errno = EMFILE;
        die("too many connections");
    }
    c = calloc(1, sizeof *c);
    if (c == NULL) {
        die("connection");
    }
    c->fds[CLIENT] = accept(listener, NULL, NULL);
    c->fds[SERVER] = hole ? -1 : connect_to_server();
    c->hole = hole;
    (void)setsockopt(
        c->fds[CLIENT], IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    callers++;
    connections[count++] = c;
    if (!hole && c->fds[SERVER] < 0) {
        close_both(c);
    }
}

/* Free those that are closed at both ends. */
static void
forget_closed(void)
{
    int kept = 0;

    for (int i = 0; i < count; i++) {
        if (connections[i]->fds[CLIENT] < 0 &&
            connections[i]->fds[SERVER] < 0) {
            free(connections[i]);
        } else {
            connections[kept++] = connections[i];
        }
    }
    count = kept;
}

/* --- Forwarding ----------------------------------------------------------- */

/* Both ends are there; else nothing moves. */
static bool
is_whole(const struct connection *c)
{
    return c->fds[CLIENT] >= 0 && c->fds[SERVER] >= 0;
}

static bool
may_take(const struct connection *c, enum side from)
{
    const struct lane *lane = &c->lanes[from];

    return !stopped && is_whole(c) && !lane->ended && lane->count < CHUNKS;
}

static bool
may_give(const struct connection *c, enum side from)
{
    const struct lane *lane = &c->lanes[from];

    return !stopped && is_whole(c) && lane->count > 0 &&
           lane->chunks[lane->first].due_ms <= now_ms();
}

static void
take(struct connection *c, enum side from)
{
    struct lane *lane = &c->lanes[from];
    struct chunk *chunk = &lane->chunks[(lane->first + lane->count) % CHUNKS];
    size_t room = sizeof chunk->bytes;
    ssize_t got = 0;

    if (cut_at[from] > 0 && cut_at[from] - lane->forwarded < (long)room) {
        room = (size_t)(cut_at[from] - lane->forwarded);
    }
    got = recv(c->fds[from], chunk->bytes, room, MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
        return;
    }
    if (got <= 0) {
        lane->ended = true;
        return;
    }
    chunk->due_ms = now_ms() + delay_ms;
    chunk->length = (size_t)got;
    chunk->sent = 0;
    lane->count++;
    lane->forwarded += got;
    lane->ended = lane->forwarded == cut_at[from];
}

static void
give(struct connection *c, enum side from)
{
    struct lane *lane = &c->lanes[from];
    struct chunk *chunk = &lane->chunks[lane->first];
    enum side to = from == CLIENT ? SERVER : CLIENT;
    ssize_t sent = send(c->fds[to],
                        chunk->bytes + chunk->sent,
                        chunk->length - chunk->sent,
                        MSG_DONTWAIT | MSG_NOSIGNAL);

    if (sent < 0) {
        if (errno != EAGAIN && errno != EINTR) {
            close_both(c);
        }
        return;
    }
    chunk->sent += (size_t)sent;
    if (chunk->sent == chunk->length) {
        lane->first = (lane->first + 1) % CHUNKS;
        lane->count--;
    }
}

static void
forward(struct connection *c,
        enum side from,
        short from_events,
        short to_events)
{
    if (from_events != 0 && may_take(c, from)) {
        take(c, from);
    }
    if (to_events != 0 && may_give(c, from)) {
        give(c, from);
    }
    if (!stopped && is_whole(c) && c->lanes[from].ended &&
        c->lanes[from].count == 0) {
        close_both(c);
    }
}

/* --- Commands ------------------------------------------------------------- */

static void
drop(enum side side)
{
    for (int i = 0; i < count; i++) {
        close_side(connections[i], side);
    }
}

static void
print_bytes(void)
{
    const struct connection *c = count > 0 ? connections[count - 1] : NULL;

    (void)printf("ok %ld %ld\n",
                 c != NULL ? c->lanes[CLIENT].forwarded : last_bytes[CLIENT],
                 c != NULL ? c->lanes[SERVER].forwarded : last_bytes[SERVER]);
}

static bool
obey(const char *line)
{
    long number = 0;
    char name[16] = "";
    enum side side = CLIENT;

    if (strcmp(line, "stop") == 0) {
        stopped = true;
    } else if (strcmp(line, "go") == 0) {
        stopped = false;
    } else if (strcmp(line, "hole") == 0) {
        hole = true;
    } else if (sscanf(line, "delay %ld", &number) == 1) {
        delay_ms = number;
    } else if (sscanf(line, "cut %15s %ld", name, &number) == 2) {
        side = strcmp(name, "server") == 0 ? SERVER : CLIENT;
        cut_at[side] = number;
    } else if (sscanf(line, "drop %15s", name) == 1) {
        drop(strcmp(name, "server") == 0 ? SERVER : CLIENT);
    } else {
        return false;
    }
    return true;
}

static void
answer(const char *line)
{
    if (strcmp(line, "callers") == 0) {
        (void)printf("ok %d\n", callers);
    } else if (strcmp(line, "bytes") == 0) {
        print_bytes();
    } else if (strcmp(line, "end") == 0) {
        (void)puts("ok");
        exit(0);
    } else {
        (void)puts(obey(line) ? "ok" : "what?");
    }
    (void)fflush(stdout);
}

/* Obey the lines that have come; false at the end of stdin. */
static bool
read_commands(void)
{
    static char text[1024];
    static size_t length;
    ssize_t got = read(STDIN_FILENO, text + length, sizeof text - length - 1);
    char *end = NULL;

    if (got <= 0) {
        return false;
    }
    length += (size_t)got;
    text[length] = '\0';
    for (end = strchr(text, '\n'); end != NULL; end = strchr(text, '\n')) {
        *end = '\0';
        answer(text);
        length -= (size_t)(end + 1 - text);
        memmove(text, end + 1, length + 1);
    }
    return true;
}

/* --- The loop ------------------------------------------------------------- */

/* When the next piece is due, as a timeout of poll. */
static int
until_next(void)
{
    int64_t next = INT64_MAX;
    int64_t now = now_ms();

    for (int i = 0; i < count * SIDES; i++) {
        const struct lane *lane = &connections[i / SIDES]->lanes[i % SIDES];
        int64_t due = lane->chunks[lane->first].due_ms;

        if (lane->count > 0 && due > now && due < next) {
            next = due;
        }
    }
    return next == INT64_MAX ? -1 : (int)(next - now);
}

/* Ask for what can be of use; a descriptor of -1 is passed over by poll. */
static void
ask(const struct connection *c, struct pollfd *fds)
{
    for (enum side side = CLIENT; side < SIDES; side++) {
        enum side other = side == CLIENT ? SERVER : CLIENT;
        int events = (may_take(c, side) ? POLLIN : 0) |
                     (may_give(c, other) ? POLLOUT : 0);

        fds[side].fd = events != 0 ? c->fds[side] : -1;
        fds[side].events = (short)events;
        fds[side].revents = 0;
    }
}

int
main(int argc, char **argv)
{
    static struct pollfd fds[2 + CONNECTIONS * SIDES];
    int listener = -1;
    int polled = 0;

    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (argc < 2) {
        (void)fputs("usage: proxy TARGET [COMMAND]...\n", stderr);
        return 64;
    }
    target = argv[1];
    for (int i = 2; i < argc; i++) {
        if (!obey(argv[i])) {
            (void)fprintf(stderr, "proxy: what is \"%s\"?\n", argv[i]);
            return 64;
        }
    }
    listener = listen_anywhere();
    fds[0] = (struct pollfd){.fd = STDIN_FILENO, .events = POLLIN};
    fds[1] = (struct pollfd){.fd = listener, .events = POLLIN};
    for (;;) {
        polled = count;
        for (int i = 0; i < polled; i++) {
            ask(connections[i], &fds[2 + i * SIDES]);
        }
        if (poll(fds, (nfds_t)(2 + polled * SIDES), until_next()) < 0 &&
            errno != EINTR) {
            die("poll");
        }
        for (int i = 0; i < polled; i++) {
            short client = fds[2 + i * SIDES + CLIENT].revents;
            short server = fds[2 + i * SIDES + SERVER].revents;

            forward(connections[i], CLIENT, client, server);
            forward(connections[i], SERVER, server, client);
        }
        if (fds[1].revents != 0) {
            take_caller(listener);
        }
        forget_closed();
        if (fds[0].revents != 0 && !read_commands()) {
            return 0;
        }
    }
}
