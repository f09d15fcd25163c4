/* T13: Euclidean search through an engine, and what is proven of its answers. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sphere/map_object.h"
#include "base/best.h"
#include "base/fail.h"
#include "base/memory.h"
#include "base/rows.h"
#include "base/sized.h"
#include "engine/engine_ask.h"
#include "loops/chunk.h"
#include "base/blocks.h"
#include "engine/score_law.h"
#include "engine/t13_certificate.h"
#include "engine/t13_query.h"
#include "engine/t13_transform.h"
#include "engine/recipe.h"

CPB_DEFAULTS(cpb_wrap_options, .size = sizeof defaults, .k = 10, .candidates = 100, .metric = CPB_COSINE)

typedef struct wrapping {
  cpb_asking of;
  cpb_wrap_options o;
  size_t left;     /* rows that may be found */
  size_t count;    /* requested from the engine per query */
  uint64_t *first; /* n x count: its answers */
  cpb_hit *found;  /* n x count: their distances */
  cpb_hit *hits;   /* n x k */
  cpb_score_law law;
  double *norms, *p; /* n, n x cols: of the queries */
} wrapping;

/* ---- exact search ---- */

static size_t list_allowed(const cpb_asking *a, uint64_t *rows) {
  size_t count = 0;
  for (size_t i = 0; i < cpb_engine_rows(a); i++)
    if (a->allowed == NULL || a->allowed[cpb_engine_row(a, i)]) rows[count++] = cpb_engine_row(a, i);
  qsort(rows, count, sizeof *rows, cpb_compare_ids);
  return count;
}

/* The nearest of all rows that may be found. */
static bool search_all(const wrapping *w, cpb_hit *hits) {
  const cpb_asking *a = &w->of;
  cpb_store base = cpb_store_from_view(a->base);
  cpb_memory memory = {0};
  uint64_t *rows = cpb_memory_take(&memory, cpb_engine_rows(a), sizeof *rows);
  void *copies = cpb_memory_take(&memory, w->left, a->base.cols * cpb_dtype_size(a->base.dtype));
  cpb_status status = memory.failed ? cpb_fail_memory(a->error, "%zu rows", w->left) : CPB_OK;
  if (status == CPB_OK) status = base.get(&base, rows, list_allowed(a, rows), copies, a->error);
  if (status == CPB_OK)
    status = cpb_knn(cpb_rows(copies, a->base.dtype, w->left, a->base.cols), a->queries, w->o.k, CPB_L2, hits,
                     a->exec, a->error);
  for (size_t i = 0; i < a->queries.rows * w->o.k && status == CPB_OK; i++) hits[i].id = rows[hits[i].id];
  cpb_memory_free(&memory);
  return status == CPB_OK;
}

/* ---- the engine's answers ---- */

static bool ask_once(wrapping *w) {
  size_t room = w->of.queries.rows * w->count;
  cpb_engine_cost cost;
  if (!cpb_resize(&w->first, room, sizeof *w->first) || !cpb_resize(&w->found, room, sizeof *w->found))
    return cpb_fail_memory(w->of.error, "%zu candidates", room) == CPB_OK;
  return cpb_engine_ask(&w->of, NULL, &w->o.radius, 1, w->count, w->first, &cost) &&
         cpb_engine_distances(&w->of, w->first, w->count, w->count, w->found);
}

/* The query with fewer than k rows; n if there is none. */
static size_t find_short(const wrapping *w) {
  size_t query = 0, n = w->of.queries.rows;
  while (query < n && w->found[query * w->count + w->o.k - 1].id != CPB_NO_ROW) query++;
  return query;
}

static bool ask_until_enough(wrapping *w) {
  size_t most = cpb_engine_rows(&w->of);
  for (;; w->count = w->count > most / 4 ? most : 4 * w->count) {
    if (!ask_once(w)) return false;
    size_t query = find_short(w), found = 0;
    if (query == w->of.queries.rows) return true;
    if (w->of.allowed != NULL && w->count < most) continue;
    while (w->found[query * w->count + found].id != CPB_NO_ROW) found++;
    return cpb_fail_count(w->of.error, "ids", found, "the engine must find %zu rows for query %zu", w->o.k,
                          query) == CPB_OK;
  }
}

static void give_hits(const wrapping *w, const cpb_hit *found, size_t count) {
  for (size_t i = 0; i < w->of.queries.rows; i++)
    memcpy(w->hits + i * w->o.k, found + i * count, w->o.k * sizeof *found);
}

static bool ask_again(const wrapping *w) {
  size_t n = w->of.queries.rows, room = 2 * w->count;
  cpb_engine_cost cost = {0};
  cpb_memory memory = {0};
  uint64_t *ids = cpb_memory_take(&memory, n, room * sizeof *ids);
  cpb_hit *found = cpb_memory_take(&memory, n, room * sizeof *found);
  if (memory.failed) cpb_fail_memory(w->of.error, "%zu candidates", n * room);
  bool done = !memory.failed &&
              cpb_engine_ask_again(&w->of, w->first, w->found, w->o.k, 0, w->count, room, ids, &cost) &&
              cpb_engine_distances(&w->of, ids, room, room, found);
  if (done) give_hits(w, found, room);
  cpb_memory_free(&memory);
  return done;
}

