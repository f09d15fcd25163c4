/* Row ids computed from the rows themselves. */
#include <string.h>

#include "capball/advanced/statistics.h"
#include "core/fail.h"
#include "core/random.h"
#include "core/rows.h"

/* The bits of an element as a number, so that the hash of a row does not depend on the byte order. */
static uint64_t bits_of(const unsigned char *element, size_t size) {
  uint64_t wide;
  uint32_t word;
  uint16_t half;
  if (size == 1) return *element;
  if (size == 2) return memcpy(&half, element, 2), half;
  if (size == 4) return memcpy(&word, element, 4), word;
  return memcpy(&wide, element, 8), wide;
}

static uint64_t hash_row(const unsigned char *row, size_t size, size_t d) {
  uint64_t hash = d;
  for (size_t i = 0; i < d; i++) {
    hash = (hash ^ bits_of(row + i * size, size)) * 0x9e3779b97f4a7c15u;
    hash ^= hash >> 32;
  }
  return cpb_mix(hash) >> 1; /* files store ids as signed integers, which end at 2^63 */
}

cpb_status cpb_rows_hash(cpb_view rows, uint64_t *ids, cpb_error *error) {
  cpb_status status = cpb_check_view(rows, "rows", rows.cols, error);
  if (status != CPB_OK) return status;
  if (ids == NULL && rows.rows > 0) return cpb_fail_missing(error, "ids");
  size_t size = cpb_dtype_size(rows.dtype);
  for (size_t i = 0; i < rows.rows; i++)
    ids[i] = hash_row((const unsigned char *)rows.data + i * rows.stride * size, size, rows.cols);
  return CPB_OK;
}
