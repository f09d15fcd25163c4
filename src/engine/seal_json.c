/* Seals: a text that describes the origin of rows, with a hash of them, and the check that it matches. */
#include "capball/advanced/seal.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "base/rows.h"
#include "base/sized.h"
#include "files/input.h"
#include "files/file_fail.h"
#include "files/writer.h"
#include "engine/transform_json.h"
#include "files/json_file.h"
#include "files/row_digest.h"

enum { VERSION = 2 };

static const char *const role_names[] = {"base", "query"};

/* ---- writing ---- */

typedef struct sealing {
  cpb_seal hooks; /* first: the part the writer uses */
  cpb_seal_facts facts;
  cpb_row_digest digest;
} sealing;

/* Completes the facts after all rows were passed. */
static cpb_status print(cpb_seal_facts *facts, cpb_row_digest *digest, uint64_t rows, char **text,
                        cpb_error *error) {
  char hash[33];
  cpb_text l = {0};
  facts->rows = rows;
  cpb_row_digest_finish(digest, rows, facts->hash);
  snprintf(hash, sizeof hash, "%016" PRIx64 "%016" PRIx64, facts->hash[0], facts->hash[1]);
  cpb_json_put_kind(&l, "seal", VERSION);
  cpb_json_put(&l, "fingerprint", "x", facts->fingerprint);
  cpb_json_put(&l, "role", "s", role_names[facts->role]);
  cpb_json_put(&l, "radius", "f", facts->radius);
  cpb_json_put(&l, "rows", "I", (uint64_t)facts->rows);
  cpb_json_put(&l, "cols", "I", (uint64_t)facts->cols);
  cpb_json_put(&l, "dtype", "s", cpb_dtype_name(facts->precision));
  cpb_json_put(&l, "hash", "s", hash);
  return cpb_json_finish(&l, "seal", text, error);
}

static cpb_status begin(cpb_seal *seal, cpb_dtype dtype, cpb_dtype stored, size_t cols, cpb_error *error) {
  sealing *s = (sealing *)seal;
  s->facts.cols = cols;
  s->facts.precision = stored;
  return cpb_row_digest_begin(&s->digest, dtype, cols, error);
}

static bool show(cpb_seal *seal, uint64_t first, cpb_view rows) {
  return cpb_row_digest_add(&((sealing *)seal)->digest, first, rows);
}

static cpb_status finish(cpb_seal *seal, uint64_t rows, char **text, cpb_error *error) {
  sealing *s = (sealing *)seal;
  return print(&s->facts, &s->digest, rows, text, error);
}

static cpb_status describe(const cpb_transform *transform, cpb_role role, double radius,
                           cpb_seal_facts *facts, cpb_error *error) {
  if (transform == NULL) return cpb_fail_missing(error, "transform");
  if ((unsigned)role > CPB_ROLE_QUERY) return cpb_fail_choice(error, "role", (int)role);
  if (!(radius >= 0 && radius < INFINITY))
    return cpb_fail_domain(error, "radius", radius, "radius must be >= 0 and finite");
  *facts = (cpb_seal_facts){.size = sizeof *facts, .found = true, .role = role, .radius = radius};
  return cpb_transform_fingerprint(transform, &facts->fingerprint, error);
}

cpb_status cpb_seal_new(const cpb_transform *transform, cpb_role role, double radius, cpb_seal **seal,
                        cpb_error *error) {
  if (seal == NULL) return cpb_fail_missing(error, "seal");
  *seal = NULL;
  cpb_seal_facts facts;
  cpb_status status = describe(transform, role, radius, &facts, error);
  sealing *made = status == CPB_OK ? calloc(1, sizeof *made) : NULL;
  if (status != CPB_OK) return status;
  if (made == NULL) return cpb_fail_memory(error, "%zu bytes", sizeof *made);
  made->hooks = (cpb_seal){begin, show, finish};
  made->facts = facts;
  *seal = &made->hooks;
  return CPB_OK;
}

void cpb_seal_free(cpb_seal *seal) {
  sealing *s = (sealing *)seal;
  if (s == NULL) return;
  cpb_row_digest_free(&s->digest);
  free(s);
}

/* ---- reading ---- */

static void check_key(cpb_json_file *f, bool holds, const char *key) {
  if (!holds) cpb_json_refuse(f, CPB_WHY_SEAL_KEY, "its \"%s\" is not that of a seal", key);
}

/* 16 hexadecimal digits. */
static bool read_hex(const char *text, uint64_t *number) {
  *number = 0;
  for (size_t i = 0; i < 16; i++) {
    const char *digits = "0123456789abcdef", *at = text[i] != 0 ? strchr(digits, text[i]) : NULL;
    if (at == NULL) return false;
    *number = *number << 4 | (uint64_t)(at - digits);
  }
  return true;
}

