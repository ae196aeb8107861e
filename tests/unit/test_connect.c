/*
 * connect: who is tried, for how long, and what is told, against listeners
 * that are silent and one that greets as PostgreSQL does.
 */
#include "connect.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <arpa/inet.h>
#include <cmocka.h>
#include <libpq-fe.h>
#include <netdb.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "interrupt.h"

#define SILENT 6

struct listener {
    int fd;
    char port[8];
};

/*
 * The first two and the one that greets have the same port, on addresses of
 * their own, 127.0.0.1 to 3; the others are on 127.0.0.1.
 */
static struct listener silent[SILENT];
static struct listener greeting;
static pid_t greeter;

/* --- Listeners ------------------------------------------------------------ */

/* Port 0: any that is free.  False if it is taken. */
static bool
listen_on(struct listener *listener, const char *address, int port)
{
    struct sockaddr_in name = {.sin_family = AF_INET,
                               .sin_port = htons((uint16_t)port)};
    socklen_t length = sizeof name;

    assert_int_equal(inet_pton(AF_INET, address, &name.sin_addr), 1);
    listener->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(listener->fd >= 0);
    if (bind(listener->fd, (struct sockaddr *)&name, length) != 0) {
        (void)close(listener->fd);
        return false;
    }
    assert_int_equal(listen(listener->fd, 16), 0);
    assert_int_equal(
        getsockname(listener->fd, (struct sockaddr *)&name, &length), 0);
    (void)snprintf(
        listener->port, sizeof listener->port, "%d", ntohs(name.sin_port));
    return true;
}

/* How many have come to a listener; they are let go. */
static int
count_callers(const struct listener *listener)
{
    struct pollfd fd = {.fd = listener->fd, .events = POLLIN};
    int count = 0;

    while (poll(&fd, 1, 0) == 1) {
        (void)close(accept(listener->fd, NULL, NULL));
        count++;
    }
    return count;
}

static void
put_text(char **at, const char *name, const char *value)
{
    uint32_t length = htonl((uint32_t)(4 + strlen(name) + strlen(value) + 2));

    *(*at)++ = 'S';
    memcpy(*at, &length, sizeof length);
    *at += sizeof length;
    *at = stpcpy(*at, name) + 1;
    *at = stpcpy(*at, value) + 1;
}

/* Accept whoever comes, after a pause: no password, ready for a query. */
static void
greet(int listener, bool standby, unsigned pause_ms)
{
    static const char welcome[] = "R\0\0\0\10\0\0\0\0";
    static const char ready[] = "Z\0\0\0\5I";
    char out[256];
    char *at = out;
    char in[1024];

    memcpy(at, welcome, sizeof welcome - 1);
    at += sizeof welcome - 1;
    put_text(&at, "server_version", "15.0");
    put_text(&at, "in_hot_standby", standby ? "on" : "off");
    put_text(&at, "default_transaction_read_only", "off");
    memcpy(at, ready, sizeof ready - 1);
    at += sizeof ready - 1;
    for (;;) {
        int fd = accept(listener, NULL, NULL);

        if (fd >= 0 && read(fd, in, sizeof in) > 0) {
            (void)usleep(pause_ms * 1000);
            (void)!write(fd, out, (size_t)(at - out));
        }
        (void)close(fd);
    }
}

/* A process that greets; to be ended with stop_greeter. */
static pid_t
start_greeter(const struct listener *listener, bool standby, unsigned pause_ms)
{
    pid_t pid = fork();

    if (pid == 0) {
        greet(listener->fd, standby, pause_ms);
    }
    assert_true(pid > 0);
    return pid;
}

static void
stop_greeter(pid_t pid)
{
    (void)kill(pid, SIGKILL);
    (void)waitpid(pid, NULL, 0);
}

/* On the three addresses, one port; false if it was not free on all. */
static bool
listen_on_one_port(void)
{
    int port = 0;

    assert_true(listen_on(&silent[0], "127.0.0.1", 0));
    port = (int)strtol(silent[0].port, NULL, 10);
    if (!listen_on(&silent[1], "127.0.0.2", port)) {
        (void)close(silent[0].fd);
        return false;
    }
    if (!listen_on(&greeting, "127.0.0.3", port)) {
        (void)close(silent[0].fd);
        (void)close(silent[1].fd);
        return false;
    }
    return true;
}

