/* T13: sorts an engine's candidates by distance, and proves that no other row is nearer. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/best.h"
#include "base/choice_names.h"
#include "base/digits.h"
#include "base/fail.h"
#include "base/memory.h"
#include "base/rows.h"
#include "base/sized.h"
#include "loops/chunk.h"
#include "base/blocks.h"
#include "base/tell.h"
#include "engine/score_law.h"
#include "engine/t13_certificate.h"
#include "search/query_numbers.h"

/* ---- the type of stored rows ---- */

/* Detects the type that stored rows were rounded to, if it is not given.                                    T13
 *
 * A row rounded to f16 may be stored in a file of f32 or f64, and its length need not show it. So every row that is
 * read is examined:
 *   its digits   a row whose numbers all fit f16, or have no more decimal digits than f16 is printed with, counts as
 *                rounded to f16; the same for f32
 *   its length   a row farther from the sphere than its type explains was changed in some unknown way: no conclusion
 * The coarsest row decides, so the result does not depend on their order. Whether the rows are images of the data at
 * all is checked by a seal (capball/advanced/seal.h) or by cpb_transform_verify. */

typedef struct row_facts {
  bool any;            /* a row other than an axis has been examined */
  cpb_dtype precision; /* the coarsest: f64, f32 or f16 */
  bool axis;           /* one was an axis, such as the image of the centre: exact in every type */
  bool unexplained;    /* one was farther from the surface than its type explains, .. */
  double off;          /* .. the farthest of these, .. */
  uint64_t row;        /* .. and its number */
} row_facts;

static bool fits_half(double v) {
  uint64_t bits;
  memcpy(&bits, &v, sizeof bits);
  double steps = v * 0x1p24; /* in units of the smallest half */
  return fabs(v) <= 65504 && (bits & (((uint64_t)1 << 42) - 1)) == 0 && steps == nearbyint(steps);
}

/* The decimal m/10^k, both exact, is read as the nearest double. */
static bool has_digits(double v, double least, cpb_dtype stored) {
  double size = fabs(v);
  size_t k = 0, most = sizeof cpb_powers_of_ten / sizeof *cpb_powers_of_ten;
  while (k < most && size * cpb_powers_of_ten[k] < least) k++;
  if (k == most) return true; /* too small to tell: counts as short */
  double read = nearbyint(size * cpb_powers_of_ten[k]) / cpb_powers_of_ten[k];
  return stored == CPB_F32 ? (float)read == (float)size : read == size;
}

/* Whether v may have been rounded to the type, or printed from it: 5 digits are enough for f16, 9 for f32. Values of f16
 * may also have passed through files of f32. */
static bool is_short(double v, cpb_dtype type, cpb_dtype stored) {
  bool single = (double)(float)v == v || has_digits(v, 1e8, CPB_F64);
  if (type == CPB_F32) return single;
  return fits_half(v) || has_digits(v, 1e4, stored) ||
         (stored == CPB_F64 && single &&
          (fits_half((double)(float)v) || has_digits((double)(float)v, 1e4, CPB_F32)));
}

static bool is_short_row(const double *y, size_t cols, cpb_dtype type, cpb_dtype stored) {
  for (size_t i = 0; i < cols; i++)
    if (!is_short(y[i], type, stored)) return false;
  return true;
}

/* A row with a single non-zero coordinate, 1 or -1, on the sphere; the image of the centre under a lift. Its zeros were
 * rounded by less than the smallest half, and the surface bounds the rest. */
static bool is_axis(const cpb_score_law *law, const double *y) {
  size_t others = 0, looked = law->map != NULL ? law->cols : law->d;
  double size = 0;
  for (size_t i = 0; i < looked; i++) {
    others += y[i] != 0;
    size = fmax(size, fabs(y[i]));
  }
  return law->map != NULL ? others == 1 && size == 1 : others == 0;
}

