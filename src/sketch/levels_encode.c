/* T14, principal sketches: codes of rows. Every row is scaled by a power of two to a length near 1, so that its products with
 * the directions can be computed in single precision: the panel loop sums DEPTH terms at a time, which are added in
 * double. The error of a projection c_i is at most 1.1 (DEPTH+5) u32 |z| |g_i|, and that of <c,v>, as the lengths of the
 * directions have the sum of squares k = min(n,d), at most 1.1 (DEPTH+5) u32 |z| sqrt(k |v|^2). */
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "batch/row_state.h"
#include "core/fail.h"
#include "core/rows.h"
#include "geometry/t1_embed.h"
#include "loop/block_product.h"
#include "sketch/levels.h"

enum { FLOATS_PER_BLOCK = 1 << 16, DEPTH = 128 };

typedef struct encoding {
  const cpb_sketch *sketch;
  const cpb_loops *loops;
  cpb_view x;
  uint8_t *codes;
  size_t n, columns; /* directions, and rounded up to panels */
  cpb_first_fault fault;
  atomic_bool out_of_memory;
} encoding;

typedef struct block {
  encoding *e;
  size_t first, room; /* room: rows, whole groups */
  size_t panel, chunk;
  float *factors; /* of one chunk after the other, in the layout of the panel loop */
  float *start, *narrow;
  double *z, *c, *v; /* c: room x columns */
  double *length2;   /* of the scaled row; -1: of no row */
  double *ratio;     /* from the scaled row to units of s */
} block;

static size_t chunk_depth(size_t d, size_t chunk) {
  return d - chunk * DEPTH < DEPTH ? d - chunk * DEPTH : DEPTH;
}

static float *chunk_factors(const block *b, size_t chunk) {
  return b->factors + chunk * b->room / CPB_PANEL_ROWS * cpb_panel_group(DEPTH);
}

/* z = unit (x-m), scaled to a largest element near 1; false if the row holds NaN or inf, or is beyond double. */
static bool scale_row(block *b, size_t i) {
  const encoding *e = b->e;
  const cpb_sketch *sketch = e->sketch;
  size_t d = sketch->options.d;
  double buffer[CPB_CHUNK], largest = 0;
  for (size_t offset = 0; offset < d; offset += CPB_CHUNK) {
    size_t count = cpb_chunk_count(d, offset);
    const double *x = cpb_row_chunk(e->loops, e->x, b->first + i, offset, count, buffer);
    e->loops->axpby(sketch->unit, x, -sketch->unit, sketch->center + offset, b->z + offset, count);
  }
  bool finite = true;
  for (size_t k = 0; k < d; k++) {
    double size = fabs(b->z[k]);
    finite &= size <= 0x1.fffffffffffffp1023;
    largest = size > largest ? size : largest;
  }
  if (!finite) return false;
  double factor = largest > 0 ? cpb_unit_power(largest) : 1;
  for (size_t k = 0; k < d; k++) b->z[k] *= factor;
  b->length2[i] = e->loops->dot(b->z, b->z, d);
  b->ratio[i] = 1 / (factor * sketch->sigma);
  return true;
}

static void prepare_row(block *b, size_t i) {
  encoding *e = b->e;
  size_t d = e->sketch->options.d;
  if (!scale_row(b, i)) {
    int fault = cpb_row_fault(e->loops, e->x, b->first + i);
    cpb_first_fault_meet(&e->fault, b->first + i, fault != 0 ? (cpb_fault)fault : CPB_FAULT_RANGE);
    b->length2[i] = -1;
    return;
  }
  e->loops->narrow(b->z, d, b->narrow);
  for (size_t k = 0; k < d; k += CPB_PANEL_LINE) {
    size_t chunk = k / DEPTH, count = d - k < CPB_PANEL_LINE ? d - k : CPB_PANEL_LINE;
    memcpy(chunk_factors(b, chunk) + cpb_panel_at(chunk_depth(d, chunk), i, k % DEPTH), b->narrow + k,
           count * sizeof *b->narrow);
  }
}

static void found(void *context, size_t row, uint64_t columns, const float *values) {
  block *b = context;
  (void)columns; /* all columns are used */
  double *c = b->c + row * b->e->columns + b->panel * CPB_PANEL_COLS;
  for (size_t j = 0; j < CPB_PANEL_COLS; j++) c[j] += (double)values[j];
}

