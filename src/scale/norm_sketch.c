#include "scale/norm_sketch.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/fail.h"

enum { BIN_SHIFT = 40 };

cpb_status cpb_norm_sketch_init(cpb_norm_sketch *sketch, cpb_error *error) {
  return cpb_column_sums_new(&sketch->moments, 2, error);
}

void cpb_norm_sketch_clear(cpb_norm_sketch *sketch) {
  sketch->count = sketch->overflows = 0;
  cpb_column_sums_clear(&sketch->moments);
  for (size_t i = 0; i < CPB_NORM_PAGES; i++)
    if (sketch->page[i] != NULL) memset(sketch->page[i], 0, CPB_NORM_PER_PAGE * sizeof(uint64_t));
}

void cpb_norm_sketch_free(cpb_norm_sketch *sketch) {
  for (size_t i = 0; i < CPB_NORM_PAGES; i++) free(sketch->page[i]);
  cpb_column_sums_free(&sketch->moments);
  memset(sketch, 0, sizeof *sketch);
}

cpb_status cpb_norm_sketch_count(cpb_norm_sketch *sketch, uint32_t bin, uint64_t count, cpb_error *error) {
  uint64_t **page = &sketch->page[bin / CPB_NORM_PER_PAGE];
  if (*page == NULL) *page = calloc(CPB_NORM_PER_PAGE, sizeof(uint64_t));
  if (*page == NULL) return cpb_fail_memory(error, "a histogram of norms");
  (*page)[bin % CPB_NORM_PER_PAGE] += count;
  return CPB_OK;
}

cpb_status cpb_norm_sketch_add(cpb_norm_sketch *sketch, const cpb_loops *loops, const double *norms,
                               size_t count, cpb_error *error) {
  enum { BATCH = 256 };
  double rows[BATCH][2];
  for (size_t first = 0; first < count; first += BATCH) {
    size_t batch = count - first < BATCH ? count - first : BATCH;
    for (size_t i = 0; i < batch; i++) {
      double norm = norms[first + i], square = norm * norm;
      uint64_t bits;
      memcpy(&bits, &norm, sizeof bits);
      cpb_status status = cpb_norm_sketch_count(sketch, (uint32_t)(bits >> BIN_SHIFT), 1, error);
      if (status != CPB_OK) return status;
      if (isinf(square)) sketch->overflows++;
      rows[i][0] = norm;
      rows[i][1] = isinf(square) ? 0 : square;
    }
    cpb_column_sums_add(&sketch->moments, loops, cpb_rows(rows, CPB_F64, batch, 2));
    sketch->count += batch;
  }
  return CPB_OK;
}

cpb_status cpb_norm_sketch_merge(cpb_norm_sketch *sketch, const cpb_norm_sketch *other, cpb_error *error) {
  for (uint32_t page = 0; page < CPB_NORM_PAGES; page++) /* first the step that can fail */
    if (other->page[page] != NULL) {
      cpb_status status = cpb_norm_sketch_count(sketch, page * CPB_NORM_PER_PAGE, 0, error);
      if (status != CPB_OK) return status;
    }
  for (uint32_t page = 0; page < CPB_NORM_PAGES; page++)
    for (size_t i = 0; other->page[page] != NULL && i < CPB_NORM_PER_PAGE; i++)
      sketch->page[page][i] += other->page[page][i];
  sketch->count += other->count;
  sketch->overflows += other->overflows;
  cpb_column_sums_merge(&sketch->moments, &other->moments);
  return CPB_OK;
}

static double middle_of(uint32_t bin) {
  uint64_t bits = (uint64_t)bin << BIN_SHIFT;
  if (bin == 0) return 0;
  bits |= (uint64_t)1 << (BIN_SHIFT - 1);
  double value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

uint32_t cpb_norm_sketch_bin(const cpb_norm_sketch *sketch, uint64_t *rank) {
  for (uint32_t page = 0; page < CPB_NORM_PAGES; page++)
    for (uint32_t i = 0; sketch->page[page] != NULL && i < CPB_NORM_PER_PAGE; i++) {
      uint64_t count = sketch->page[page][i];
      if (*rank < count) return page * CPB_NORM_PER_PAGE + i;
      *rank -= count;
    }
  return UINT32_MAX;
}

double cpb_norm_sketch_rank(const cpb_norm_sketch *sketch, uint64_t rank) {
  uint32_t bin = cpb_norm_sketch_bin(sketch, &rank);
  return bin == UINT32_MAX ? NAN : middle_of(bin);
}

void cpb_norm_sketch_each(const cpb_norm_sketch *sketch,
                          void (*take)(void *arg, double middle, uint64_t count), void *arg) {
  for (uint32_t page = 0; page < CPB_NORM_PAGES; page++)
    for (uint32_t i = 0; sketch->page[page] != NULL && i < CPB_NORM_PER_PAGE; i++)
      if (sketch->page[page][i] != 0)
        take(arg, middle_of(page * CPB_NORM_PER_PAGE + i), sketch->page[page][i]);
}
