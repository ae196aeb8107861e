/*
 * screen: text for people, made to fit the terminal it goes to.
 */
#ifndef OSW_SCREEN_H
#define OSW_SCREEN_H

#include <stdbool.h>
#include <stdio.h>

enum osw_colour {
    OSW_PLAIN,
    OSW_BOLD,
    OSW_YELLOW,
    OSW_RED,
};

/* Columns that a field's label takes, with what stands before it. */
#define OSW_SCREEN_LABEL 17

struct osw_screen {
    FILE *out;
    int columns;  /* 0: no limit */
    bool colours; /* never without a terminal, or with NO_COLOR */
};

/*
 * Text goes to out, and from there to the file number fd: if that is a
 * terminal, lines keep to its width.
 */
void osw_screen_init(struct osw_screen *screen, FILE *out, int fd);

/* Columns that a text without control characters takes on a terminal. */
int osw_screen_width(const char *text);

/* Write a text without control characters in a colour. */
void osw_screen_write(const struct osw_screen *screen,
                      enum osw_colour colour,
                      const char *text);

/* Write a text of width columns at most, cut with "..." if it is longer, and
 * blanks up to that width unless it is the last of its line. */
void osw_screen_cell(const struct osw_screen *screen,
                     int width,
                     bool last,
                     const char *text);

/*
 * Write "  label   text" and a line break; what is beyond the width stands
 * under the text.  label is ASCII and shorter than OSW_SCREEN_LABEL - 3; the
 * text has no control characters.
 */
void osw_screen_field(const struct osw_screen *screen,
                      enum osw_colour colour,
                      const char *label,
                      const char *text);

/* The same without a label: the text is indented, and more so where it goes on.
 */
void osw_screen_line(const struct osw_screen *screen, const char *text);

#endif
