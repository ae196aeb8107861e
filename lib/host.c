#include "host.h"

#include <stdio.h>
#include <unistd.h>

#include <bsd/string.h>

void
osw_host_name(char name[OSW_HOST_SIZE])
{
    if (gethostname(name, OSW_HOST_SIZE) != 0) {
        (void)strlcpy(name, "unknown", OSW_HOST_SIZE);
    }
}

void
osw_host_process(char text[OSW_HOST_PROCESS_SIZE])
{
    char host[OSW_HOST_SIZE];

    osw_host_name(host);
    (void)snprintf(
        text, OSW_HOST_PROCESS_SIZE, "%.16s %ld", host, (long)getpid());
}
