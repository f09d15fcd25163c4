/* Compiled twice: with CPB_HDF5_LIBRARY, the name of the shared library, for loading on demand; and without it for the
 * static library, where the linker provides the addresses. */
#define CPB_HDF5_NAMES_AS_DECLARED
#include "files/hdf5_calls.h"

#ifndef CPB_HAVE_HDF5

bool cpb_hdf5_load(const cpb_file_call *of) {
  return cpb_refuse(of, CPB_WHY_BUILT_WITHOUT, "this capball was built without HDF5");
}

#elif defined CPB_HDF5_LIBRARY

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/system_library.h"

/* In the command HDF5's filter plugins must find libhdf5. A library must not put its symbols before those of another
 * libhdf5 in the process. */
#ifndef CPB_HDF5_EVERYWHERE
#define CPB_HDF5_EVERYWHERE false
#endif

static _Atomic(cpb_hdf5_calls *) loaded; /* never freed: libhdf5 cannot be unloaded safely */

const cpb_hdf5_calls *cpb_h5(void) { return atomic_load_explicit(&loaded, memory_order_acquire); }

static bool fill(cpb_hdf5_calls *calls, void *library) {
#define QUOTED(name) #name
#define ENTRY(name) {QUOTED(name), offsetof(cpb_hdf5_calls, name)},
  static const struct {
    const char *name;
    size_t offset;
  } entries[] = {CPB_HDF5_NAMES(ENTRY)};
  for (size_t i = 0; i < sizeof entries / sizeof *entries; i++) {
    void *address = cpb_sys_symbol(library, entries[i].name);
    if (address == NULL) return false;
    memcpy((char *)calls + entries[i].offset, &address, sizeof address);
  }
  return true;
}

bool cpb_hdf5_load(const cpb_file_call *of) {
  if (cpb_h5() != NULL) return true;
  void *library = cpb_sys_load(CPB_HDF5_LIBRARY, CPB_HDF5_EVERYWHERE);
  cpb_hdf5_calls *calls = library == NULL ? NULL : malloc(sizeof *calls);
  if (calls != NULL && fill(calls, library)) {
    cpb_hdf5_calls *none = NULL; /* if several threads load at the same time, the first table is used */
    if (!atomic_compare_exchange_strong(&loaded, &none, calls)) free(calls);
    return true;
  }
  const char *said = library != NULL && calls == NULL ? "no memory" : cpb_sys_load_error();
  cpb_refuse(of, CPB_WHY_BUILT_WITHOUT,
             "the HDF5 library cannot be loaded (%.160s); install it, on Debian and Ubuntu as libhdf5-dev",
             said == NULL ? CPB_HDF5_LIBRARY : said);
  free(calls);
  if (library != NULL) cpb_sys_unload(library);
  return false;
}

#else

const cpb_hdf5_calls *cpb_h5(void) {
#define LINKED(name) .name = &name,
  static const cpb_hdf5_calls calls = {CPB_HDF5_NAMES(LINKED)};
  return &calls;
}

bool cpb_hdf5_load(const cpb_file_call *of) {
  (void)of;
  return true;
}

#endif
