#include "help.h"

#include <string.h>

#include "options.h"

/* The column where the help texts begin. */
#define HELP_COLUMN 32

/* Write a help text; its further lines begin in the same column. */
static void
write_help_text(FILE *out, const char *text)
{
    for (;;) {
        int length = (int)strcspn(text, "\n");

        (void)fprintf(out, "%.*s\n", length, text);
        if (text[length] == '\0') {
            return;
        }
        text += length + 1;
        (void)fprintf(out, "%*s", HELP_COLUMN, "");
    }
}

static void
write_help_row(FILE *out, const struct osw_option_row *row)
{
    int width = 0;

    if (row->letter != '\0') {
        width = fprintf(out, "  -%c, %s", row->letter, row->name);
    } else {
        width = fprintf(out, "      %s", row->name);
    }
    if (row->argument != NULL) {
        width += fprintf(out, "=%s", row->argument);
    }
    (void)fprintf(out, "%*s", HELP_COLUMN - width, "");
    write_help_text(out, row->help);
}

static void
write_help_group(FILE *out, enum osw_option_group group, const char *title)
{
    (void)fprintf(out, "\n%s:\n", title);
    for (size_t i = 0; i < OSW_OPTION_ROWS; i++) {
        if (osw_option_rows[i].group == group) {
            write_help_row(out, &osw_option_rows[i]);
        }
    }
}

void
osw_help_write(FILE *out)
{
    (void)fputs(
        "order-sweep cancels unpaid orders when their payment window is over.\n"
        "\n"
        "Usage:\n",
        out);
    for (const struct osw_verb_row *verb = osw_verb_rows; verb->name != NULL;
         verb++) {
        (void)fprintf(out, "  %s\n", verb->usage);
    }
    write_help_group(out, GROUP_SWEEP, "Sweep options");
    write_help_group(out, GROUP_LIMITS, "Limits");
    write_help_group(out, GROUP_CONNECTION, "Connection options");
    write_help_group(out, GROUP_OUTPUT, "Output options");
    write_help_group(out, GROUP_OTHER, "Other options");
    (void)fputs(
        "\n"
        "A DURATION is a whole number with its unit: 500ms, 45s, 30m, 2h, 7d,\n"
        "1h30m.  A run that succeeds says nothing unless asked to; messages "
        "go\n"
        "to stderr.  See order-sweep(8) for exit codes and examples.\n",
        out);
}

/* The commands that take an option; a dry run is a run. */
static void
write_commands(FILE *out, unsigned modes)
{
    const char *separator = "";

    for (const struct osw_verb_row *verb = osw_verb_rows; verb->name != NULL;
         verb++) {
        unsigned mode = verb->verb == OSW_VERB_RUN ? MODE_RUN : verb->mode;

        if ((modes & mode) != 0) {
            (void)fprintf(out, "%s%s", separator, verb->name);
            separator = ",";
        }
    }
}

void
osw_help_list(FILE *out)
{
    for (size_t i = 0; i < OSW_OPTION_ROWS; i++) {
        const struct osw_option_row *row = &osw_option_rows[i];

        if (row->group != GROUP_HIDDEN) {
            (void)fprintf(out,
                          "%s\t%c\t%s\t",
                          row->name,
                          row->letter != '\0' ? row->letter : '-',
                          row->argument != NULL ? row->argument : "-");
            write_commands(out, row->modes);
            (void)fputc('\n', out);
        }
    }
}
