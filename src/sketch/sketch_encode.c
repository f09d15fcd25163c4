/* T14: codes by the ball form. The panel loop multiplies blocks of rows in single precision. Its signs are used where
 * they are farther from 0 than the rounding error; the other signs are computed in double.
 *
 *   row     z = unit (x-m), and its height sigma^2 - |z|^2      normal   2 sigma c', and c0
 * The error of a sum of d+1 fused terms with both factors rounded is at most slightly more than
 * (d+5) u32 |row| |normal|; |normal| <= 2 sigma. */
#include <math.h>
#include <stdatomic.h>
#include <string.h>

#include "loops/row_state.h"
#include "base/elementary.h"
#include "base/fail.h"
#include "base/memory.h"
#include "base/rows.h"
#include "loops/block_product.h"
#include "sketch/levels.h"
#include "sketch/t14_sketch.h"

enum { FLOATS_PER_BLOCK = 1 << 16 };

typedef struct encoding {
  const cpb_sketch *sketch;
  const cpb_loops *loops;
  cpb_view x;
  uint8_t *codes;
  cpb_first_fault fault;
  atomic_bool out_of_memory;
} encoding;

/* A row relative to the sphere of scale sigma. */
typedef struct place {
  double *z;
  double sigma, height, size2; /* sigma^2-|z|^2, |z|^2 */
} place;

/* The rows of one block, and the current panel. */
typedef struct block {
  encoding *e;
  size_t first, panel;
  float *factors, *start, *margin; /* zeroed; factors in the layout of the panel loop */
  float *row;                      /* d+1 */
  bool *faulty;
  place place;
  size_t placed; /* number within the block of the row in `place`; SIZE_MAX: none */
} block;

/* False if the row cannot be encoded: it contains NaN or inf, or its numbers are too far apart for double. */
static bool place_row(const encoding *e, size_t row, place *p) {
  size_t d = e->sketch->options.d;
  double buffer[CPB_CHUNK], unit = e->sketch->unit;
  for (size_t offset = 0; offset < d; offset += CPB_CHUNK) {
    size_t count = cpb_chunk_count(d, offset);
    const double *x = cpb_row_chunk(e->loops, e->x, row, offset, count, buffer);
    e->loops->axpby(unit, x, -unit, e->sketch->center + offset, p->z + offset, count);
  }
  p->sigma = e->sketch->sigma;
  p->size2 = e->loops->dot(p->z, p->z, d);
  if (!(p->size2 < 1e300)) {
    double factor;
    if (!cpb_scale_to_one(p->z, d, &factor)) return false;
    p->sigma *= factor;
    p->size2 = e->loops->dot(p->z, p->z, d);
  }
  p->height = p->sigma * p->sigma - p->size2;
  return true;
}

/* Writes the factors of the row, z and its height, to their lines of the group. */
static void spread_factors(block *b, size_t i) {
  const encoding *e = b->e;
  size_t d = e->sketch->options.d;
  e->loops->narrow(b->place.z, d, b->row);
  b->row[d] = (float)b->place.height;
  for (size_t k = 0; k <= d; k += CPB_PANEL_LINE) {
    size_t count = d + 1 - k < CPB_PANEL_LINE ? d + 1 - k : CPB_PANEL_LINE;
    memcpy(b->factors + cpb_panel_at(d + 1, i, k), b->row + k, count * sizeof *b->row);
  }
}

/* Rows out of range for single precision stay 0, so that all their bits are computed in double. */
static void prepare_row(block *b, size_t i) {
  encoding *e = b->e;
  size_t d = e->sketch->options.d;
  b->faulty[i] = !place_row(e, b->first + i, &b->place);
  if (b->faulty[i]) {
    int fault = cpb_row_fault(e->loops, e->x, b->first + i);
    cpb_record_fault(&e->fault, b->first + i, fault != 0 ? fault : CPB_FAULT_RANGE);
    return;
  }
  if (b->place.sigma != e->sketch->sigma || !(b->place.size2 < 1e30)) return;
  spread_factors(b, i);
  double length = cpb_hypot(sqrt(b->place.size2), b->place.height);
  double error = 1.1 * ((double)d + 5) * 0x1p-24 * length * 2 * e->sketch->sigma;
  b->margin[i] = nextafterf((float)(error + (double)(d + 1) * 0x1p-140), INFINITY);
}

