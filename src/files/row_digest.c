#include "files/row_digest.h"

#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "base/random.h"
#include "base/rows.h"

/* High and low half of a 128-bit product, folded. */
static uint64_t fold(uint64_t x, uint64_t y) {
  uint64_t x0 = x & 0xffffffffu, x1 = x >> 32, y0 = y & 0xffffffffu, y1 = y >> 32;
  uint64_t low = x0 * y0, cross = x1 * y0 + (low >> 32), other = x0 * y1 + (cross & 0xffffffffu);
  uint64_t high = x1 * y1 + (cross >> 32) + (other >> 32);
  return high ^ (other << 32 | (low & 0xffffffffu));
}

static const uint64_t salt[2] = {0x243f6a8885a308d3, 0x13198a2e03707344};

/* Adds the two numbers of a group, each of which depends on every sum and on the index of the group. */
static void add_group(const cpb_row_digest *d, uint64_t number, const void *bytes, size_t count,
                      uint64_t total[2]) {
  uint64_t sums[CPB_DIGEST_LANES];
  d->loops->digest(bytes, count, sums);
  for (size_t side = 0; side < 2; side++) {
    const uint64_t *key = d->keys[side];
    uint64_t sum = count * (salt[side] | 1);
    for (size_t i = 0; i < CPB_DIGEST_LANES; i += 2) sum += fold(sums[i] ^ key[i], sums[i + 1] ^ key[i + 1]);
    total[side] += cpb_mix(cpb_mix(sum) ^ cpb_mix(salt[side] ^ number));
  }
}

void cpb_row_digest_clear(cpb_row_digest *d) {
  for (size_t side = 0; side < 2; side++) atomic_store(&d->sums[side], 0);
  d->rest_rows = 0;
}

cpb_status cpb_row_digest_begin(cpb_row_digest *d, cpb_dtype dtype, size_t cols, cpb_error *error) {
  cpb_row_digest_free(d);
  d->loops = cpb_loops_here();
  for (size_t side = 0; side < 2; side++)
    for (size_t i = 0; i < CPB_DIGEST_LANES; i++) d->keys[side][i] = cpb_mix(salt[side] + i);
  d->dtype = dtype;
  d->cols = cols;
  d->row_bytes = cols * cpb_dtype_size(dtype);
  d->group = 1;
  while (d->group < CPB_DIGEST_GROUP_MOST && d->group * d->row_bytes < CPB_DIGEST_GROUP_BYTES) d->group *= 2;
  cpb_row_digest_clear(d);
  d->rest = malloc(d->group * d->row_bytes);
  return d->rest != NULL ? CPB_OK : cpb_fail_memory(error, "%zu rows of %zu columns", d->group, cols);
}

void cpb_row_digest_free(cpb_row_digest *d) {
  free(d->rest);
  d->rest = NULL;
}

static void pack(const cpb_row_digest *d, cpb_view rows, unsigned char *to) {
  const unsigned char *from = rows.data;
  size_t step = rows.stride * cpb_dtype_size(rows.dtype);
  for (size_t i = 0; i < rows.rows; i++) memcpy(to + i * d->row_bytes, from + i * step, d->row_bytes);
}

/* Rows with gaps are copied to a buffer first. */
static void add_whole(const cpb_row_digest *d, uint64_t number, cpb_view rows, uint64_t total[2]) {
  unsigned char packed[2 * CPB_DIGEST_GROUP_BYTES];
  size_t bytes = rows.rows * d->row_bytes;
  bool dense = rows.stride == rows.cols || rows.rows == 1;
  if (!dense) pack(d, rows, packed); /* more than one row: less than twice the bytes wanted */
  add_group(d, number, dense ? rows.data : packed, bytes, total);
}

static void end_rest(cpb_row_digest *d, uint64_t total[2]) {
  if (d->rest_rows > 0) add_group(d, d->rest_row / d->group, d->rest, d->rest_rows * d->row_bytes, total);
  d->rest_rows = 0;
}

/* Adds the rows that continue the incomplete group; returns how many. */
static size_t continue_rest(cpb_row_digest *d, cpb_view rows, uint64_t total[2]) {
  size_t room = d->group - d->rest_rows, count = rows.rows < room ? rows.rows : room;
  pack(d, cpb_view_slice(rows, 0, count), d->rest + d->rest_rows * d->row_bytes);
  d->rest_rows += count;
  if (d->rest_rows == d->group) end_rest(d, total);
  return count;
}

static void add_total(cpb_row_digest *d, const uint64_t total[2]) {
  for (size_t side = 0; side < 2; side++) atomic_fetch_add(&d->sums[side], total[side]);
}

bool cpb_row_digest_add(cpb_row_digest *d, uint64_t first, cpb_view rows) {
  uint64_t total[2] = {0, 0};
  size_t at = 0;
  if (rows.rows == 0) return true;
  if (first % d->group != 0) {
    if (d->rest_rows == 0 || first != d->rest_row + d->rest_rows) return false;
    at = continue_rest(d, rows, total);
  }
  for (; rows.rows - at >= d->group; at += d->group)
    add_whole(d, (first + at) / d->group, cpb_view_slice(rows, at, d->group), total);
  if (at < rows.rows) {
    d->rest_row = first + at;
    continue_rest(d, cpb_view_slice(rows, at, rows.rows - at), total);
  }
  add_total(d, total);
  return true;
}

void cpb_row_digest_finish(cpb_row_digest *d, uint64_t rows, uint64_t hash[2]) {
  uint64_t total[2] = {0, 0};
  end_rest(d, total);
  add_total(d, total);
  for (size_t side = 0; side < 2; side++) {
    uint64_t shape = cpb_mix(rows) + cpb_mix(d->cols + side) * 3 + d->dtype;
    hash[side] = cpb_mix(atomic_load(&d->sums[side]) ^ cpb_mix(shape));
  }
}
