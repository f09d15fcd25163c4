/* T14: codes of rows. z = unit (x-m) is computed in single or double precision, rounded to single, and
 * multiplied with the directions by the panel loop, DEPTH terms at a time. Rows that are extremely long or short are scaled by a
 * power of two first. Errors that e must cover, with u = 2^-24:
 *   of z       2u |z|, and if x and m are both rounded to single precision the rounding of m
 *   of c_i     at most 1.1 (DEPTH + 5 + chunks) u |z| |g_i|
 *   of <c,v>   as the squared lengths of the directions add up to k = min(n,d), that times sqrt(k |v|^2) */
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "loops/row_state.h"
#include "base/elementary.h"
#include "base/fail.h"
#include "base/rows.h"
#include "sphere/t1_embed.h"
#include "loops/block_product.h"
#include "sketch/levels.h"
#include "base/system.h"
#include "sketch/sketch_loops.h"

/* The tables of a joined sketch. */
static void fill_form(cpb_factor_form *form, const cpb_sketch_options *o) {
  bool known = o->numbers > 0;
  form->joined = o;
  for (unsigned i = 0; i < 256; i++) {
    form->factors[i] = known ? (double)(float)(o->f_low + i * o->f_step) : 1;
    form->bounds[i] = known && i < 255 ? (double)(float)(o->e_low * cpb_pow(o->e_ratio, i)) : INFINITY;
  }
}

cpb_factor_form cpb_factor_form_of(const cpb_sketch_options *o) {
  double top = cpb_level_top(o->bits_per), n = (double)cpb_sketch_directions(o);
  double scale = ldexp(1, (ilogb(n * top * top) + 1) / 2);
  cpb_factor_form form = {.dtype = o->factors,
                          .bytes = cpb_dtype_size(o->factors),
                          .most = o->factors == CPB_F16 ? 65504 : 0x1p60,
                          .scale = scale,
                          .unscale = 1 / scale,
                          .loose = CPB_ISOMETRY_ERROR * (n + (double)o->d) + 0x1p-40};
  if (o->kind == CPB_SKETCH_JOINED) fill_form(&form, o);
  return form;
}

/* ---- the bits of nonnegative numbers as f16 or f32: larger numbers have larger bits ---- */

/* The exponents of f16 and double differ by this, above the 10 bits of a fraction. */
static const uint64_t HALF_BIAS = (uint64_t)(1023 - 15) << 10;
static const double HALF_NORMAL = 0x1p-14;

static uint64_t bits_of(double x) {
  uint64_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}

/* f16 of a normal number; `add` of the 42 bits that are dropped decides how it is rounded. */
static uint32_t half_of(double x, uint64_t add) {
  return (uint32_t)((bits_of(x) + add) >> 42) - (uint32_t)HALF_BIAS;
}

/* Rounded up; inf above the largest finite number. */
static uint32_t bits_up(double x, cpb_dtype dtype) {
  if (dtype == CPB_F16 && x > 65504) return 0x7c00;
  if (dtype == CPB_F16 && x < HALF_NORMAL) return (uint32_t)ceil(x * 0x1p24);
  if (dtype == CPB_F16) return half_of(x, ((uint64_t)1 << 42) - 1);
  float single = (float)x;
  uint32_t bits;
  memcpy(&bits, &single, sizeof bits);
  return bits + ((double)single < x);
}

/* To nearest, of numbers that are not above the largest finite one. */
static uint32_t bits_near(double x, cpb_dtype dtype) {
  if (dtype == CPB_F16 && x < HALF_NORMAL) return (uint32_t)(x * 0x1p24 + 0.5);
  if (dtype == CPB_F16) return half_of(x, (uint64_t)1 << 41);
  float single = (float)x;
  uint32_t bits;
  memcpy(&bits, &single, sizeof bits);
  return bits;
}

