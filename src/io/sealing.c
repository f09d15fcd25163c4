#define _XOPEN_SOURCE 700 /* realpath */
#include "io/sealing.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "capball/advanced/flow.h"
#include "core/fail.h"
#include "io/file_fail.h"
#include "io/format.h"

static char *join(const char *target, const char *middle, const char *set, cpb_error *error) {
  size_t room = strlen(target) + strlen(middle) + strlen(set) + sizeof ".capball";
  char *name = malloc(room);
  if (name == NULL)
    cpb_fail_memory(error, "a name");
  else
    snprintf(name, room, "%s%s%s.capball", target, middle, set);
  return name;
}

char *cpb_seal_beside(const char *target, cpb_error *error) { return join(target, "", "", error); }

char *cpb_seal_of_set(const char *target, const char *set, cpb_error *error) {
  char *name = join(target, ":", set + strspn(set, "/"), error);
  if (name != NULL)
    for (char *at = name + strlen(target); (at = strchr(at, '/')) != NULL;) *at = '%';
  return name;
}

static bool is_regular(const char *path) {
  struct stat facts;
  return stat(path, &facts) == 0 && S_ISREG(facts.st_mode);
}

/* The seal of the file after following all links; *name is NULL if the file cannot have a seal. */
static cpb_status find_beside(const char *file, char **name, cpb_error *error) {
  char *real = is_regular(file) ? realpath(file, NULL) : NULL;
  bool memory = real != NULL || errno != ENOMEM;
  *name = real != NULL ? cpb_seal_beside(real, error) : NULL;
  if (real != NULL && *name == NULL) memory = false;
  free(real);
  return memory ? CPB_OK : cpb_fail_memory(error, "a name");
}

static cpb_status read_beside(const cpb_reader *reader, cpb_buffer *text, size_t *length, char **name,
                              cpb_error *error) {
  const char *called;
  errno = 0;
  cpb_status status = find_beside(reader->file, name, error);
  if (status != CPB_OK || *name == NULL || !is_regular(*name)) return status;
  return cpb_read_whole(*name, text, length, &called, error);
}

cpb_status cpb_reader_seal(const cpb_reader *reader, cpb_buffer *text, size_t *length, char **name,
                           cpb_error *error) {
  *length = 0;
  *name = NULL;
  if (cpb_input_passes_once(&reader->source)) return CPB_OK;
  if (reader->format->seal == NULL) return read_beside(reader, text, length, name, error);
  *name = strdup(reader->path);
  if (*name == NULL) return cpb_fail_memory(error, "a name");
  return reader->format->seal(reader, text, length, error);
}

static cpb_status store_beside(const char *file, const char *text, cpb_error *error) {
  char *name;
  errno = 0;
  cpb_status status = find_beside(file, &name, error);
  if (status != CPB_OK || name == NULL) return status;
  int lock = cpb_whole_lock(name);
  status = cpb_write_whole(name, text, strlen(text), error);
  cpb_whole_unlock(lock);
  free(name);
  return status;
}

cpb_status cpb_seal_store(const char *path, const char *text, cpb_error *error) {
  const cpb_format *format;
  char *file = NULL;
  const char *set;
  cpb_status status = cpb_format_find(path, NULL, &format, &file, &set, error);
  if (status == CPB_OK)
    status = format->store_seal != NULL
                 ? format->store_seal(file, set == NULL ? format->default_set : set, text, error)
                 : store_beside(file, text, error);
  free(file);
  return status;
}
