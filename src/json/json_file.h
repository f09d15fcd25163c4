/* What models, sketches and other results share as files: JSON with one key per line, numbers of 17 digits so
 * that reading gives the same bits, and a checksum over the lines before it as they stand there: nothing is computed
 * again to judge it. */
#ifndef CPB_JSON_JSON_FILE_H
#define CPB_JSON_JSON_FILE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "capball/status.h"

/* ---- writing ---- */

typedef struct cpb_json_lines {
  char *text;
  size_t used, room;
  bool failed;
} cpb_json_lines;

/* "key": value on a line of its own; takes the value over. */
void cpb_json_put(cpb_json_lines *lines, const char *key, json_t *value);

/* "capball": {"kind": .., "version": ..}, the first line. */
void cpb_json_put_kind(cpb_json_lines *lines, const char *kind, int version);

/* The array with one value more, which it takes over; NULL, and the array given back, where there is no memory. */
json_t *cpb_json_append(json_t *array, json_t *value);

/* null for NULL. */
json_t *cpb_json_vector(const double *numbers, size_t count);

/* Checksum and end; gives *text to the caller, or frees it and says that there is no memory for `what`. */
cpb_status cpb_json_finish(cpb_json_lines *lines, const char *what, char **text, cpb_error *error);

/* ---- reading: every fault is EFORMAT with a sentence about the file `name` ---- */

/* The root object, to be given to json_decref. */
cpb_status cpb_json_parse(const char *text, size_t length, const char *name, json_t **root, cpb_error *error);

cpb_status cpb_json_check_kind(const json_t *root, const char *name, const char *kind, int version,
                               cpb_error *error);

cpb_status cpb_json_number(const json_t *root, const char *name, const char *key, double *number,
                           cpb_error *error);

cpb_status cpb_json_count(const json_t *root, const char *name, const char *key, json_int_t least,
                          json_int_t most, size_t *count, cpb_error *error);
/* The same where the number may be larger than this machine's sizes: rows of a file. */
cpb_status cpb_json_rows(const json_t *root, const char *name, const char *key, json_int_t least,
                         json_int_t most, uint64_t *count, cpb_error *error);

/* The names of columns: an array of `count` texts, views into the JSON, or NULL where there are none; the caller
 * frees the array. */
json_t *cpb_json_names(const char *const *names, size_t count);
cpb_status cpb_json_read_names(const json_t *root, const char *name, size_t count, const char ***names,
                               cpb_error *error);

/* `count` numbers, or NULL for null; the caller frees them. count = SIZE_MAX: any, told in *found. */
cpb_status cpb_json_numbers(const json_t *root, const char *name, const char *key, size_t count,
                            size_t *found, double **numbers, cpb_error *error);

/* The text that was parsed must have the checksum that it tells. */
cpb_status cpb_json_check_sum(const json_t *root, const char *name, const char *text, size_t length,
                              cpb_error *error);

/* The same of a checksum that was computed in another way; said may be NULL. */
cpb_status cpb_json_compare_sum(const char *said, const char *name, const char *right, cpb_error *error);

/* What is refused when an object is made from a file's values is the file's fault. */
cpb_status cpb_json_refused(const char *name, const cpb_error *why, cpb_error *error);

#endif
