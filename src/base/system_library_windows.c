#include "base/system_library.h"

#ifdef _WIN32
#include "base/system_wide.h"

void *cpb_sys_load(const char *name, bool everywhere) {
  (void)everywhere; /* symbols are looked up by library */
  wchar_t *wide = cpb_wide(name);
  void *library = wide == NULL ? NULL : (void *)LoadLibraryW(wide);
  free(wide);
  return library;
}

void *cpb_sys_symbol(void *library, const char *name) {
  FARPROC found = GetProcAddress(library, name);
  void *symbol;
  memcpy(&symbol, &found, sizeof symbol);
  return symbol;
}

void cpb_sys_unload(void *library) { FreeLibrary(library); }

const char *cpb_sys_load_error(void) { return NULL; }

#endif
