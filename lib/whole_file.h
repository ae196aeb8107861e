/*
 * whole_file: a small file that others read at any time: they see the old one
 * or the new one, never a part.
 */
#ifndef OSW_WHOLE_FILE_H
#define OSW_WHOLE_FILE_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Could the file be written, as far as names and rights tell?  A disk that is
 * full now may have room later.  False with errno set.
 */
bool osw_whole_file_may_write(const char *path);

/* Put a text in its place, readable by all.  False with errno set. */
bool osw_whole_file_write(const char *path, const char *text, size_t length);

/* Its text, to be freed; NULL if there is none, or more than limit bytes. */
char *osw_whole_file_read(const char *path, size_t limit);

#endif
