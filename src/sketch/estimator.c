#include "sketch/estimator_object.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "batch/row_state.h"
#include "core/fail.h"
#include "core/rows.h"
#include "parallel/blocks.h"
#include "parallel/tell.h"
#include "sketch/levels.h"

/* ---- codes ---- */

void cpb_estimator_free(cpb_estimator *e) {
  if (e != NULL) cpb_memory_free(&e->memory);
  free(e);
}

static uint8_t *byte_at(const cpb_estimator *e, size_t row, size_t j) {
  size_t block = row / CPB_SCAN_ROWS;
  return e->codes + (block * e->bytes + j) * CPB_SCAN_ROWS + cpb_scan_lane(row % CPB_SCAN_ROWS);
}

static float *factor_at(const cpb_estimator *e, size_t row) {
  return e->factors + row / CPB_SCAN_ROWS * 2 * CPB_SCAN_ROWS + row % CPB_SCAN_ROWS;
}

static double size_of_levels(const cpb_sketch_options *o, const uint8_t *code) {
  double v2 = 0;
  if (o->bits_per == 1) return (double)o->bits;
  for (size_t i = 0; i < cpb_sketch_directions(o); i++) {
    int level = cpb_level_at(code, o->bits_per, i);
    v2 += level * level;
  }
  return v2;
}

/* False if the factors are not those of a row. */
static bool take_code(cpb_estimator *e, const cpb_factor_form *form, size_t row, const uint8_t *code) {
  const cpb_sketch_options *o = &e->sketch->options;
  cpb_row_factors factors = cpb_factors_get(form, code + e->bytes);
  for (size_t j = 0; j < e->bytes; j++) *byte_at(e, row, j) = code[j];
  factor_at(e, row)[0] = (float)factors.size2;
  factor_at(e, row)[CPB_SCAN_ROWS] = (float)(2 * factors.f);
  e->error[row] = (float)factors.e;
  e->v2[row] = (float)size_of_levels(o, code);
  return factors.size2 >= 0 && factors.size2 <= 0x1p60 && factors.f >= 0 && factors.f <= 0x1p60 &&
         factors.e >= 0;
}

static cpb_status take_codes(cpb_estimator *e, cpb_view codes, cpb_error *error) {
  cpb_factor_form form = cpb_factor_form_of(&e->sketch->options);
  for (size_t row = 0; row < e->rows; row++)
    if (!take_code(e, &form, row, (const uint8_t *)codes.data + row * codes.stride))
      return cpb_fail_row(error, CPB_WHY_CODE_OF_ROW, "codes", row, "has factors that no row has");
  for (size_t row = e->rows; row < e->blocks * CPB_SCAN_ROWS; row++) factor_at(e, row)[0] = FLT_MAX;
  return CPB_OK;
}

static bool allocate(cpb_estimator *e) {
  size_t rows = e->blocks * CPB_SCAN_ROWS;
  e->codes = cpb_memory_lines(&e->memory, rows, e->bytes);
  e->factors = cpb_memory_lines(&e->memory, rows, 2 * sizeof(float));
  e->error = cpb_memory_take(&e->memory, rows, sizeof(float));
  e->v2 = cpb_memory_take(&e->memory, rows, sizeof(float));
  return !e->memory.failed;
}

static cpb_status check(const cpb_sketch *sketch, cpb_view codes, cpb_error *error) {
  if (sketch == NULL) return cpb_fail_missing(error, "sketch");
  if (!cpb_is_principal(sketch))
    return cpb_fail(error, CPB_WHY_DOMAIN, "sketch", "estimates need a principal sketch, and this one is %s",
                    cpb_sketch_kind_name(sketch->options.kind));
  if (codes.dtype != CPB_U8)
    return cpb_fail(error, CPB_WHY_DTYPE_IN, "codes", "codes must be u8, got %s",
                    cpb_dtype_name(codes.dtype));
  return cpb_check_view(codes, "codes", sketch->options.code_bytes, error);
}

cpb_status cpb_estimator_new(const cpb_sketch *sketch, cpb_view codes, cpb_estimator **estimator,
                             cpb_error *error) {
  if (estimator == NULL) return cpb_fail_missing(error, "estimator");
  *estimator = NULL;
  cpb_status status = check(sketch, codes, error);
  if (status != CPB_OK) return status;
  cpb_estimator *e = calloc(1, sizeof *e);
  if (e == NULL) return cpb_fail_memory(error, "%zu codes", codes.rows);
  e->sketch = sketch;
  e->rows = codes.rows;
  e->blocks = (codes.rows + CPB_SCAN_ROWS - 1) / CPB_SCAN_ROWS;
  e->n = cpb_sketch_directions(&sketch->options);
  e->bytes = sketch->options.bits / 8;
  status = allocate(e) ? take_codes(e, codes, error) : cpb_fail_memory(error, "%zu codes", codes.rows);
  if (status == CPB_OK)
    *estimator = e;
  else
    cpb_estimator_free(e);
  return status;
}

