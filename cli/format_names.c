#include "format_names.h"
#include "src/base/letters.h"

#include <string.h>

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

/* The first colon directly after an HDF5 extension: names of sets may contain dots and slashes. */
const char *cli_data_set(const char *path) {
  for (const char *colon = strchr(path, ':'); colon != NULL; colon = strchr(colon + 1, ':'))
    if ((colon - path >= 5 && cpb_same_letters_n(colon - 5, ".hdf5", 5)) ||
        (colon - path >= 3 && cpb_same_letters_n(colon - 3, ".h5", 3)))
      return colon;
  return NULL;
}

/* The extension of a path, without that of compression, up to the ":set" of an HDF5 data set; its length in *length. */
static const char *extension(const char *path, size_t *length) {
  const char *end = cli_data_set(path), *dot = NULL;
  size_t whole = strlen(path);
  bool gzip = whole > 3 && cpb_same_letters(path + whole - 3, ".gz");
  bool zstd = whole > 4 && cpb_same_letters(path + whole - 4, ".zst");
  if (end == NULL) end = path + whole - (gzip ? 3 : zstd ? 4 : 0);
  for (const char *p = path; p < end; p++) {
    if (*p == '.') dot = p;
    if (*p == '/') dot = NULL;
  }
  if (dot == NULL) return NULL;
  *length = (size_t)(end - dot) - 1;
  return dot + 1;
}

static const format *format_of(const char *path, const char *name) {
  size_t length = 0;
  const char *tail = extension(path, &length);
  for (size_t i = 0; i < COUNT; i++) {
    if (name != NULL && strcmp(table[i].name, name) == 0) return &table[i];
    if (name != NULL || tail == NULL) continue;
    for (size_t k = 0; k < 3 && table[i].extensions[k] != NULL; k++)
      if (strlen(table[i].extensions[k]) == length &&
          cpb_same_letters_n(table[i].extensions[k], tail, length))
        return &table[i];
  }
  return NULL;
}

cpb_dtype cli_output_dtype(const char *path, const char *name, cli_choice wanted, cpb_dtype natural) {
  if (wanted.given) return (cpb_dtype)wanted.at;
  const format *known = format_of(path, name);
  return known != NULL && known->dtype != ANY ? (cpb_dtype)known->dtype : natural;
}

static bool is_text(const format *known) {
  return known != NULL && (strcmp(known->name, "csv") == 0 || strcmp(known->name, "tsv") == 0 ||
                           strcmp(known->name, "libsvm") == 0);
}

cpb_dtype cli_distance_dtype(const char *path, cli_choice wanted) {
  if (path == NULL) return CPB_F32;
  return cli_output_dtype(path, NULL, wanted, is_text(format_of(path, NULL)) ? CPB_F64 : CPB_F32);
}

cpb_dtype cli_id_dtype(const char *path, const char *name, uint64_t rows) {
  if (path == NULL) return CPB_I32;
  bool wide = is_text(format_of(path, name)) || rows > (uint64_t)INT32_MAX + 1;
  return cli_output_dtype(path, name, (cli_choice){0}, wide ? CPB_I64 : CPB_I32);
}

int cli_check_id_format(const cli_job *job, const char *path, const char *name, const char *option) {
  int result = cli_check_format(job, path, name, option);
  if (result != CLI_OK) return result;
  const format *known = format_of(path, name);
  if (known->dtype == ANY || known->dtype == CPB_I32) return CLI_OK;
  return cli_misuse(job, "%s: row numbers are i32 or i64, but %s files hold %s", path, known->name,
                    cpb_dtype_name((cpb_dtype)known->dtype));
}

int cli_check_distances(const cli_job *job) {
  const char *path = job->options.distances;
  if (path == NULL)
    return !job->options.dtype.given ? CLI_OK
                                     : cli_misuse(job, "--dtype is the type of --distances: name their file");
  return cli_check_typed(job, path, NULL, NULL);
}