static double unit_roundoff(cpb_dtype type) {
  return type == CPB_F64 ? 0x1p-53 : type == CPB_F32 ? 0x1p-24 : 0x1p-11;
}

/* The largest distance from the surface that rounding to the type and printing can cause. */
static double explained(const cpb_score_law *law, cpb_dtype type) {
  double sums = ((double)law->d + 65) * 0x1p-53, times = law->map != NULL ? 4 : 16;
  return type == CPB_F64 ? sums : times * unit_roundoff(type) + sums;
}

static void join_facts(row_facts *facts, const row_facts *other) {
  bool farther =
      !facts->unexplained || other->off > facts->off || (other->off == facts->off && other->row < facts->row);
  if (other->unexplained && farther) {
    facts->off = other->off;
    facts->row = other->row;
  }
  if (other->any && (!facts->any || unit_roundoff(other->precision) > unit_roundoff(facts->precision)))
    facts->precision = other->precision;
  facts->unexplained |= other->unexplained;
  facts->axis |= other->axis;
  facts->any |= other->any;
}

/* Row `number`, y: its stored values as doubles. EROW if it is not a point of the sphere or the lift. */
static cpb_status examine_row(row_facts *facts, const cpb_score_law *law, const double *y, cpb_dtype stored,
                              uint64_t number, cpb_error *error) {
  double off = cpb_score_law_off(law, y);
  if (!(off <= explained(law, CPB_F16)))
    return cpb_fail_row(error, CPB_WHY_ROW_OFF_SPHERE, "embedded", number,
                        "has length %.9g: not a point of the %s",
                        sqrt(cpb_loops_here()->dot(y, y, law->cols)), law->map != NULL ? "sphere" : "lift");
  row_facts one = {.precision = CPB_F64, .off = off, .row = number, .axis = is_axis(law, y)};
  one.any = !one.axis;
  if (one.any && (stored == CPB_F16 || is_short_row(y, law->cols, CPB_F16, stored)))
    one.precision = CPB_F16;
  else if (one.any && (stored == CPB_F32 || is_short_row(y, law->cols, CPB_F32, stored)))
    one.precision = CPB_F32;
  one.unexplained = one.any && off > explained(law, one.precision);
  join_facts(facts, &one);
  return CPB_OK;
}

/* The largest distance of such rows from the images of the data; inf if one is unexplained. */
static double facts_error(const row_facts *facts, const cpb_score_law *law, cpb_dtype stored) {
  if (facts->unexplained) return INFINITY;
  double error = cpb_score_law_row_error(law, facts->any ? facts->precision : stored);
  return facts->axis ? fmax(error, sqrt((double)law->cols) * 0x1p-24) : error;
}

enum { TASK_ROWS = 512 };

typedef struct looking {
  const cpb_score_law *law;
  cpb_view block;
  uint64_t first;        /* the number of its first row */
  row_facts *task_facts; /* one per task */
} looking;

static cpb_status look_at_task(void *arg, size_t task, cpb_error *error) {
  const looking *l = arg;
  size_t i = task * TASK_ROWS, end = i + TASK_ROWS < l->block.rows ? i + TASK_ROWS : l->block.rows;
  double *y = malloc(l->law->cols * sizeof *y);
  cpb_status status = y == NULL ? cpb_fail_memory(error, "a row") : CPB_OK;
  for (; i < end && status == CPB_OK; i++) {
    cpb_row_widen(l->block, i, y);
    status = examine_row(&l->task_facts[task], l->law, y, l->block.dtype, l->first + i, error);
  }
  free(y);
  return status;
}