/* ---- queries ---- */

/* Beyond this many s, single precision would overflow. */
static const double FAR = 1e15;

/* Values of a nibble: sums of levels times projections. Returns the least one, of which the largest is the opposite. */
static double fill_table(size_t bits_per, const double *along, double *values) {
  int top = cpb_level_top(bits_per);
  double most = 0;
  for (size_t i = 0; i < 4 / bits_per; i++) most += top * fabs(along[i]);
  for (unsigned value = 0; value < 16; value++) values[value] = 0;
  for (size_t i = 0; i < 4 / bits_per; i++)
    for (unsigned value = 0; value < 16; value++)
      values[value] += (2 * (int)(value >> i * bits_per & (unsigned)top) - top) * along[i];
  return -most;
}

/* How many values of tables are added as bytes: the fewer levels, the less precise they need to be. */
static size_t fold_of(const cpb_estimator *e) { return 4 / e->sketch->options.bits_per; }

static void fill_tables(const cpb_estimator *e, cpb_estimator_query *a) {
  size_t nibbles = 2 * e->bytes, bits_per = e->sketch->options.bits_per, count = 4 / bits_per;
  double values[16], widest = 0, start = 0, off = 0;
  for (size_t j = 0; j < nibbles; j++) {
    double wide = -2 * fill_table(bits_per, a->along + j * count, values);
    widest = wide > widest ? wide : widest;
  }
  double most = floor(fmin(255 / (double)fold_of(e), 65535 / (double)nibbles));
  double step = widest > 0 ? widest / most : 1, per_step = 1 / step;
  for (size_t j = 0; j < nibbles; j++) {
    double least = fill_table(bits_per, a->along + j * count, values), worst = 0;
    start += least;
    for (size_t i = 0; i < 16; i++) {
      double at = (values[i] - least) * per_step + 0.5;
      at = (double)(int)(at < 0 ? 0 : at > most ? most : at);
      a->tables[16 * j + i] = (uint8_t)(int)at;
      double apart = fabs(least + step * at - values[i]);
      worst = apart > worst ? apart : worst;
    }
    off += worst;
  }
  a->scale = (float)step;
  a->start = (float)start;
  a->doubt = off * (1 + 1e-9) + 0x1p-21 * (step * 65535 + fabs(start));
}

int cpb_estimator_place(cpb_estimator_query *a, const cpb_estimator *e, cpb_view queries, size_t row,
                        double *w) {
  const cpb_loops *loops = cpb_loops_here();
  const cpb_sketch *sketch = e->sketch;
  size_t d = sketch->options.d;
  int fault = cpb_row_fault(loops, queries, row);
  if (fault != 0) return fault;
  cpb_view_widen(cpb_view_slice(queries, row, 1), w);
  loops->axpby(sketch->unit, w, -sketch->unit, sketch->center, w, d);
  for (size_t k = 0; k < d; k++) w[k] /= sketch->sigma;
  a->size2 = loops->dot(w, w, d);
  a->far = !(a->size2 <= FAR * FAR);
  if (a->far) memset(w, 0, d * sizeof *w);
  return 0;
}

typedef struct asking {
  cpb_estimator_query *asked;
  size_t count;
  const cpb_estimator *e;
  const double *w;
} asking;

/* A few directions, which stay in the first-level cache, with all queries. */
static void project_queries(void *arg, size_t block, size_t first, size_t count) {
  const asking *a = arg;
  const cpb_loops *loops = cpb_loops_here();
  size_t d = a->e->sketch->options.d;
  (void)block;
  for (size_t q = 0; q < a->count; q++)
    for (size_t i = first; i < first + count; i++)
      a->asked[q].along[i] = loops->dot(a->e->sketch->normals + i * (d + 1), a->w + q * d, d);
}

static void finish_query(void *arg, size_t query) {
  const asking *a = arg;
  cpb_estimator_query *asked = &a->asked[query];
  asked->beside = fmax(asked->size2 - cpb_loops_here()->dot(asked->along, asked->along, a->e->n), 0);
  fill_tables(a->e, asked);
}

