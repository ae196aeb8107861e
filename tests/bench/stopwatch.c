/*
 * stopwatch: runs a command once and notes what it took.
 *
 *     stopwatch FILE LABEL COMMAND [ARGUMENT...]
 *
 * If the command ends with 0, a line is added to FILE, with tabs between its
 * columns: LABEL, seconds from start to end, seconds of processor time, peak
 * memory in KiB.  Ends as the command did.
 *
 * Not in the shell, whose fork alone takes as long as half an idle run, and
 * whose own memory counts as that of what it starts.
 */
#include <err.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double
now(void)
{
    struct timespec time;

    (void)clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static double
seconds(struct timeval time)
{
    return (double)time.tv_sec + (double)time.tv_usec / 1e6;
}

int
main(int argc, char **argv)
{
    struct rusage usage;
    double start = 0;
    double end = 0;
    int status = 0;
    int error = 0;
    pid_t pid = 0;
    FILE *file = NULL;

    if (argc < 4) {
        errx(64, "usage: stopwatch FILE LABEL COMMAND [ARGUMENT...]");
    }
    start = now();
    error = posix_spawnp(&pid, argv[3], NULL, NULL, argv + 3, environ);
    if (error != 0) {
        errx(127, "%s: %s", argv[3], strerror(error));
    }
    if (wait4(pid, &status, 0, &usage) != pid) {
        err(1, "wait4");
    }
    end = now();
    if (WIFSIGNALED(status)) {
        errx(
            128 + WTERMSIG(status), "%s: signal %d", argv[3], WTERMSIG(status));
    }
    if (WEXITSTATUS(status) != 0) {
        return WEXITSTATUS(status);
    }
    file = fopen(argv[1], "ae");
    if (file == NULL ||
        fprintf(file,
                "%s\t%.6f\t%.6f\t%ld\n",
                argv[2],
                end - start,
                seconds(usage.ru_utime) + seconds(usage.ru_stime),
                usage.ru_maxrss) < 0 ||
        fclose(file) != 0) {
        err(1, "%s", argv[1]);
    }
    return 0;
}