static cpb_status examine_all(row_facts *facts, const cpb_score_law *law, cpb_source *rows,
                              const cpb_exec *exec, cpb_error *error) {
  looking l = {.law = law};
  cpb_status status = rows->rewind(rows, error);
  for (; status == CPB_OK; l.first += l.block.rows) {
    status = rows->next(rows, &l.block, error);
    if (status != CPB_OK || l.block.rows == 0) break;
    status = cpb_check_view(l.block, "embedded", law->cols, error);
    if (status != CPB_OK) break;
    size_t tasks = (l.block.rows + TASK_ROWS - 1) / TASK_ROWS;
    l.task_facts = calloc(tasks, sizeof *l.task_facts);
    status = l.task_facts == NULL ? cpb_fail_memory(error, "%zu rows", l.block.rows)
                                  : cpb_exec_try(exec, tasks, look_at_task, &l, error);
    for (size_t task = 0; task < tasks && l.task_facts != NULL; task++)
      join_facts(facts, &l.task_facts[task]);
    free(l.task_facts);
    if (status == CPB_OK) status = cpb_exec_tell(exec, 0, error);
  }
  return status;
}

/* ---- rescoring ---- */

CPB_DEFAULTS(cpb_rescore_options, .size = sizeof(cpb_rescore_options), .k = 10, .score_error = NAN,
             .precision = CPB_PRECISION_UNKNOWN)

static const uint64_t NOT_COUNTED = UINT64_MAX;

typedef struct rescoring {
  cpb_score_law law;
  cpb_rescore_options o;
  size_t n, C, k;
  row_facts facts;        /* at all rows read .. */
  row_facts *query_facts; /* .. and at the candidates of each query; NULL: the precision is known */
  double row_error;       /* largest distance of the rows from the images of the data */
  cpb_view queries;
  const cpb_store *store;
  const uint64_t *ids;  /* n x C */
  double *norms, *p;    /* n, n x cols */
  double *kth, *lowest; /* n: the largest distance in the answer, and the lowest score of a candidate */
  double *least;        /* n: the floor of the certificate */
  double *products;     /* n x C: scores of the candidates in double, if all rows are examined; else NULL */
  uint64_t *needed;     /* n: 0 if proven, else the number of candidates that would prove it */
  uint64_t *settled;    /* n: value of `needed` if no other row is above the floor */
  cpb_hit *hits;        /* n x k */
  size_t first;         /* query of the current round */
} rescoring;

/* ---- one query ---- */

typedef struct candidates {
  char *rows;
  double *row, *distance, *of_row; /* cols, C, C: from scores, if given, and from the row */
  cpb_hit *hits;
  double lowest; /* score */
} candidates;

static cpb_view rows_of(const rescoring *r, const candidates *c) {
  return cpb_rows(c->rows, r->store->dtype, r->C, r->law.cols);
}

static const double *row_of(const rescoring *r, const candidates *c, size_t i) {
  cpb_row_widen(rows_of(r, c), i, c->row);
  return c->row;
}

static double product_of(const rescoring *r, size_t query, const double *y) {
  return cpb_loops_here()->dot(r->p + query * r->law.cols, y, r->law.cols);
}

static double score_error(const rescoring *r, size_t query) {
  return r->o.score_error * cpb_score_law_size(&r->law, r->norms[query]);
}

static cpb_status fail_on_row(const rescoring *r, size_t query, size_t i, cpb_error *error) {
  uint64_t id = r->ids[query * r->C + i];
  return cpb_fail_row(error, CPB_WHY_ROW_OFF_SPHERE, "embedded", id, "is not a point of the sphere");
}

/* How far the rows of a query may be from those the engine had. A row that no type explains does not make the order
 * suspect. */
static double slack_of(const rescoring *r, size_t query) {
  double coarse = cpb_score_law_row_error(&r->law, CPB_F16);
  if (r->query_facts == NULL) return r->row_error;
  row_facts facts = r->facts;
  join_facts(&facts, &r->query_facts[query]);
  return fmin(coarse, facts_error(&facts, &r->law, r->store->dtype));
}

/* Engines return their best candidate first. Candidates whose scores do not descend were found with other vectors or
 * rows (another map, radius or file), or were reordered. */
