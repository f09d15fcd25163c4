/* Shared libraries that are loaded while the program runs. */
#ifndef CPB_BASE_SYSTEM_LIBRARY_H
#define CPB_BASE_SYSTEM_LIBRARY_H

#include <stdbool.h>

/* everywhere: its symbols also serve libraries that are loaded later. NULL on failure. */
void *cpb_sys_load(const char *name, bool everywhere);
void *cpb_sys_symbol(void *library, const char *name);
void cpb_sys_unload(void *library);
/* Why the last call failed; NULL if the system does not say. */
const char *cpb_sys_load_error(void);

#endif
