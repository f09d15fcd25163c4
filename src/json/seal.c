/* What made a file of rows: a small file PATH.capball beside it, so that rows of one map are not read by another. */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "capball/file.h"
#include "capball/transform.h"
#include "core/fail.h"
#include "io/buffer.h"
#include "io/file_fail.h"
#include "io/input.h"
#include "io/seal_name.h"
#include "json/json_file.h"

enum { VERSION = 1 };

static bool is_absent(void) { return errno == ENOENT || errno == ENOTDIR; }

/* The bytes of its rows: other sets of its file come and go. */
static cpb_status look_at_set(const char *path, bool *is_file, uint64_t *bytes, cpb_error *error) {
  cpb_reader *reader;
  cpb_status status = cpb_reader_open(path, NULL, &reader, error);
  *is_file = status == CPB_OK;
  *bytes = 0;
  if (status != CPB_OK) return status == CPB_ENOMEM ? status : CPB_OK;
  cpb_file_info info = cpb_reader_info(reader);
  *bytes = info.rows * info.cols * cpb_dtype_size(info.dtype);
  cpb_reader_free(reader);
  return CPB_OK;
}

/* Whether a path is a file, or a data set of one: pipes and devices have nothing beside them. */
static cpb_status look_at(const char *path, bool *is_file, uint64_t *bytes, cpb_error *error) {
  struct stat facts;
  char *file;
  bool is_set = cpb_seal_set(path, &file) != NULL;
  free(file);
  if (is_set) return look_at_set(path, is_file, bytes, error);
  int result = stat(path, &facts);
  *is_file = result == 0 && S_ISREG(facts.st_mode);
  *bytes = *is_file ? (uint64_t)facts.st_size : 0;
  return result == 0 || is_absent() ? CPB_OK : cpb_file_fail_errno(error, path, "look at");
}

static cpb_status print_fingerprint(const cpb_transform *transform, char hex[17], cpb_error *error) {
  uint64_t number;
  cpb_status status = cpb_transform_fingerprint(transform, &number, error);
  if (status == CPB_OK) snprintf(hex, 17, "%016" PRIx64, number);
  return status;
}

cpb_status cpb_seal_save(const char *path, const cpb_transform *transform, cpb_role role, double radius,
                         cpb_error *error) {
  uint64_t bytes;
  bool is_file;
  char hex[17], *text = NULL;
  if (path == NULL) return cpb_fail_missing(error, "path");
  cpb_status status = print_fingerprint(transform, hex, error);
  if (status == CPB_OK) status = look_at(path, &is_file, &bytes, error);
  if (status != CPB_OK || !is_file) return status;
  cpb_text l = {0};
  cpb_json_put_kind(&l, "seal", VERSION);
  cpb_json_put(&l, "fingerprint", "s", hex);
  cpb_json_put(&l, "role", "s", role == CPB_ROLE_BASE ? "base" : "query");
  cpb_json_put(&l, "radius", "f", radius);
  cpb_json_put(&l, "bytes", "I", bytes);
  status = cpb_json_finish(&l, "seal", &text, error);
  char *name = status == CPB_OK ? cpb_seal_name(path, error) : NULL;
  if (status == CPB_OK) status = name == NULL ? CPB_ENOMEM : cpb_write_whole(name, text, strlen(text), error);
  free(name);
  free(text);
  return status;
}

/* ---- reading ---- */

typedef struct seal {
  const char *path, *name; /* of the rows, and of the seal */
  const cpb_json *root;
} seal;

static cpb_status refuse(const seal *s, const char *what, const char *advice, cpb_error *error) {
  cpb_error why = {.status = CPB_EINVAL};
  snprintf(why.text, sizeof why.text, "%.80s %s; %s", s->path, what, advice);
  return cpb_json_refused(s->name, &why, error);
}

static cpb_status compare(const seal *s, const cpb_transform *transform, cpb_role role, double *radius,
                          cpb_error *error) {
  char hex[17];
  uint64_t bytes, said = 0;
  bool is_file;
  const char *made = cpb_json_string_of(cpb_json_get(s->root, "fingerprint"));
  const char *as = cpb_json_string_of(cpb_json_get(s->root, "role"));
  cpb_status status = print_fingerprint(transform, hex, error);
  if (status == CPB_OK) status = cpb_json_rows(s->root, s->name, "bytes", 0, INT64_MAX, &said, error);
  if (status == CPB_OK) status = cpb_json_number(s->root, s->name, "radius", radius, error);
  if (status == CPB_OK) status = look_at(s->path, &is_file, &bytes, error);
  if (status != CPB_OK) return status;
  if (!is_file || bytes != said)
    return refuse(s, "has been written anew since, by something else",
                  "embed its rows again, or remove this seal if you know which map made them", error);
  if (made == NULL || strcmp(made, hex) != 0)
    return refuse(s, "was made by another map or transform", "give the one that made it", error);
  if (as == NULL || strcmp(as, role == CPB_ROLE_BASE ? "base" : "query") != 0)
    return refuse(s, role == CPB_ROLE_BASE ? "holds queries" : "holds rows of the base",
                  role == CPB_ROLE_BASE ? "the embedded rows of the base are wanted" : "queries are wanted",
                  error);
  return CPB_OK;
}

static cpb_status check_text(seal *s, const char *text, size_t length, const cpb_transform *transform,
                             cpb_role role, double *radius, cpb_error *error) {
  cpb_json *root;
  cpb_status status = cpb_json_read(text, length, 0, s->name, &root, error);
  if (status != CPB_OK) return status;
  s->root = root;
  status = cpb_json_check_kind(root, s->name, "seal", VERSION, error);
  if (status == CPB_OK) status = cpb_json_check_sum(root, s->name, text, length, error);
  if (status == CPB_OK) status = compare(s, transform, role, radius, error);
  free(root);
  return status;
}

cpb_status cpb_seal_check(const char *path, const cpb_transform *transform, cpb_role role, bool *found,
                          double *radius, cpb_error *error) {
  if (path == NULL || found == NULL || radius == NULL)
    return cpb_fail_missing(error, path == NULL ? "path" : found == NULL ? "found" : "radius");
  cpb_buffer buffer = {NULL, 0};
  size_t length;
  const char *called;
  *found = false;
  *radius = 0;
  seal s = {.path = path, .name = cpb_seal_name(path, error)};
  if (s.name == NULL) return CPB_ENOMEM;
  cpb_status status = CPB_OK;
  if (access(s.name, F_OK) == 0)
    *found = true;
  else if (!is_absent())
    status = cpb_file_fail_errno(error, s.name, "look at");
  if (*found) {
    status = cpb_read_whole(s.name, &buffer, &length, &called, error);
    if (status == CPB_OK)
      status = check_text(&s, (const char *)buffer.bytes, length, transform, role, radius, error);
    cpb_buffer_free(&buffer);
  }
  free((char *)(uintptr_t)s.name);
  return status;
}