static cpb_status check_order(const rescoring *r, size_t query, size_t i, double before, double score,
                              cpb_error *error) {
  double room =
      2 * (score_error(r, query) + slack_of(r, query) * cpb_score_law_size(&r->law, r->norms[query]));
  /* given scores are compared with each row instead */
  bool asked = !r->o.unordered && r->o.scores.data == NULL && r->C < r->store->rows;
  bool ordered = !asked || score <= before + room;
  if (ordered) return CPB_OK;
  return cpb_fail_domain(
      error, "ids", score,
      "query %zu: its candidates are not in the order of their scores, best first: are map, "
      "radius, queries and rows those of the engine? Candidate %zu (row %llu) must be scored "
      "no higher than the one before it, %.9g",
      query, i, (unsigned long long)r->ids[query * r->C + i], before);
}

static cpb_status look_at_rows(const rescoring *r, size_t query, const candidates *c, cpb_error *error) {
  cpb_status status = CPB_OK;
  if (r->query_facts == NULL) return CPB_OK;
  r->query_facts[query] = (row_facts){0};
  for (size_t i = 0; i < r->C && status == CPB_OK; i++)
    status = examine_row(&r->query_facts[query], &r->law, row_of(r, c, i), r->store->dtype,
                         r->ids[query * r->C + i], error);
  return status;
}

/* From the rows: the engine's scores may differ by score_error in either direction. */
static cpb_status measure_rows(const rescoring *r, size_t query, candidates *c, cpb_error *error) {
  cpb_status status =
      cpb_score_law_distances(&r->law, cpb_view_slice(r->queries, query, 1), rows_of(r, c), c->of_row, error);
  if (status == CPB_EROW) return error == NULL ? status : fail_on_row(r, query, (size_t)error->row, error);
  double before = INFINITY;
  for (size_t i = 0; i < r->C && status == CPB_OK; i++) {
    double score = product_of(r, query, row_of(r, c, i));
    if (r->products != NULL) r->products[query * r->C + i] = score;
    status = check_order(r, query, i, before, score, error);
    before = fmin(before, score);
    c->lowest = before + score_error(r, query);
    c->distance[i] = c->of_row[i];
  }
  return status;
}

/* Converts between scores and distances 1-score. */
static double flip(const rescoring *r, double score) {
  return r->o.score_kind == CPB_SCORE_COSINE_DISTANCE ? 1 - score : score;
}

/* EINVAL for a score that the row y cannot have, because distances and proofs would rely on it. An engine divides by
 * the lengths of rounded rows. */
static cpb_status check_score(const rescoring *r, size_t query, size_t i, double score, const double *y,
                              cpb_error *error) {
  const char *what = cpb_score_names[r->o.score_kind];
  bool distance = r->o.score_kind == CPB_SCORE_COSINE_DISTANCE;
  double size = cpb_score_law_size(&r->law, r->norms[query]);
  double room = score_error(r, query) + 2 * slack_of(r, query) * size, product = product_of(r, query, y);
  char where[128];
  snprintf(where, sizeof where, "query %zu, candidate %zu (row %llu)", query, i,
           (unsigned long long)r->ids[query * r->C + i]);
  if (!isfinite(score))
    return cpb_fail(error, CPB_WHY_NOT_FINITE, "scores", "%s has the score %g", where, flip(r, score));
  if (fabs(score) > size + room)
    return cpb_fail(error, CPB_WHY_SCORE, "scores",
                    "%s has the score %.9g, but the %s of unit vectors is within [%d,%d]", where,
                    flip(r, score), what, distance ? 0 : -1, distance ? 2 : 1);
  if (fabs(score - product) > room)
    return cpb_fail(error, CPB_WHY_SCORE, "scores",
                    "%s has the score %.9g, but its embedded row gives %.9g as %s; are kind and radius "
                    "those of the queries, and is the score error (%.3g) as large as the engine's?",
                    where, flip(r, score), flip(r, product), what, score_error(r, query));
  return CPB_OK;
}

