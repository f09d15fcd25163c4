#include "core/state_bytes.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/fail.h"

static uint64_t checksum_on(uint64_t hash, const unsigned char *byte, size_t count) {
  for (size_t i = 0; i < count; i++) hash = (hash ^ byte[i]) * 0x100000001b3u;
  return hash;
}

uint64_t cpb_checksum(const void *bytes, size_t count) {
  return checksum_on(0xcbf29ce484222325u, bytes, count);
}

static uint64_t little_number(const unsigned char *little, size_t bytes) {
  uint64_t number = 0;
  for (size_t i = 0; i < bytes; i++) number |= (uint64_t)little[i] << 8 * i;
  return number;
}

uint64_t cpb_state_checksum(const void *state, size_t count) {
  const unsigned char *tail = (const unsigned char *)state + count - 8;
  return checksum_on(little_number(tail, 8), tail, 8);
}

/* ---- writing ---- */

void cpb_put_bytes(cpb_state_out *to, const void *bytes, size_t count) {
  if (to->bytes != NULL && count > 0) memcpy(to->bytes + to->used, bytes, count);
  to->used += count;
}

/* With a size that is known here this is one store. */
static inline void put_little(unsigned char *to, uint64_t number, size_t bytes) {
  for (size_t i = 0; i < bytes; i++) to[i] = (unsigned char)(number >> 8 * i);
}

void cpb_put_number(cpb_state_out *to, uint64_t number, size_t bytes) {
  unsigned char *at = to->bytes == NULL ? NULL : to->bytes + to->used;
  to->used += bytes;
  if (at == NULL) return;
  if (bytes == 8)
    put_little(at, number, 8);
  else if (bytes == 4)
    put_little(at, number, 4);
  else
    put_little(at, number, bytes);
}

void cpb_put_double(cpb_state_out *to, double x) {
  uint64_t bits;
  memcpy(&bits, &x, sizeof bits);
  cpb_put_number(to, bits, 8);
}

void cpb_put_doubles(cpb_state_out *to, const double *x, size_t n) {
  for (size_t i = 0; i < n; i++) cpb_put_double(to, x[i]);
}

void cpb_put_checksum(cpb_state_out *to) {
  cpb_put_number(to, to->bytes != NULL ? cpb_checksum(to->bytes, to->used) : 0, 8);
}

cpb_status cpb_state_write(void (*put)(cpb_state_out *to, void *object), void *object, void **bytes,
                           size_t *count, cpb_error *error) {
  cpb_state_out measure = {NULL, 0};
  put(&measure, object);
  cpb_state_out to = {malloc(measure.used), 0};
  if (to.bytes == NULL) return cpb_fail_memory(error, "a state of %zu bytes", measure.used);
  put(&to, object);
  *bytes = to.bytes;
  *count = to.used;
  return CPB_OK;
}

/* ---- reading ---- */

void cpb_state_refuse(cpb_state_in *from, const char *what) {
  if (from->status == CPB_OK)
    from->status = cpb_fail(from->error, CPB_WHY_STATE, "bytes", "%s: %s", from->name, what);
}

const unsigned char *cpb_get_bytes(cpb_state_in *from, size_t count) {
  if (from->status == CPB_OK && count > from->left) cpb_state_refuse(from, "the state is truncated");
  if (from->status != CPB_OK) return NULL;
  const unsigned char *bytes = from->bytes;
  from->bytes += count;
  from->left -= count;
  return bytes;
}

uint64_t cpb_get_number(cpb_state_in *from, size_t bytes) {
  const unsigned char *little = cpb_get_bytes(from, bytes);
  return little == NULL ? 0 : little_number(little, bytes);
}

size_t cpb_get_size(cpb_state_in *from) {
  uint64_t number = cpb_get_number(from, 8);
  if (number <= SIZE_MAX) return (size_t)number;
  cpb_state_refuse(from, "a size is too large for this machine");
  return 0;
}

size_t cpb_get_count(cpb_state_in *from, size_t bytes_each) {
  size_t count = cpb_get_size(from);
  if (from->status == CPB_OK && count > from->left / bytes_each)
    cpb_state_refuse(from, "the state is truncated");
  return from->status == CPB_OK ? count : 0;
}

double cpb_get_double(cpb_state_in *from) {
  uint64_t bits = cpb_get_number(from, 8);
  double x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

static void check_checksum(cpb_state_in *from, const unsigned char *bytes, size_t count) {
  cpb_state_in tail = {bytes + count - 8, 8, from->name, CPB_OK, NULL, 0};
  uint64_t stored = cpb_get_number(&tail, 8), is = cpb_checksum(bytes, count - 8);
  if (stored != is)
    from->status = cpb_fail(from->error, CPB_WHY_CHECKSUM, "",
                            "%s: its bytes have checksum %016" PRIx64 ", but it says %016" PRIx64
                            ": the state is truncated or damaged",
                            from->name, is, stored);
}

void cpb_state_begin(cpb_state_in *from, const cpb_state_kind *kind) {
  const unsigned char *bytes = from->bytes;
  size_t count = from->left;
  if (count < 8 || memcmp(bytes, kind->mark, 8) != 0) {
    from->status =
        cpb_fail(from->error, CPB_WHY_FOREIGN, "", "%s: these are not %s of capball (no %s at the start)",
                 from->name, kind->what, kind->mark);
    return;
  }
  cpb_get_bytes(from, 8);
  from->version = cpb_get_number(from, 4);
  uint64_t oldest = kind->oldest == 0 ? kind->version : kind->oldest;
  if (from->status == CPB_OK && (from->version < oldest || from->version > kind->version))
    from->status = cpb_fail(from->error, CPB_WHY_FILE_VERSION, "",
                            "%s: the state is of version %" PRIu64 ", wanted %" PRIu64, from->name,
                            from->version, kind->version);
  if (from->status == CPB_OK) check_checksum(from, bytes, count);
}

void cpb_state_end(cpb_state_in *from) {
  cpb_get_number(from, 8);
  if (from->status == CPB_OK && from->left > 0) cpb_state_refuse(from, "the state goes on after its end");
}

void cpb_get_doubles(cpb_state_in *from, double *x, size_t n) {
  for (size_t i = 0; i < n && from->status == CPB_OK; i++) {
    x[i] = cpb_get_double(from);
    if (!isfinite(x[i])) cpb_state_refuse(from, "a number is not finite");
  }
}
