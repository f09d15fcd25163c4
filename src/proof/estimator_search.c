/* T14: search by estimates. Without a bound the best candidates are read and re-ranked. With one, the rows are read in the
 * order of their lower bounds, until the next one is above the k-th smallest distance. */
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "capball/advanced/candidates.h"
#include "core/elementary.h"
#include "core/fail.h"
#include "core/memory.h"
#include "core/rows.h"
#include "core/sized.h"
#include "parallel/blocks.h"
#include "parallel/tell.h"
#include "sketch/estimator_object.h"

enum { QUERIES_AT_ONCE = 64, FIRST_BATCH = 16 };

CPB_DEFAULTS(cpb_estimator_options, .size = sizeof(cpb_estimator_options), .k = 10, .confidence = 0.999)

typedef struct search {
  const cpb_estimator *e;
  cpb_estimator_options o;
  cpb_view queries;
  cpb_hit *hits;
  const cpb_exec *exec;
  cpb_error *error;
  double share;               /* see cpb_estimator_known */
  cpb_estimator_query *asked; /* of QUERIES_AT_ONCE queries */
  size_t first, count;
  cpb_ranked *entries;
  _Atomic uint64_t read;
} search;

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

/* ---- queries ---- */

static void asked_new(cpb_estimator_query *a, const cpb_estimator *e, cpb_memory *memory) {
  *a = (cpb_estimator_query){.along = cpb_memory_take(memory, e->n, sizeof *a->along),
                             .tables = cpb_memory_lines(memory, e->bytes, 64)};
}

static cpb_status ask(search *s) {
  size_t d = s->e->sketch->options.d;
  double *w = malloc(s->count * d * sizeof *w);
  cpb_status status = w == NULL ? cpb_fail_memory(s->error, "%zu queries", s->count) : CPB_OK;
  for (size_t i = 0; i < s->count && status == CPB_OK; i++) {
    int fault = cpb_estimator_place(&s->asked[i], s->e, s->queries, s->first + i, w + i * d);
    if (fault != 0) status = cpb_fault_report(s->first + i, fault, "queries", s->error);
  }
  if (status == CPB_OK) cpb_estimator_ask(s->asked, s->count, s->e, w, s->exec);
  free(w);
  return status;
}

/* ---- candidates ---- */

static double distance_of(const search *s, const cpb_estimator_query *asked, double estimate) {
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
  const cpb_estimator_query *asked;
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
  cpb_estimator_all(e, r->asked, r->estimates);
  for (size_t row = 0; row < e->rows; row++) {
    if (cpb_estimator_guess(e, r->asked, row, r->estimates[row], share).low * s > limit) continue;
    double along = cpb_estimator_along(e, r->asked, row);
    double low = cpb_estimator_known(e, r->asked, row, along, 0, share).low * s;
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
  if (o->k == 0 || o->k > s->e->rows)
    return cpb_fail_count(s->error, "k", o->k, "k must be 1 .. the number of codes, %zu", s->e->rows);
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
  if (!cpb_estimator_nearest(s->e, s->asked, s->count, candidates, s->entries, s->exec))
    return cpb_fail_memory(s->error, "the %zu best of %zu queries", candidates, s->count);
  return s->o.bound == CPB_BOUND_NONE ? rank(s, candidates)
                                      : cpb_exec_try(s->exec, s->count, answer, s, s->error);
}

static cpb_status run(search *s) {
  size_t candidates = candidates_of(s);
  cpb_estimator_query asked[QUERIES_AT_ONCE];
  cpb_memory memory = {0};
  s->asked = asked;
  s->entries = cpb_memory_take(&memory, QUERIES_AT_ONCE * candidates, sizeof *s->entries);
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
  cpb_estimator_query asked;
  search s = {.e = e, .queries = query, .error = error, .count = 1, .asked = &asked};
  cpb_status status = cpb_check_view(query, "query", e->sketch->options.d, error);
  if (status == CPB_OK && query.rows != 1) return cpb_fail_rows(error, "query", query.rows, 1);
  if (status == CPB_OK) status = check_confidence(bound, confidence, error);
  if (status != CPB_OK) return status;
  cpb_memory memory = {0};
  asked_new(&asked, e, &memory);
  status = memory.failed ? cpb_fail_memory(error, "a query") : ask(&s);
  double share = share_of(e->sketch, bound, confidence), unit = e->sketch->options.s;
  for (size_t row = 0; row < e->rows && status == CPB_OK; row++) {
    cpb_known known = cpb_estimator_known(e, &asked, row, cpb_estimator_along(e, &asked, row), 0, share);
    if (estimate != NULL) estimate[row] = distance_of(&s, &asked, known.estimate - asked.size2);
    if (low != NULL) low[row] = known.low * unit;
    if (high != NULL) high[row] = known.high * unit;
  }
  cpb_memory_free(&memory);
  return status;
}
