#include "base/column_names.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static size_t length_of(const char *name) { return name == NULL ? 0 : strlen(name); }

/* One block: the addresses, then the names. */
bool cpb_column_names_copy(const char *const *names, size_t count, const char *const **copy) {
  size_t bytes = count * sizeof **copy;
  *copy = NULL;
  if (names == NULL) return true;
  for (size_t k = 0; k < count; k++) bytes += length_of(names[k]) + 1;
  const char **made = calloc(bytes, 1);
  if (made == NULL) return false;
  char *to = (char *)(made + count);
  for (size_t k = 0; k < count; to += length_of(names[k++]) + 1)
    made[k] = names[k] == NULL ? to : memcpy(to, names[k], length_of(names[k]));
  *copy = made;
  return true;
}

void cpb_column_names_free(const char *const *names) { free((void *)(uintptr_t)names); }