void cpb_estimator_ask(cpb_estimator_query *asked, size_t count, const cpb_estimator *e, const double *w,
                       const cpb_exec *exec) {
  enum { DIRECTIONS_AT_ONCE = 4 };
  asking a = {asked, count, e, w};
  cpb_blocks blocks = {e->n, DIRECTIONS_AT_ONCE, project_queries, &a};
  cpb_blocks_run(&blocks, exec);
  cpb_exec_run(exec, count, finish_query, &a);
}

/* ---- the scan ---- */

enum { BLOCKS_PER_SHARE = 64, SHARES_MAX = 64, CHUNK_BYTES = 1 << 15 };

typedef struct scan {
  const cpb_estimator *e;
  const cpb_sketch_loops *loops;
  const cpb_estimator_query *asked;
  size_t count, k;
  size_t shares, per_share, per_chunk; /* blocks */
  cpb_best *best;                      /* shares x count */
  float *limits;                       /* shares x count */
} scan;

typedef struct look {
  scan *s;
  size_t share, first, block; /* the first query and the first block of a call of the loop */
} look;

/* Rows come in order within a share, so one with the estimate of the worst does not replace it. */
static float found(void *context, size_t query, size_t block, uint64_t below, const float *estimates) {
  look *l = context;
  scan *s = l->s;
  cpb_best *best = &s->best[l->share * s->count + l->first + query];
  size_t first = (l->block + block) * CPB_SCAN_ROWS;
  for (; below != 0; below &= below - 1) {
    unsigned i = (unsigned)__builtin_ctzll(below);
    if (first + i < s->e->rows) cpb_best_offer(best, (double)estimates[i], first + i);
  }
  return best->count < best->k ? INFINITY : (float)best->entry[0].key;
}

static cpb_nibble_scan scan_of(const cpb_estimator *e, size_t block, size_t blocks) {
  return (cpb_nibble_scan){.blocks = blocks,
                           .bytes = e->bytes,
                           .fold = fold_of(e),
                           .codes = e->codes + block * e->bytes * CPB_SCAN_ROWS,
                           .factors = e->factors + block * 2 * CPB_SCAN_ROWS};
}

static cpb_scan_query query_of(const cpb_estimator_query *a, float limit) {
  return (cpb_scan_query){a->tables, a->scale, a->start, limit};
}

static void scan_chunk(scan *s, size_t share, size_t block, size_t blocks) {
  float *limits = s->limits + share * s->count;
  for (size_t first = 0; first < s->count; first += CPB_SCAN_QUERIES) {
    look l = {s, share, first, block};
    cpb_nibble_scan job = scan_of(s->e, block, blocks);
    job.queries = s->count - first < CPB_SCAN_QUERIES ? s->count - first : CPB_SCAN_QUERIES;
    job.found = found;
    job.context = &l;
    for (size_t q = 0; q < job.queries; q++) job.query[q] = query_of(&s->asked[first + q], limits[first + q]);
    s->loops->nibbles(&job);
    for (size_t q = 0; q < job.queries; q++) limits[first + q] = job.query[q].limit;
  }
}

static void scan_share(void *arg, size_t share) {
  scan *s = arg;
  size_t block = share * s->per_share, end = block + s->per_share;
  if (end > s->e->blocks) end = s->e->blocks;
  for (; block < end; block += s->per_chunk)
    scan_chunk(s, share, block, end - block < s->per_chunk ? end - block : s->per_chunk);
}

static void settle(const scan *s, size_t query, cpb_ranked *entries) {
  cpb_best *all = &s->best[query];
  for (size_t share = 1; share < s->shares; share++) {
    const cpb_best *more = &s->best[share * s->count + query];
    for (size_t i = 0; i < more->count; i++) cpb_best_offer(all, more->entry[i].key, more->entry[i].id);
  }
  cpb_ranked_sort(all->entry, all->count);
  memcpy(entries, all->entry, all->count * sizeof *entries);
}

