/* T14: codes in blocks, queries in tables, what both say about distances, and search by these estimates.
 * Without a bound the best candidates are read and re-ranked. With one, the rows are read in the order of their lower bounds, until
 * the next one is above the k-th smallest distance. Lengths are in units of the sketch's s. */
#include "capball/advanced/estimator.h"

#include <float.h>
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "loops/row_state.h"
#include "capball/advanced/feed.h"
#include "base/best.h"
#include "base/elementary.h"
#include "base/fail.h"
#include "base/memory.h"
#include "base/rows.h"
#include "base/sized.h"
#include "base/blocks.h"
#include "base/tell.h"
#include "sketch/levels.h"
#include "sketch/sketch_loops.h"

struct cpb_estimator {
  const cpb_sketch *sketch;
  size_t rows, blocks;
  size_t n, bytes; /* directions; bytes of the bits of a code */
  uint8_t *codes;  /* in the layout of the scan; the rest of the last block is 0 .. */
  float *factors;  /* .. and has the estimate FLT_MAX */
  float *size2;    /* what estimates count in place of |z|^2; the scan's are a little smaller */
  float *error;    /* e of each row */
  double *v2;      /* |v|^2 of each row */
  cpb_memory memory;
};

/* A query, w = (q-m)/s. */
typedef struct query_tables {
  double *along; /* n: G w */
  double size2;  /* |w|^2 */
  bool far;      /* so far away that estimates say nothing: all rows are at the distance |w| */
  double *least; /* bytes: the least value of each table */
  uint8_t *tables;
  float *values; /* bytes x 256: what the tables round */
  float scale, start;
  double doubt; /* the tables' error of <v, G w>, at most */
} query_tables;

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

/* Rounding of the scan, relatively: its factors are smaller and its limits larger by this, so that it misses no row. */
static const double SCAN_ERROR = 0x1p-20;

/* False if the factors are not those of a row. v: n numbers of scratch space */
static bool take_code(cpb_estimator *e, const cpb_factor_form *form, size_t row, const uint8_t *code,
                      double *v) {
  cpb_row_factors factors = cpb_factors_get(form, code + e->bytes);
  for (size_t j = 0; j < e->bytes; j++) *byte_at(e, row, j) = code[j];
  e->v2[row] = cpb_code_values(e->sketch, code, v);
  if (form->joined != NULL) {
    double part = isinf(factors.e) ? 0 : form->joined->gamma * factors.e * factors.e;
    factors.size2 = factors.f * factors.f * e->v2[row] + part;
  }
  e->size2[row] = (float)factors.size2;
  factor_at(e, row)[0] = (float)(factors.size2 * (1 - SCAN_ERROR));
  factor_at(e, row)[CPB_SCAN_ROWS] = (float)(2 * factors.f);
  e->error[row] = (float)factors.e;
  return factors.size2 >= 0 && factors.size2 <= (form->joined != NULL ? 0x1p100 : 0x1p60) && factors.f >= 0 &&
         factors.f <= 0x1p60 && factors.e >= 0;
}

static cpb_status take_codes(cpb_estimator *e, cpb_view codes, cpb_error *error) {
  cpb_factor_form form = cpb_factor_form_of(&e->sketch->options);
  double *v = malloc(e->n * sizeof *v);
  if (v == NULL) return cpb_fail_memory(error, "%zu directions", e->n);
  bool good = true;
  for (size_t row = 0; row < e->rows && good; row++)
    if (!(good = take_code(e, &form, row, (const uint8_t *)codes.data + row * codes.stride, v)))
      cpb_fail_row(error, CPB_WHY_CODE_OF_ROW, "codes", row, "has factors that no row has");
  free(v);
  if (!good) return CPB_EROW;
  for (size_t row = e->rows; row < e->blocks * CPB_SCAN_ROWS; row++) factor_at(e, row)[0] = FLT_MAX;
  return CPB_OK;
}

