/*
 * command_line: parses the command line by the tables of options.h.
 */
#ifndef OSW_COMMAND_LINE_H
#define OSW_COMMAND_LINE_H

#include "options.h"
#include "status.h"

/*
 * Parse argv into *options, starting from the defaults; verb and options come
 * in any order.  Returns false with a usage error; *options is then not to be
 * used.  Combinations that make no sense are refused here, before anything is
 * connected.  The first of --help and its like ends the parsing.  Uses getopt,
 * whose state is global.
 */
bool osw_options_parse(int argc,
                       char **argv,
                       struct osw_options *options,
                       struct osw_error *error);

#endif
