#include "feeder.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <bsd/string.h>

#include "clock.h"
#include "interrupt.h"
#include "log.h"

extern char **environ;

/* From being told to end until it is killed. */
#define GRACE_MS 1000

/* What a pipe holds at most once the command has ended, in reads. */
#define LAST_READS 16

struct feeder {
    const char *name;
    int input;  /* the text; its offset is that of the command, too */
    int output; /* what the command writes */
    int exited; /* readable once it has ended */
    pid_t pid;
    bool late;      /* it was told to end */
    char line[512]; /* of the output, not complete yet */
    size_t length;  /* of that */
    char last[512]; /* the last line that was complete */
};

/* --- Beginning ------------------------------------------------------------ */

static bool
write_all(int file, const char *text, size_t length)
{
    while (length > 0) {
        const ssize_t written = write(file, text, length);

        if (written < 0 && errno != EINTR) {
            return false;
        }
        text += written > 0 ? written : 0;
        length -= written > 0 ? (size_t)written : 0;
    }
    return true;
}

static bool
fill_input(struct feeder *f, const char *text, size_t length)
{
    f->input = memfd_create("order-sweep events", MFD_CLOEXEC);
    return f->input >= 0 && write_all(f->input, text, length) &&
           lseek(f->input, 0, SEEK_SET) == 0;
}

