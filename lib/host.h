/*
 * host: the name of this machine, for those who ask who is at work.
 */
#ifndef OSW_HOST_H
#define OSW_HOST_H

#include <limits.h>

#define OSW_HOST_SIZE (HOST_NAME_MAX + 1)

/* "unknown" where the system does not tell. */
void osw_host_name(char name[OSW_HOST_SIZE]);

#define OSW_HOST_PROCESS_SIZE 40

/* Host and process, so short that it fits into an application_name. */
void osw_host_process(char text[OSW_HOST_PROCESS_SIZE]);

#endif
