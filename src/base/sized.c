#include "base/sized.h"

#include <string.h>

#include "base/fail.h"

static size_t size_of(const void *sized) {
  size_t size;
  memcpy(&size, sized, sizeof size);
  return size;
}

static void copy_members(void *to, const void *from, size_t bytes) {
  size_t first = sizeof(size_t);
  if (bytes <= first) return;
  if (from == NULL)
    memset((char *)to + first, 0, bytes - first);
  else
    memcpy((char *)to + first, (const char *)from + first, bytes - first);
}

void cpb_sized_init(void *to, size_t size, const void *defaults, size_t known) {
  if (to == NULL || size < sizeof size) return;
  memset(to, 0, size);
  memcpy(to, &size, sizeof size);
  copy_members(to, defaults, size < known ? size : known);
}

cpb_status cpb_sized_check(const void *to, const char *name, cpb_error *error) {
  /* such structs are multiples of sizeof(size_t): other sizes would end inside a member */
  if (to == NULL || (size_of(to) >= sizeof(size_t) && size_of(to) % sizeof(size_t) == 0)) return CPB_OK;
  return cpb_fail(error, CPB_WHY_SIZE_NONE, name,
                  "%s has size %zu: set it to sizeof, as an _init function does", name, size_of(to));
}

cpb_status cpb_sized_take(void *ours, size_t known, const void *given, const char *name, cpb_error *error) {
  cpb_status status = cpb_sized_check(given, name, error);
  if (status != CPB_OK || given == NULL) return status;
  if (size_of(given) > known)
    return cpb_fail(error, CPB_WHY_SIZE_NEWER, name,
                    "%s has size %zu, but version %s of the library knows only %zu: start from %s_init, or "
                    "update the library",
                    name, size_of(given), cpb_version(), known, name);
  copy_members(ours, given, size_of(given));
  return CPB_OK;
}

void cpb_sized_give(void *to, const void *ours, size_t known) {
  if (to != NULL) copy_members(to, ours, size_of(to) < known ? size_of(to) : known);
}