/* ---- what is proven ---- */

/* The lowest score of the rows that the engine has returned, whose images are y; NAN if they are not in the order of
 * their scores: then it has not kept its promise, or the rows or queries are not those it has. */
static double lowest_of(const wrapping *w, size_t query, cpb_view y, double error, double *row) {
  const cpb_loops *loops = cpb_loops_here();
  double lowest = INFINITY;
  for (size_t i = 0; i < y.rows; i++) {
    cpb_row_widen(y, i, row);
    double score = loops->dot(w->p + query * y.cols, row, y.cols);
    if (!(score <= lowest + 2 * error)) return NAN;
    lowest = fmin(lowest, score);
  }
  return lowest;
}

static cpb_status prove_query(void *arg, size_t query, cpb_error *error) {
  const wrapping *w = arg;
  const cpb_asking *a = &w->of;
  const uint64_t *ids = w->first + query * w->count;
  size_t found = 0, cols = w->law.cols;
  cpb_store base = cpb_store_from_view(a->base);
  cpb_memory memory = {0};
  uint64_t *rows = cpb_memory_take(&memory, w->count, sizeof *rows);
  void *x = cpb_memory_take(&memory, w->count, a->base.cols * cpb_dtype_size(a->base.dtype));
  float *y = cpb_memory_take(&memory, w->count, cols * sizeof *y);
  double *row = cpb_memory_take(&memory, cols, sizeof *row);
  for (size_t i = 0; i < w->count && !memory.failed; i++)
    if (ids[i] != CPB_NO_ROW) rows[found++] = ids[i];
  cpb_status status = memory.failed ? cpb_fail_memory(error, "%zu candidates", w->count) : CPB_OK;
  if (status == CPB_OK) status = base.get(&base, rows, found, x, error);
  if (status == CPB_OK)
    status = cpb_prepare_rows(a->transform, cpb_rows(x, a->base.dtype, found, a->base.cols), false, y, NULL,
                              error);
  if (status == CPB_OK) {
    double norm = w->norms[query], kth = w->hits[query * w->o.k + w->o.k - 1].value;
    double score_error = cpb_query_score_error(w->law.d, CPB_F64) * cpb_score_law_size(&w->law, norm);
    double least =
        cpb_score_law_floor(&w->law, norm, kth, cpb_score_law_row_error(&w->law, CPB_F32), score_error);
    double lowest = lowest_of(w, query, cpb_rows(y, CPB_F32, found, cols), score_error, row) + score_error;
    w->o.proven[query] = cpb_query_proves(found, w->count, cpb_engine_rows(a), lowest, least);
  }
  cpb_memory_free(&memory);
  return status;
}

static bool prove_by_engine(wrapping *w) {
  const cpb_asking *a = &w->of;
  cpb_memory memory = {0};
  w->norms = cpb_memory_take(&memory, a->queries.rows, sizeof *w->norms);
  w->p = cpb_memory_take(&memory, a->queries.rows, w->law.cols * sizeof *w->p);
  cpb_status status = memory.failed
                          ? cpb_fail_memory(a->error, "%zu queries", a->queries.rows)
                          : cpb_score_law_prepare(&w->law, a->queries, w->norms, w->p, a->exec, a->error);
  if (status == CPB_OK) status = cpb_exec_try(a->exec, a->queries.rows, prove_query, w, a->error);
  cpb_memory_free(&memory);
  return status == CPB_OK;
}

static bool prove_by_rows(const wrapping *w) {
  size_t k = w->o.k;
  cpb_hit *truth = malloc(w->of.queries.rows * k * sizeof *truth);
  if (truth == NULL) return cpb_fail_memory(w->of.error, "%zu neighbours", k) == CPB_OK;
  bool done = search_all(w, truth);
  for (size_t i = 0; i < w->of.queries.rows && done; i++) {
    size_t same = 0;
    while (same < k && w->hits[i * k + same].id == truth[i * k + same].id) same++;
    w->o.proven[i] = same == k;
  }
  free(truth);
  return done;
}

static bool prove(wrapping *w) {
  if (w->o.proven == NULL || w->o.certificate == CPB_CERTIFY_NOTHING) return true;
  return w->o.certificate == CPB_CERTIFY_ENGINE ? prove_by_engine(w) : prove_by_rows(w);
}

/* ---- both ---- */

/* So few that exact search takes no longer than the engine. */
static bool is_few(const wrapping *w) {
  return w->of.allowed != NULL && (w->left + 9) / 10 <= w->o.candidates;
}

static bool run(wrapping *w) {
  size_t most = cpb_engine_rows(&w->of);
  double share = (double)w->left / (double)most;
  if (is_few(w)) {
    for (size_t i = 0; w->o.proven != NULL && i < w->of.queries.rows; i++) w->o.proven[i] = true;
    return search_all(w, w->hits);
  }
  w->count = (size_t)fmin((double)most, (double)w->o.candidates / share);
  if (!cpb_engine_prepare(&w->of) || !ask_until_enough(w)) return false;
  give_hits(w, w->found, w->count);
  return (!w->o.twice || ask_again(w)) && prove(w);
}

