#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capball/advanced/flow.h"
#include "base/fail.h"
#include "files/file_fail.h"
#include "base/letters.h"
#include "base/system_file.h"
#include "files/formats.h"

static const cpb_format *const formats[] = {
    &cpb_format_fvecs, &cpb_format_bvecs,  &cpb_format_ivecs,  &cpb_format_fbin, &cpb_format_u8bin,
    &cpb_format_i8bin, &cpb_format_f16bin, &cpb_format_ibin,   &cpb_format_npy,  &cpb_format_hdf5,
    &cpb_format_csv,   &cpb_format_tsv,    &cpb_format_libsvm,
};
enum { FORMATS = sizeof formats / sizeof *formats };

static bool has_extension(const char *extensions, const char *text, size_t length) {
  for (const char *word = extensions; *word != 0;) {
    size_t size = strcspn(word, " ");
    if (size == length && cpb_same_letters_n(word, text, length)) return true;
    word += size + strspn(word + size, " ");
  }
  return false;
}

static const cpb_format *by_name(const char *name) {
  for (size_t i = 0; i < FORMATS; i++)
    if (strcmp(formats[i]->name, name) == 0) return formats[i];
  return NULL;
}

/* The colon of "file.hdf5:set", the first one directly after such an extension; or NULL. */
static const char *colon_after_extension(const char *path, const cpb_format *format) {
  for (const char *colon = strchr(path, ':'); colon != NULL; colon = strchr(colon + 1, ':')) {
    const char *dot = colon;
    while (dot > path && *dot != '.' && *dot != '/') dot--;
    if (has_extension(format->extensions, dot, (size_t)(colon - dot))) return colon;
  }
  return NULL;
}

/* By extension, ignoring that of compression. */
static const cpb_format *by_extension(const char *path) {
  size_t stem = cpb_unpacked_length(path);
  const char *dot = NULL;
  for (size_t k = 0; k < stem; k++) dot = path[k] == '.' ? path + k : path[k] == '/' ? NULL : dot;
  for (size_t i = 0; i < FORMATS; i++) {
    if (dot != NULL && has_extension(formats[i]->extensions, dot, (size_t)(path + stem - dot)))
      return formats[i];
    if (formats[i]->default_set != NULL && colon_after_extension(path, formats[i]) != NULL) return formats[i];
  }
  return NULL;
}

/* With --format any extension is allowed: the last colon separates the set, unless a file of that name exists. */
static const char *find_colon(const char *path, const cpb_format *format) {
  if (format->default_set == NULL) return NULL;
  const char *colon = colon_after_extension(path, format);
  if (colon != NULL) return colon;
  return cpb_sys_facts(path, &(cpb_file_facts){.size = 0}) ? NULL : strrchr(path, ':');
}

static cpb_status refuse(const char *path, const char *name, cpb_error *error) {
  char names[256] = "";
  const char *dot = strrchr(path, '.');
  for (size_t i = 0; i < FORMATS; i++) {
    size_t used = strlen(names);
    snprintf(names + used, sizeof names - used, "%s%s", i == 0 ? "" : " ", formats[i]->name);
  }
  if (name != NULL)
    return cpb_file_fail(error, CPB_WHY_CHOICE, path, "there is no format \"%.40s\"; there are %s", name,
                         names);
  if (dot != NULL && has_extension(".parquet .pq .arrow .feather .ipc", dot, strlen(dot)))
    return cpb_file_fail(error, CPB_WHY_FILE_PARQUET, path,
                         "to convert Parquet and Arrow files, use Python: python -m capball.convert IN OUT");
  return cpb_file_fail(error, CPB_WHY_FILE_EXTENSION, path,
                       "has no extension that determines its format; specify one of %s", names);
}

cpb_status cpb_format_find(const char *path, const char *name, const cpb_format **format, char **file,
                           const char **set, cpb_error *error) {
  *format = name == NULL ? by_extension(path) : by_name(name);
  if (*format == NULL) return refuse(path, name, error);
  const char *colon = find_colon(path, *format);
  *file = strdup(path);
  if (*file == NULL) return cpb_fail_memory(error, "the path");
  if (colon != NULL) (*file)[colon - path] = 0;
  *set = colon == NULL || colon[1] == 0 ? NULL : *file + (colon - path) + 1;
  return CPB_OK;
}

bool cpb_same_data_set(const char *path, const char *other) {
  const cpb_format *format, *other_format;
  char *file = NULL, *other_file = NULL;
  const char *set, *other_set;
  bool same = path != NULL && other != NULL &&
              cpb_format_find(path, NULL, &format, &file, &set, NULL) == CPB_OK &&
              cpb_format_find(other, NULL, &other_format, &other_file, &other_set, NULL) == CPB_OK &&
              format->default_set != NULL && format == other_format &&
              format->same_set(file, set == NULL ? format->default_set : set,
                               other_set == NULL ? format->default_set : other_set);
  free(file);
  free(other_file);
  return same;
}