static double value_of(uint32_t bits, cpb_dtype dtype) {
  if (dtype == CPB_F16 && bits < 0x400) return bits * 0x1p-24;
  if (dtype == CPB_F16 && bits >= 0x7c00) return cpb_half_to_double((uint16_t)bits);
  if (dtype == CPB_F16) {
    uint64_t wide = ((uint64_t)bits + HALF_BIAS) << 42;
    double value;
    memcpy(&value, &wide, sizeof value);
    return value;
  }
  float single;
  memcpy(&single, &bits, sizeof single);
  return (double)single;
}

/* ---- factors ---- */

static void put(uint32_t bits, size_t bytes, uint8_t *at) {
  at[0] = (uint8_t)bits;
  at[1] = (uint8_t)(bits >> 8);
  for (size_t i = 2; i < bytes; i++) at[i] = (uint8_t)(bits >> 8 * i);
}

static double get(const uint8_t *at, const cpb_factor_form *form) {
  uint32_t bits = 0;
  for (size_t i = 0; i < form->bytes; i++) bits |= (uint32_t)at[i] << 8 * i;
  return value_of(bits, form->dtype);
}

cpb_row_factors cpb_factors_get(const cpb_factor_form *form, const uint8_t *at) {
  const cpb_sketch_options *o = form->joined;
  if (o != NULL && o->numbers == 0) return (cpb_row_factors){.f = 1, .e = INFINITY};
  if (o != NULL) return (cpb_row_factors){.f = form->factors[at[0]], .e = form->bounds[at[1]]};
  return (cpb_row_factors){.size2 = get(at, form),
                           .f = get(at + form->bytes, form) * form->unscale,
                           .e = get(at + 2 * form->bytes, form)};
}

/* Sums over a row, in one unit of length: |z|^2, |c|^2, <c,v>, |v|^2, and bounds of errors: `doubt` of <c,v>, and `off` of
 * z itself, as a length. */
typedef struct levels_sums {
  double z2, c2, along, v2, doubt, off;
} levels_sums;

/* |z - f G^T v|^2 <= |z|^2 - 2 f <c,v> + f^2 |v|^2, plus errors */
static double error2_of(const cpb_factor_form *form, const levels_sums *s, double f) {
  double error2 = s->z2 - 2 * f * s->along + f * f * s->v2;
  return (error2 > 0 ? error2 : 0) + 2 * f * s->doubt + form->loose * (s->z2 + f * f * s->v2);
}

/* The numbers of f and e in their tables. */
static void numbers_put(const cpb_factor_form *form, const levels_sums *s, uint8_t *at) {
  const cpb_sketch_options *o = form->joined;
  if (o->numbers == 0) return;
  double best = s->v2 > 0 ? s->along / s->v2 : 0;
  double i = o->f_step > 0 ? floor((best - o->f_low) / o->f_step + 0.5) : 0;
  at[0] = (uint8_t)(i > 0 ? i < 255 ? i : 255 : 0);
  double error = (sqrt(error2_of(form, s, form->factors[at[0]])) + s->off) * (1 + 0x1p-40);
  unsigned low = 0, high = 255; /* the first bound that is not below it */
  while (low < high) {
    unsigned middle = (low + high) / 2;
    if (form->bounds[middle] >= error)
      high = middle;
    else
      low = middle + 1;
  }
  at[1] = (uint8_t)low;
}

/* Rounds size2 and f to their type, gives e for the rounded f, and writes all three. The sums are in units of s. */
static void factors_put(const cpb_factor_form *form, const levels_sums *s, uint8_t *at) {
  double f = s->along > 0 ? s->c2 / s->along : 0, most = form->most;
  if (!(s->z2 <= most) || !(f * form->scale <= most)) f = 0;
  uint32_t size2 = bits_near(s->z2 <= most ? s->z2 : most, form->dtype);
  uint32_t rounded = bits_near(f * form->scale, form->dtype);
  f = value_of(rounded, form->dtype) * form->unscale;
  double error = (sqrt(error2_of(form, s, f)) + s->off) * (1 + 0x1p-40);
  put(size2, form->bytes, at);
  put(rounded, form->bytes, at + form->bytes);
  put(bits_up(error <= most ? error : INFINITY, form->dtype), form->bytes, at + 2 * form->bytes);
}

