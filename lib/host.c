#include "host.h"

#include <unistd.h>

#include <bsd/string.h>

void
osw_host_name(char name[OSW_HOST_SIZE])
{
    if (gethostname(name, OSW_HOST_SIZE) != 0) {
        (void)strlcpy(name, "unknown", OSW_HOST_SIZE);
    }
}