/* Distances found are those of the original rows; the balls of a map that whitens are not. */
static cpb_status check_balls(const cpb_transform *transform, double radius, bool twice, cpb_error *error) {
  if (radius == 0 && !twice) return CPB_OK;
  if (transform->map == NULL)
    return cpb_fail_domain(error, "radius", radius, "only maps of the sphere have balls: radius must be 0");
  if (twice && transform->map->whiten != NULL)
    return cpb_fail_count(error, "twice", 1, "a map that whitens is asked once: twice must be 0");
  return CPB_OK;
}

static cpb_status check_held(const wrapping *w, cpb_error *error) {
  const cpb_asking *a = &w->of;
  if (a->held == NULL && a->held_rows > 0 && a->held_rows != a->base.rows)
    return cpb_fail_count(error, "held_rows", a->held_rows, "the engine must hold all %zu rows of the base",
                          a->base.rows);
  for (size_t i = 0; a->held != NULL && i < a->held_rows; i++)
    if (a->held[i] >= a->base.rows)
      return cpb_fail(error, CPB_WHY_NO_SUCH_ROW, "held", "there is no row %llu in a base of %zu",
                      (unsigned long long)a->held[i], a->base.rows);
  return CPB_OK;
}

/* Certificates of the engine speak of |x-q| and of the scores of this transform. */
static cpb_status check_certificate(wrapping *w, cpb_error *error) {
  const cpb_transform *transform = w->of.transform;
  if ((unsigned)w->o.certificate > CPB_CERTIFY_ROWS)
    return cpb_fail_choice(error, "certificate", (int)w->o.certificate);
  if (w->o.proven == NULL || w->o.certificate != CPB_CERTIFY_ENGINE) return CPB_OK;
  cpb_status status = cpb_score_law_of_transform(&w->law, transform, w->o.radius, error);
  if (status != CPB_OK) return status;
  if (transform->map != NULL && transform->map->whiten != NULL)
    return cpb_fail_count(error, "certificate", CPB_CERTIFY_ENGINE,
                          "a map that whitens ranks by |W(x-q)|, which proves nothing of |x-q|: the "
                          "certificate must be another");
  if (!cpb_recipe_suits(transform->options.kind, w->of.metric))
    return cpb_fail_count(error, "metric", (uint64_t)w->of.metric,
                          "the engine must rank by the scores of %s, not by %s", transform->facts.name,
                          cpb_metric_name(w->of.metric));
  return CPB_OK;
}

static cpb_status check_counts(wrapping *w, cpb_error *error) {
  const cpb_asking *a = &w->of;
  size_t rows = cpb_engine_rows(a);
  w->left = a->allowed == NULL ? rows : 0;
  for (size_t i = 0; a->allowed != NULL && i < rows; i++) w->left += a->allowed[cpb_engine_row(a, i)];
  if (w->o.candidates > rows) w->o.candidates = rows;
  cpb_status status = cpb_check_k(w->o.k, w->left, "k", "rows that may be found", error);
  return status == CPB_OK ? cpb_check_k(w->o.k, w->o.candidates, "k", "candidates", error) : status;
}

static cpb_status check(wrapping *w, cpb_error *error) {
  const cpb_asking *a = &w->of;
  cpb_status status = cpb_check_view(a->base, "base", a->transform->options.d, error);
  if (status == CPB_OK) status = cpb_check_view(a->queries, "queries", a->base.cols, error);
  if (status == CPB_OK) status = check_held(w, error);
  if (status == CPB_OK) status = check_counts(w, error);
  if (status == CPB_OK) status = check_balls(a->transform, w->o.radius, w->o.twice, error);
  return status == CPB_OK ? check_certificate(w, error) : status;
}

cpb_status cpb_engine_wrap(cpb_view base, cpb_view queries, const cpb_transform *transform,
                           const cpb_engine_calls *engine, const cpb_wrap_options *options, cpb_hit *hits,
                           const cpb_exec *exec, cpb_error *error) {
  wrapping w = {.o = defaults, .hits = hits};
  cpb_error unused;
  if (error == NULL) error = &unused;
  if (transform == NULL || engine == NULL || engine->ask == NULL || hits == NULL)
    return cpb_fail_missing(error, transform == NULL ? "transform" : hits == NULL ? "hits" : "engine");
  cpb_status status = cpb_sized_take(&w.o, sizeof w.o, options, "cpb_wrap_options", error);
  w.of = (cpb_asking){.engine = engine,
                      .transform = transform,
                      .base = base,
                      .queries = queries,
                      .metric = w.o.metric,
                      .seed = w.o.seed,
                      .held = w.o.held,
                      .held_rows = w.o.held_rows,
                      .allowed = w.o.allowed,
                      .exec = exec,
                      .error = error};
  if (status == CPB_OK) status = check(&w, error);
  if (status == CPB_OK && !run(&w)) status = error->status;
  free(w.of.rows);
  free(w.first);
  free(w.found);
  return status;
}