/* ---- codes of rows ---- */

bool cpb_scale_to_one(double *z, size_t d, double *factor) {
  double largest = 0;
  for (size_t k = 0; k < d; k++) {
    if (!isfinite(z[k])) return false;
    largest = fmax(largest, fabs(z[k]));
  }
  *factor = largest > 0 ? cpb_unit_power(largest) : 1;
  for (size_t k = 0; k < d; k++) z[k] *= *factor;
  return true;
}

static const double LARGEST2 = 1e30; /* of |z|^2: beyond, joined sketches have no code */
enum { FLOATS_PER_BLOCK = 1 << 15, DEPTH = 128, GROUP_LINE = CPB_PANEL_LINE * CPB_PANEL_ROWS };

typedef struct encoding {
  const cpb_sketch *sketch;
  const cpb_loops *loops;
  cpb_view x;
  uint8_t *codes;
  cpb_factor_form form;
  size_t n, columns; /* directions, and padded */
  float *center;     /* rounded; NULL: it is too far away for that */
  double shift;      /* |m - center|, times unit */
  double ratio;      /* from unit (x-m) to units of s */
  double doubt;      /* of <c,v>, by |z| |v| */
  float *half;       /* joined: of each byte 256 times |b|^2/2 */
  cpb_first_fault fault;
  atomic_bool out_of_memory;
} encoding;

typedef struct block {
  encoding *e;
  size_t first;
  const char *rows;
  size_t row_bytes;
  size_t room; /* for whole groups of rows */
  size_t panel, chunk;
  float *factors, *start, *single;
  float *c; /* rows x columns */
  double *z;
  double *length2; /* |z|^2; -1: of no row */
  double *ratio;   /* from z to units of s */
  cpb_levels_chosen *chosen;
} block;

/* ---- rows ---- */

static size_t chunks_of(const block *b) { return (b->e->x.cols + DEPTH - 1) / DEPTH; }

static size_t depth_of(const block *b, size_t chunk) {
  size_t left = b->e->x.cols - chunk * DEPTH;
  return left < DEPTH ? left : DEPTH;
}

/* Each chunk of columns has the layout of the panel loop. */
static float *chunk_at(const block *b, size_t chunk) { return b->factors + chunk * DEPTH * b->room; }

static float *factor_at(const block *b, size_t i, size_t k) {
  return chunk_at(b, k / DEPTH) + cpb_panel_at(depth_of(b, k / DEPTH), i, k % DEPTH);
}

/* The factors of z; gives |z|^2. */
static double spread_row(block *b, size_t i) {
  const encoding *e = b->e;
  const cpb_sketch *sketch = e->sketch;
  cpb_view x = {b->rows + i * b->row_bytes, e->x.dtype, 1, e->x.cols, e->x.stride};
  bool bytes = x.dtype == CPB_U8 || x.dtype == CPB_I8,
       single = e->center != NULL && (bytes || x.dtype == CPB_F32);
  const float *floats = bytes ? b->single : x.data;
  const double *doubles = x.dtype == CPB_F64 ? x.data : b->z;
  if (single && bytes) e->loops->floats[x.dtype](x.data, x.cols, b->single);
  if (!single && x.dtype != CPB_F64) cpb_view_widen(x, b->z);
  double sum = 0;
  for (size_t chunk = 0, k = 0; chunk < chunks_of(b); chunk++, k += DEPTH) {
    size_t depth = depth_of(b, chunk);
    float *to = factor_at(b, i, k);
    sum += single
               ? e->loops->spread_f32(floats + k, depth, (float)sketch->unit, e->center + k, to, GROUP_LINE)
               : e->loops->spread_f64(doubles + k, depth, sketch->unit, sketch->center + k, to, GROUP_LINE);
  }
  return sum;
}

