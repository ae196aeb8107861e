/*
 * option_value: reads the argument of one option into its field.
 */
#ifndef OSW_OPTION_VALUE_H
#define OSW_OPTION_VALUE_H

#include "options.h"
#include "status.h"

/*
 * Read text, the argument of the option of this row (NULL where it takes
 * none), into its field of *options.  False with a usage error that names
 * option and mend; the field is then unchanged.
 */
bool osw_option_read(struct osw_options *options,
                     const struct osw_option_row *row,
                     const char *text,
                     struct osw_error *error);

#endif
