#include "format_names.h"

#include <string.h>
#include <strings.h>

typedef struct format {
  const char *name;
  const char *extensions[3];
  int dtype; /* the one element type, or ANY */
} format;

enum { ANY = -1 };

static const format table[] = {
    {"fvecs", {"fvecs"}, CPB_F32},      {"bvecs", {"bvecs"}, CPB_U8}, {"ivecs", {"ivecs"}, CPB_I32},
    {"fbin", {"fbin"}, CPB_F32},        {"u8bin", {"u8bin"}, CPB_U8}, {"i8bin", {"i8bin"}, CPB_I8},
    {"f16bin", {"f16bin"}, CPB_F16},    {"ibin", {"ibin"}, CPB_I32},  {"npy", {"npy"}, ANY},
    {"hdf5", {"hdf5", "h5"}, ANY},      {"csv", {"csv"}, ANY},        {"tsv", {"tsv", "txt"}, ANY},
    {"libsvm", {"libsvm", "svm"}, ANY},
};
enum { COUNT = sizeof table / sizeof *table };

const char *cli_format_name(size_t i) { return i < COUNT ? table[i].name : NULL; }

/* The extension of a path, up to the ":set" of an HDF5 data set; its length in *length. */
static const char *extension(const char *path, size_t *length) {
  const char *slash = strrchr(path, '/'), *name = slash != NULL ? slash + 1 : path;
  const char *dot = strrchr(name, '.');
  if (dot == NULL) return NULL;
  *length = strcspn(dot + 1, ":");
  return dot + 1;
}

static const format *format_of(const char *path, const char *name) {
  size_t length = 0;
  const char *tail = extension(path, &length);
  for (size_t i = 0; i < COUNT; i++) {
    if (name != NULL && strcmp(table[i].name, name) == 0) return &table[i];
    if (name != NULL || tail == NULL) continue;
    for (size_t k = 0; k < 3 && table[i].extensions[k] != NULL; k++)
      if (strlen(table[i].extensions[k]) == length && strncasecmp(table[i].extensions[k], tail, length) == 0)
        return &table[i];
  }
  return NULL;
}

static cpb_dtype dtype_named(const char *name) {
  int dtype = CPB_F32;
  while (strcmp(cpb_dtype_name((cpb_dtype)dtype), name) != 0) dtype++;
  return (cpb_dtype)dtype;
}

cpb_dtype cli_output_dtype(const char *path, const char *name, const char *wanted, cpb_dtype natural) {
  if (wanted != NULL) return dtype_named(wanted);
  const format *known = format_of(path, name);
  return known != NULL && known->dtype != ANY ? (cpb_dtype)known->dtype : natural;
}

int cli_check_format(const cli_job *job, const char *path, const char *name, const char *option) {
  if (format_of(path, name) != NULL) return CLI_OK;
  if (strcmp(path, "-") == 0)
    return cli_misuse(job, "a pipe has no extension: name its format with --%s", option);
  size_t length = 0;
  const char *tail = extension(path, &length);
  if (tail == NULL) return cli_misuse(job, "%s has no extension: name its format with --%s", path, option);
  const char *names[3 * COUNT];
  size_t count = 0;
  for (size_t i = 0; i < COUNT; i++)
    for (size_t k = 0; k < 3 && table[i].extensions[k] != NULL; k++) names[count++] = table[i].extensions[k];
  char word[16];
  snprintf(word, sizeof word, "%.*s", (int)length, tail);
  const char *near = cli_nearest(word, names, count);
  if (near != NULL)
    return cli_misuse(job, "%s: no format is called .%s; did you mean .%s? (or name it with --%s)", path,
                      word, near, option);
  return cli_misuse(job, "%s: no format is called .%s; name it with --%s", path, word, option);
}