/* From the engine's numbers and 1+y0. */
static cpb_status measure_scores(const rescoring *r, size_t query, candidates *c, cpb_error *error) {
  c->lowest = INFINITY;
  for (size_t i = 0; i < r->C; i++) {
    const double *y = row_of(r, c, i);
    double score = flip(r, cpb_view_at(r->o.scores, query, i));
    cpb_status status = check_score(r, query, i, score, y, error);
    if (status != CPB_OK) return status;
    c->distance[i] = cpb_score_law_scored(&r->law, r->norms[query], score, y);
    c->lowest = fmin(c->lowest, score);
    if (isnan(c->distance[i])) return fail_on_row(r, query, i, error);
  }
  return CPB_OK;
}

static void sort_by(const rescoring *r, size_t query, const double *distance, cpb_hit *hits) {
  for (size_t i = 0; i < r->C; i++) hits[i] = (cpb_hit){r->ids[query * r->C + i], distance[i]};
  cpb_hits_by_distance(hits, r->C);
}

static void rank(const rescoring *r, size_t query, candidates *c) {
  cpb_hit *answer = r->hits + query * r->k;
  sort_by(r, query, c->distance, c->hits);
  memcpy(answer, c->hits, r->k * sizeof *answer);
  sort_by(r, query, c->of_row, c->hits);
  bool alike = true;
  for (size_t i = 0; i < r->k; i++) alike &= answer[i].id == c->hits[i].id;
  r->kth[query] = r->o.within > 0 ? r->o.within : c->hits[r->k - 1].value;
  r->lowest[query] = c->lowest;
  /* The rows of a ball are complete in any order. */
  r->settled[query] = alike || r->o.within > 0 ? 0 : r->C;
}

static cpb_status rescore_query(void *arg, size_t i, cpb_error *error) {
  const rescoring *r = arg;
  size_t query = r->first + i;
  cpb_memory m = {0};
  candidates c = {.rows = cpb_memory_take(&m, r->C, r->store->cols * cpb_dtype_size(r->store->dtype)),
                  .row = cpb_memory_take(&m, r->law.cols, sizeof(double)),
                  .distance = cpb_memory_take(&m, r->C, sizeof(double)),
                  .of_row = cpb_memory_take(&m, r->C, sizeof(double)),
                  .hits = cpb_memory_take(&m, r->C, sizeof(cpb_hit)),
                  .lowest = INFINITY};
  cpb_status status = m.failed ? cpb_fail_memory(error, "%zu candidates", r->C) : CPB_OK;
  if (status == CPB_OK) status = r->store->get(r->store, r->ids + query * r->C, r->C, c.rows, error);
  if (status == CPB_OK) status = look_at_rows(r, query, &c, error);
  if (status == CPB_OK) status = measure_rows(r, query, &c, error);
  if (status == CPB_OK && r->o.scores.data != NULL) status = measure_scores(r, query, &c, error);
  if (status == CPB_OK) rank(r, query, &c);
  cpb_memory_free(&m);
  return status;
}

/* ---- all queries ---- */

static cpb_status rescore_all(rescoring *r, const cpb_exec *exec, cpb_error *error) {
  enum { ROUND = 256 };
  cpb_status status = CPB_OK;
  for (r->first = 0; r->first < r->n && status == CPB_OK; r->first += ROUND) {
    size_t left = r->n - r->first;
    status = cpb_exec_try(exec, left < ROUND ? left : ROUND, rescore_query, r, error);
    if (status == CPB_OK) status = cpb_exec_tell(exec, 0.9 * (double)r->first / (double)r->n, error);
  }
  return status;
}

/* ---- what is proven, once every row has been examined ---- */

/* Candidates scored as high as any row of the ball may be, plus a rounding error: a different order of summation must
 * not compensate for a missing row. */
