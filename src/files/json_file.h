/* The file format of models, sketches and other results: JSON with one key per line, numbers of 17 digits so that
 * reading gives the same bits, and a checksum over the text of the lines before it, which needs no recomputation. */
#ifndef CPB_FILES_JSON_FILE_H
#define CPB_FILES_JSON_FILE_H

#include "capball/file.h"
#include "base/memory.h"
#include "files/json_read.h"
#include "base/json_text.h"

/* ---- writing ---- */

/* "key": and values in the format of cpb_json_pack, on a line of its own. */
void cpb_json_put(cpb_text *lines, const char *key, const char *format, ...);

/* "capball": {"kind": .., "version": ..}, the first line. */
void cpb_json_put_kind(cpb_text *lines, const char *kind, int version);

/* The checksum of the text so far, or another one, and the end; gives *text to the caller, or frees it and reports that
 * there is no memory for `what`. */
cpb_status cpb_json_finish(cpb_text *lines, const char *what, char **text, cpb_error *error);
cpb_status cpb_json_finish_with(cpb_text *lines, uint64_t sum, const char *what, char **text,
                                cpb_error *error);

/* Writes the text of an object to a file and frees it; status: of the call that generated it. */
cpb_status cpb_json_save(cpb_status status, char *text, const char *path, cpb_error *error);

/* ---- reading: every fault is EFORMAT with a message about the file `name` ---- */

/* A file being read. The first fault is kept; everything read after it is 0 or NULL. */
typedef struct cpb_json_file {
  const cpb_json *root;
  const char *name, *text;
  size_t length;
  cpb_memory memory; /* of the arrays that are read, freed with the file */
  cpb_status status;
  cpb_error *error;
} cpb_json_file;

/* A kind of object stored in files. */
typedef struct cpb_json_kind {
  const char *name; /* of the argument, and of texts without a name */
  /* The object; it is released if the file has a fault. */
  void *(*make)(cpb_json_file *file);
  void (*release)(void *object);
} cpb_json_kind;

/* An object from a text, or from a file. to: address of a pointer of any object type; set to NULL after a failure. */
cpb_status cpb_json_parse(const cpb_json_kind *kind, const char *text, size_t length, const char *name,
                          void *to, cpb_error *error);
cpb_status cpb_json_load(const cpb_json_kind *kind, const char *path, void *to, cpb_error *error);

/* Zeros for an array that is in the file; NULL after a failure. */
void *cpb_json_room(cpb_json_file *file, size_t count, size_t size);

/* A fault, with a message about the file. */
void cpb_json_refuse(cpb_json_file *file, cpb_reason reason, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The status of creating an object from the values read; a failure becomes one about the file. */
void cpb_json_made(cpb_json_file *file, cpb_status status, const cpb_error *why);

void cpb_json_check_kind(cpb_json_file *file, const char *kind, int version);

/* The checksum stated by the file is that of its text; or `right`, if it was computed in another way. */
void cpb_json_check_sum(cpb_json_file *file);
void cpb_json_compare_sum(cpb_json_file *file, uint64_t right);

double cpb_json_number(cpb_json_file *file, const cpb_json *object, const char *key);
size_t cpb_json_count(cpb_json_file *file, const cpb_json *object, const char *key, long long least,
                      long long most);
/* The same for numbers that may exceed size_t: rows of a file. */
uint64_t cpb_json_rows(cpb_json_file *file, const cpb_json *object, const char *key, long long least,
                       long long most);

/* `count` numbers, or NULL for null. count = SIZE_MAX: any number, returned in *found. */
double *cpb_json_numbers(cpb_json_file *file, const cpb_json *object, const char *key, size_t count,
                         size_t *found);

/* The member "rows": `count` whole numbers, or NULL for null. */
uint64_t *cpb_json_row_numbers(cpb_json_file *file, const cpb_json *object, size_t count);

/* The names of columns, `count` strings; NULL: none. */
void cpb_json_put_names(cpb_text *lines, const char *const *names, size_t count);
const char **cpb_json_read_names(cpb_json_file *file, size_t count);

#endif