int cli_check_typed(const cli_job *job, const char *path, const char *name, const char *option) {
  cli_choice wanted = job->options.dtype;
  int result = cli_check_format(job, path, name, option);
  if (result != CLI_OK) return result;
  const format *known = format_of(path, name);
  if (!wanted.given || known->dtype == ANY || known->dtype == (int)wanted.at) return CLI_OK;
  return cli_misuse(job, "--dtype: %s: %s files cannot hold %s", path, known->name,
                    cpb_dtype_name((cpb_dtype)wanted.at));
}

enum { EXTENSIONS = 3 * COUNT };

static size_t all_extensions(const char *names[EXTENSIONS]) {
  size_t count = 0;
  for (size_t i = 0; i < COUNT; i++)
    for (size_t k = 0; k < 3 && table[i].extensions[k] != NULL; k++) names[count++] = table[i].extensions[k];
  return count;
}

/* How to specify the format. */
static void advise(const char *option, char *advice, size_t room) {
  const char *names[EXTENSIONS];
  size_t count = all_extensions(names), used = 0;
  if (option != NULL)
    snprintf(advice, room, "name its format with --%s", option);
  else {
    used += (size_t)snprintf(advice, room, "give a file with one of");
    for (size_t i = 0; i < count && used < room; i++)
      used += (size_t)snprintf(advice + used, room - used, " .%s", names[i]);
  }
}

int cli_check_format(const cli_job *job, const char *path, const char *name, const char *option) {
  if (format_of(path, name) != NULL) return CLI_OK;
  char advice[320], word[16];
  advise(option, advice, sizeof advice);
  if (strcmp(path, "-") == 0) return cli_misuse(job, "a pipe has no extension: %s", advice);
  size_t length = 0;
  const char *tail = extension(path, &length), *names[EXTENSIONS];
  if (tail == NULL) return cli_misuse(job, "%s has no extension: %s", path, advice);
  snprintf(word, sizeof word, "%.*s", (int)length, tail);
  if (cpb_same_letters(word, "parquet") || cpb_same_letters(word, "pq") || cpb_same_letters(word, "arrow") ||
      cpb_same_letters(word, "feather") || cpb_same_letters(word, "ipc"))
    return cli_misuse(
        job, "%s: to convert Parquet and Arrow files, use Python: python -m capball.convert IN OUT", path);
  const char *near = cli_nearest(word, names, all_extensions(names));
  if (near != NULL)
    return cli_misuse(job, "%s: no format is called .%s; did you mean .%s? (or %s)", path, word, near,
                      advice);
  return cli_misuse(job, "%s: no format is called .%s; %s", path, word, advice);
}

/* Extensions of files that do not contain vectors. */
static bool is_kind(const char *tail, size_t length) {
  static const char *const kinds[] = {"json", "jsonl", "html", "svg", "png", "sql", "state"};
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
    if (strlen(kinds[i]) == length && cpb_same_letters_n(kinds[i], tail, length)) return true;
  return false;
}

/* "MAP.json" writes json. */
static int check_kind(const cli_job *job, const cli_option *option, const char *path) {
  const char *kind = strrchr(option->value, '.');
  size_t length = 0;
  const char *tail = kind == NULL ? NULL : extension(path, &length);
  if (tail == NULL || (strlen(kind + 1) == length && cpb_same_letters_n(kind + 1, tail, length)))
    return CLI_OK;
  bool text = length == 3 && cpb_same_letters_n(tail, "txt", 3);
  if (text || (!is_kind(tail, length) && format_of(path, NULL) == NULL)) return CLI_OK;
  return cli_misuse(job, "%s: --%s writes %s, not .%.*s: give it another name", path, option->name, kind,
                    (int)length, tail);
}

int cli_check_kinds(const cli_job *job) {
  int result = CLI_OK;
  for (size_t i = 0; job->command->options[i] != NULL && result == CLI_OK; i++) {
    const cli_option *option = job->command->options[i];
    if (option->kind != CLI_WRITTEN) continue;
    const char *path = *(const char *const *)((const char *)&job->options + option->offset);
    if (path != NULL) result = check_kind(job, option, path);
  }
  return result;
}