static const char *text_of(const cpb_json *root, const char *key) {
  const char *text = cpb_json_string_of(cpb_json_get(root, key));
  return text == NULL ? "" : text;
}

static void read_facts(cpb_json_file *f, cpb_seal_facts *facts) {
  const char *fingerprint = text_of(f->root, "fingerprint"), *hash = text_of(f->root, "hash");
  const char *role = text_of(f->root, "role"), *dtype = text_of(f->root, "dtype");
  cpb_json_check_kind(f, "seal", VERSION);
  cpb_json_check_sum(f);
  facts->rows = cpb_json_rows(f, f->root, "rows", 0, INT64_MAX);
  facts->cols = cpb_json_count(f, f->root, "cols", 1, INT32_MAX);
  facts->radius = cpb_json_number(f, f->root, "radius");
  check_key(f, facts->radius >= 0 && facts->radius < INFINITY, "radius");
  check_key(f, strlen(fingerprint) == 16 && read_hex(fingerprint, &facts->fingerprint), "fingerprint");
  facts->role = strcmp(role, role_names[CPB_ROLE_QUERY]) == 0 ? CPB_ROLE_QUERY : CPB_ROLE_BASE;
  check_key(f, strcmp(role, role_names[facts->role]) == 0, "role");
  facts->precision = CPB_F32;
  while (facts->precision <= CPB_F16 && strcmp(dtype, cpb_dtype_name(facts->precision)) != 0)
    facts->precision++;
  check_key(f, facts->precision <= CPB_F16, "dtype");
  check_key(f, strlen(hash) == 32 && read_hex(hash, &facts->hash[0]) && read_hex(hash + 16, &facts->hash[1]),
            "hash");
}

cpb_status cpb_seal_read(const cpb_reader *reader, cpb_seal_facts *facts, cpb_error *error) {
  if (reader == NULL || facts == NULL) return cpb_fail_missing(error, reader == NULL ? "reader" : "facts");
  cpb_seal_facts ours = {.size = sizeof ours}, none = ours;
  cpb_buffer buffer = {NULL, 0};
  cpb_json *root = NULL;
  size_t length;
  char *name;
  cpb_status status = cpb_reader_seal(reader, &buffer, &length, &name, error);
  const char *text = (const char *)buffer.bytes;
  if (status == CPB_OK && length > 0) status = cpb_json_read(text, length, 0, name, &root, error);
  if (root != NULL) {
    cpb_json_file file = {.root = root, .name = name, .text = text, .length = length, .error = error};
    read_facts(&file, &ours);
    status = file.status;
    ours.found = status == CPB_OK;
  }
  free(root);
  cpb_sized_give(facts, ours.found ? &ours : &none, sizeof ours);
  cpb_buffer_free(&buffer);
  free(name);
  return status;
}

/* ---- the rows ---- */

struct cpb_seal_watch {
  cpb_source source, *watched;
  cpb_row_digest digest;
  uint64_t rows;
  bool whole; /* the pass has reached its end */
};

static cpb_status watch_rewind(cpb_source *source, cpb_error *error) {
  cpb_seal_watch *w = source->self;
  w->rows = 0;
  w->whole = false;
  cpb_row_digest_clear(&w->digest);
  return w->watched->rewind(w->watched, error);
}

static cpb_status watch_next(cpb_source *source, cpb_view *block, cpb_error *error) {
  cpb_seal_watch *w = source->self;
  cpb_status status = w->watched->next(w->watched, block, error);
  if (status != CPB_OK) return status;
  status = cpb_check_layout(*block, "rows", w->source.cols, error);
  if (status == CPB_OK && block->dtype != w->source.dtype)
    status = cpb_fail_unknown_dtype(error, "rows", block->dtype);
  if (status != CPB_OK) return status;
  cpb_row_digest_add(&w->digest, w->rows, *block); /* in order, so it is always accepted */
  w->rows += block->rows;
  w->whole = w->whole || block->rows == 0;
  return CPB_OK;
}

cpb_status cpb_seal_watch_new(cpb_source *rows, cpb_seal_watch **watch, cpb_error *error) {
  if (watch == NULL) return cpb_fail_missing(error, "watch");
  *watch = NULL;
  cpb_status status = cpb_check_source(rows, error);
  if (status != CPB_OK) return status;
  cpb_seal_watch *w = calloc(1, sizeof *w);
  if (w == NULL) return cpb_fail_memory(error, "%zu bytes", sizeof *w);
  w->watched = rows;
  w->source = *rows;
  w->source.size = sizeof w->source;
  w->source.next = watch_next;
  w->source.rewind = watch_rewind;
  w->source.self = w;
  w->source.view = cpb_rows(NULL, rows->dtype, 0, rows->cols); /* no access past the watch */
  status = cpb_row_digest_begin(&w->digest, rows->dtype, rows->cols, error);
  if (status == CPB_OK)
    *watch = w;
  else
    cpb_seal_watch_free(w);
  return status;
}