/* Any row: scaled to a largest element near 1. False if it holds NaN or inf, or is beyond double. */
static bool spread_any_row(block *b, size_t i) {
  const cpb_sketch *sketch = b->e->sketch;
  const cpb_loops *loops = b->e->loops;
  size_t d = sketch->options.d;
  double factor;
  cpb_view_widen(cpb_view_slice(b->e->x, b->first + i, 1), b->z);
  loops->axpby(sketch->unit, b->z, -sketch->unit, sketch->center, b->z, d);
  if (!cpb_scale_to_one(b->z, d, &factor)) return false;
  for (size_t k = 0; k < d; k++) *factor_at(b, i, k) = (float)b->z[k];
  b->length2[i] = loops->dot(b->z, b->z, d);
  b->ratio[i] = 1 / (factor * sketch->sigma);
  return true;
}

static void prepare_row(block *b, size_t i) {
  encoding *e = b->e;
  b->length2[i] = spread_row(b, i);
  b->ratio[i] = e->ratio;
  if ((b->length2[i] > 0x1p-40 && b->length2[i] < 0x1p40) || spread_any_row(b, i)) return;
  int fault = cpb_row_fault(e->loops, e->x, b->first + i);
  cpb_record_fault(&e->fault, b->first + i, fault != 0 ? fault : CPB_FAULT_RANGE);
  b->length2[i] = -1;
  for (size_t k = 0; k < e->x.cols; k++) *factor_at(b, i, k) = 0;
}

/* ---- projections ---- */

static size_t columns_here(const block *b) {
  size_t left = b->e->columns - b->panel * CPB_PANEL_COLS;
  return left < CPB_PANEL_COLS ? left : CPB_PANEL_COLS;
}

static void found(void *context, size_t row, uint64_t columns, const float *values) {
  block *b = context;
  (void)columns; /* all columns are used */
  float *c = b->c + row * b->e->columns + b->panel * CPB_PANEL_COLS;
  size_t count = columns_here(b);
  if (b->chunk == 0 && count == CPB_PANEL_COLS)
    memcpy(c, values, CPB_PANEL_COLS * sizeof *c); /* of a constant size: no call */
  else if (b->chunk == 0)
    memcpy(c, values, count * sizeof *c);
  else
    for (size_t j = 0; j < count; j++) c[j] += values[j];
}

static void project(block *b, size_t count) {
  const encoding *e = b->e;
  float threshold[CPB_PANEL_COLS];
  for (size_t j = 0; j < CPB_PANEL_COLS; j++) threshold[j] = -INFINITY;
  for (b->panel = 0; b->panel < cpb_sketch_panels(e->sketch); b->panel++)
    for (b->chunk = 0; b->chunk < chunks_of(b); b->chunk++)
      e->loops->panel(&(cpb_panel){.rows = count,
                                   .k = depth_of(b, b->chunk),
                                   .columns = columns_here(b),
                                   .a = chunk_at(b, b->chunk),
                                   .start = b->start,
                                   .b = e->sketch->panels +
                                        (b->panel * (e->x.cols + 1) + b->chunk * DEPTH) * CPB_PANEL_COLS,
                                   .threshold = threshold,
                                   .found = found,
                                   .context = b});
}

/* ---- codes ---- */

static uint8_t *code_at(const block *b, size_t i) {
  return b->e->codes + (b->first + i) * b->e->sketch->options.code_bytes;
}

static void write_factors(const block *b, size_t i) {
  const encoding *e = b->e;
  cpb_levels_chosen chosen = b->chosen[i];
  double ratio = b->ratio[i], length = sqrt(b->length2[i]);
  levels_sums sums = {.z2 = b->length2[i] * ratio * ratio,
                      .c2 = chosen.c2 * ratio * ratio,
                      .along = chosen.along * ratio,
                      .v2 = chosen.v2,
                      .doubt = e->doubt * length * sqrt(chosen.v2) * ratio,
                      .off = (0x1p-23 * length + e->shift) * ratio};
  uint8_t *at = code_at(b, i) + e->sketch->options.bits / 8;
  if (e->form.joined == NULL)
    factors_put(&e->form, &sums, at);
  else if (sums.z2 <= LARGEST2)
    numbers_put(&e->form, &sums, at);
  else
    memset(at, 255, e->form.joined->numbers); /* too far away for a bound */
}

