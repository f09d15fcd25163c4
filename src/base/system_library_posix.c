#include "base/system_library.h"

#if !defined(_WIN32) && !defined(__wasi__)
#include <dlfcn.h>

void *cpb_sys_load(const char *name, bool everywhere) {
  return dlopen(name, RTLD_LAZY | (everywhere ? RTLD_GLOBAL : RTLD_LOCAL));
}
void *cpb_sys_symbol(void *library, const char *name) { return dlsym(library, name); }
void cpb_sys_unload(void *library) { dlclose(library); }
const char *cpb_sys_load_error(void) { return dlerror(); }

#endif