/* By the ball form in double, which defines the bit. */
static uint64_t decide(block *b, size_t row, uint64_t word, uint64_t unsure) {
  const encoding *e = b->e;
  size_t d = e->sketch->options.d;
  if (b->placed != row) place_row(e, b->first + row, &b->place);
  b->placed = row;
  for (; unsure != 0; unsure &= unsure - 1) {
    size_t column = (size_t)__builtin_ctzll(unsure);
    const double *normal = e->sketch->normals + (b->panel * CPB_PANEL_COLS + column) * (d + 1);
    double side = 2 * b->place.sigma * e->loops->dot(normal, b->place.z, d) + normal[d] * b->place.height;
    if (side >= 0) word |= (uint64_t)1 << column;
  }
  return word;
}

static size_t used_columns(const block *b) {
  size_t left = b->e->sketch->options.bits - b->panel * CPB_PANEL_COLS;
  return left < CPB_PANEL_COLS ? left : CPB_PANEL_COLS;
}

static void found(void *context, size_t row, uint64_t columns, const float *values) {
  block *b = context;
  size_t count = used_columns(b);
  uint64_t used = count == CPB_PANEL_COLS ? UINT64_MAX : ((uint64_t)1 << count) - 1, above, unsure;
  (void)columns; /* all columns are used */
  b->e->loops->signs(values, b->margin[row], &above, &unsure);
  uint64_t word = above & used;
  if ((unsure & used) != 0 && !b->faulty[row]) word = decide(b, row, word, unsure & used);
  if (b->faulty[row]) word = 0;
  size_t bytes = b->e->sketch->options.code_bytes, from = b->panel * 8;
  uint8_t *code = b->e->codes + (b->first + row) * bytes;
  for (size_t k = 0; k < 8 && from + k < bytes; k++) code[from + k] = (uint8_t)(word >> 8 * k);
}

static void encode_panels(block *b, size_t count) {
  const encoding *e = b->e;
  size_t d = e->sketch->options.d;
  float threshold[CPB_PANEL_COLS];
  for (size_t j = 0; j < CPB_PANEL_COLS; j++) threshold[j] = -INFINITY;
  for (b->panel = 0; b->panel < cpb_sketch_panels(e->sketch); b->panel++)
    e->loops->panel(&(cpb_panel){.rows = count,
                                 .k = d + 1,
                                 .columns = used_columns(b),
                                 .a = b->factors,
                                 .start = b->start,
                                 .b = e->sketch->panels + b->panel * (d + 1) * CPB_PANEL_COLS,
                                 .threshold = threshold,
                                 .found = found,
                                 .context = b});
}

static void encode_block(void *arg, size_t index, size_t first, size_t count) {
  encoding *e = arg;
  (void)index;
  size_t room = cpb_round_up(count, CPB_PANEL_ROWS);
  block b = {.e = e, .first = first, .placed = SIZE_MAX};
  size_t d = e->sketch->options.d, floats = room / CPB_PANEL_ROWS * cpb_panel_group(d + 1);
  cpb_memory memory = {0};
  b.factors = cpb_memory_zeros(&memory, floats, sizeof *b.factors);
  b.start = cpb_memory_zeros(&memory, room, sizeof *b.start);
  b.margin = cpb_memory_zeros(&memory, room, sizeof *b.margin);
  b.row = cpb_memory_take(&memory, d + 1, sizeof *b.row);
  b.place.z = cpb_memory_take(&memory, d, sizeof *b.place.z);
  b.faulty = cpb_memory_zeros(&memory, room, sizeof *b.faulty);
  if (memory.failed) atomic_store(&e->out_of_memory, true);
  for (size_t i = 0; i < count && !memory.failed; i++) prepare_row(&b, i);
  if (!memory.failed) encode_panels(&b, count);
  cpb_memory_free(&memory);
}

cpb_status cpb_sketch_encode(const cpb_sketch *sketch, cpb_view x, uint8_t *codes, const cpb_exec *exec,
                             cpb_error *error) {
  if (sketch == NULL || (codes == NULL && x.rows > 0))
    return cpb_fail_missing(error, sketch == NULL ? "sketch" : "codes");
  if (cpb_is_principal(sketch)) return cpb_levels_encode(sketch, x, codes, exec, error);
  size_t d = sketch->options.d;
  cpb_status status = cpb_check_view(x, "x", d, error);
  if (status != CPB_OK) return status;
  encoding e = {.sketch = sketch, .loops = cpb_loops_here(), .x = x, .codes = codes};
  size_t per_block = cpb_round_up(FLOATS_PER_BLOCK / (d + 1) + 1, CPB_PANEL_ROWS);
  cpb_blocks_run(&(cpb_blocks){x.rows, per_block, encode_block, &e}, exec);
  if (atomic_load(&e.out_of_memory)) return cpb_fail_memory(error, "codes of rows");
  return cpb_first_fault_report(&e.fault, "x", error);
}
