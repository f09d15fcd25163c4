/* T14, principal sketches: codes of rows. z = unit (x-m) is computed in single or double precision, rounded to single, and
 * multiplied with the directions by the panel loop, DEPTH terms at a time. Rows that are extremely long or short are scaled by a
 * power of two first. Errors that e must cover, with u = 2^-24:
 *   of z       2u |z|, and if x and m are both rounded to single precision the rounding of m
 *   of c_i     at most 1.1 (DEPTH + 5 + chunks) u |z| |g_i|
 *   of <c,v>   as the squared lengths of the directions add up to k = min(n,d), that times sqrt(k |v|^2) */
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

enum { FLOATS_PER_BLOCK = 1 << 16, DEPTH = 128, GROUP_LINE = CPB_PANEL_LINE * CPB_PANEL_ROWS };

typedef struct encoding {
  const cpb_sketch *sketch;
  const cpb_loops *loops;
  cpb_view x;
  uint8_t *codes;
  size_t n, columns; /* directions, and rounded up to panels */
  float *center;     /* rounded; NULL: it is too far away for that */
  double shift;      /* |m - center|, times unit */
  cpb_first_fault fault;
  atomic_bool out_of_memory;
} encoding;

typedef struct block {
  encoding *e;
  size_t first;
  size_t group, panel, chunk;
  float *factors, *start, *single;
  float *c; /* rows x columns */
  double *z;
  double *length2; /* |z|^2; -1: of no row */
  double *ratio;   /* from z to units of s */
  uint8_t *u;
} block;

/* ---- rows ---- */

/* Where row i begins in the layout of the panel loop; its lines are GROUP_LINE apart. */
static float *line_of(const block *b, size_t i) {
  size_t d = b->e->sketch->options.d;
  return b->factors + i / CPB_PANEL_ROWS * cpb_panel_group(d) + i % CPB_PANEL_ROWS * CPB_PANEL_LINE;
}

/* z in its lines; gives |z|^2. */
static double spread_row(block *b, size_t i) {
  const encoding *e = b->e;
  cpb_view x = cpb_view_slice(e->x, b->first + i, 1);
  size_t d = x.cols;
  double unit = e->sketch->unit;
  bool bytes = x.dtype == CPB_U8 || x.dtype == CPB_I8;
  if (e->center != NULL && (bytes || x.dtype == CPB_F32)) {
    if (bytes) e->loops->floats[x.dtype](x.data, d, b->single);
    const float *row = bytes ? b->single : x.data;
    return e->loops->spread_f32(row, d, (float)unit, e->center, line_of(b, i), GROUP_LINE);
  }
  if (x.dtype != CPB_F64) cpb_view_widen(x, b->z);
  const double *row = x.dtype == CPB_F64 ? x.data : b->z;
  return e->loops->spread_f64(row, d, unit, e->sketch->center, line_of(b, i), GROUP_LINE);
}

/* Any row: scaled to a largest element near 1. False if it holds NaN or inf, or is beyond double. */
static bool spread_any_row(block *b, size_t i) {
  const cpb_sketch *sketch = b->e->sketch;
  const cpb_loops *loops = b->e->loops;
  size_t d = sketch->options.d;
  double largest = 0;
  cpb_view_widen(cpb_view_slice(b->e->x, b->first + i, 1), b->z);
  loops->axpby(sketch->unit, b->z, -sketch->unit, sketch->center, b->z, d);
  for (size_t k = 0; k < d; k++) {
    if (!isfinite(b->z[k])) return false;
    largest = fmax(largest, fabs(b->z[k]));
  }
  double factor = largest > 0 ? cpb_unit_power(largest) : 1;
  for (size_t k = 0; k < d; k++) {
    b->z[k] *= factor;
    line_of(b, i)[k / CPB_PANEL_LINE * GROUP_LINE + k % CPB_PANEL_LINE] = (float)b->z[k];
  }
  b->length2[i] = loops->dot(b->z, b->z, d);
  b->ratio[i] = 1 / (factor * sketch->sigma);
  return true;
}

static void prepare_row(block *b, size_t i) {
  encoding *e = b->e;
  b->length2[i] = spread_row(b, i);
  b->ratio[i] = 1 / e->sketch->sigma;
  if ((b->length2[i] > 0x1p-40 && b->length2[i] < 0x1p40) || spread_any_row(b, i)) return;
  int fault = cpb_row_fault(e->loops, e->x, b->first + i);
  cpb_first_fault_meet(&e->fault, b->first + i, fault != 0 ? (cpb_fault)fault : CPB_FAULT_RANGE);
  b->length2[i] = -1;
  for (size_t k = 0; k < e->x.cols; k++)
    line_of(b, i)[k / CPB_PANEL_LINE * GROUP_LINE + k % CPB_PANEL_LINE] = 0;
}

/* ---- projections ---- */