static bool allocate(cpb_estimator *e) {
  size_t rows = e->blocks * CPB_SCAN_ROWS;
  e->codes = cpb_memory_lines(&e->memory, rows, e->bytes);
  e->factors = cpb_memory_lines(&e->memory, rows, 2 * sizeof(float));
  e->error = cpb_memory_take(&e->memory, rows, sizeof(float));
  e->size2 = cpb_memory_take(&e->memory, rows, sizeof(float));
  e->v2 = cpb_memory_take(&e->memory, rows, sizeof(double));
  return !e->memory.failed;
}

static cpb_status check_codes(const cpb_sketch *sketch, cpb_view codes, cpb_error *error) {
  if (sketch == NULL) return cpb_fail_missing(error, "sketch");
  if (!cpb_estimates(sketch))
    return cpb_fail(error, CPB_WHY_DOMAIN, "sketch",
                    "estimates need a joined or principal sketch, and this one is %s",
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
  cpb_status status = check_codes(sketch, codes, error);
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

enum { QUERIES_AT_ONCE = 64, FIRST_BATCH = 16 };

CPB_DEFAULTS(cpb_estimator_options, .size = sizeof(cpb_estimator_options), .k = 10, .confidence = 0.999)

typedef struct search {
  const cpb_estimator *e;
  cpb_estimator_options o;
  cpb_view queries;
  cpb_hit *hits;
  const cpb_exec *exec;
  cpb_error *error;
  double share;        /* see known_of */
  query_tables *asked; /* of QUERIES_AT_ONCE queries */
  size_t first, count;
  cpb_ranked *entries;
  double *w; /* count x d: the queries as (q-m)/s */
  _Atomic uint64_t read;
} search;

/* Beyond this many s, single precision would overflow. */
static const double FAR = 1e15;

/* What the values of a byte add to <v, G w>; gives the least and the largest. */
static void fill_values(const cpb_book *book, const double *along, float *values, double *least,
                        double *most) {
  double sums[256] = {0};
  for (size_t k = 0; k < book->count; k++)
    for (size_t i = 0; i < 256; i++) sums[i] += along[book->first + k] * (double)book->centres[256 * k + i];
  *least = INFINITY;
  *most = -INFINITY;
  for (size_t i = 0; i < 256; i++) {
    values[i] = (float)sums[i];
    *least = fmin(*least, sums[i]);
    *most = fmax(*most, sums[i]);
  }
}

/* Rounds the values of a byte to steps; returns the largest error. */
static double round_values(const float *values, double least, double step, double most, uint8_t *table) {
  double per_step = 1 / step, worst = 0;
  for (size_t i = 0; i < 256; i++) {
    double at = ((double)values[i] - least) * per_step + 0.5;
    at = (double)(int)(at < 0 ? 0 : at > most ? most : at);
    table[i] = (uint8_t)(int)at;
    double apart = fabs(least + step * at - (double)values[i]);
    worst = apart > worst ? apart : worst;
  }
  return worst;
}

static void fill_tables(const cpb_estimator *e, query_tables *a) {
  double widest = 0, start = 0, off = 0, sizes = 0;
  for (size_t j = 0; j < e->bytes; j++) {
    double largest;
    fill_values(&e->sketch->books[j], a->along, a->values + 256 * j, &a->least[j], &largest);
    widest = fmax(widest, largest - a->least[j]);
    sizes += fmax(fabs(a->least[j]), fabs(largest));
  }
  double most = floor(fmin(255, 65535 / (double)e->bytes));
  double step = widest > 0 ? widest / most : 1;
  for (size_t j = 0; j < e->bytes; j++) {
    start += a->least[j];
    off += round_values(a->values + 256 * j, a->least[j], step, most, a->tables + 256 * j);
  }
  a->scale = (float)step;
  a->start = (float)start;
  a->doubt = off * (1 + 1e-9) + 0x1p-21 * (step * 65535 + fabs(start)) + 0x1p-23 * sizes;
}

/* The query in a row of a view: w, d doubles. 0 or a fault. */
static int place_query(query_tables *a, const cpb_estimator *e, cpb_view queries, size_t row, double *w) {
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

/* A few directions, which stay in the first-level cache, with all queries. */
static void project_queries(void *arg, size_t block, size_t first, size_t count) {
  const search *s = arg;
  const cpb_loops *loops = cpb_loops_here();
  size_t d = s->e->sketch->options.d;
  (void)block;
  for (size_t q = 0; q < s->count; q++)
    for (size_t i = first; i < first + count; i++)
      s->asked[q].along[i] = loops->dot(s->e->sketch->normals + i * (d + 1), s->w + q * d, d);
}

static void finish_query(void *arg, size_t query) {
  const search *s = arg;
  fill_tables(s->e, &s->asked[query]);
}

static void asked_new(query_tables *a, const cpb_estimator *e, cpb_memory *memory) {
  *a = (query_tables){.along = cpb_memory_take(memory, e->n, sizeof *a->along),
                      .least = cpb_memory_take(memory, e->bytes, sizeof *a->least),
                      .values = cpb_memory_take(memory, e->bytes, 256 * sizeof *a->values),
                      .tables = cpb_memory_lines(memory, e->bytes, 256)};
}

static cpb_status ask(search *s) {
  enum { DIRECTIONS_AT_ONCE = 4 };
  size_t d = s->e->sketch->options.d;
  for (size_t i = 0; i < s->count; i++) {
    int fault = place_query(&s->asked[i], s->e, s->queries, s->first + i, s->w + i * d);
    if (fault != 0) return cpb_fault_report(s->first + i, fault, "queries", s->error);
  }
  cpb_blocks_run(&(cpb_blocks){s->e->n, DIRECTIONS_AT_ONCE, project_queries, s}, s->exec);
  cpb_exec_run(s->exec, s->count, finish_query, s);
  return CPB_OK;
}

/* ---- the scan ---- */

enum { BLOCKS_PER_SHARE = 64, SHARES_MAX = 64, CHUNK_BYTES = 1 << 15 };

typedef struct scan {
  const search *of;
  const cpb_sketch_loops *loops;
  size_t shares, per_share, per_chunk; /* blocks */
  cpb_best *best;                      /* shares x count */
  float *limits;                       /* shares x count */
} scan;

typedef struct look {
  scan *s;
  size_t share, first, block; /* the first query and the first block of a call of the loop */
} look;

/* The estimate of a row from unrounded tables, squared, without |w|^2. */
static double estimate_of(const cpb_estimator *e, const query_tables *asked, size_t row) {
  const uint8_t *code = byte_at(e, row, 0);
  double along = 0;
  for (size_t j = 0; j < e->bytes; j++) along += (double)asked->values[256 * j + code[j * CPB_SCAN_ROWS]];
  return (double)e->size2[row] - (double)factor_at(e, row)[CPB_SCAN_ROWS] * along;
}

/* Rows come in order within a share, so one with the estimate of the worst does not replace it. */
static float found(void *context, size_t query, size_t block, uint64_t below, const float *estimates) {
  look *l = context;
  scan *s = l->s;
  const cpb_estimator *e = s->of->e;
  cpb_best *best = &s->best[l->share * s->of->count + l->first + query];
  size_t first = (l->block + block) * CPB_SCAN_ROWS;
  (void)estimates; /* lower bounds */
  for (; below != 0; below &= below - 1) {
    size_t row = first + (size_t)__builtin_ctzll(below);
    if (row < e->rows) cpb_best_offer(best, estimate_of(e, &s->of->asked[l->first + query], row), row);
  }
  if (best->count < best->k) return INFINITY;
  double worst = best->entry[0].key;
  return nextafterf((float)(worst + SCAN_ERROR * fabs(worst)), INFINITY);
}

static cpb_byte_scan scan_of(const cpb_estimator *e, size_t block, size_t blocks) {
  return (cpb_byte_scan){.blocks = blocks,
                         .bytes = e->bytes,
                         .codes = e->codes + block * e->bytes * CPB_SCAN_ROWS,
                         .factors = e->factors + block * 2 * CPB_SCAN_ROWS};
}

/* doubt: added to products, so that estimates are lower bounds */
static cpb_scan_query query_of(const query_tables *a, double doubt, float limit) {
  return (cpb_scan_query){a->tables, a->scale, (float)((double)a->start + doubt), limit};
}

static void scan_chunk(scan *s, size_t share, size_t block, size_t blocks) {
  float *limits = s->limits + share * s->of->count;
  for (size_t first = 0; first < s->of->count; first += CPB_SCAN_QUERIES) {
    look l = {s, share, first, block};
    cpb_byte_scan job = scan_of(s->of->e, block, blocks);
    job.queries = s->of->count - first < CPB_SCAN_QUERIES ? s->of->count - first : CPB_SCAN_QUERIES;
    job.found = found;
    job.context = &l;
    for (size_t q = 0; q < job.queries; q++)
      job.query[q] = query_of(&s->of->asked[first + q], s->of->asked[first + q].doubt, limits[first + q]);
    s->loops->scan(&job);
    for (size_t q = 0; q < job.queries; q++) limits[first + q] = job.query[q].limit;
  }
}

static void scan_share(void *arg, size_t share) {
  scan *s = arg;
  size_t block = share * s->per_share, end = block + s->per_share;
  if (end > s->of->e->blocks) end = s->of->e->blocks;
  for (; block < end; block += s->per_chunk)
    scan_chunk(s, share, block, end - block < s->per_chunk ? end - block : s->per_chunk);
}

static void settle(const scan *s, size_t query, cpb_ranked *entries) {
  cpb_best *all = &s->best[query];
  for (size_t share = 1; share < s->shares; share++) {
    const cpb_best *more = &s->best[share * s->of->count + query];
    for (size_t i = 0; i < more->count; i++) cpb_best_offer(all, more->entry[i].key, more->entry[i].id);
  }
  cpb_ranked_sort(all->entry, all->count);
  memcpy(entries, all->entry, all->count * sizeof *entries);
}

/* The k smallest estimates of each query, sorted, as entries count x k. False if out of memory. */
static bool find_nearest(search *of, size_t k) {
  scan s = {.of = of, .loops = cpb_sketch_loops_here()};
  const cpb_estimator *e = of->e;
  size_t threads = cpb_exec_threads(of->exec), most = e->blocks / BLOCKS_PER_SHARE + 1;
  s.shares = threads < most ? threads : most;
  if (s.shares > SHARES_MAX) s.shares = SHARES_MAX;
  s.per_share = (e->blocks + s.shares - 1) / s.shares;
  s.per_chunk = CHUNK_BYTES / (CPB_SCAN_ROWS * (e->bytes + 2 * sizeof(float))) + 1;
  size_t all = s.shares * of->count;
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
    cpb_exec_run(of->exec, s.shares, scan_share, &s);
    for (size_t q = 0; q < of->count; q++) settle(&s, q, of->entries + q * k);
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

/* The estimates of all rows from the tables: without |w|^2, squared. */
static void all_estimates(const cpb_estimator *e, const query_tables *asked, float *estimates) {
  copying c = {e, estimates};
  cpb_byte_scan job = scan_of(e, 0, e->blocks);
  job.queries = 1;
  job.query[0] = query_of(asked, 0, INFINITY);
  job.found = copy_block;
  job.context = &c;
  cpb_sketch_loops_here()->scan(&job);
}

/* ---- what is known about a distance ---- */

/* What is known about |z-w|. */
typedef struct knowledge {
  double estimate; /* squared, may be negative */
  double low, high;
} knowledge;

/* <v, G w> in double. */
static double along_of(const cpb_estimator *e, const query_tables *asked, size_t row) {
  double sums[4] = {0};
  const uint8_t *code = byte_at(e, row, 0);
  for (size_t j = 0; j < e->bytes; j++) {
    const cpb_book *book = &e->sketch->books[j];
    const float *centres = book->centres + code[j * CPB_SCAN_ROWS];
    for (size_t k = 0; k < book->count; k++)
      sums[k % 4] += (double)centres[256 * k] * asked->along[book->first + k];
  }
  return sums[0] + sums[1] + (sums[2] + sums[3]);
}

/* From <v, G w>, of which `doubt` may be wrong. share: 1 for the certain bound, else the part of the error bound that errors
 * are likely to take. */
static knowledge known_of(const cpb_estimator *e, const query_tables *asked, size_t row, double along,
                          double doubt, double share) {
  double size2 = (double)e->size2[row], f = (double)factor_at(e, row)[CPB_SCAN_ROWS] / 2;
  double error = (double)e->error[row], x2 = f * f * e->v2[row];
  double loose = CPB_ISOMETRY_ERROR * (double)(e->n + e->sketch->options.d) + 0x1p-40;
  knowledge known = {.estimate = size2 + asked->size2 - 2 * f * along, .high = INFINITY};
  if (asked->far || isinf(error)) return known;
  double slack = 2 * f * doubt + loose * (x2 + asked->size2);
  double apart2 = x2 + asked->size2 - 2 * f * along; /* of the approximation */
  known.low = sqrt(fmax(apart2 - slack, 0)) * (1 - loose) - error;
  known.high = sqrt(fmax(apart2 + slack, 0)) * (1 + loose) + error;
  if (share < 1) known.low = fmax(known.low, sqrt(fmax(known.estimate - 2 * f * doubt, 0)) - share * error);
  known.low = fmax(known.low - 0x1p-45 * (sqrt(asked->size2) + sqrt(x2) + error), 0);
  return known;
}

/* The same from an estimate of all_estimates, with its error. */
static knowledge guess_of(const cpb_estimator *e, const query_tables *asked, size_t row, float estimate,
                          double share) {
  double size2 = (double)e->size2[row], f = (double)factor_at(e, row)[CPB_SCAN_ROWS] / 2;
  double along = f > 0 ? (size2 - (double)estimate) / (2 * f) : 0;
  double rounding = f > 0 ? 2 * SCAN_ERROR * size2 / f : 0;
  return known_of(e, asked, row, along, asked->doubt + rounding, share);
}

/* ---- search ---- */

/* The quantile of the normal distribution for a probability in [0.5,1), up to 5e-4 (Hastings, 1955). */
static double normal_quantile(double probability) {
  double t = sqrt(-2 * cpb_log(1 - probability));
  return t -
         (2.515517 + t * (0.802853 + t * 0.010328)) / (1 + t * (1.432788 + t * (0.189269 + t * 0.001308)));
}

static double share_of(const cpb_sketch *sketch, cpb_bound bound, double confidence) {
  if (bound != CPB_BOUND_PROBABLE) return 1;
  return fmin(1, sketch->options.spread * normal_quantile(confidence) / normal_quantile(defaults.confidence));
}

/* ---- candidates ---- */

static double distance_of(const search *s, const query_tables *asked, double estimate) {
  if (asked->far) return sqrt(asked->size2) * s->e->sketch->options.s;
  return sqrt(fmax(estimate + asked->size2, 0)) * s->e->sketch->options.s;
}

static cpb_status rank(search *s, size_t candidates) {
  cpb_hit *found = malloc(s->count * candidates * sizeof *found);
  if (found == NULL) return cpb_fail_memory(s->error, "%zu candidates", s->count * candidates);
  for (size_t i = 0; i < s->count * candidates; i++)
    found[i] = (cpb_hit){s->entries[i].id, distance_of(s, &s->asked[i / candidates], s->entries[i].key)};
  cpb_hit *hits = s->hits + s->first * s->o.k;
  cpb_status status = CPB_OK;
  if (s->o.rows == NULL)
    memcpy(hits, found, s->count * s->o.k * sizeof *hits);
  else {
    cpb_rerank_options how;
    cpb_rerank_options_init(&how, sizeof how);
    how.k = s->o.k;
    status = cpb_rerank_store(s->o.rows, cpb_view_slice(s->queries, s->first, s->count), found, candidates,
                              &how, hits, s->exec, s->error);
    atomic_fetch_add(&s->read, s->count * candidates);
  }
  free(found);
  return status;
}

/* ---- until the bound ---- */

/* One query: its rows that may be among the nearest, in the order of their lower bounds. */
typedef struct reading {
  search *s;
  cpb_view query;
  const query_tables *asked;
  const cpb_ranked *first; /* the k best estimates, read first */
  float *estimates;
  cpb_ranked *open; /* lower bounds, in the unit of the data */
  cpb_hit *batch, *measured;
  cpb_best best;
} reading;

static cpb_status measure(reading *r, size_t count, cpb_error *error) {
  cpb_rerank_options how;
  cpb_rerank_options_init(&how, sizeof how);
  how.k = count;
  cpb_status status =
      cpb_rerank_store(r->s->o.rows, r->query, r->batch, count, &how, r->measured, NULL, error);
  for (size_t i = 0; i < count && status == CPB_OK; i++)
    cpb_best_offer(&r->best, r->measured[i].value, r->measured[i].id);
  atomic_fetch_add(&r->s->read, count);
  return status;
}

/* The k-th distance so far: no row with a larger lower bound is needed. */
static double limit_of(const reading *r) {
  return r->best.count < r->best.k ? INFINITY : r->best.entry[0].key;
}

static bool was_first(const reading *r, size_t row) {
  for (size_t i = 0; i < r->s->o.k; i++)
    if (r->first[i].id == row) return true;
  return false;
}

/* Rows whose lower bound from the tables, and then that in double, is within the limit. */
static size_t list_open(reading *r) {
  const cpb_estimator *e = r->s->e;
  double s = e->sketch->options.s, limit = limit_of(r), share = r->s->share;
  size_t count = 0;
  all_estimates(e, r->asked, r->estimates);
  for (size_t row = 0; row < e->rows; row++) {
    if (guess_of(e, r->asked, row, r->estimates[row], share).low * s > limit) continue;
    double along = along_of(e, r->asked, row);
    double low = known_of(e, r->asked, row, along, 0, share).low * s;
    if (low <= limit && !was_first(r, row)) r->open[count++] = (cpb_ranked){low, row};
  }
  cpb_ranked_sort(r->open, count);
  return count;
}

static cpb_status read_until(reading *r, cpb_error *error) {
  size_t k = r->s->o.k;
  for (size_t i = 0; i < k; i++) r->batch[i] = (cpb_hit){r->first[i].id, 0};
  cpb_status status = measure(r, k, error);
  size_t open = status == CPB_OK ? list_open(r) : 0, size = FIRST_BATCH;
  for (size_t at = 0; at < open && status == CPB_OK; size += size / 2) {
    size_t count = 0;
    for (; count < size && at < open && r->open[at].key <= limit_of(r); at++)
      r->batch[count++] = (cpb_hit){r->open[at].id, 0};
    if (count == 0) break;
    status = measure(r, count, error);
  }
  return status;
}

static cpb_status answer(void *arg, size_t index, cpb_error *error) {
  search *s = arg;
  size_t rows = s->e->rows, k = s->o.k;
  cpb_memory memory = {0};
  reading r = {.s = s,
               .query = cpb_view_slice(s->queries, s->first + index, 1),
               .asked = &s->asked[index],
               .first = s->entries + index * k,
               .estimates = cpb_memory_take(&memory, rows, sizeof *r.estimates),
               .open = cpb_memory_take(&memory, rows + k, sizeof *r.open),
               .batch = cpb_memory_take(&memory, rows + k, sizeof *r.batch),
               .measured = cpb_memory_take(&memory, rows + k, sizeof *r.measured),
               .best = {k, 0, cpb_memory_take(&memory, k, sizeof(cpb_ranked))}};
  cpb_status status =
      memory.failed ? cpb_fail_memory(error, "the bounds of %zu rows", rows) : read_until(&r, error);
  if (status == CPB_OK) {
    cpb_ranked_sort(r.best.entry, k);
    for (size_t i = 0; i < k; i++)
      s->hits[(s->first + index) * k + i] = (cpb_hit){r.best.entry[i].id, r.best.entry[i].key};
  }
  cpb_memory_free(&memory);
  return status;
}

/* ---- the call ---- */

static cpb_status check_rows(const search *s) {
  const cpb_store *rows = s->o.rows;
  if (rows == NULL) return s->o.bound == CPB_BOUND_NONE ? CPB_OK : cpb_fail_missing(s->error, "rows");
  if (rows->get == NULL) return cpb_fail_missing(s->error, "rows");
  if (rows->rows != s->e->rows)
    return cpb_fail(s->error, CPB_WHY_ROWS, "rows", "there are %llu rows, but %zu codes",
                    (unsigned long long)rows->rows, s->e->rows);
  if (rows->cols != s->e->sketch->options.d)
    return cpb_fail(s->error, CPB_WHY_COLUMNS, "rows", "rows has %zu columns, wanted %zu", rows->cols,
                    s->e->sketch->options.d);
  return CPB_OK;
}

static cpb_status check_confidence(cpb_bound bound, double confidence, cpb_error *error) {
  if (bound != CPB_BOUND_PROBABLE || (confidence >= 0.5 && confidence < 1)) return CPB_OK;
  return cpb_fail_domain(error, "confidence", confidence, "confidence must be in [0.5,1)");
}

static cpb_status check(const search *s) {
  const cpb_estimator_options *o = &s->o;
  if (s->hits == NULL && s->queries.rows > 0) return cpb_fail_missing(s->error, "hits");
  if ((unsigned)o->bound > CPB_BOUND_PROBABLE) return cpb_fail_choice(s->error, "bound", (int)o->bound);
  cpb_status status = check_confidence(o->bound, o->confidence, s->error);
  if (status != CPB_OK) return status;
  status = cpb_check_k(o->k, s->e->rows, "k", "codes", s->error);
  if (status != CPB_OK) return status;
  if (o->candidates != 0 && o->candidates < o->k)
    return cpb_fail_count(s->error, "candidates", o->candidates, "candidates must be at least k, %zu", o->k);
  status = cpb_check_view(s->queries, "queries", s->e->sketch->options.d, s->error);
  return status == CPB_OK ? check_rows(s) : status;
}

/* Rows whose estimates are wanted of every query. */
static size_t candidates_of(const search *s) {
  size_t usual = s->o.k > 100 ? s->o.k : 100, wanted = s->o.candidates != 0 ? s->o.candidates : usual;
  if (s->o.bound != CPB_BOUND_NONE || s->o.rows == NULL) wanted = s->o.k;
  return wanted < s->e->rows ? wanted : s->e->rows;
}

static cpb_status run_batch(search *s, size_t candidates) {
  cpb_status status = ask(s);
  if (status != CPB_OK) return status;
  if (!find_nearest(s, candidates))
    return cpb_fail_memory(s->error, "the %zu best of %zu queries", candidates, s->count);
  return s->o.bound == CPB_BOUND_NONE ? rank(s, candidates)
                                      : cpb_exec_try(s->exec, s->count, answer, s, s->error);
}

static cpb_status run(search *s) {
  size_t candidates = candidates_of(s);
  if (s->o.bound != CPB_BOUND_NONE && cpb_estimates_only(s->e->sketch))
    return cpb_fail(s->error, CPB_WHY_DOMAIN, "bound",
                    "codes of this sketch have no bounds: train it with bounds (certain)");
  query_tables asked[QUERIES_AT_ONCE];
  cpb_memory memory = {0};
  s->asked = asked;
  s->entries = cpb_memory_take(&memory, QUERIES_AT_ONCE * candidates, sizeof *s->entries);
  s->w = cpb_memory_take(&memory, QUERIES_AT_ONCE, s->e->sketch->options.d * sizeof *s->w);
  for (size_t i = 0; i < QUERIES_AT_ONCE; i++) asked_new(&asked[i], s->e, &memory);
  cpb_status status = memory.failed ? cpb_fail_memory(s->error, "%d queries", QUERIES_AT_ONCE) : CPB_OK;
  for (s->first = 0; s->first < s->queries.rows && status == CPB_OK; s->first += s->count) {
    size_t left = s->queries.rows - s->first;
    s->count = left < QUERIES_AT_ONCE ? left : QUERIES_AT_ONCE;
    status = run_batch(s, candidates);
    if (status == CPB_OK)
      status = cpb_exec_tell(s->exec, (double)(s->first + s->count) / (double)s->queries.rows, s->error);
  }
  cpb_memory_free(&memory);
  return status;
}

cpb_status cpb_estimator_search(const cpb_estimator *estimator, cpb_view queries,
                                const cpb_estimator_options *options, cpb_hit *hits,
                                cpb_estimator_report *report, const cpb_exec *exec, cpb_error *error) {
  if (estimator == NULL) return cpb_fail_missing(error, "estimator");
  search s = {.e = estimator, .o = defaults, .queries = queries, .hits = hits, .exec = exec, .error = error};
  cpb_status status = cpb_sized_take(&s.o, sizeof s.o, options, "cpb_estimator_options", error);
  if (status == CPB_OK) status = cpb_sized_check(report, "cpb_estimator_report", error);
  if (status == CPB_OK) status = check(&s);
  if (status != CPB_OK || queries.rows == 0) return status;
  s.share = share_of(estimator->sketch, s.o.bound, s.o.confidence);
  status = run(&s);
  cpb_estimator_report own = {.size = sizeof own,
                              .queries = queries.rows,
                              .rows_read = atomic_load(&s.read),
                              .proven = s.o.bound == CPB_BOUND_CERTAIN};
  if (status == CPB_OK) cpb_sized_give(report, &own, sizeof own);
  return status;
}

cpb_status cpb_estimator_bounds(const cpb_estimator *e, cpb_view query, cpb_bound bound, double confidence,
                                double *estimate, double *low, double *high, cpb_error *error) {
  if (e == NULL) return cpb_fail_missing(error, "estimator");
  query_tables asked;
  search s = {.e = e, .queries = query, .error = error, .count = 1, .asked = &asked};
  cpb_status status = cpb_check_view(query, "query", e->sketch->options.d, error);
  if (status == CPB_OK && query.rows != 1) return cpb_fail_rows(error, "query", query.rows, 1);
  if (status == CPB_OK) status = check_confidence(bound, confidence, error);
  if (status != CPB_OK) return status;
  cpb_memory memory = {0};
  asked_new(&asked, e, &memory);
  s.w = cpb_memory_take(&memory, e->sketch->options.d, sizeof *s.w);
  status = memory.failed ? cpb_fail_memory(error, "a query") : ask(&s);
  double share = share_of(e->sketch, bound, confidence), unit = e->sketch->options.s;
  for (size_t row = 0; row < e->rows && status == CPB_OK; row++) {
    knowledge known = known_of(e, &asked, row, along_of(e, &asked, row), 0, share);
    if (estimate != NULL) estimate[row] = distance_of(&s, &asked, known.estimate - asked.size2);
    if (low != NULL) low[row] = known.low * unit;
    if (high != NULL) high[row] = known.high * unit;
  }
  cpb_memory_free(&memory);
  return status;
}