/* ---- the centres of joined sketches ---- */

/* To units of s, in which centres are. */
static void scale_row(block *b, size_t i) {
  float *c = b->c + i * b->e->columns;
  double ratio = b->ratio[i];
  bool near = b->length2[i] * ratio * ratio <= LARGEST2;
  for (size_t k = 0; k < b->e->n; k++) c[k] = near ? c[k] * (float)ratio : 0;
}

double cpb_code_values(const cpb_sketch *sketch, const uint8_t *code, double *v) {
  size_t n = cpb_sketch_directions(&sketch->options);
  double v2 = 0;
  memset(v, 0, n * sizeof *v);
  for (size_t j = 0; j < sketch->book_count; j++) {
    const cpb_book *book = &sketch->books[j];
    for (size_t k = 0; k < book->count; k++) v[book->first + k] += (double)book->centres[256 * k + code[j]];
  }
  for (size_t k = 0; k < n; k++) v2 += v[k] * v[k];
  return v2;
}

/* A byte of all rows. One that follows another for the same direction is of what that leaves. */
static void find_centres(block *b, size_t count, size_t j) {
  const encoding *e = b->e;
  const cpb_book *book = &e->sketch->books[j];
  bool again = j > 0 && book->first == book[-1].first;
  cpb_nearest job = {.book = book,
                     .half = e->half + 256 * j,
                     .x = again ? b->start : b->c + book->first,
                     .rows = count,
                     .stride = again ? 1 : e->columns,
                     .codes = code_at(b, 0) + j,
                     .code_stride = e->sketch->options.code_bytes};
  for (size_t i = 0; again && i < count; i++) {
    double left = (double)b->c[i * e->columns + book->first];
    for (size_t before = j; before > 0 && e->sketch->books[before - 1].first == book->first; before--)
      left -= (double)e->sketch->books[before - 1].centres[code_at(b, i)[before - 1]];
    b->start[i] = (float)left;
  }
  cpb_sketch_loops_here()->nearest(&job);
}

/* <c,v> in units of z, and |v|^2 */
static void sum_row(block *b, size_t i) {
  const float *c = b->c + i * b->e->columns;
  cpb_levels_chosen *chosen = &b->chosen[i];
  double along = 0;
  chosen->v2 = cpb_code_values(b->e->sketch, code_at(b, i), b->z);
  for (size_t k = 0; k < b->e->n; k++) along += (double)c[k] * b->z[k];
  chosen->along = b->ratio[i] > 0 ? along / b->ratio[i] : 0;
}

static void choose_centres(block *b, size_t count) {
  for (size_t i = 0; i < count; i++) scale_row(b, i);
  for (size_t j = 0; j < b->e->sketch->book_count; j++) find_centres(b, count, j);
  for (size_t i = 0; i < count && b->e->form.joined->numbers > 0; i++) sum_row(b, i);
}

/* Half of the squared lengths of all centres. */
static void half_lengths(const cpb_sketch *sketch, float *half) {
  for (size_t j = 0; j < sketch->book_count; j++)
    for (size_t i = 0; i < 256; i++) {
      double sum = 0;
      for (size_t k = 0; k < sketch->books[j].count; k++) {
        double at = (double)sketch->books[j].centres[256 * k + i];
        sum += at * at;
      }
      half[256 * j + i] = (float)(sum / 2);
    }
}

