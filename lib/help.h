/*
 * help: the table of options for people and for programs.
 */
#ifndef OSW_HELP_H
#define OSW_HELP_H

#include <stdio.h>

/* Write the help text. */
void osw_help_write(FILE *out);

/*
 * Write the table for completion and tests, a line an option: --name, tab,
 * short letter or -, tab, argument or -, tab, the commands that take it with
 * commas between.  The hidden ones are left out.
 */
void osw_help_list(FILE *out);

#endif