static uint64_t count_above(const rescoring *r, size_t query) {
  uint64_t above = 0;
  double limit =
      r->least[query] - score_error(r, query) + 0x1p-40 * cpb_score_law_size(&r->law, r->norms[query]);
  for (size_t i = 0; i < r->C && r->products != NULL; i++) above += r->products[query * r->C + i] >= limit;
  return above;
}

/* If all rows are candidates, the answer is complete, provided the precision suffices to sort them. The floor is -inf
 * if the error of the rows is unbounded. */
static void settle(rescoring *r, size_t query) {
  bool bounded = !isinf(r->row_error), whole = r->C == r->store->rows && bounded;
  r->least[query] = bounded ? cpb_score_law_floor(&r->law, r->norms[query], r->kth[query], r->row_error,
                                                  score_error(r, query))
                            : -INFINITY;
  bool enough = bounded && cpb_query_proves(r->C, r->C, r->store->rows, r->lowest[query], r->least[query]);
  r->needed[query] = enough && (whole || r->o.all == NULL) ? r->settled[query] : NOT_COUNTED;
}

/* ---- how many candidates would prove the rest ---- */

static cpb_status count_rows(cpb_source *all, cpb_view p, const double *limits, uint64_t *counts,
                             const cpb_exec *exec, cpb_error *error) {
  cpb_status status = all->rewind(all, error);
  cpb_view block;
  for (uint64_t first = 0; status == CPB_OK; first += block.rows) {
    status = all->next(all, &block, error);
    if (status != CPB_OK || block.rows == 0) break;
    status = cpb_query_count(p, limits, block, counts, exec, error);
    if (status == CPB_EROW) status = cpb_fail_later(error, first);
    if (status == CPB_OK) status = cpb_exec_tell(exec, 0.95, error);
  }
  return status;
}

/* Every row of the ball is scored above the floor. If all rows scored so are candidates, none is missing, whatever the
 * engine did; else a proof needs one candidate below the floor, one more than there are above it. */
static uint64_t verdict_on(const rescoring *r, size_t query, uint64_t count) {
  bool known = !isinf(r->row_error);
  if (r->o.all != NULL && known && count <= count_above(r, query)) return r->settled[query];
  uint64_t wanted = r->o.all == NULL ? r->store->rows : count + 1;
  if (wanted <= r->C) wanted = r->C + 1; /* except for rounding, more than there are */
  return wanted < r->store->rows ? wanted : r->store->rows;
}

static cpb_status count_needed(rescoring *r, const cpb_exec *exec, cpb_error *error) {
  size_t open = 0, cols = r->law.cols;
  for (size_t i = 0; i < r->n; i++) open += r->needed[i] == NOT_COUNTED;
  if (open == 0) return CPB_OK;
  cpb_memory memory = {0};
  double *p = cpb_memory_take(&memory, open, cols * sizeof *p);
  double *limits = cpb_memory_take(&memory, open, sizeof *limits);
  uint64_t *counts = cpb_memory_zeros(&memory, open, sizeof *counts);
  cpb_status status =
      memory.failed ? cpb_fail_memory(error, "%zu queries of %zu columns", open, cols) : CPB_OK;
  for (size_t i = 0, at = 0; i < r->n && status == CPB_OK; i++) {
    if (r->needed[i] != NOT_COUNTED) continue;
    memcpy(p + at * cols, r->p + i * cols, cols * sizeof *p);
    limits[at++] = r->least[i] - score_error(r, i);
  }
  if (status == CPB_OK && r->o.all != NULL)
    status = count_rows(r->o.all, cpb_rows(p, CPB_F64, open, cols), limits, counts, exec, error);
  for (size_t i = 0, at = 0; i < r->n && status == CPB_OK; i++)
    if (r->needed[i] == NOT_COUNTED) r->needed[i] = verdict_on(r, i, counts[at++]);
  cpb_memory_free(&memory);
  return status;
}

