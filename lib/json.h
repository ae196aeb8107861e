/*
 * json: texts as JSON strings.
 */
#ifndef OSW_JSON_H
#define OSW_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* True if all of text is UTF-8. */
bool osw_json_is_utf8(const char *text);

/*
 * Write text as a JSON string, quotes included; NULL as null.  Each byte that
 * is no UTF-8, which JSON cannot hold, becomes U+FFFD.
 */
void osw_json_string(FILE *out, const char *text);

/*
 * The same of a text that is not NULL, into a field of at least 6 bytes: one
 * that does not fit ends in "...", never within a character.  Returns the
 * length.
 */
size_t osw_json_field(char *field, size_t size, const char *text);

#endif