static void found(void *context, size_t row, uint64_t columns, const float *values) {
  block *b = context;
  (void)columns; /* all columns are used */
  float *c = b->c + (b->group * CPB_PANEL_ROWS + row) * b->e->columns + b->panel * CPB_PANEL_COLS;
  if (b->chunk == 0)
    memcpy(c, values, CPB_PANEL_COLS * sizeof *c);
  else
    for (size_t j = 0; j < CPB_PANEL_COLS; j++) c[j] += values[j];
}

static void project_group(block *b, const float *threshold, size_t rows) {
  const encoding *e = b->e;
  size_t d = e->sketch->options.d, left = d - b->chunk * DEPTH;
  e->loops->panel(
      &(cpb_panel){.rows = rows,
                   .k = left < DEPTH ? left : DEPTH,
                   .columns = CPB_PANEL_COLS,
                   .a = b->factors + b->group * cpb_panel_group(d) + b->chunk * DEPTH * CPB_PANEL_ROWS,
                   .start = b->start,
                   .b = e->sketch->panels + (b->panel * (d + 1) + b->chunk * DEPTH) * CPB_PANEL_COLS,
                   .threshold = threshold,
                   .found = found,
                   .context = b});
}

static void project(block *b, size_t count) {
  float threshold[CPB_PANEL_COLS];
  for (size_t j = 0; j < CPB_PANEL_COLS; j++) threshold[j] = -INFINITY;
  for (b->panel = 0; b->panel < cpb_sketch_panels(b->e->sketch); b->panel++)
    for (b->chunk = 0; b->chunk * DEPTH < b->e->sketch->options.d; b->chunk++)
      for (b->group = 0; b->group * CPB_PANEL_ROWS < count; b->group++) {
        size_t left = count - b->group * CPB_PANEL_ROWS;
        project_group(b, threshold, left < CPB_PANEL_ROWS ? left : CPB_PANEL_ROWS);
      }
}

/* ---- codes ---- */

static void encode_row(block *b, size_t i) {
  const encoding *e = b->e;
  const cpb_sketch_options *o = &e->sketch->options;
  uint8_t *code = e->codes + (b->first + i) * o->code_bytes;
  if (b->length2[i] < 0) {
    memset(code, 0, o->code_bytes);
    return;
  }
  double ratio = b->ratio[i], k = (double)(e->n < o->d ? e->n : o->d), length = sqrt(b->length2[i]);
  double terms = DEPTH + 5 + (double)(o->d / DEPTH);
  cpb_levels_sums sums;
  cpb_levels_choose(b->c + i * e->columns, e->n, o->bits_per, b->u, &sums);
  cpb_levels_pack(b->u, e->n, o->bits_per, code);
  sums.z2 = b->length2[i] * ratio * ratio;
  sums.c2 *= ratio * ratio;
  sums.along *= ratio;
  sums.doubt = 1.1 * terms * 0x1p-24 * length * sqrt(k * sums.v2) * ratio;
  sums.off = (0x1p-23 * length + e->shift) * ratio;
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
  size_t d = e->sketch->options.d, room = cpb_round_up(count, CPB_PANEL_ROWS);
  block b = {.e = e, .first = first};
  size_t floats = room / CPB_PANEL_ROWS * cpb_panel_group(d);
  b.factors = calloc(floats + CPB_PANEL_ROWS + d + room * e->columns, sizeof(float));
  b.z = malloc((d + 2 * room) * sizeof(double));
  b.u = malloc(e->n);
  if (b.factors != NULL && b.z != NULL && b.u != NULL) {
    b.start = b.factors + floats;
    b.single = b.start + CPB_PANEL_ROWS;
    b.c = b.single + d;
    b.length2 = b.z + d;
    b.ratio = b.length2 + room;
    encode_rows(&b, count);
  } else
    atomic_store(&e->out_of_memory, true);
  free(b.factors);
  free(b.z);
  free(b.u);
}

/* Keeps the rounded centre if that moves rows by less than single precision would. False if out of memory. */
static bool round_center(encoding *e) {
  size_t d = e->sketch->options.d;
  double shift2 = 0;
  e->center = calloc(d, sizeof *e->center);
  if (e->center == NULL) return false;
  for (size_t k = 0; k < d; k++) {
    double m = e->sketch->center[k];
    e->center[k] = (float)m;
    double off = (m - (double)e->center[k]) * e->sketch->unit;
    shift2 += off * off;
  }
  e->shift = sqrt(shift2);
  if (e->shift <= 0x1p-20 && e->sketch->unit >= 0x1p-100 && e->sketch->unit <= 0x1p100) return true;
  free(e->center);
  e->center = NULL;
  e->shift = 0;
  return true;
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
  if (!round_center(&e)) return cpb_fail_memory(error, "codes of rows");
  cpb_first_fault_init(&e.fault);
  size_t per_block = cpb_round_up(FLOATS_PER_BLOCK / (x.cols + e.n) + 1, CPB_PANEL_ROWS);
  cpb_blocks blocks = {x.rows, per_block, encode_block, &e};
  cpb_blocks_run(&blocks, exec);
  free(e.center);
  if (atomic_load(&e.out_of_memory)) return cpb_fail_memory(error, "codes of rows");
  return cpb_first_fault_report(&e.fault, "x", error);
}