/* ---- preparation ---- */

static cpb_status check_query(const rescoring *r, size_t query, uint64_t *sorted, cpb_error *error) {
  const uint64_t *ids = r->ids + query * r->C;
  for (size_t i = 0; i < r->C; i++)
    if (ids[i] >= r->store->rows)
      return cpb_fail(error, CPB_WHY_NO_SUCH_ROW, "ids",
                      "query %zu names row %lld, but there are rows 0 .. %llu", query, (long long)ids[i],
                      (unsigned long long)(r->store->rows - 1));
  memcpy(sorted, ids, r->C * sizeof *sorted);
  qsort(sorted, r->C, sizeof *sorted, cpb_compare_ids);
  for (size_t i = 1; i < r->C; i++)
    if (sorted[i] == sorted[i - 1])
      return cpb_fail(error, CPB_WHY_ROW_TWICE, "ids", "query %zu names row %llu twice", query,
                      (unsigned long long)sorted[i]);
  return CPB_OK;
}

static cpb_status check_ids(const rescoring *r, cpb_error *error) {
  uint64_t *sorted = malloc(r->C * sizeof *sorted);
  cpb_status status = sorted == NULL ? cpb_fail_memory(error, "%zu candidates", r->C) : CPB_OK;
  for (size_t i = 0; i < r->n && status == CPB_OK; i++) status = check_query(r, i, sorted, error);
  free(sorted);
  return status;
}

/* The type the rows were rounded to is given, or detected from the rows read: from all rows if all are examined, else
 * from the candidates. */
static cpb_status find_precision(rescoring *r, const cpb_exec *exec, cpb_error *error) {
  if (r->o.precision == CPB_PRECISION_UNKNOWN)
    return r->o.all != NULL ? examine_all(&r->facts, &r->law, r->o.all, exec, error) : CPB_OK;
  r->row_error = cpb_score_law_row_error(&r->law, (cpb_dtype)r->o.precision);
  r->query_facts = NULL;
  return CPB_OK;
}

static cpb_status check(const rescoring *r, cpb_error *error) {
  if (r->store == NULL || r->store->get == NULL) return cpb_fail_missing(error, "embedded");
  if (r->ids == NULL || r->hits == NULL) return cpb_fail_missing(error, r->ids == NULL ? "ids" : "hits");
  cpb_status status = r->o.all == NULL ? CPB_OK : cpb_check_readable(r->o.all, "all", error);
  if (status == CPB_OK)
    status = cpb_check_view(cpb_rows(NULL, CPB_F32, 0, r->store->cols), "embedded", r->law.cols, error);
  if (status != CPB_OK) return status;
  if (r->store->dtype > CPB_F16)
    return cpb_fail(
        error, CPB_WHY_DTYPE_IN, "embedded",
        "embedded rows are %s, which cannot be points of the sphere: their coordinates are in [-1,1]",
        cpb_dtype_name(r->store->dtype));
  status = cpb_check_k(r->k, r->C, "k", "candidates of a query", error);
  if (status != CPB_OK) return status;
  if (r->o.scores.data != NULL && (r->o.scores.rows != r->n || r->o.scores.cols != r->C))
    return cpb_fail(error, CPB_WHY_ROWS, "scores", "there are %zu x %zu scores for %zu x %zu candidates",
                    r->o.scores.rows, r->o.scores.cols, r->n, r->C);
  if ((unsigned)r->o.score_kind > CPB_SCORE_COSINE_DISTANCE)
    return cpb_fail_choice(error, "score_kind", (int)r->o.score_kind);
  if (r->o.precision < CPB_PRECISION_UNKNOWN || r->o.precision > (int)CPB_F16)
    return cpb_fail_choice(error, "precision", r->o.precision);
  return check_ids(r, error);
}