static int
open_listeners(void **state)
{
    static const char *const variables[] = {
        "PGHOST", "PGHOSTADDR", "PGPORT", "PGUSER", "PGDATABASE"};
    int tries = 100;

    (void)state;
    for (size_t i = 0; i < sizeof variables / sizeof variables[0]; i++) {
        assert_int_equal(unsetenv(variables[i]), 0);
    }
    /* What else libpq could ask a server before it connects. */
    assert_int_equal(setenv("PGSSLMODE", "disable", 1), 0);
    assert_int_equal(setenv("PGGSSENCMODE", "disable", 1), 0);
    while (!listen_on_one_port()) {
        assert_true(--tries > 0);
    }
    for (int i = 2; i < SILENT; i++) {
        assert_true(listen_on(&silent[i], "127.0.0.1", 0));
    }
    greeter = start_greeter(&greeting, false, 0);
    return 0;
}

static int
close_listeners(void **state)
{
    (void)state;
    stop_greeter(greeter);
    for (int i = 0; i < SILENT; i++) {
        (void)close(silent[i].fd);
    }
    (void)close(greeting.fd);
    return 0;
}

static int
forget_callers(void **state)
{
    (void)state;
    for (int i = 0; i < SILENT; i++) {
        (void)count_callers(&silent[i]);
    }
    return 0;
}

/* --- Names ---------------------------------------------------------------- */

/* What we are told when we ask for localhost; libpq asks by itself. */
static int addresses_of_localhost;

int __real_getaddrinfo(const char *name,
                       const char *service,
                       const struct addrinfo *hints,
                       struct addrinfo **found);
int __wrap_getaddrinfo(const char *name,
                       const char *service,
                       const struct addrinfo *hints,
                       struct addrinfo **found);

int
__wrap_getaddrinfo(const char *name,
                   const char *service,
                   const struct addrinfo *hints,
                   struct addrinfo **found)
{
    struct addrinfo *last = NULL;
    char text[24];

    if (strcmp(name, "localhost") != 0) {
        return __real_getaddrinfo(name, service, hints, found);
    }
    for (int i = 1; i <= addresses_of_localhost; i++) {
        (void)snprintf(text, sizeof text, "127.0.0.%d", i);
        assert_int_equal(
            __real_getaddrinfo(
                text, service, hints, last == NULL ? found : &last->ai_next),
            0);
        last = last == NULL ? *found : last->ai_next;
    }
    return 0;
}

/* --- Attempts ------------------------------------------------------------- */

static struct osw_error error;
static int64_t took_ms;