void cpb_seal_watch_free(cpb_seal_watch *watch) {
  if (watch == NULL) return;
  cpb_row_digest_free(&watch->digest);
  free(watch);
}

cpb_source *cpb_seal_watch_source(cpb_seal_watch *watch) { return watch == NULL ? NULL : &watch->source; }

cpb_status cpb_seal_watch_all(cpb_seal_watch *watch, cpb_error *error) {
  cpb_view block;
  if (watch == NULL) return cpb_fail_missing(error, "watch");
  cpb_status status = watch_rewind(&watch->source, error);
  while (status == CPB_OK && !watch->whole) status = watch_next(&watch->source, &block, error);
  return status;
}

bool cpb_seal_watch_fits(cpb_seal_watch *watch, const cpb_seal_facts *facts) {
  uint64_t hash[2];
  if (watch == NULL || facts == NULL) return false;
  if (!facts->found || !watch->whole || watch->rows != facts->rows || watch->source.cols != facts->cols)
    return false;
  cpb_row_digest_finish(&watch->digest, watch->rows, hash);
  return hash[0] == facts->hash[0] && hash[1] == facts->hash[1];
}

/* ---- writing and reading ---- */

cpb_status cpb_seal_compare(const cpb_seal_facts *facts, const char *path, const cpb_transform *transform,
                            cpb_role role, cpb_error *error) {
  static const char *const holds[] = {"holds rows of the base; queries are wanted",
                                      "holds queries; the embedded rows of the base are wanted"};
  uint64_t fingerprint;
  if (facts == NULL || path == NULL) return cpb_fail_missing(error, facts == NULL ? "facts" : "path");
  cpb_status status = cpb_transform_fingerprint(transform, &fingerprint, error);
  if (status != CPB_OK) return status;
  bool foreign = fingerprint != facts->fingerprint;
  if (!foreign && facts->role == role) return CPB_OK;
  return cpb_file_fail(error, CPB_WHY_SEAL_FOREIGN, path, "%s",
                       foreign
                           ? "was computed by another map or transform, according to its seal; give that one"
                           : holds[facts->role]);
}

cpb_status cpb_seal_check(const char *path, const cpb_transform *transform, cpb_role role, bool *found,
                          double *radius, cpb_error *error) {
  if (path == NULL || found == NULL || radius == NULL)
    return cpb_fail_missing(error, path == NULL ? "path" : found == NULL ? "found" : "radius");
  cpb_reader *reader;
  cpb_seal_facts facts = {.size = sizeof facts};
  cpb_seal_watch *watch = NULL;
  *found = false;
  *radius = 0;
  cpb_status status = cpb_reader_open(path, NULL, &reader, error);
  if (status != CPB_OK) return status;
  cpb_source source = cpb_reader_source(reader, false);
  /* a seal that cannot be used is ignored */
  if (cpb_seal_read(reader, &facts, NULL) == CPB_OK && facts.found) {
    status = cpb_seal_watch_new(&source, &watch, error);
    if (status == CPB_OK) status = cpb_seal_watch_all(watch, error);
    *found = status == CPB_OK && cpb_seal_watch_fits(watch, &facts);
    *radius = *found ? facts.radius : 0;
    if (*found) status = cpb_seal_compare(&facts, path, transform, role, error);
  }
  cpb_seal_watch_free(watch);
  cpb_reader_free(reader);
  return status;
}

cpb_status cpb_seal_put(const char *path, const cpb_transform *transform, cpb_role role, double radius,
                        cpb_dtype precision, cpb_seal_watch *watch, cpb_error *error) {
  if (path == NULL || watch == NULL) return cpb_fail_missing(error, path == NULL ? "path" : "watch");
  if (precision > CPB_F16) return cpb_fail_dtype(error, "precision", precision);
  if (!watch->whole)
    return cpb_fail(error, CPB_WHY_CALL_ORDER, "watch",
                    "a seal covers all rows: the pass did not reach the end");
  cpb_seal_facts facts;
  char *text = NULL;
  cpb_status status = describe(transform, role, radius, &facts, error);
  if (status != CPB_OK) return status;
  facts.cols = watch->source.cols;
  facts.precision = precision;
  status = print(&facts, &watch->digest, watch->rows, &text, error);
  if (status == CPB_OK) status = cpb_seal_store(path, text, error);
  free(text);
  return status;
}
