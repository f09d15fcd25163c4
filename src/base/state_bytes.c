#include "base/state_bytes.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"

uint64_t cpb_checksum_on(uint64_t hash, const void *bytes, size_t count) {
  const unsigned char *byte = bytes;
  for (size_t i = 0; i < count; i++) hash = (hash ^ byte[i]) * 0x100000001b3u;
  return hash;
}

uint64_t cpb_checksum(const void *bytes, size_t count) {
  return cpb_checksum_on(0xcbf29ce484222325u, bytes, count);
}

static uint64_t little_number(const unsigned char *little, size_t bytes) {
  uint64_t number = 0;
  for (size_t i = 0; i < bytes; i++) number |= (uint64_t)little[i] << 8 * i;
  return number;
}

uint64_t cpb_state_checksum(const void *state, size_t count) {
  const unsigned char *tail = (const unsigned char *)state + count - 8;
  return cpb_checksum_on(little_number(tail, 8), tail, 8);
}

/* ---- both ways ---- */

void cpb_state_refuse(cpb_state *s, const char *what) {
  if (s->status == CPB_OK) s->status = cpb_fail(s->error, CPB_WHY_STATE, "bytes", "%s: %s", s->name, what);
}

void cpb_state_require(cpb_state *s, bool holds, const char *otherwise) {
  if (s->reading && !holds) cpb_state_refuse(s, otherwise);
}

void cpb_state_no_memory(cpb_state *s, const char *what, size_t count) {
  if (s->status == CPB_OK) s->status = cpb_fail_memory(s->error, "%zu %s", count, what);
}

/* NULL after a failure. */
static const unsigned char *take_bytes(cpb_state *s, size_t count) {
  if (s->status == CPB_OK && count > s->left) cpb_state_refuse(s, "the state is truncated");
  if (s->status != CPB_OK) return NULL;
  const unsigned char *bytes = s->from;
  s->from += count;
  s->left -= count;
  return bytes;
}

uint64_t cpb_state_number(cpb_state *s, uint64_t number, size_t bytes) {
  if (s->reading) {
    const unsigned char *little = take_bytes(s, bytes);
    return little == NULL ? 0 : little_number(little, bytes);
  }
  for (size_t i = 0; i < bytes && s->to != NULL; i++) s->to[s->used + i] = (unsigned char)(number >> 8 * i);
  s->used += bytes;
  return number;
}

size_t cpb_state_size(cpb_state *s, size_t size) {
  uint64_t number = cpb_state_number(s, size, 8);
  if (number <= SIZE_MAX) return (size_t)number;
  cpb_state_refuse(s, "a size is too large for this machine");
  return 0;
}

size_t cpb_state_count(cpb_state *s, size_t count, size_t bytes_each) {
  count = cpb_state_size(s, count);
  if (s->status == CPB_OK) cpb_state_require(s, count <= s->left / bytes_each, "the state is truncated");
  return s->status == CPB_OK ? count : 0;
}

double cpb_state_double(cpb_state *s, double x) {
  uint64_t bits;
  memcpy(&bits, &x, sizeof bits);
  bits = cpb_state_number(s, bits, 8);
  memcpy(&x, &bits, sizeof x);
  return x;
}

float cpb_state_float(cpb_state *s, float x) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  bits = (uint32_t)cpb_state_number(s, bits, 4);
  memcpy(&x, &bits, sizeof x);
  return x;
}

void cpb_state_doubles(cpb_state *s, double *x, size_t n) {
  for (size_t i = 0; i < n && s->status == CPB_OK; i++) {
    double number = cpb_state_double(s, s->reading ? 0 : x[i]);
    if (!s->reading) continue;
    x[i] = number;
    if (!isfinite(number)) cpb_state_refuse(s, "a number is not finite");
  }
}

/* ---- tables ---- */

static void read_value(cpb_state *s, cpb_state_type type, void *at) {
  switch (type) {
  case CPB_STATE_U32: *(uint32_t *)at = (uint32_t)cpb_state_number(s, 0, 4); break;
  case CPB_STATE_FLAG: *(bool *)at = cpb_state_number(s, 0, 4) != 0; break;
  case CPB_STATE_I32: *(int32_t *)at = (int32_t)(uint32_t)cpb_state_number(s, 0, 4); break;
  case CPB_STATE_U64: *(uint64_t *)at = cpb_state_number(s, 0, 8); break;
  case CPB_STATE_SIZE: *(size_t *)at = cpb_state_size(s, 0); break;
  case CPB_STATE_F64: *(double *)at = cpb_state_double(s, 0); break;
  case CPB_STATE_FINITE: cpb_state_doubles(s, at, 1); break;
  }
}

