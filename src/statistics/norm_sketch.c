#include "statistics/norm_sketch.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "base/rows.h"
#include "loops/chunk.h"

enum { SLAB = 4096, SLAB_BYTES = 1 << 19, PART_BITS = 40, MAGIC_BITS = 52, LEAST = -1074, MOST = 950 };

cpb_status cpb_column_sums_new(cpb_column_sums *c, size_t d, cpb_error *error) {
  size_t wide = d < CPB_CHUNK / 2 ? CPB_CHUNK / d * d : d;
  *c = (cpb_column_sums){.d = d, .wide = wide};
  cpb_memory *m = &c->memory;
  c->low = cpb_memory_take(m, d, sizeof(double));
  c->high = cpb_memory_take(m, d, sizeof(double));
  c->sum = cpb_memory_take(m, d, sizeof(cpb_exact_sum));
  c->slab_low = cpb_memory_take(m, wide, sizeof(double));
  c->slab_high = cpb_memory_take(m, wide, sizeof(double));
  c->magic = cpb_memory_take(m, 2 * wide, sizeof(double));
  c->part = cpb_memory_take(m, 2 * wide, sizeof(double));
  c->quantum = cpb_memory_take(m, 2 * wide, sizeof(int));
  if (m->failed) {
    cpb_column_sums_free(c);
    return cpb_fail_memory(error, "sums of %zu columns", d);
  }
  cpb_column_sums_clear(c);
  return CPB_OK;
}

void cpb_column_sums_free(cpb_column_sums *c) {
  cpb_memory_free(&c->memory);
  *c = (cpb_column_sums){0};
}

void cpb_column_sums_clear(cpb_column_sums *c) {
  for (size_t i = 0; i < c->d; i++) {
    c->low[i] = INFINITY;
    c->high[i] = -INFINITY;
    cpb_exact_clear(&c->sum[i]);
  }
}

/* ---- one slab: rows that may be wide, at most SLAB of them ---- */

static const void *column_at(cpb_view slab, size_t offset) {
  return (const char *)slab.data + offset * cpb_dtype_size(slab.dtype);
}

static bool chunk_extremes(const cpb_loops *loops, cpb_view rows, size_t offset, size_t count, double *low,
                           double *high) {
  double buffer[CPB_CHUNK];
  bool finite = true;
  if (loops->rows_span[rows.dtype] != NULL)
    return loops->rows_span[rows.dtype](column_at(rows, offset), rows.stride, rows.rows, count, low, high);
  for (size_t row = 0; row < rows.rows; row++)
    finite &= loops->span(cpb_row_chunk(loops, rows, row, offset, count, buffer), count, low, high);
  return finite;
}

bool cpb_column_extremes(const cpb_loops *loops, cpb_view rows, double *low, double *high) {
  bool finite = true;
  for (size_t i = 0; i < rows.cols; i++) {
    low[i] = INFINITY;
    high[i] = -INFINITY;
  }
  for (size_t offset = 0; offset < rows.cols; offset += CPB_CHUNK)
    finite &=
        chunk_extremes(loops, rows, offset, cpb_chunk_count(rows.cols, offset), low + offset, high + offset);
  return finite;
}

/* Two quanta below the largest number of each column; false when one is too large for that. The numbers of one
 * chunk of columns are contiguous: magic and part hold 2 count numbers from 2 offset on. */
static bool choose_quanta(cpb_column_sums *c, size_t columns) {
  for (size_t i = 0; i < columns; i++) {
    double largest = fmax(fabs(c->slab_low[i]), fabs(c->slab_high[i]));
    int top = largest > 0 ? ilogb(largest) : 0;
    if (top > MOST) return false;
    int coarse = top + 1 - PART_BITS > LEAST ? top + 1 - PART_BITS : LEAST;
    int fine = coarse - PART_BITS > LEAST ? coarse - PART_BITS : LEAST;
    size_t offset = i / CPB_CHUNK * CPB_CHUNK, count = cpb_chunk_count(columns, offset);
    size_t at = 2 * offset + (i - offset);
    c->quantum[at] = coarse;
    c->quantum[at + count] = fine;
    c->magic[at] = ldexp(1.5, MAGIC_BITS + coarse);
    c->magic[at + count] = ldexp(1.5, MAGIC_BITS + fine);
  }
  memset(c->part, 0, 2 * columns * sizeof *c->part);
  return true;
}

/* Adds what two quanta leave of a row, one number at a time. */
static void add_rest(cpb_column_sums *c, const double *x, size_t offset, size_t count) {
  const double *magic = c->magic + 2 * offset;
  for (size_t i = 0; i < count; i++) {
    double left = x[i] - ((x[i] + magic[i]) - magic[i]);
    left -= (left + magic[count + i]) - magic[count + i];
    if (left != 0) cpb_exact_add(&c->sum[(offset + i) % c->d], left);
  }
}

