#include "connect.h"

#include <libpq-fe.h>
#include <limits.h>
#include <netdb.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <bsd/stdlib.h>
#include <bsd/string.h>

#include "clock.h"
#include "host.h"
#include "interrupt.h"

#define TOTAL_MS 10000
#define PLACE_MS 5000

/* One address to try, in the words of libpq's host, hostaddr and port. */
struct place {
    char host[256];
    char address[64]; /* "": a socket, or not known */
    char port[16];
};

/*
 * libpq goes through its list of hosts by itself as long as each answers, be
 * it with a refusal.  Only when one is silent do we take the matter into our
 * hands: the list is written out with an address an entry, and the attempt is
 * made anew without those that were silent.
 */
struct attempts {
    const struct osw_connect_target *target;
    PGconn *conn;              /* the present attempt */
    PQconninfoOption *options; /* what is in effect, of the first attempt */
    int64_t deadline_ms;
    int64_t place_ms;
    struct place *places; /* NULL: none was silent yet */
    int count;            /* of places, or of what the user named */
    char silent[1024];    /* who was silent */
};

enum end {
    CONNECTED,
    REFUSED,
    SILENT,
    INTERRUPTED,
};

static int64_t
sooner(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static bool
is_uri(const char *dbname)
{
    return strncmp(dbname, "postgresql://", 13) == 0 ||
           strncmp(dbname, "postgres://", 11) == 0;
}

static bool
is_conninfo(const char *dbname)
{
    return strchr(dbname, '=') != NULL || is_uri(dbname);
}

/*
 * A text that libpq or the server would take for a name, or a port, and tell
 * of, though it looks like a connection string: it may hold a password.
 */
static bool
looks_like_conninfo(const char *name)
{
    const char *colon = strchr(name, ':');
    const char *word = strcasestr(name, "password");

    if (strstr(name, "://") != NULL ||
        (colon != NULL && strchr(colon, '@') != NULL)) {
        return true;
    }
    for (; word != NULL; word = strcasestr(word, "password")) {
        word += strlen("password");
        if (word[strspn(word, " ")] == '=') {
            return true;
        }
    }
    return false;
}

/*
 * In a URI: a password with a sign that ends it, so that its rest is the name
 * of a host or a database, or no host behind it, so that it is the port.
 */
static bool
has_stray_password(const char *uri)
{
    const char *rest = strstr(uri, "://") + strlen("://");
    const char *authority = rest + strcspn(rest, "@/");

    authority = *authority == '@' ? authority + 1 : rest;
    if (memchr(authority, '@', strcspn(authority, "?")) != NULL) {
        return true;
    }
    while (*authority != '\0' && strchr("/?", *authority) == NULL) {
        const char *port = authority;

        port += *port == '[' ? strcspn(port, "]") : 0;
        port += strcspn(port, ":,/?");
        port += *port == ':' ? 1 + strspn(port + 1, "0123456789") : 0;
        if (*port != '\0' && strchr(",/?", *port) == NULL) {
            return true;
        }
        authority = port + (*port == ',' ? 1 : 0);
    }
    return false;
}

static bool
refuse_lookalike(const char *argument, struct osw_error *error)
{
    osw_error_set(error,
                  OSW_EXIT_USAGE,
                  "%s: this looks like a connection string, and is none that "
                  "can be understood",
                  argument);
    return osw_error_hint(
        error,
        "give it with --dbname, begin it with postgresql:// and write signs in "
        "user and password as %%40 for @ and %%2F for /, or leave the password "
        "to the password file");
}

/*
 * What libpq complains of it quotes, be it a part of a password: only single
 * characters are told, which are signs of its syntax, and the option's name
 * where none can be a piece of a password with a blank in it.
 */
static bool
refuse_conninfo(const char *dbname, char *complaint, struct osw_error *error)
{
    char *at = strchr(complaint, '"');

    if (strncmp(complaint, "invalid connection option", 25) == 0 &&
        strcasestr(dbname, "passw") == NULL && strchr(dbname, '@') == NULL) {
        return osw_error_set(error, OSW_EXIT_USAGE, "--dbname: %s", complaint);
    }
    while (at != NULL && at[1] != '\0' && at[2] == '"') {
        at = strchr(at + 3, '"');
    }
    if (at != NULL) {
        *at = '\0';
    }
    osw_error_set(error,
                  OSW_EXIT_USAGE,
                  "--dbname: %s%s",
                  complaint,
                  at != NULL ? "..." : "");
    return osw_error_hint(
        error, "what it is about is not shown, for it may be a secret");
}

static bool
check_conninfo(const char *dbname, struct osw_error *error)
{
    PQconninfoOption *parsed = NULL;
    char *complaint = NULL;

    if (dbname == NULL) {
        return true;
    }
    if (is_conninfo(dbname) ? is_uri(dbname) && has_stray_password(dbname)
                            : looks_like_conninfo(dbname)) {
        return refuse_lookalike("--dbname", error);
    }
    if (!is_conninfo(dbname)) {
        return true;
    }
    parsed = PQconninfoParse(dbname, &complaint);
    if (parsed == NULL && complaint != NULL) {
        (void)refuse_conninfo(dbname, complaint, error);
        PQfreemem(complaint);
        return false;
    }
    if (parsed == NULL) {
        return osw_error_set(error, OSW_EXIT_INTERNAL, "out of memory");
    }
    PQconninfoFree(parsed);
    return true;
}

static bool
check_name(const char *argument, const char *name, struct osw_error *error)
{
    return name == NULL || !looks_like_conninfo(name) ||
           refuse_lookalike(argument, error);
}

/* What libpq and the server tell of, too: names given apart. */
static bool
check_names(const struct osw_connect_target *target, struct osw_error *error)
{
    static const char names[] = " dbname host hostaddr port user ";
    PQconninfoOption *defaults = PQconndefaults();
    bool fine = check_name("--host", target->host, error) &&
                check_name("--port", target->port, error) &&
                check_name("--user", target->user, error);

    /* NULL where a service is not known, which libpq will say. */
    for (PQconninfoOption *o = defaults;
         fine && o != NULL && o->keyword != NULL;
         o++) {
        char word[32];

        (void)snprintf(word, sizeof word, " %s ", o->keyword);
        fine =
            strstr(names, word) == NULL || check_name(o->envvar, o->val, error);
    }
    PQconninfoFree(defaults);
    return fine;
}

/* libpq's own way is to write notices to stderr. */
static void
ignore_notice(void *unused, const PGresult *result)
{
    (void)unused;
    (void)result;
}

/* Begin an attempt; NULL for what the user left to libpq. */
static PGconn *
start(const struct osw_connect_target *target,
      const char *host,
      const char *address,
      const char *port)
{
    char process[OSW_HOST_PROCESS_SIZE];
    char name[sizeof(process) + 16];
    /* Later entries win; those before dbname are defaults for what a
     * connection string or the environment does not say. */
    const char *keywords[] = {"fallback_application_name",
                              "keepalives_idle",
                              "keepalives_interval",
                              "keepalives_count",
                              "tcp_user_timeout",
                              "dbname",
                              "host",
                              "hostaddr",
                              "port",
                              "user",
                              "target_session_attrs",
                              "client_encoding",
                              NULL};
    const char *values[] = {name,
                            "10",
                            "5",
                            "3",
                            "25000",
                            target->dbname,
                            host,
                            address,
                            port,
                            target->user,
                            target->primary ? "read-write" : NULL,
                            "UTF8",
                            NULL};

    PGconn *conn = NULL;

    /* So that status knows one that waits for a lock, too. */
    osw_host_process(process);
    (void)snprintf(name, sizeof(name), "order-sweep %s", process);
    conn = PQconnectStartParams(keywords, values, 1);

    if (conn != NULL) {
        (void)PQsetNoticeReceiver(conn, ignore_notice, NULL);
    }
    return conn;
}

/* --- The list of places --------------------------------------------------- */

static const char *
option(const struct attempts *a, const char *keyword)
{
    const PQconninfoOption *row = a->options;

    while (row->keyword != NULL && strcmp(row->keyword, keyword) != 0) {
        row++;
    }
    return row->keyword != NULL && row->val != NULL ? row->val : "";
}

/* Copy the next entry of a list with commas; returns where to go on. */
static const char *
next_entry(const char *list, char *entry, size_t size)
{
    size_t length = strcspn(list, ",");

    (void)strlcpy(entry, list, length < size ? length + 1 : size);
    return list[length] == ',' ? list + length + 1 : NULL;
}

static int
count_entries(const char *list)
{
    int count = 1;

    for (; *list != '\0'; list++) {
        count += *list == ',' ? 1 : 0;
    }
    return count;
}

static bool
add_place(struct attempts *a, const struct place *place)
{
    struct place *grown =
        reallocarray(a->places, (size_t)a->count + 1, sizeof(*grown));

    if (grown == NULL) {
        return false;
    }
    a->places = grown;
    a->places[a->count++] = *place;
    return true;
}

/* Add each address of a host; one without, if none is found. */
static bool
add_addresses(struct attempts *a, struct place *place)
{
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    const char *name = place->address[0] != '\0' ? place->address : place->host;
    struct addrinfo *found = NULL;
    bool added = true;

    if (name[0] == '/' || name[0] == '@' || name[0] == '\0' ||
        getaddrinfo(name, NULL, &hints, &found) != 0) {
        return add_place(a, place);
    }
    for (struct addrinfo *each = found; added && each != NULL;
         each = each->ai_next) {
        added = getnameinfo(each->ai_addr,
                            each->ai_addrlen,
                            place->address,
                            sizeof(place->address),
                            NULL,
                            0,
                            NI_NUMERICHOST) == 0 &&
                add_place(a, place);
    }
    freeaddrinfo(found);
    return added;
}

/* Write out the user's list. */
static bool
list_places(struct attempts *a)
{
    const char *host = option(a, "host");
    const char *address = option(a, "hostaddr");
    const char *port = option(a, "port");
    struct place place = {"", "", ""};
    bool more = true;

    a->count = 0;
    while (more) {
        host = next_entry(host, place.host, sizeof(place.host));
        address = next_entry(address, place.address, sizeof(place.address));
        more = host != NULL || address != NULL;
        host = host != NULL ? host : "";
        address = address != NULL ? address : "";
        /* one port for all, or one each */
        if (port != NULL) {
            port = next_entry(port, place.port, sizeof(place.port));
        }
        if (!add_addresses(a, &place)) {
            return false;
        }
    }
    return true;
}

/* Where the attempt is at present, as libpq has it. */
static struct place
here(const PGconn *conn)
{
    struct place place = {"", "", ""};

    (void)strlcpy(place.host, PQhost(conn), sizeof(place.host));
    (void)strlcpy(place.address, PQhostaddr(conn), sizeof(place.address));
    (void)strlcpy(place.port, PQport(conn), sizeof(place.port));
    return place;
}

/* What was left out of a list is libpq's default, whatever that is. */
static bool
same_or_default(const char *listed, const char *actual)
{
    return listed[0] == '\0' || strcmp(listed, actual) == 0;
}

static bool
is_place(const struct place *listed, const struct place *actual)
{
    return same_or_default(listed->host, actual->host) &&
           same_or_default(listed->address, actual->address) &&
           same_or_default(listed->port, actual->port);
}

/* Take a place out of the list; false if that leaves nothing to try. */
static bool
remove_place(struct attempts *a, const struct place *gone)
{
    int at = 0;

    while (at < a->count && !is_place(&a->places[at], gone)) {
        at++;
    }
    if (at == a->count) {
        return false; /* never seen; an attempt more would be one too many */
    }
    a->count--;
    for (int i = at; i < a->count; i++) {
        a->places[i] = a->places[i + 1];
    }
    return a->count > 0;
}

/* One field of all places, with commas between; to be freed. */
static char *
join(const struct attempts *a, size_t field)
{
    /* To libpq a list of one empty entry is none, and the user's own would
     * count again. */
    int entries =
        a->count == 1 && a->places[0].address[0] == '\0' ? 2 : a->count;
    size_t size = (size_t)entries * sizeof(struct place);
    char *list = calloc(1, size);

    for (int i = 0; list != NULL && i < entries; i++) {
        const char *place = (const char *)&a->places[i % a->count];

        (void)strlcat(list, i > 0 ? "," : "", size);
        (void)strlcat(list, place + field, size);
    }
    return list;
}

/* --- Attempts ------------------------------------------------------------- */

static void
start_again(struct attempts *a)
{
    char *hosts = join(a, offsetof(struct place, host));
    char *addresses = join(a, offsetof(struct place, address));
    char *ports = join(a, offsetof(struct place, port));

    PQfinish(a->conn);
    a->conn = NULL;
    if (hosts != NULL && addresses != NULL && ports != NULL) {
        a->conn = start(a->target, hosts, addresses, ports);
    }
    free(hosts);
    free(addresses);
    free(ports);
}

/* True if libpq has gone on to another place, which is noted. */
static bool
moved(const PGconn *conn, struct place *place)
{
    struct place now = here(conn);
    bool other = memcmp(&now, place, sizeof(now)) != 0;

    *place = now;
    return other;
}

/*
 * A place that has only just begun gets its share of the time left.  A host
 * may have more than one address: until we know, there is one share more.
 */
static int64_t
share_of_time(const struct attempts *a, int begun)
{
    int64_t now_ms = osw_clock_now_ms();
    int shares = a->count > begun ? a->count - begun : 1;

    shares += a->places == NULL ? 1 : 0;
    return now_ms + sooner((a->deadline_ms - now_ms) / shares, a->place_ms);
}

/* Follow an attempt to its end, or to the first place that is silent. */
static enum end
follow(const struct attempts *a)
{
    PostgresPollingStatusType next = PGRES_POLLING_WRITING;
    struct place place = here(a->conn);
    int begun = 0;
    int64_t until_ms = share_of_time(a, begun);

    while (next != PGRES_POLLING_OK) {
        struct pollfd fd = {.fd = PQsocket(a->conn),
                            .events = next == PGRES_POLLING_READING ? POLLIN
                                                                    : POLLOUT};
        int ready = 0;

        if (next == PGRES_POLLING_FAILED ||
            PQstatus(a->conn) == CONNECTION_BAD) {
            return REFUSED;
        }
        ready = osw_interrupt_poll(&fd, 1, osw_clock_left_ms(until_ms));
        if (osw_interrupt_count() > 0) {
            return INTERRUPTED;
        }
        if (ready > 0) {
            next = PQconnectPoll(a->conn);
        } else if (osw_clock_left_ms(until_ms) == 0) {
            return SILENT;
        }
        if (moved(a->conn, &place)) {
            until_ms = share_of_time(a, ++begun);
        }
    }
    return CONNECTED;
}

static void
note_silence(struct attempts *a, const struct place *place)
{
    char text[sizeof(*place) + 64];
    bool both =
        place->address[0] != '\0' && strcmp(place->address, place->host) != 0;

    (void)snprintf(text,
                   sizeof(text),
                   "%sno answer in time from \"%s\"%s%s%s, port %s",
                   a->silent[0] != '\0' ? "; " : "",
                   place->host,
                   both ? " (" : "",
                   both ? place->address : "",
                   both ? ")" : "",
                   place->port);
    (void)strlcat(a->silent, text, sizeof(a->silent));
}

/* A place is silent: begin an attempt without it, if that makes sense. */
static bool
go_on(struct attempts *a)
{
    const struct place silent = here(a->conn);

    note_silence(a, &silent);
    if (osw_clock_left_ms(a->deadline_ms) == 0 ||
        (a->places == NULL && !list_places(a)) || !remove_place(a, &silent)) {
        return false;
    }
    start_again(a);
    return a->conn != NULL;
}

/*
 * A connection pooler refuses a setting that it cannot keep apart for each
 * client, and will do so each time: that is for the user to mend.  A server
 * that takes no writes is refused by libpq, which has no hint.
 */
static bool
refused(const char *text, struct osw_error *error)
{
    if (strstr(text, "unsupported startup parameter") == NULL) {
        (void)osw_error_set_lines(error, OSW_EXIT_UNAVAILABLE, text);
        if (strstr(text, "session is read-only") != NULL) {
            (void)osw_error_hint(
                error,
                "name the primary, or all hosts; if this is the primary, see "
                "default_transaction_read_only of the role and the database");
        }
        return false;
    }
    (void)osw_error_set_lines(error, OSW_EXIT_CONFIG, text);
    return osw_error_hint(
        error,
        "leave it out (it comes from PGOPTIONS, options= or PGGEQO), or name "
        "it in the connection pooler's ignore_startup_parameters; ALTER ROLE "
        "... SET gives a role its settings");
}

static bool
attempt(struct attempts *a, struct osw_error *error)
{
    enum end end = follow(a);
    char text[sizeof(a->silent) + sizeof(error->message)];

    while (end == SILENT && go_on(a)) {
        end = follow(a);
    }
    switch (end) {
    case CONNECTED:
        break;
    case INTERRUPTED:
        return osw_error_set(
            error, OSW_EXIT_TEMPORARY, "stopped by a signal while connecting");
    case SILENT:
        return osw_error_set(error, OSW_EXIT_UNAVAILABLE, "%s", a->silent);
    case REFUSED:
        (void)snprintf(
            text, sizeof(text), "%s\n%s", a->silent, PQerrorMessage(a->conn));
        return refused(text, error);
    }
    return true;
}

/* The limits, once libpq has read services and environment. */
static bool
set_limits(struct attempts *a, int64_t deadline_ms, struct osw_error *error)
{
    const char *timeout = NULL;
    const char *complaint = NULL;
    int64_t seconds = 0;

    a->options = PQconninfo(a->conn);
    if (a->options == NULL) {
        return osw_error_set(error, OSW_EXIT_INTERNAL, "out of memory");
    }
    a->deadline_ms = sooner(deadline_ms, osw_clock_now_ms() + TOTAL_MS);
    a->place_ms = PLACE_MS;
    a->count = count_entries(option(a, "hostaddr"));
    if (a->count == 1) {
        a->count = count_entries(option(a, "host"));
    }
    timeout = option(a, "connect_timeout");
    if (timeout[0] != '\0') {
        seconds = strtonum(timeout, INT_MIN, INT_MAX, &complaint);
    }
    if (complaint != NULL) {
        return osw_error_set(error,
                             OSW_EXIT_UNAVAILABLE,
                             "connect_timeout: \"%s\" is %s",
                             timeout,
                             complaint);
    }
    if (seconds > 0) { /* libpq takes others as no limit */
        a->place_ms = sooner(seconds * 1000, PLACE_MS);
    }
    return true;
}

PGconn *
osw_connect(const struct osw_connect_target *target,
            int64_t deadline_ms,
            struct osw_error *error)
{
    struct attempts a = {.target = target};
    bool connected = false;

    if (!check_conninfo(target->dbname, error) || !check_names(target, error)) {
        return NULL;
    }
    a.conn = start(target, target->host, NULL, target->port);
    connected = set_limits(&a, deadline_ms, error) && attempt(&a, error);
    if (!connected) {
        PQfinish(a.conn);
        a.conn = NULL;
    }
    PQconninfoFree(a.options);
    free(a.places);
    return a.conn;
}
