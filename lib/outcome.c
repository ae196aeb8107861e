#include "outcome.h"

#include <stddef.h>
#include <string.h>

const char *
osw_outcome_name(enum osw_outcome outcome)
{
    switch (outcome) {
    case OSW_OUTCOME_SWEPT:
        return "swept";
    case OSW_OUTCOME_KEPT:
        return "kept";
    case OSW_OUTCOME_LOCKED:
        return "locked";
    case OSW_OUTCOME_CHANGED:
        return "changed";
    case OSW_OUTCOME_GONE:
        return "gone";
    case OSW_OUTCOME_FAILED:
        return "failed";
    case OSW_OUTCOME_UNKNOWN:
        return "unknown";
    }
    return "unknown";
}

bool
osw_outcome_parse(const char *text,
                  enum osw_outcome *outcome,
                  const char **rule)
{
    static const enum osw_outcome bare[] = {
        OSW_OUTCOME_SWEPT,
        OSW_OUTCOME_LOCKED,
        OSW_OUTCOME_CHANGED,
        OSW_OUTCOME_GONE,
    };
    static const char kept[] = "kept: ";
    const size_t kept_length = sizeof kept - 1;

    if (text == NULL) {
        return false;
    }
    for (size_t i = 0; i < sizeof bare / sizeof bare[0]; i++) {
        if (strcmp(text, osw_outcome_name(bare[i])) == 0) {
            *outcome = bare[i];
            *rule = NULL;
            return true;
        }
    }
    if (strncmp(text, kept, kept_length) != 0 || text[kept_length] == '\0') {
        return false;
    }
    *outcome = OSW_OUTCOME_KEPT;
    *rule = text + kept_length;
    return true;
}

static bool
any_class(const char *sqlstate, const char *const *prefixes)
{
    for (; *prefixes != NULL; prefixes++) {
        if (osw_sqlstate_class(sqlstate, *prefixes)) {
            return true;
        }
    }
    return false;
}

enum osw_outcome
osw_outcome_of_sqlstate(const char *sqlstate)
{
    static const char *const passing[] = {"55P03", "40001", "40P01", NULL};
    static const char *const connection[] = {"08", "57P", "25P03", NULL};

    if (sqlstate == NULL || sqlstate[0] == '\0' ||
        any_class(sqlstate, connection)) {
        return OSW_OUTCOME_UNKNOWN;
    }
    return any_class(sqlstate, passing) ? OSW_OUTCOME_LOCKED
                                        : OSW_OUTCOME_FAILED;
}

bool
osw_sqlstate_class(const char *sqlstate, const char *class_prefix)
{
    return sqlstate != NULL &&
           strncmp(sqlstate, class_prefix, strlen(class_prefix)) == 0;
}

bool
osw_sqlstate_is_setup(const char *sqlstate)
{
    return osw_sqlstate_class(sqlstate, "42") ||
           osw_sqlstate_class(sqlstate, "26");
}
