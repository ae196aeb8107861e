#include "injection_point.h"

#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define EXIT_INJECTED 3 /* no exit code of ours */

/* Connections have low descriptors, since few files are open. */
#define LAST_DESCRIPTOR 63

/* True if text begins with the word; *rest is what stands behind it, after a
 * colon if there is more. */
static bool
starts_with(const char *text, const char *word, const char **rest)
{
    size_t length = strlen(word);

    if (strncmp(text, word, length) != 0 ||
        (text[length] != ':' && text[length] != '\0')) {
        return false;
    }
    *rest = text + length + (text[length] == ':' ? 1 : 0);
    return true;
}

static void
disconnect(void)
{
    for (int fd = STDERR_FILENO + 1; fd <= LAST_DESCRIPTOR; fd++) {
        (void)shutdown(fd, SHUT_RDWR); /* fails for what is no socket */
    }
}

static void
exit_here(void)
{
    exit(EXIT_INJECTED);
}

static void
kill_self(void)
{
    (void)raise(SIGKILL);
}

static void
stop_self(void)
{
    (void)raise(SIGSTOP);
}

static const struct action {
    const char *name;
    void (*perform)(void);
} actions[] = {
    {"exit", exit_here},
    {"kill", kill_self},
    {"stop", stop_self},
    {"disconnect", disconnect},
};

void
osw_injection_point(const char *name)
{
    static long passed;
    const char *wanted = getenv("ORDER_SWEEP_INJECT");
    const char *action = NULL;
    const char *passing = NULL;

    if (wanted == NULL || !starts_with(wanted, name, &action)) {
        return;
    }
    passed++;
    for (size_t i = 0; i < sizeof actions / sizeof actions[0]; i++) {
        if (starts_with(action, actions[i].name, &passing)) {
            if (passed == (*passing != '\0' ? strtol(passing, NULL, 10) : 1)) {
                actions[i].perform();
            }
            return;
        }
    }
    abort(); /* no such action: a test that asks for it must not pass */
}