/* In a group of its own, with signals as a command expects them. */
static int
set_attributes(posix_spawnattr_t *attributes)
{
    sigset_t none;
    sigset_t pipe_signal;

    (void)sigemptyset(&none);
    (void)sigemptyset(&pipe_signal);
    (void)sigaddset(&pipe_signal, SIGPIPE);
    (void)posix_spawnattr_setpgroup(attributes, 0);
    (void)posix_spawnattr_setsigmask(attributes, &none);
    (void)posix_spawnattr_setsigdefault(attributes, &pipe_signal);
    return posix_spawnattr_setflags(
        attributes,
        POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
}

/* As posix_spawn: 0, or an error number. */
static int
spawn(struct feeder *f, char *const *command, int output)
{
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    int failed = posix_spawn_file_actions_init(&files);

    if (failed != 0) {
        return failed;
    }
    failed = posix_spawnattr_init(&attributes);
    if (failed == 0) {
        failed = set_attributes(&attributes);
        failed = failed != 0 ? failed
                             : posix_spawn_file_actions_adddup2(
                                   &files, f->input, STDIN_FILENO);
        failed = failed != 0 ? failed
                             : posix_spawn_file_actions_adddup2(
                                   &files, output, STDOUT_FILENO);
        failed = failed != 0 ? failed
                             : posix_spawn_file_actions_adddup2(
                                   &files, output, STDERR_FILENO);
        failed = failed != 0 ? failed
                             : posix_spawnp(&f->pid,
                                            command[0],
                                            &files,
                                            &attributes,
                                            command,
                                            environ);
        (void)posix_spawnattr_destroy(&attributes);
    }
    (void)posix_spawn_file_actions_destroy(&files);
    return failed;
}

static int
reap(pid_t pid)
{
    int status = 0;

    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    return status;
}

static bool
begin(struct feeder *f,
      char *const *command,
      const char *text,
      size_t length,
      struct osw_error *why)
{
    int ends[2] = {-1, -1};
    int failed = 0;

    if (!fill_input(f, text, length) || pipe2(ends, O_CLOEXEC) != 0) {
        return osw_error_set(
            why, OSW_EXIT_TEMPORARY, "no room for events: %s", strerror(errno));
    }
    f->output = ends[0];
    (void)fcntl(f->output, F_SETFL, O_NONBLOCK);
    failed = spawn(f, command, ends[1]);
    (void)close(ends[1]);
    if (failed != 0) {
        return osw_error_set(why,
                             failed == EAGAIN || failed == ENOMEM
                                 ? OSW_EXIT_TEMPORARY
                                 : OSW_EXIT_CONFIG,
                             "%s cannot be run: %s",
                             f->name,
                             strerror(failed));
    }
    f->exited = pidfd_open(f->pid, 0);
    if (f->exited < 0) {
        osw_error_set(why,
                      OSW_EXIT_INTERNAL,
                      "%s cannot be waited for: %s",
                      f->name,
                      strerror(errno));
        (void)kill(-f->pid, SIGKILL);
        (void)reap(f->pid);
        return false;
    }
    return true;
}

/* --- While it works ------------------------------------------------------- */

static void
end_line(struct feeder *f)
{
    if (f->length == 0) {
        return;
    }
    f->line[f->length] = '\0';
    f->length = 0;
    (void)strlcpy(f->last, f->line, sizeof(f->last));
    osw_log(OSW_LOG_INFO, "%s: %s", f->name, f->line);
}

/* False at its end, or if nothing is there. */
static bool
read_output(struct feeder *f)
{
    char buffer[4096];
    const ssize_t count = read(f->output, buffer, sizeof(buffer));

    for (ssize_t i = 0; i < count; i++) {
        if (buffer[i] == '\n') {
            end_line(f);
        } else if (f->length < sizeof(f->line) - 1) {
            f->line[f->length++] = buffer[i];
        }
    }
    if (count == 0) {
        (void)close(f->output);
        f->output = -1;
    }
    return count > 0;
}

static void
tell_to_end(struct feeder *f, int signal_number)
{
    (void)kill(-f->pid, signal_number);
    f->late = true;
}

/* Its output, until it has ended; who is not its child may hold the other end
 * for ever. */
static void
follow(struct feeder *f, int64_t deadline_ms)
{
    int64_t until_ms = deadline_ms;
    bool killed = false;

    for (;;) {
        struct pollfd fds[] = {{.fd = f->exited, .events = POLLIN},
                               {.fd = f->output, .events = POLLIN}};

        (void)osw_interrupt_poll(
            fds, 2, killed ? -1 : osw_clock_left_ms(until_ms));
        if (fds[1].revents != 0) {
            (void)read_output(f);
        }
        if (fds[0].revents != 0) {
            return;
        }
        if (!f->late &&
            (osw_interrupt_count() > 1 || osw_clock_left_ms(until_ms) == 0)) {
            tell_to_end(f, SIGTERM);
            until_ms = osw_clock_now_ms() + GRACE_MS;
        } else if (f->late && !killed && osw_clock_left_ms(until_ms) == 0) {
            tell_to_end(f, SIGKILL);
            killed = true;
        }
    }
}

/* --- Its verdict ---------------------------------------------------------- */

/* What it wrote last says more than its exit code. */
static void
explain(const struct feeder *f, struct osw_error *why, const char *what)
{
    (void)osw_error_set(why,
                        OSW_EXIT_OK,
                        "%s %s%s%s",
                        f->name,
                        what,
                        f->last[0] != '\0' ? ": " : "",
                        f->last);
}

static enum osw_fed
judge(const struct feeder *f, int status, size_t length, struct osw_error *why)
{
    char what[64];

    if (f->late) {
        explain(f, why, "did not end in time");
        return OSW_FED_LATE;
    }
    if (WIFSIGNALED(status)) {
        (void)snprintf(
            what, sizeof(what), "was ended by signal %d", WTERMSIG(status));
    } else if (WEXITSTATUS(status) != 0) {
        (void)snprintf(
            what, sizeof(what), "ended with %d", WEXITSTATUS(status));
    } else if (lseek(f->input, 0, SEEK_CUR) < (off_t)length) {
        (void)snprintf(what,
                       sizeof(what),
                       "ended with 0 before it had read its whole input");
    } else {
        return OSW_FED_ACCEPTED;
    }
    explain(f, why, what);
    return OSW_FED_REFUSED;
}

enum osw_fed
osw_feed(char *const *command,
         const char *text,
         size_t length,
         int64_t deadline_ms,
         struct osw_error *why)
{
    struct feeder f = {
        .name = command[0], .input = -1, .output = -1, .exited = -1};
    enum osw_fed fed = OSW_FED_BROKEN;

    if (begin(&f, command, text, length, why)) {
        follow(&f, deadline_ms);
        /* Who stays behind may write for ever. */
        for (int i = 0; i < LAST_READS && f.output >= 0 && read_output(&f);
             i++) {
        }
        end_line(&f);
        fed = judge(&f, reap(f.pid), length, why);
    }
    if (f.exited >= 0) {
        (void)close(f.exited);
    }
    if (f.output >= 0) {
        (void)close(f.output);
    }
    if (f.input >= 0) {
        (void)close(f.input);
    }
    return fed;
}