static void write_value(cpb_state *s, cpb_state_type type, const void *at) {
  switch (type) {
  case CPB_STATE_U32: cpb_state_number(s, *(const uint32_t *)at, 4); break;
  case CPB_STATE_FLAG: cpb_state_number(s, *(const bool *)at, 4); break;
  case CPB_STATE_I32: cpb_state_number(s, (uint64_t) * (const int32_t *)at, 4); break;
  case CPB_STATE_U64: cpb_state_number(s, *(const uint64_t *)at, 8); break;
  case CPB_STATE_SIZE: cpb_state_size(s, *(const size_t *)at); break;
  case CPB_STATE_F64:
  case CPB_STATE_FINITE: cpb_state_double(s, *(const double *)at); break;
  }
}

static void serialize_value(cpb_state *s, cpb_state_type type, void *at) {
  if (s->reading)
    read_value(s, type, at);
  else
    write_value(s, type, at);
}

void cpb_state_serialize_record(cpb_state *s, void *object, const cpb_state_member *table, size_t members,
                                size_t n, size_t i) {
  for (size_t k = 0; k < members; k++) {
    char *at = (char *)object + table[k].offset, *array;
    if (table[k].place == CPB_STATE_HERE) {
      serialize_value(s, table[k].type, at);
      continue;
    }
    memcpy(&array, at, sizeof array);
    if (table[k].place == CPB_STATE_ROWS)
      cpb_state_doubles(s, (double *)(void *)array + i * n, n);
    else
      serialize_value(s, table[k].type, array + i * 8);
  }
}

void cpb_state_serialize_records(cpb_state *s, void *object, const cpb_state_member *table, size_t members,
                                 size_t n, size_t records) {
  for (size_t i = 0; i < records && s->status == CPB_OK; i++)
    cpb_state_serialize_record(s, object, table, members, n, i);
}

/* ---- whole states ---- */

cpb_status cpb_state_write(cpb_state_serialize *serialize, void *object, void **bytes, size_t *count,
                           cpb_error *error) {
  cpb_state measure = {.status = CPB_OK}, s = {.status = CPB_OK};
  serialize(&measure, &object);
  s.to = malloc(measure.used);
  if (s.to == NULL) return cpb_fail_memory(error, "a state of %zu bytes", measure.used);
  serialize(&s, &object);
  *bytes = s.to;
  *count = s.used;
  return CPB_OK;
}

cpb_status cpb_state_read(cpb_state_serialize *serialize, void (*release)(void *object), const char *what,
                          const void *bytes, size_t count, const char *name, void *to, cpb_error *error) {
  if (bytes == NULL || to == NULL) return cpb_fail_missing(error, bytes == NULL ? "bytes" : what);
  void *object = NULL;
  cpb_state s = {.reading = true, .from = bytes, .left = count, .status = CPB_OK, .error = error};
  s.name = name == NULL ? "state" : name;
  serialize(&s, &object);
  if (s.status != CPB_OK) {
    release(object);
    object = NULL;
  }
  memcpy(to, &object, sizeof object);
  return s.status;
}

void cpb_state_begin(cpb_state *s, const cpb_state_kind *kind) {
  const unsigned char *bytes = s->from;
  size_t count = s->left;
  if (!s->reading) {
    if (s->to != NULL) memcpy(s->to + s->used, kind->mark, 8);
    s->used += 8;
    s->version = cpb_state_number(s, kind->version, 4);
    return;
  }
  if (count < 8 || memcmp(bytes, kind->mark, 8) != 0) {
    s->status =
        cpb_fail(s->error, CPB_WHY_FOREIGN, "", "%s: these are not %s of capball (no %s at the start)",
                 s->name, kind->what, kind->mark);
    return;
  }
  take_bytes(s, 8);
  s->version = cpb_state_number(s, 0, 4);
  uint64_t oldest = kind->oldest == 0 ? kind->version : kind->oldest;
  if (s->status == CPB_OK && (s->version < oldest || s->version > kind->version))
    s->status = cpb_fail(s->error, CPB_WHY_FILE_VERSION, "",
                         "%s: the state is of version %" PRIu64 ", wanted %" PRIu64, s->name, s->version,
                         kind->version);
  if (s->status != CPB_OK) return;
  uint64_t stored = little_number(bytes + count - 8, 8), is = cpb_checksum(bytes, count - 8);
  if (stored != is)
    s->status = cpb_fail(s->error, CPB_WHY_CHECKSUM, "",
                         "%s: its bytes have checksum %016" PRIx64 ", but it says %016" PRIx64
                         ": the state is truncated or damaged",
                         s->name, is, stored);
}

void cpb_state_end(cpb_state *s) {
  cpb_state_number(s, s->to != NULL ? cpb_checksum(s->to, s->used) : 0, 8);
  if (s->status == CPB_OK) cpb_state_require(s, s->left == 0, "there are bytes after the end of the state");
}
