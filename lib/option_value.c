#include "option_value.h"

#include <bsd/stdlib.h>
#include <string.h>

#include "duration.h"

#define COUNT(array) ((int)(sizeof(array) / sizeof((array)[0])))

static bool
refuse_choice(const struct osw_option_row *row,
              const char *text,
              struct osw_error *error)
{
    (void)osw_error_set(
        error, OSW_EXIT_USAGE, "%s: unknown value \"%s\"", row->name, text);
    return osw_error_hint(error, "write one of %s", row->argument);
}

/* The place of a word among the choices that the row's argument names. */
static bool
read_choice(const struct osw_option_row *row,
            const char *text,
            int choices,
            int *choice,
            struct osw_error *error)
{
    const size_t length = strlen(text);
    const char *word = row->argument;

    for (int i = 0; i < choices && word != NULL; i++) {
        const char *end = strchr(word, '|');
        const size_t size = end != NULL ? (size_t)(end - word) : strlen(word);

        if (size == length && strncmp(word, text, size) == 0) {
            *choice = i;
            return true;
        }
        word = end != NULL ? end + 1 : NULL;
    }
    return refuse_choice(row, text, error);
}

static bool
read_format(const struct osw_option_row *row,
            const char *text,
            enum osw_format *format,
            struct osw_error *error)
{
    static const enum osw_format formats[] = {OSW_FORMAT_TEXT, OSW_FORMAT_JSON};
    int choice = 0;

    if (!read_choice(row, text, COUNT(formats), &choice, error)) {
        return false;
    }
    *format = formats[choice];
    return true;
}

static bool
read_durability(const struct osw_option_row *row,
                const char *text,
                enum osw_durability *durability,
                struct osw_error *error)
{
    static const enum osw_durability durabilities[] = {OSW_DURABILITY_BATCH,
                                                       OSW_DURABILITY_EACH};
    int choice = 0;

    if (!read_choice(row, text, COUNT(durabilities), &choice, error)) {
        return false;
    }
    *durability = durabilities[choice];
    return true;
}

static bool
read_pooler(const struct osw_option_row *row,
            const char *text,
            enum osw_pooler *pooler,
            struct osw_error *error)
{
    static const enum osw_pooler poolers[] = {
        OSW_POOLER_AUTO, OSW_POOLER_YES, OSW_POOLER_NO};
    int choice = 0;

    if (!read_choice(row, text, COUNT(poolers), &choice, error)) {
        return false;
    }
    *pooler = poolers[choice];
    return true;
}

static bool
read_log(const struct osw_option_row *row,
         const char *text,
         enum osw_log_target *target,
         struct osw_error *error)
{
    /* systemd's journal listens where syslogd would. */
    static const enum osw_log_target targets[] = {
        OSW_LOG_STDERR, OSW_LOG_SYSLOG, OSW_LOG_SYSLOG};
    int choice = 0;

    if (!read_choice(row, text, COUNT(targets), &choice, error)) {
        return false;
    }
    *target = targets[choice];
    return true;
}

static bool
read_log_format(const struct osw_option_row *row,
                const char *text,
                enum osw_log_format *format,
                struct osw_error *error)
{
    static const enum osw_log_format formats[] = {OSW_LOG_TEXT, OSW_LOG_JSON};
    int choice = 0;

    if (!read_choice(row, text, COUNT(formats), &choice, error)) {
        return false;
    }
    *format = formats[choice];
    return true;
}

/* strtonum alone would take leading blanks and a plus sign. */
static bool
is_whole_number(const char *text)
{
    const char *digits = text[0] == '-' ? text + 1 : text;

    return digits[0] != '\0' && digits[strspn(digits, "0123456789")] == '\0';
}

static bool
read_number(const struct osw_option_row *row,
            const char *text,
            int64_t *number,
            struct osw_error *error)
{
    const char *trouble = "not a whole number";

    if (is_whole_number(text)) {
        int64_t read = strtonum(text, row->min, row->max, &trouble);

        if (trouble == NULL) {
            *number = read;
            return true;
        }
        trouble = "out of range";
    }
    (void)osw_error_set(
        error, OSW_EXIT_USAGE, "%s: \"%s\" is %s", row->name, text, trouble);
    return osw_error_hint(error,
                          "write a whole number from %lld to %lld",
                          (long long)row->min,
                          (long long)row->max);
}

static bool
read_int(const struct osw_option_row *row,
         const char *text,
         int *number,
         struct osw_error *error)
{
    int64_t wide = 0;

