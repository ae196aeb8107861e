/*
 * status: exit codes and the error record that every layer hands upward.
 *
 * The lowest layer that knows what went wrong fills the record once; the
 * layers above pass it on untouched, and main prints it.
 */
#ifndef OSW_STATUS_H
#define OSW_STATUS_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* What the process tells its caller; documented in README and man page. */
enum osw_exit {
    OSW_EXIT_OK = 0,
    OSW_EXIT_PARTIAL = 1,
    OSW_EXIT_USAGE = 64,
    OSW_EXIT_UNAVAILABLE = 69,
    OSW_EXIT_INTERNAL = 70,
    OSW_EXIT_IO = 74,
    OSW_EXIT_TEMPORARY = 75,
    OSW_EXIT_CONFIG = 78,
};

/* One row of the table of exit codes, gravest last. */
struct osw_exit_row {
    enum osw_exit code;
    const char *meaning;
};

/* The table of exit codes in order of gravity; *count gets its length. */
const struct osw_exit_row *osw_exit_table(unsigned *count);

/* Write the table for tests, a line a code: code, tab, meaning. */
void osw_exit_list(FILE *out);

/* The graver of two exit codes, for a run that swept several definitions. */
enum osw_exit osw_exit_graver(enum osw_exit a, enum osw_exit b);

/*
 * An error in parts: one line that says what is wrong, and a hint that says
 * how to mend it ("" if there is none).  sqlstate is "" where the server gave
 * none.  Texts are cut at their size, and a cut text ends in "...".
 */
struct osw_error {
    enum osw_exit exit;
    char sqlstate[6];
    char message[1024];
    char hint[512];
};

#define OSW_ERROR_INIT                                                         \
    {                                                                          \
        OSW_EXIT_OK, "", "", ""                                                \
    }

/*
 * Fill error: exit code, and a printf-formatted message, as one line.  Clears
 * sqlstate and hint; the arguments may be texts of the same error.  Always
 * returns false: a failing function can say "return osw_error_set(...)".
 */
bool osw_error_set(struct osw_error *error,
                   enum osw_exit exit,
                   const char *format,
                   ...) __attribute__((format(printf, 3, 4)));

/*
 * The same with a text of libpq, which has several lines and more blanks than
 * one after "FATAL:".  What began a line of its own stands behind a semicolon.
 */
bool osw_error_set_lines(struct osw_error *error,
                         enum osw_exit exit,
                         const char *lines);

/* Set the hint of an error that is already filled; always returns false. */
bool osw_error_hint(struct osw_error *error, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/*
 * The length in bytes of the control character that text begins with, 0 if it
 * begins with none.  Those that turn the direction of what follows, or break
 * the line, count: a key that holds one would be read as another.
 */
size_t osw_control_length(const char *text);

/*
 * Copy text into a field of size bytes as one line: control characters and the
 * blanks about them become one blank, trailing blanks go, a text that does not
 * fit ends in "...", never within a UTF-8 character.  Field and text may be the
 * same.
 */
void osw_one_line(char *field, size_t size, const char *text);

/*
 * Put a "*" in the place of what may be a secret: user and password in a
 * connection string that begins with a scheme, and what stands after
 * password=.  In "..." it goes to the closing quote, else to a blank.
 */
void osw_mask_secrets(char *text);

/* osw_one_line of a printf-formatted text, with its secrets masked; a field has
 * at most 2048 bytes. */
void
osw_format_line(char *field, size_t size, const char *format, va_list arguments)
    __attribute__((format(printf, 3, 0)));

#endif
