/* The file format of models, sketches and other results: JSON with one key per line, numbers of 17 digits so that
 * reading gives the same bits, and a checksum over the text of the lines before it, which needs no recomputation. */
#ifndef CPB_JSON_JSON_FILE_H
#define CPB_JSON_JSON_FILE_H

#include "json/json_read.h"
#include "text/json_text.h"

/* ---- writing ---- */

/* "key": and values in the format of cpb_json_pack, on a line of its own. */
void cpb_json_put(cpb_text *lines, const char *key, const char *format, ...);

/* "capball": {"kind": .., "version": ..}, the first line. */
void cpb_json_put_kind(cpb_text *lines, const char *kind, int version);

/* Checksum and end; gives *text to the caller, or frees it and reports that there is no memory for `what`. */
cpb_status cpb_json_finish(cpb_text *lines, const char *what, char **text, cpb_error *error);

/* Writes the text of an object to a file and frees it; status: of the call that generated it. */
cpb_status cpb_json_save(cpb_status status, char *text, const char *path, cpb_error *error);

/* ---- reading: every fault is EFORMAT with a message about the file `name` ---- */

/* A parsed text. */
typedef struct cpb_json_file {
  const cpb_json *root;
  const char *name, *text;
  size_t length;
} cpb_json_file;

/* A kind of object stored in files. */
typedef struct cpb_json_kind {
  const char *name; /* of the argument, and of texts without a name */
  /* creates *object from the file; after a failure all it allocated is freed */
  cpb_status (*make)(const cpb_json_file *file, void **object, cpb_error *error);
  void (*release)(void *object);
} cpb_json_kind;

/* An object from a text, or from a file. to: address of a pointer of any object type; set to NULL after a failure. */
cpb_status cpb_json_parse(const cpb_json_kind *kind, const char *text, size_t length, const char *name,
                          void *to, cpb_error *error);
cpb_status cpb_json_load(const cpb_json_kind *kind, const char *path, void *to, cpb_error *error);

cpb_status cpb_json_check_kind(const cpb_json *root, const char *name, const char *kind, int version,
                               cpb_error *error);

cpb_status cpb_json_number(const cpb_json *root, const char *name, const char *key, double *number,
                           cpb_error *error);

cpb_status cpb_json_count(const cpb_json *root, const char *name, const char *key, long long least,
                          long long most, size_t *count, cpb_error *error);
/* The same for numbers that may exceed size_t: rows of a file. */
cpb_status cpb_json_rows(const cpb_json *root, const char *name, const char *key, long long least,
                         long long most, uint64_t *count, cpb_error *error);

/* The names of columns: an array of `count` strings, views into the JSON, or NULL if there are none; the caller frees
 * the array. A name that is not UTF-8 is written as "?". */
void cpb_json_put_names(cpb_text *lines, const char *const *names, size_t count);
cpb_status cpb_json_read_names(const cpb_json *root, const char *name, size_t count, const char ***names,
                               cpb_error *error);

/* `count` numbers, or NULL for null; the caller frees them. count = SIZE_MAX: any number, returned in *found. */
cpb_status cpb_json_numbers(const cpb_json *root, const char *name, const char *key, size_t count,
                            size_t *found, double **numbers, cpb_error *error);

/* EFORMAT unless the parsed text has the checksum that it states. */
cpb_status cpb_json_check_sum(const cpb_json *root, const char *name, const char *text, size_t length,
                              cpb_error *error);

/* The same for a checksum that was computed in another way; said may be NULL. */
cpb_status cpb_json_compare_sum(const char *said, const char *name, const char *right, cpb_error *error);

/* Converts an error in creating an object from a file's values to one about the file. */
cpb_status cpb_json_refused(const char *name, const cpb_error *why, cpb_error *error);

#endif