    if (!read_number(row, text, &wide, error)) {
        return false;
    }
    *number = (int)wide;
    return true;
}

/* The same names that order_sweep.define accepts. */
static bool
is_sweep_name(const char *text)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz";
    static const char others[] = "abcdefghijklmnopqrstuvwxyz0123456789_";
    const size_t longest = 40;
    size_t length = strlen(text);

    return length > 0 && length <= longest && strspn(text, letters) > 0 &&
           strspn(text, others) == length;
}

static bool
read_name(const struct osw_option_row *row,
          const char *text,
          const char **name,
          struct osw_error *error)
{
    if (is_sweep_name(text)) {
        *name = text;
        return true;
    }
    (void)osw_error_set(error,
                        OSW_EXIT_USAGE,
                        "%s: \"%s\" cannot be the name of a sweep",
                        row->name,
                        text);
    return osw_error_hint(error,
                          "write a small letter, then up to 39 small letters, "
                          "digits and underscores");
}

/* A file's name is a label of what stands in it, and node_exporter reads no
 * others than these. */
static bool
is_prom_name(const char *name)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz"
                                  "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
    const char *const end = ".prom";
    const size_t most = 200; /* with room for a longer name beside it */
    const size_t length = strlen(name);

    return length > strlen(end) && length <= most &&
           strspn(name, letters) == length &&
           strcmp(name + length - strlen(end), end) == 0;
}

static bool
read_prom(const struct osw_option_row *row,
          const char *text,
          const char **file,
          struct osw_error *error)
{
    const char *slash = strrchr(text, '/');

    if (is_prom_name(slash != NULL ? slash + 1 : text)) {
        *file = text;
        return true;
    }
    (void)osw_error_set(error,
                        OSW_EXIT_USAGE,
                        "%s: \"%s\" is not a file that node_exporter reads",
                        row->name,
                        text);
    return osw_error_hint(error,
                          "write a name of letters, digits, dots, dashes and "
                          "underscores that ends in .prom");
}

/* libpq takes a port for each host; an empty one means its default. */
static bool
read_port(const struct osw_option_row *row,
          const char *text,
          const char **port,
          struct osw_error *error)
{
    const char *item = text;

    for (;;) {
        char number[sizeof "65535"];
        size_t length = strcspn(item, ",");
        const char *trouble = NULL;

        if (length >= sizeof number || strspn(item, "0123456789") < length) {
            break;
        }
        memcpy(number, item, length);
        number[length] = '\0';
        if (length > 0) {
            (void)strtonum(number, row->min, row->max, &trouble);
        }
        if (trouble != NULL) {
            break;
        }
        if (item[length] == '\0') {
            *port = text;
            return true;
        }
        item += length + 1;
    }
    (void)osw_error_set(
        error, OSW_EXIT_USAGE, "%s: \"%s\" is not a port", row->name, text);
    return osw_error_hint(error,
                          "write a whole number from %lld to %lld, "
                          "or one for each host with commas between",
                          (long long)row->min,
                          (long long)row->max);
}

bool
osw_option_read(struct osw_options *options,
                const struct osw_option_row *row,
                const char *text,
                struct osw_error *error)
{
    void *field = (char *)options + row->field;

    switch (row->kind) {
    case KIND_TRUE:
        *(bool *)field = true;
        return true;
    case KIND_FALSE:
        *(bool *)field = false;
        return true;
    case KIND_VERBOSE:
        *(int *)field += *(int *)field < 2 ? 1 : 0;
        return true;
    case KIND_QUIET:
        *(int *)field = -1;
        return true;
    case KIND_TEXT:
        *(const char **)field = text;
        return true;
    case KIND_NAME:
        return read_name(row, text, field, error);
    case KIND_PROM:
        return read_prom(row, text, field, error);
    case KIND_PORT:
        return read_port(row, text, field, error);
    case KIND_INT:
        return read_int(row, text, field, error);
    case KIND_INT64:
        return read_number(row, text, field, error);
    case KIND_DURATION:
        return osw_duration_parse(
            row->name, text, row->min, row->max, field, error);
    case KIND_FORMAT:
        return read_format(row, text, field, error);
    case KIND_DURABILITY:
        return read_durability(row, text, field, error);
    case KIND_POOLER:
        return read_pooler(row, text, field, error);
    case KIND_LOG:
        return read_log(row, text, field, error);
    case KIND_LOG_FORMAT:
        return read_log_format(row, text, field, error);
    }
    return osw_error_set(
        error, OSW_EXIT_INTERNAL, "%s: no way to read its argument", row->name);
}
