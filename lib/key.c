#include "key.h"

#include <stdio.h>
#include <stdlib.h>

#include "fault.h"
#include "json.h"
#include "outcome.h"

char *
osw_key_as_json(const char *const *key, int columns, struct osw_error *error)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = NULL;

    for (int i = 0; i < columns; i++) {
        if (!osw_json_is_utf8(key[i])) {
            (void)osw_error_set(
                error, OSW_EXIT_USAGE, "the key is no UTF-8 text");
            (void)osw_error_hint(error, "give it in UTF-8");
            return NULL;
        }
    }
    out = open_memstream(&text, &size);
    for (int i = 0; i < columns && out != NULL; i++) {
        (void)fputc(i == 0 ? '[' : ',', out);
        osw_json_string(out, key[i]);
    }
    if (out == NULL || fputc(']', out) == EOF || fclose(out) != 0) {
        (void)osw_error_set(error, OSW_EXIT_INTERNAL, "out of memory");
        free(text);
        return NULL;
    }
    return text;
}

void
osw_key_classify(struct osw_error *error)
{
    osw_fault_classify(error);
    if (osw_sqlstate_class(error->sqlstate, "22")) {
        error->exit = OSW_EXIT_USAGE; /* the key is no such thing */
        (void)osw_error_hint(error, "give the key's columns in order");
    }
}