/* Connect by a connection string, within so much time. */
static PGconn *connect_to(int64_t limit_ms, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static PGconn *
connect_to(int64_t limit_ms, const char *format, ...)
{
    char conninfo[1024];
    const struct osw_connect_target target = {.dbname = conninfo,
                                              .primary = true};
    int64_t began_ms = osw_clock_now_ms();
    PGconn *conn = NULL;
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(conninfo, sizeof conninfo, format, arguments);
    va_end(arguments);
    memset(&error, 0, sizeof error);
    conn = osw_connect(&target, began_ms + limit_ms, &error);
    took_ms = osw_clock_now_ms() - began_ms;
    return conn;
}

static void
assert_connected(PGconn *conn, const char *port)
{
    assert_string_equal(error.message, "");
    assert_non_null(conn);
    assert_int_equal(PQstatus(conn), CONNECTION_OK);
    assert_string_equal(PQport(conn), port);
    PQfinish(conn);
}

static void
assert_failed(const PGconn *conn, enum osw_exit exit, const char *text)
{
    assert_null(conn);
    assert_int_equal(error.exit, exit);
    if (strstr(error.message, text) == NULL) {
        fail_msg("\"%s\" is not in: %s", text, error.message);
    }
}

static void
a_host_that_answers_is_connected_to(void **state)
{
    (void)state;
    assert_connected(connect_to(20000, "host=127.0.0.3 port=%s", greeting.port),
                     greeting.port);
}

static void
after_a_silent_host_the_next_one_is_tried(void **state)
{
    (void)state;
    assert_connected(connect_to(2000,
                                "host=127.0.0.1,127.0.0.3 port=%s,%s",
                                silent[2].port,
                                greeting.port),
                     greeting.port);
    assert_int_equal(count_callers(&silent[2]), 1);
}

static void
of_a_long_list_everyone_has_a_share(void **state)
{
    char hosts[256] = "";
    char ports[256] = "";

    (void)state;
    for (int i = 0; i < SILENT; i++) {
        (void)strcat(hosts, i == 1 ? "127.0.0.2," : "127.0.0.1,");
        (void)strcat(strcat(ports, silent[i].port), ",");
    }
    assert_connected(
        connect_to(
            1800, "host=%s127.0.0.3 port=%s%s", hosts, ports, greeting.port),
        greeting.port);
    for (int i = 0; i < SILENT; i++) {
        assert_int_equal(count_callers(&silent[i]), 1);
    }
}

/* libpq knows one address of localhost, we are told of three. */
static void
each_address_of_a_name_has_a_share(void **state)
{
    PGconn *conn = NULL;

    (void)state;
    addresses_of_localhost = 3;
    conn = connect_to(2000, "host=localhost port=%s", greeting.port);
    assert_string_equal(error.message, "");
    assert_string_equal(PQhostaddr(conn), "127.0.0.3");
    assert_string_equal(PQhost(conn), "localhost");
    assert_connected(conn, greeting.port);
    assert_int_equal(count_callers(&silent[0]), 1);
    assert_int_equal(count_callers(&silent[1]), 1);
}

/* Each takes most of its share; the first turns out to be a standby. */
static void
a_slow_host_does_not_eat_the_share_of_the_next(void **state)
{
    pid_t standby = start_greeter(&silent[2], true, 1500);
    pid_t primary = start_greeter(&silent[3], false, 1850);
    PGconn *conn = NULL;

    (void)state;
    conn = connect_to(6000,
                      "host=127.0.0.1,127.0.0.1 port=%s,%s",
                      silent[2].port,
                      silent[3].port);
    stop_greeter(standby);
    stop_greeter(primary);
    assert_connected(conn, silent[3].port);
}

static void
hosts_may_be_given_as_addresses(void **state)
{
    (void)state;
    assert_connected(
        connect_to(2000,
                   "hostaddr=127.0.0.1,127.0.0.2,127.0.0.3 port=%s",
                   greeting.port),
        greeting.port);
    assert_int_equal(count_callers(&silent[1]), 1);
}

static void
hosts_may_stand_in_the_environment(void **state)
{
    const struct osw_connect_target target = {.dbname = "shop"};
    PGconn *conn = NULL;

    (void)state;
    assert_int_equal(setenv("PGHOST", "127.0.0.1,127.0.0.3", 1), 0);
    assert_int_equal(setenv("PGPORT", greeting.port, 1), 0);
    conn = osw_connect(&target, osw_clock_now_ms() + 2000, &error);
    assert_int_equal(unsetenv("PGHOST"), 0);
    assert_int_equal(unsetenv("PGPORT"), 0);
    assert_connected(conn, greeting.port);
    assert_int_equal(count_callers(&silent[0]), 1);
}

/* It is no standby, and the one that may be is silent: better than none. */
static void
who_was_passed_over_is_tried_again(void **state)
{
    const struct osw_connect_target target = {.dbname = "shop"};
    PGconn *conn = NULL;

    (void)state;
    assert_int_equal(setenv("PGHOST", "127.0.0.3,127.0.0.1", 1), 0);
    assert_int_equal(setenv("PGPORT", greeting.port, 1), 0);
    assert_int_equal(setenv("PGTARGETSESSIONATTRS", "prefer-standby", 1), 0);
    conn = osw_connect(&target, osw_clock_now_ms() + 2000, &error);
    assert_int_equal(unsetenv("PGHOST"), 0);
    assert_int_equal(unsetenv("PGPORT"), 0);
    assert_int_equal(unsetenv("PGTARGETSESSIONATTRS"), 0);
    assert_connected(conn, greeting.port);
    assert_int_equal(count_callers(&silent[0]), 1);
}

static void
each_that_is_silent_is_named(void **state)
{
    char wanted[256];

    (void)state;
    addresses_of_localhost = 1;
    (void)snprintf(wanted,
                   sizeof wanted,
                   "no answer in time from \"127.0.0.1\", port %s; no answer "
                   "in time from \"localhost\" (127.0.0.1), port %s",
                   silent[2].port,
                   silent[3].port);
    assert_failed(connect_to(400,
                             "host=127.0.0.1,localhost port=%s,%s",
                             silent[2].port,
                             silent[3].port),
                  OSW_EXIT_UNAVAILABLE,
                  wanted);
    assert_string_equal(error.message, wanted);
}

static void
who_refuses_is_told_behind_who_is_silent(void **state)
{
    char wanted[256];

    (void)state;
    (void)snprintf(wanted,
                   sizeof wanted,
                   "no answer in time from \"127.0.0.1\", port %s; connection "
                   "to server at \"127.0.0.1\", port 1 failed: ",
                   silent[2].port);
    assert_failed(
        connect_to(400, "host=127.0.0.1,127.0.0.1 port=%s,1", silent[2].port),
        OSW_EXIT_UNAVAILABLE,
        wanted);
}

/* What is left of a list is a list, even if it is one socket. */
static void
a_socket_may_be_what_is_left(void **state)
{
    (void)state;
    assert_failed(connect_to(400,
                             "host=/nowhere,shop hostaddr=,127.0.0.1 port=%s",
                             silent[2].port),
                  OSW_EXIT_UNAVAILABLE,
                  "connection to server on socket \"/nowhere/");
    assert_int_equal(count_callers(&silent[2]), 1);
}

static void
the_deadline_holds_for_all_together(void **state)
{
    (void)state;
    assert_failed(connect_to(300,
                             "host=127.0.0.1,127.0.0.1,127.0.0.1 port=%s,%s,%s",
                             silent[2].port,
                             silent[3].port,
                             silent[4].port),
                  OSW_EXIT_UNAVAILABLE,
                  "no answer in time");
    assert_in_range(took_ms, 300, 4000);
}

/* The first has a third of ten seconds, as it might have another address. */
static void
no_host_has_more_than_five_seconds(void **state)
{
    (void)state;
    assert_failed(connect_to(60000,
                             "host=127.0.0.1,127.0.0.1 port=%s,%s "
                             "connect_timeout=60",
                             silent[2].port,
                             silent[3].port),
                  OSW_EXIT_UNAVAILABLE,
                  "no answer in time");
    assert_in_range(took_ms, 8333, 9800);
}

static void
the_users_own_limit_holds_if_it_is_shorter(void **state)
{
    (void)state;
    assert_failed(connect_to(60000,
                             "host=127.0.0.1 port=%s connect_timeout=1",
                             silent[2].port),
                  OSW_EXIT_UNAVAILABLE,
                  "no answer in time");
    assert_in_range(took_ms, 1000, 4000);
    assert_int_equal(setenv("PGCONNECT_TIMEOUT", "1", 1), 0);
    assert_failed(connect_to(60000, "host=127.0.0.1 port=%s", silent[2].port),
                  OSW_EXIT_UNAVAILABLE,
                  "no answer in time");
    assert_int_equal(unsetenv("PGCONNECT_TIMEOUT"), 0);
    assert_in_range(took_ms, 1000, 4000);
}

static void
a_limit_that_is_no_number_is_refused(void **state)
{
    (void)state;
    assert_failed(connect_to(20000,
                             "host=127.0.0.3 port=%s connect_timeout=soon",
                             greeting.port),
                  OSW_EXIT_UNAVAILABLE,
                  "connect_timeout: \"soon\" is invalid");
}

static void
a_connection_string_that_is_none_is_wrong_usage(void **state)
{
    (void)state;
    assert_failed(connect_to(20000, "no_such_option=1"),
                  OSW_EXIT_USAGE,
                  "--dbname: invalid connection option \"no_such_option\"");
}

/* Strings with a slip, all with the password "s3cret", or a piece of it where
 * a name is expected. */
static void
a_password_is_never_told(void **state)
{
    static const char *const cases[][2] = {
        {"host=h password=my s3cret", "--dbname: missing \"=\" after ..."},
        {"host=h password=my s3cret=1", "--dbname: invalid connection option "},
        {"password='s3cret", "--dbname: unterminated quoted string "},
        {"postgresql://u:s3cret%zz@h", "--dbname: invalid percent-encoded "},
        {"postgresql://u:s3cret@[h", "--dbname: end of string reached "},
        {"postgresql://u:s3cret@[::1]x", "--dbname: unexpected character "},
        {"postgresql://u:a?s3cret/b@h", "--dbname: this looks like "},
        {"postgresql://u:a@s3cret@h/db", "--dbname: this looks like "},
        {"postgresql://u:a/s3cret@h/db", "--dbname: this looks like "},
        {"postgresql://u:s3cret/db", "--dbname: this looks like "},
        {"postgresql://h,u:s3cret?user=u", "--dbname: this looks like "},
        {"postgresql://[::1]:s3cret", "--dbname: this looks like "},
        {"postgres:/u:s3cret@h/db", "--dbname: this looks like "},
        {"psql://u:s3cret@h/db", "--dbname: this looks like "},
        {"psql://u:s3cret@h/db?sslmode=require", "--dbname: invalid "},
        {"u:s3cret@h/db", "--dbname: this looks like "},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_failed(
            connect_to(20000, "%s", cases[i][0]), OSW_EXIT_USAGE, cases[i][1]);
        assert_null(strstr(error.message, "s3cret"));
        assert_null(strstr(error.hint, "s3cret"));
    }
}

static void
a_uri_with_a_password_is_understood(void **state)
{
    (void)state;
    assert_connected(
        connect_to(2000, "postgresql://u:a%%2Fb@127.0.0.3:%s", greeting.port),
        greeting.port);
    assert_connected(
        connect_to(2000,
                   "postgres://[::1]:1,127.0.0.3:%s/db?application_name=a:b",
                   greeting.port),
        greeting.port);
}

static void
a_connection_string_for_a_name_is_refused(void **state)
{
    static const char *const variables[] = {
        "PGDATABASE", "PGHOST", "PGHOSTADDR", "PGPORT", "PGUSER"};
    static const char *const strings[] = {
        "postgresql://u:secret@h/db", "host=h password = secret", "u:secret@h"};
    const struct osw_connect_target named[] = {
        {.dbname = "shop", .host = strings[0]},
        {.dbname = "shop", .port = strings[1]},
        {.dbname = "shop", .user = strings[2]}};
    static const char *const options[] = {"--host: ", "--port: ", "--user: "};

    (void)state;
    for (size_t i = 0; i < sizeof variables / sizeof variables[0]; i++) {
        const struct osw_connect_target target = {.dbname = NULL};

        assert_int_equal(setenv(variables[i], strings[i % 3], 1), 0);
        assert_failed(osw_connect(&target, osw_clock_now_ms() + 2000, &error),
                      OSW_EXIT_USAGE,
                      variables[i]);
        assert_int_equal(unsetenv(variables[i]), 0);
        assert_null(strstr(error.message, "secret"));
    }
    for (size_t i = 0; i < sizeof named / sizeof named[0]; i++) {
        assert_failed(osw_connect(&named[i], osw_clock_now_ms() + 2000, &error),
                      OSW_EXIT_USAGE,
                      options[i]);
        assert_null(strstr(error.message, "secret"));
    }
}

/* The last test: a signal is never forgotten. */
static void
a_signal_ends_it(void **state)
{
    (void)state;
    assert_true(osw_interrupt_install());
    assert_int_equal(raise(SIGTERM), 0); /* waits until somebody looks */
    assert_failed(connect_to(20000, "host=127.0.0.1 port=%s", silent[2].port),
                  OSW_EXIT_TEMPORARY,
                  "stopped by a signal while connecting");
    assert_in_range(took_ms, 0, 4000);
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_host_that_answers_is_connected_to,
                               forget_callers),
        cmocka_unit_test_setup(after_a_silent_host_the_next_one_is_tried,
                               forget_callers),
        cmocka_unit_test_setup(of_a_long_list_everyone_has_a_share,
                               forget_callers),
        cmocka_unit_test_setup(each_address_of_a_name_has_a_share,
                               forget_callers),
        cmocka_unit_test_setup(a_slow_host_does_not_eat_the_share_of_the_next,
                               forget_callers),
        cmocka_unit_test_setup(hosts_may_be_given_as_addresses, forget_callers),
        cmocka_unit_test_setup(hosts_may_stand_in_the_environment,
                               forget_callers),
        cmocka_unit_test_setup(who_was_passed_over_is_tried_again,
                               forget_callers),
        cmocka_unit_test_setup(each_that_is_silent_is_named, forget_callers),
        cmocka_unit_test_setup(who_refuses_is_told_behind_who_is_silent,
                               forget_callers),
        cmocka_unit_test_setup(a_socket_may_be_what_is_left, forget_callers),
        cmocka_unit_test_setup(the_deadline_holds_for_all_together,
                               forget_callers),
        cmocka_unit_test_setup(no_host_has_more_than_five_seconds,
                               forget_callers),
        cmocka_unit_test_setup(the_users_own_limit_holds_if_it_is_shorter,
                               forget_callers),
        cmocka_unit_test_setup(a_limit_that_is_no_number_is_refused,
                               forget_callers),
        cmocka_unit_test_setup(a_connection_string_that_is_none_is_wrong_usage,
                               forget_callers),
        cmocka_unit_test_setup(a_password_is_never_told, forget_callers),
        cmocka_unit_test(a_uri_with_a_password_is_understood),
        cmocka_unit_test(a_connection_string_for_a_name_is_refused),
        cmocka_unit_test_setup(a_signal_ends_it, forget_callers),
    };

    return cmocka_run_group_tests(tests, open_listeners, close_listeners);
}
