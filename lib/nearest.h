/*
 * nearest: which of the known words may have been meant by an unknown one.
 */
#ifndef OSW_NEAREST_H
#define OSW_NEAREST_H

#include <stddef.h>

/* The best so far; begin with OSW_NEAREST_INIT. */
struct osw_nearest {
    const char *word; /* NULL: none is near */
    size_t distance;
};

#define OSW_NEAREST_INIT                                                       \
    {                                                                          \
        NULL, 0                                                                \
    }

/*
 * Is known nearer to the first so many bytes of text than what was tried
 * before?  A letter too many, missing, wrong, or changed places with its
 * neighbour counts one; one in three may be so, two at most.
 */
void osw_nearest_try(struct osw_nearest *nearest,
                     const char *text,
                     size_t length,
                     const char *known);

#endif