/* One step after the other for all rows: the steps of several rows overlap. */
static void encode_rows(block *b, size_t count) {
  const encoding *e = b->e;
  const cpb_sketch_options *o = &e->sketch->options;
  for (size_t i = 0; i < count; i++) prepare_row(b, i);
  project(b, count);
  if (e->form.joined != NULL)
    choose_centres(b, count);
  else
    cpb_sketch_loops_here()->levels(&(cpb_levels_job){.c = b->c,
                                                      .rows = count,
                                                      .n = e->n,
                                                      .stride = e->columns,
                                                      .bits_per = o->bits_per,
                                                      .codes = code_at(b, 0),
                                                      .code_stride = o->code_bytes,
                                                      .chosen = b->chosen});
  for (size_t i = 0; i < count; i++)
    if (b->length2[i] >= 0)
      write_factors(b, i);
    else
      memset(code_at(b, i), 0, o->code_bytes);
}

static size_t factor_floats(size_t d, size_t room) {
  return d / DEPTH * DEPTH * room + cpb_panel_group(d % DEPTH) * (room / CPB_PANEL_ROWS);
}

static bool allocate(block *b, size_t count) {
  size_t d = b->e->x.cols, room = cpb_round_up(count, CPB_PANEL_ROWS), floats = factor_floats(d, room);
  b->room = room;
  size_t all = floats + room * b->e->columns + room + d;
  b->factors = cpb_sys_aligned(64, cpb_round_up(all * sizeof(float), 64));
  b->z = malloc((d + 2 * room) * sizeof *b->z);
  b->chosen = malloc(room * sizeof *b->chosen);
  if (b->factors == NULL || b->z == NULL || b->chosen == NULL) return false;
  b->c = b->factors + floats;
  b->start = b->c + room * b->e->columns;
  b->single = b->start + room;
  b->length2 = b->z + d;
  b->ratio = b->length2 + room;
  memset(b->start, 0, room * sizeof *b->start);
  for (size_t i = count; i < room; i++) /* the last group is complete */
    for (size_t k = 0; k < d; k++) *factor_at(b, i, k) = 0;
  return true;
}

static void encode_block(void *arg, size_t index, size_t first, size_t count) {
  encoding *e = arg;
  (void)index;
  block b = {.e = e,
             .first = first,
             .rows = cpb_view_slice(e->x, first, count).data,
             .row_bytes = e->x.stride * cpb_dtype_size(e->x.dtype)};
  if (allocate(&b, count))
    encode_rows(&b, count);
  else
    atomic_store(&e->out_of_memory, true);
  free(b.factors);
  free(b.z);
  free(b.chosen);
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
                .form = cpb_factor_form_of(&sketch->options),
                .n = cpb_sketch_directions(&sketch->options),
                .columns = cpb_levels_padded(cpb_sketch_directions(&sketch->options))};
  cpb_status status = cpb_check_view(x, "x", sketch->options.d, error);
  if (status != CPB_OK) return status;
  double k = (double)(e.n < x.cols ? e.n : x.cols),
         terms = DEPTH + (e.form.joined ? 7 : 5) + (double)(x.cols / DEPTH);
  e.doubt = 1.11 * terms * 0x1p-24 * sqrt(k);
  e.ratio = 1 / sketch->sigma;
  e.half = malloc((256 * sketch->book_count + 1) * sizeof *e.half);
  if (!round_center(&e) || e.half == NULL) {
    free(e.half);
    free(e.center);
    return cpb_fail_memory(error, "codes of rows");
  }
  if (e.form.joined != NULL) half_lengths(sketch, e.half);
  size_t per_block = cpb_round_up(FLOATS_PER_BLOCK / (x.cols + e.n) + 1, CPB_PANEL_ROWS);
  cpb_blocks blocks = {x.rows, per_block, encode_block, &e};
  cpb_blocks_run(&blocks, exec);
  free(e.center);
  free(e.half);
  if (atomic_load(&e.out_of_memory)) return cpb_fail_memory(error, "codes of rows");
  return cpb_first_fault_report(&e.fault, "x", error);
}
