#include "whole_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The folder of a path, to be freed. */
static char *
folder_of(const char *path)
{
    const char *slash = strrchr(path, '/');

    if (slash == NULL) {
        return strdup(".");
    }
    return strndup(path, slash == path ? 1 : (size_t)(slash - path));
}

bool
osw_whole_file_may_write(const char *path)
{
    char *folder = folder_of(path);
    struct stat status;
    bool may = false;

    if (folder == NULL) {
        return false;
    }
    if (stat(folder, &status) == 0) {
        if (S_ISDIR(status.st_mode)) {
            may = faccessat(AT_FDCWD, folder, W_OK | X_OK, AT_EACCESS) == 0;
        } else {
            errno = ENOTDIR;
        }
    }
    /* What is there is replaced, so that its own rights do not matter. */
    if (may && lstat(path, &status) == 0 && S_ISDIR(status.st_mode)) {
        errno = EISDIR;
        may = false;
    }
    free(folder);
    return may;
}

static bool
write_all(int fd, const char *text, size_t length)
{
    while (length > 0) {
        const ssize_t written = write(fd, text, length);

        if (written < 0) {
            if (errno != EINTR) {
                return false;
            }
        } else {
            text += written;
            length -= (size_t)written;
        }
    }
    return true;
}

bool
osw_whole_file_write(const char *path, const char *text, size_t length)
{
    char *beside = NULL;
    int fd = -1;
    int why = 0;
    bool done = false;

    if (asprintf(&beside, "%s.XXXXXX", path) < 0) {
        return false;
    }
    fd = mkostemp(beside, O_CLOEXEC);
    if (fd < 0) {
        why = errno;
        free(beside);
        errno = why;
        return false;
    }
    /* On disk before it has the name: else a crash may leave it empty. */
    done =
        write_all(fd, text, length) && fchmod(fd, 0644) == 0 && fsync(fd) == 0;
    why = errno;
    if (close(fd) != 0 && done) {
        why = errno;
        done = false;
    }
    if (done && rename(beside, path) != 0) {
        why = errno;
        done = false;
    }
    if (!done) {
        (void)unlink(beside);
    }
    free(beside);
    errno = why;
    return done;
}

char *
osw_whole_file_read(const char *path, size_t limit)
{
    FILE *file = fopen(path, "re");
    char *text = NULL;
    size_t length = 0;

    if (file == NULL) {
        return NULL;
    }
    text = malloc(limit + 1);
    if (text != NULL) {
        length = fread(text, 1, limit + 1, file);
        /* A byte of NUL would hide what stands behind it. */
        if (ferror(file) != 0 || length > limit ||
            memchr(text, '\0', length) != NULL) {
            free(text);
            text = NULL;
        } else {
            text[length] = '\0';
        }
    }
    (void)fclose(file);
    return text;
}