bool cpb_estimator_nearest(const cpb_estimator *e, const cpb_estimator_query *asked, size_t count, size_t k,
                           cpb_ranked *entries, const cpb_exec *exec) {
  scan s = {.e = e, .loops = cpb_sketch_loops_here(), .asked = asked, .count = count, .k = k};
  size_t threads = cpb_exec_threads(exec), most = e->blocks / BLOCKS_PER_SHARE + 1;
  s.shares = threads < most ? threads : most;
  if (s.shares > SHARES_MAX) s.shares = SHARES_MAX;
  s.per_share = (e->blocks + s.shares - 1) / s.shares;
  s.per_chunk = CHUNK_BYTES / (CPB_SCAN_ROWS * (e->bytes + 2 * sizeof(float))) + 1;
  size_t all = s.shares * count;
  cpb_memory memory = {0};
  cpb_ranked *own = cpb_memory_take(&memory, all, k * sizeof *own);
  s.best = cpb_memory_take(&memory, all, sizeof *s.best);
  s.limits = cpb_memory_take(&memory, all, sizeof *s.limits);
  bool ready = !memory.failed;
  if (ready) {
    for (size_t i = 0; i < all; i++) {
      s.best[i] = (cpb_best){k, 0, own + i * k};
      s.limits[i] = INFINITY;
    }
    cpb_exec_run(exec, s.shares, scan_share, &s);
    for (size_t q = 0; q < count; q++) settle(&s, q, entries + q * k);
  }
  cpb_memory_free(&memory);
  return ready;
}

typedef struct copying {
  const cpb_estimator *e;
  float *to;
} copying;

static float copy_block(void *context, size_t query, size_t block, uint64_t below, const float *estimates) {
  const copying *c = context;
  (void)query;
  (void)below;
  size_t first = block * CPB_SCAN_ROWS, left = c->e->rows - first;
  memcpy(c->to + first, estimates, (left < CPB_SCAN_ROWS ? left : CPB_SCAN_ROWS) * sizeof *estimates);
  return INFINITY;
}

void cpb_estimator_all(const cpb_estimator *e, const cpb_estimator_query *asked, float *estimates) {
  copying c = {e, estimates};
  cpb_nibble_scan job = scan_of(e, 0, e->blocks);
  job.queries = 1;
  job.query[0] = query_of(asked, INFINITY);
  job.found = copy_block;
  job.context = &c;
  cpb_sketch_loops_here()->nibbles(&job);
}

/* ---- what is known about a distance ---- */

double cpb_estimator_along(const cpb_estimator *e, const cpb_estimator_query *asked, size_t row) {
  size_t bits_per = e->sketch->options.bits_per;
  int top = cpb_level_top(bits_per);
  double sums[4] = {0};
  for (size_t i = 0; i < e->n; i++) {
    int level = 2 * (*byte_at(e, row, i * bits_per / 8) >> i * bits_per % 8 & top) - top;
    sums[i % 4] += level * asked->along[i];
  }
  return sums[0] + sums[1] + (sums[2] + sums[3]);
}

/* The estimate a of |z-w|^2 differs from it by at most 2 e sqrt(|z-w|^2 + r), r = |w|^2 - |Gw|^2; of that errors take
 * the given share. Solved for |z-w|. */
static double likely_low(double estimate, double e, double beside, double share) {
  double part = share * e, reach = sqrt(fmax(part * part + estimate + beside, 0)) - part;
  return sqrt(fmax((reach > 0 ? reach * reach : 0) - beside, 0));
}

cpb_known cpb_estimator_known(const cpb_estimator *e, const cpb_estimator_query *asked, size_t row,
                              double along, double doubt, double share) {
  double size2 = (double)factor_at(e, row)[0], f = (double)factor_at(e, row)[CPB_SCAN_ROWS] / 2;
  double error = (double)e->error[row], x2 = f * f * (double)e->v2[row];
  double loose = CPB_ISOMETRY_ERROR * (double)(e->n + e->sketch->options.d) + 0x1p-40;
  cpb_known known = {.estimate = size2 + asked->size2 - 2 * f * along, .high = INFINITY};
  if (asked->far || isinf(error)) return known;
  double slack = 2 * f * doubt + loose * (x2 + asked->size2);
  double apart2 = x2 + asked->size2 - 2 * f * along; /* of the approximation */
  known.low = sqrt(fmax(apart2 - slack, 0)) * (1 - loose) - error;
  known.high = sqrt(fmax(apart2 + slack, 0)) * (1 + loose) + error;
  if (share < 1)
    known.low = fmax(known.low, likely_low(known.estimate - 2 * f * doubt, error, asked->beside, share));
  known.low = fmax(known.low - 0x1p-45 * (sqrt(asked->size2) + sqrt(x2) + error), 0);
  return known;
}

cpb_known cpb_estimator_guess(const cpb_estimator *e, const cpb_estimator_query *asked, size_t row,
                              float estimate, double share) {
  double size2 = (double)factor_at(e, row)[0], f = (double)factor_at(e, row)[CPB_SCAN_ROWS] / 2;
  double along = f > 0 ? (size2 - (double)estimate) / (2 * f) : 0;
  double rounding = f > 0 ? 0x1p-22 * size2 / f : 0;
  return cpb_estimator_known(e, asked, row, along, asked->doubt + rounding, share);
}