static void project(block *b, size_t count) {
  const encoding *e = b->e;
  size_t d = e->sketch->options.d;
  float threshold[CPB_PANEL_COLS];
  for (size_t j = 0; j < CPB_PANEL_COLS; j++) threshold[j] = -INFINITY;
  for (b->panel = 0; b->panel < cpb_sketch_panels(e->sketch); b->panel++)
    for (b->chunk = 0; b->chunk * DEPTH < d; b->chunk++)
      e->loops->panel(
          &(cpb_panel){.rows = count,
                       .k = chunk_depth(d, b->chunk),
                       .columns = CPB_PANEL_COLS,
                       .a = chunk_factors(b, b->chunk),
                       .start = b->start,
                       .b = e->sketch->panels + (b->panel * (d + 1) + b->chunk * DEPTH) * CPB_PANEL_COLS,
                       .threshold = threshold,
                       .found = found,
                       .context = b});
}

static void encode_row(block *b, size_t i) {
  const encoding *e = b->e;
  const cpb_sketch_options *o = &e->sketch->options;
  uint8_t *code = e->codes + (b->first + i) * o->code_bytes;
  memset(code, 0, o->code_bytes);
  if (b->length2[i] < 0) return;
  const double *c = b->c + i * e->columns;
  double ratio = b->ratio[i], least = (double)(e->n < o->d ? e->n : o->d);
  cpb_levels_choose(c, e->n, o->bits_per, b->narrow, b->v);
  cpb_levels_pack(b->v, e->n, o->bits_per, code);
  cpb_levels_sums sums = {.z2 = b->length2[i] * ratio * ratio,
                          .c2 = e->loops->dot(c, c, e->n) * ratio * ratio,
                          .along = e->loops->dot(c, b->v, e->n) * ratio,
                          .v2 = e->loops->dot(b->v, b->v, e->n)};
  sums.doubt = 1.1 * (DEPTH + 5) * 0x1p-24 * sqrt(b->length2[i] * least * sums.v2) * ratio;
  cpb_factors_put(o, &sums, code + o->bits / 8);
}

static void encode_rows(block *b, size_t count) {
  for (size_t i = 0; i < count; i++) prepare_row(b, i);
  project(b, count);
  for (size_t i = 0; i < count; i++) encode_row(b, i);
}

static void encode_block(void *arg, size_t index, size_t first, size_t count) {
  encoding *e = arg;
  (void)index;
  size_t d = e->sketch->options.d, room = cpb_round_up(count, CPB_PANEL_ROWS), longer = d > e->n ? d : e->n;
  size_t chunks = (d + DEPTH - 1) / DEPTH;
  block b = {.e = e, .first = first, .room = room};
  size_t floats = chunks * room / CPB_PANEL_ROWS * cpb_panel_group(DEPTH);
  b.factors = calloc(floats + room + longer, sizeof(float));
  b.z = calloc(d + e->n + 2 * room + room * e->columns, sizeof(double));
  if (b.factors != NULL && b.z != NULL) {
    b.start = b.factors + floats;
    b.narrow = b.start + room;
    b.v = b.z + d;
    b.length2 = b.v + e->n;
    b.ratio = b.length2 + room;
    b.c = b.ratio + room;
    encode_rows(&b, count);
  } else
    atomic_store(&e->out_of_memory, true);
  free(b.factors);
  free(b.z);
}

cpb_status cpb_levels_encode(const cpb_sketch *sketch, cpb_view x, uint8_t *codes, const cpb_exec *exec,
                             cpb_error *error) {
  encoding e = {.sketch = sketch,
                .loops = cpb_loops_here(),
                .x = x,
                .codes = codes,
                .n = cpb_sketch_directions(&sketch->options),
                .columns = cpb_sketch_panels(sketch) * CPB_PANEL_COLS};
  cpb_status status = cpb_check_view(x, "x", sketch->options.d, error);
  if (status != CPB_OK) return status;
  cpb_first_fault_init(&e.fault);
  size_t per_block = cpb_round_up(FLOATS_PER_BLOCK / (x.cols + e.n) + 1, CPB_PANEL_ROWS);
  cpb_blocks blocks = {x.rows, per_block, encode_block, &e};
  cpb_blocks_run(&blocks, exec);
  if (atomic_load(&e.out_of_memory)) return cpb_fail_memory(error, "codes of rows");
  return cpb_first_fault_report(&e.fault, "x", error);
}