static cpb_status run(rescoring *r, const cpb_exec *exec, cpb_error *error) {
  cpb_status status = check(r, error);
  if (status == CPB_OK) status = find_precision(r, exec, error);
  if (status == CPB_OK) status = cpb_score_law_prepare(&r->law, r->queries, r->norms, r->p, exec, error);
  if (status == CPB_OK) status = rescore_all(r, exec, error);
  if (status != CPB_OK) return status;
  for (size_t i = 0; r->query_facts != NULL && i < r->n; i++) join_facts(&r->facts, &r->query_facts[i]);
  if (r->query_facts != NULL) r->row_error = facts_error(&r->facts, &r->law, r->store->dtype);
  for (size_t i = 0; i < r->n; i++) settle(r, i);
  return count_needed(r, exec, error);
}

static void give_facts(const rescoring *r) {
  cpb_stored_rows facts = {.size = sizeof facts,
                           .precision = r->query_facts == NULL ? (cpb_dtype)r->o.precision
                                        : r->facts.any         ? r->facts.precision
                                                               : r->store->dtype,
                           .row_error = r->row_error,
                           .unexplained = r->facts.unexplained,
                           .off = r->facts.off,
                           .row = r->facts.row};
  if (r->o.stored != NULL) cpb_sized_give(r->o.stored, &facts, sizeof facts);
}

static void get_memory(rescoring *r, cpb_memory *m) {
  size_t n = r->n;
  r->norms = cpb_memory_take(m, n, sizeof *r->norms);
  r->least = cpb_memory_take(m, n, sizeof *r->least);
  r->kth = cpb_memory_take(m, n, sizeof *r->kth);
  r->lowest = cpb_memory_take(m, n, sizeof *r->lowest);
  r->p = cpb_memory_take(m, n, r->law.cols * sizeof *r->p);
  r->needed = cpb_memory_zeros(m, n, sizeof *r->needed);
  r->settled = cpb_memory_zeros(m, n, sizeof *r->settled);
  r->query_facts = cpb_memory_zeros(m, n, sizeof *r->query_facts);
  if (r->o.all != NULL) r->products = cpb_memory_take(m, n, r->C * sizeof *r->products);
}

cpb_status cpb_transform_rescore(const cpb_transform *transform, cpb_view queries, cpb_candidates given,
                                 const cpb_store *embedded, const cpb_rescore_options *options,
                                 const cpb_rescore_out *out, const cpb_exec *exec, cpb_error *error) {
  if (out == NULL) return cpb_fail_missing(error, "out");
  rescoring r = {.o = defaults,
                 .queries = queries,
                 .n = queries.rows,
                 .C = given.count,
                 .store = embedded,
                 .ids = given.ids,
                 .hits = out->hits};
  cpb_status status = cpb_sized_take(&r.o, sizeof r.o, options, "rescore options", error);
  if (status == CPB_OK && !(r.o.within >= 0 && r.o.within < INFINITY))
    status = cpb_fail_domain(error, "within", r.o.within, "within must be >= 0 and finite");
  if (status == CPB_OK) status = cpb_score_law_of_transform(&r.law, transform, r.o.radius, error);
  if (status == CPB_OK) status = cpb_check_view(queries, "queries", r.law.d, error);
  if (status != CPB_OK) return status;
  r.k = r.o.within > 0 ? r.C : r.o.k;
  if (isnan(r.o.score_error))
    r.o.score_error = cpb_query_score_error(r.law.d, r.o.scores.data != NULL ? r.o.scores.dtype : CPB_F64);
  cpb_memory memory = {0};
  get_memory(&r, &memory);
  status = memory.failed ? cpb_fail_memory(error, "%zu queries", r.n) : run(&r, exec, error);
  if (status == CPB_OK && out->needed != NULL) memcpy(out->needed, r.needed, r.n * sizeof *r.needed);
  if (status == CPB_OK) give_facts(&r);
  cpb_memory_free(&memory);
  return status;
}