static void add_chunk(cpb_column_sums *c, const cpb_loops *loops, cpb_view slab, size_t offset,
                      size_t count) {
  double buffer[CPB_CHUNK], *part = c->part + 2 * offset;
  const double *magic = c->magic + 2 * offset;
  bool at_once = loops->rows_split[slab.dtype] != NULL;
  if (at_once &&
      loops->rows_split[slab.dtype](column_at(slab, offset), slab.stride, slab.rows, count, magic, part))
    return;
  for (size_t row = 0; row < slab.rows; row++) {
    const double *x = cpb_row_chunk(loops, slab, row, offset, count, buffer);
    if (at_once || !loops->split(x, count, magic, part)) add_rest(c, x, offset, count);
  }
}

static void add_parts(cpb_column_sums *c, const cpb_loops *loops, cpb_view slab) {
  for (size_t offset = 0; offset < slab.cols; offset += CPB_CHUNK) {
    size_t count = cpb_chunk_count(slab.cols, offset);
    add_chunk(c, loops, slab, offset, count);
    for (size_t i = 0; i < 2 * count; i++) {
      size_t at = 2 * offset + i, column = (offset + i % count) % c->d;
      cpb_exact_deposit(&c->sum[column], (int64_t)ldexp(c->part[at], -c->quantum[at]), c->quantum[at]);
    }
  }
}

static void add_slab(cpb_column_sums *c, const cpb_loops *loops, cpb_view slab) {
  if (choose_quanta(c, slab.cols))
    add_parts(c, loops, slab);
  else /* numbers near the end of double's range, one at a time */
    for (size_t row = 0; row < slab.rows; row++)
      for (size_t i = 0; i < slab.cols; i++) cpb_exact_add(&c->sum[i % c->d], cpb_view_at(slab, row, i));
  for (size_t i = 0; i < slab.cols; i++) {
    c->low[i % c->d] = fmin(c->low[i % c->d], c->slab_low[i]);
    c->high[i % c->d] = fmax(c->high[i % c->d], c->slab_high[i]);
  }
}

/* A slab is read twice: it stays in the second-level cache in between. */
static size_t slab_rows(size_t rows, size_t row_bytes) {
  enum { LEAST_ROWS = 256 };
  size_t most = SLAB_BYTES / row_bytes;
  most = most < LEAST_ROWS ? LEAST_ROWS : most > SLAB ? SLAB : most;
  return rows < most ? rows : most;
}

/* The first `count` rows, viewed as rows of c->wide columns if they are short and have no gaps. */
static cpb_view widened(const cpb_column_sums *c, cpb_view rows, size_t *count) {
  size_t per = rows.stride == rows.cols ? c->wide / c->d : 1, size = cpb_dtype_size(rows.dtype);
  cpb_view slab = rows;
  if (per > 1 && rows.rows >= per) {
    slab.cols = slab.stride = c->wide;
    slab.rows = slab_rows(rows.rows / per, c->wide * size);
    *count = slab.rows * per;
    return slab;
  }
  slab.rows = *count = slab_rows(rows.rows, rows.stride * size);
  return slab;
}

size_t cpb_column_sums_add(cpb_column_sums *c, const cpb_loops *loops, cpb_view rows) {
  size_t first = 0, count;
  for (; first < rows.rows; first += count) {
    cpb_view slab = widened(c, cpb_view_slice(rows, first, rows.rows - first), &count);
    if (!cpb_column_extremes(loops, slab, c->slab_low, c->slab_high)) break;
    add_slab(c, loops, slab);
  }
  return first;
}

void cpb_column_sums_merge(cpb_column_sums *c, const cpb_column_sums *other) {
  for (size_t i = 0; i < c->d; i++) {
    c->low[i] = fmin(c->low[i], other->low[i]);
    c->high[i] = fmax(c->high[i], other->high[i]);
    cpb_exact_merge(&c->sum[i], &other->sum[i]);
  }
}

enum { BIN_SHIFT = 40 };

/* Norms are added a few hundred at a time: narrow rows of them have fewer columns, each of which is prepared again. */
cpb_status cpb_norm_sketch_init(cpb_norm_sketch *sketch, cpb_error *error) {
  cpb_status status = cpb_column_sums_new(&sketch->moments, 2, error);
  if (status == CPB_OK) sketch->moments.wide = CPB_LANES;
  return status;
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
  uint64_t bits = (uint64_t)bin << BIN_SHIFT | (uint64_t)(bin > 0) << (BIN_SHIFT - 1);
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
  return middle_of(cpb_norm_sketch_bin(sketch, &rank));
}

void cpb_norm_sketch_each(const cpb_norm_sketch *sketch,
                          void (*take)(void *arg, double middle, uint64_t count), void *arg) {
  for (uint32_t page = 0; page < CPB_NORM_PAGES; page++)
    for (uint32_t i = 0; sketch->page[page] != NULL && i < CPB_NORM_PER_PAGE; i++)
      if (sketch->page[page][i] != 0)
        take(arg, middle_of(page * CPB_NORM_PER_PAGE + i), sketch->page[page][i]);
}
