#include "core/column_names.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static char *copy_of(const char *name) {
  size_t length = name == NULL ? 0 : strlen(name);
  char *copy = malloc(length + 1);
  if (copy == NULL) return NULL;
  if (length > 0) memcpy(copy, name, length);
  copy[length] = 0;
  return copy;
}

bool cpb_column_names_copy(const char *const *names, size_t count, const char *const **copy) {
  *copy = NULL;
  if (names == NULL) return true;
  const char **made = calloc(count, sizeof *made);
  bool whole = made != NULL;
  for (size_t k = 0; k < count && whole; k++) whole = (made[k] = copy_of(names[k])) != NULL;
  *copy = made;
  if (whole) return true;
  cpb_column_names_free(*copy, count);
  *copy = NULL;
  return false;
}

void cpb_column_names_free(const char *const *names, size_t count) {
  for (size_t k = 0; names != NULL && k < count; k++) free((void *)(uintptr_t)names[k]);
  free((void *)(uintptr_t)names);
}

const char *const *cpb_source_names(const cpb_source *source) {
  return source->size >= offsetof(cpb_source, names) + sizeof source->names ? source->names : NULL;
}
