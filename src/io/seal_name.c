#include "io/seal_name.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/fail.h"

const char *cpb_seal_set(const char *path, char **file) {
  const cpb_format *format;
  const char *set;
  *file = NULL;
  if (cpb_format_find(path, NULL, &format, file, &set, NULL) != CPB_OK) return NULL;
  if (set == NULL) return format->default_set;
  return set + strspn(set, "/");
}

char *cpb_seal_name(const char *path, cpb_error *error) {
  char *file;
  const char *set = cpb_seal_set(path, &file);
  size_t room = strlen(path) + (set == NULL ? 0 : strlen(set)) + sizeof ":.capball";
  char *name = malloc(room);
  if (name == NULL)
    cpb_fail_memory(error, "a name");
  else if (set == NULL)
    snprintf(name, room, "%s.capball", path);
  else {
    int length = snprintf(name, room, "%s:", file);
    snprintf(name + length, room - (size_t)length, "%s.capball", set);
    for (char *at = name + length; (at = strchr(at, '/')) != NULL;) *at = '%';
  }
  free(file);
  return name;
}
