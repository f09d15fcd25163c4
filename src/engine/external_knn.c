/* Exact neighbours through a caller's index: query, measure, certify, query for more.  T13 */
#include "engine/t13_certificate.h"
#include "engine/t13_query.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "base/memory.h"
#include "base/rows.h"
#include "base/sized.h"
#include "loops/block_product.h"
#include "loops/chunk.h"
#include "loops/row_state.h"
#include "base/blocks.h"
#include "search/query_numbers.h"
#include "sphere/map_object.h"
#include "sphere/embedded_distance.h"

CPB_DEFAULTS(cpb_external_options, .size = sizeof(cpb_external_options))

typedef struct asking {
  const cpb_map *map;
  const cpb_external *index;
  size_t k;
  double r, norm, row_error, score_error;
  cpb_query_image point;
  double *x, *p, *row; /* d, d+1, d+1 */
  size_t room;         /* capacity for candidates */
  uint64_t *ids;
  double *scores;
  cpb_hit *candidates;
} asking;

static cpb_status make_room(asking *a, size_t count, cpb_error *error) {
  if (count <= a->room) return CPB_OK;
  if (!cpb_resize(&a->ids, count, sizeof *a->ids) || !cpb_resize(&a->scores, count, sizeof *a->scores) ||
      !cpb_resize(&a->candidates, count, sizeof *a->candidates))
    return cpb_fail_memory(error, "%zu candidates", count);
  a->room = count;
  return CPB_OK;
}

static cpb_status begin(asking *a, cpb_view queries, size_t row, cpb_error *error) {
  cpb_view query = cpb_view_slice(queries, row, 1);
  cpb_cap cap = {.p = a->p};
  cpb_status status = cpb_check_finite_row(queries, row, "queries", error);
  if (status == CPB_OK) status = cpb_query_norms(a->map, query, &a->norm, NULL, error);
  if (status == CPB_OK) status = cpb_query_embed(a->map, query, &a->point, error);
  if (status != CPB_OK) return status;
  cpb_row_widen(query, 0, a->x);
  return cpb_query_cap(a->map, a->x, a->r, &cap, error);
}

/* Queries for `count` rows and sorts those found by distance; *lowest is the lowest score. */
static cpb_status ask(asking *a, size_t count, size_t *found, double *lowest, cpb_error *error) {
  const cpb_external *index = a->index;
  cpb_status status = make_room(a, count, error);
  *found = 0;
  if (status == CPB_OK) status = index->search(index->self, a->p, count, a->ids, a->scores, found, error);
  if (status != CPB_OK) return status;
  if (*found > count || *found < a->k)
    return cpb_fail(error, CPB_WHY_NEIGHBOURS, "index",
                    "the index found %zu rows of %zu, wanted at least %zu", *found, count, a->k);
  *lowest = INFINITY;
  for (size_t i = 0; i < *found; i++) {
    if (a->ids[i] >= index->rows)
      return cpb_fail(error, CPB_WHY_NO_SUCH_ROW, "index", "the index found row %llu of %llu",
                      (unsigned long long)a->ids[i], (unsigned long long)index->rows);
    status = index->row(index->self, a->ids[i], a->row, error);
    if (status != CPB_OK) return status;
    a->candidates[i] = (cpb_hit){a->ids[i], cpb_query_image_distance(&a->point, a->row)};
    if (isnan(a->candidates[i].value) || isnan(a->scores[i]))
      return cpb_fail(error, CPB_WHY_INDEX_ROW, "index", "row %llu of the index is not a point of the sphere",
                      (unsigned long long)a->ids[i]);
    *lowest = fmin(*lowest, a->scores[i]);
  }
  cpb_hits_by_distance(a->candidates, *found);
  return CPB_OK;
}

static cpb_status answer(asking *a, size_t first, size_t most, cpb_hit *hits, cpb_external_report *report,
                         cpb_error *error) {
  size_t found, count = first;
  for (;; count = count > most / 2 ? most : 2 * count) {
    double lowest = INFINITY;
    cpb_status status = ask(a, count, &found, &lowest, error);
    if (status != CPB_OK) return status;
    double D = a->candidates[a->k - 1].value;
    double least = cpb_query_floor(a->map, a->norm, a->r, D, a->row_error, a->score_error);
    *report = (cpb_external_report){count, cpb_query_proves(found, count, a->index->rows, lowest, least)};
    if (report->proven || count == most || found < count) break;
  }
  for (size_t i = 0; i < a->k; i++) hits[i] = a->candidates[i];
  return CPB_OK;
}

static cpb_status check(const cpb_map *map, const cpb_external *index, cpb_view queries, size_t k,
                        const cpb_external_options *options, const cpb_hit *hits, cpb_error *error) {
  cpb_status status = cpb_check_round(map, error);
  if (status == CPB_OK) status = cpb_check_view(queries, "queries", map->options.d, error);
  if (status != CPB_OK) return status;
  if (index == NULL || index->search == NULL || index->row == NULL)
    return cpb_fail(error, CPB_WHY_MISSING, "index", "an index needs its callbacks search and row");
  status = cpb_check_k(k, index->rows, "k", "rows of the index", error);
  if (status != CPB_OK) return status;
  if (!(options->radius >= 0) || isinf(options->radius))
    return cpb_fail_domain(error, "radius", options->radius, "the radius must be >= 0 and finite");
  if (!(index->row_error >= 0) || !(index->score_error >= 0))
    return cpb_fail(error, CPB_WHY_DOMAIN, "index",
                    "the errors of an index must be >= 0, got %.17g and %.17g", index->row_error,
                    index->score_error);
  if (queries.rows > 0 && hits == NULL) return cpb_fail_missing(error, "hits");
  return CPB_OK;
}

static size_t within(uint64_t wanted, size_t least, uint64_t most) {
  return (size_t)(wanted > most ? most : wanted < least ? least : wanted);
}

cpb_status cpb_external_knn(const cpb_map *map, const cpb_external *index, cpb_view queries, size_t k,
                            const cpb_external_options *options, cpb_hit *hits, cpb_external_report *reports,
                            cpb_error *error) {
  cpb_external_options o = defaults;
  cpb_status status = cpb_sized_take(&o, sizeof o, options, "cpb_external_options", error);
  if (status == CPB_OK) status = check(map, index, queries, k, &o, hits, error);
  if (status != CPB_OK) return status;
  size_t d = map->options.d, most = within(o.most == 0 ? index->rows : o.most, k, index->rows);
  size_t first = within(o.first != 0 ? o.first : 2 * k < 32 ? 32 : 2 * k, k, most);
  double *memory = malloc((4 * d + 3) * sizeof *memory);
  if (memory == NULL) return cpb_fail_memory(error, "a row of %zu columns", d + 1);
  asking a = {.map = map, .index = index, .k = k, .r = o.radius};
  a.row_error = index->row_error > 0 ? index->row_error : cpb_query_row_error(map, CPB_F32);
  a.score_error = index->score_error > 0 ? index->score_error : cpb_query_score_error(d, CPB_F32);
  a.point.image = memory;
  a.p = memory + d + 1;
  a.row = memory + 2 * (d + 1);
  a.x = memory + 3 * (d + 1);
  for (size_t i = 0; i < queries.rows && status == CPB_OK; i++) {
    cpb_external_report report;
    status = begin(&a, queries, i, error);
    if (status == CPB_OK) status = answer(&a, first, most, hits + i * k, &report, error);
    if (status == CPB_OK && reports != NULL) reports[i] = report;
  }
  free(memory);
  free(a.ids);
  free(a.scores);
  free(a.candidates);
  return status;
}

/* Counts the rows scored at or above a limit, for many queries at once. */

typedef struct count_job {
  cpb_view rows;
  size_t queries, wide; /* wide: queries, rounded up to a whole tile */
  double *p;            /* coordinate k of query j at k*wide + j */
  const double *limits;
  _Atomic uint64_t *counts;
} count_job;

enum { COUNTED_ROWS = 96 };

static cpb_status count_rows(void *arg, size_t task, cpb_error *error) {
  const count_job *job = arg;
  size_t first = task * COUNTED_ROWS, left = job->rows.rows - first;
  size_t count = left < COUNTED_ROWS ? left : COUNTED_ROWS;
  size_t cols = job->rows.cols, tall = cpb_round_up(count, CPB_TILE_ROWS);
  double *wide = calloc(tall * (cols + job->wide), sizeof *wide), *products = wide + tall * cols;
  cpb_status status = wide == NULL ? cpb_fail_memory(error, "%zu queries", job->queries) : CPB_OK;
  for (size_t i = 0; i < count && status == CPB_OK; i++) {
    status = cpb_check_finite_row(job->rows, first + i, "rows", error);
    cpb_row_widen(job->rows, first + i, wide + i * cols);
  }
  cpb_product product = {tall, job->wide, cols, wide, cols, 1, job->p, job->wide, products, job->wide};
  if (status == CPB_OK) cpb_product_add(cpb_loops_here(), &product);
  for (size_t j = 0; j < job->queries && status == CPB_OK; j++) {
    uint64_t above = 0;
    for (size_t i = 0; i < count; i++) above += products[i * job->wide + j] >= job->limits[j];
    if (above > 0) atomic_fetch_add_explicit(&job->counts[j], above, memory_order_relaxed);
  }
  free(wide);
  return status;
}

cpb_status cpb_query_count(cpb_view p, const double *limits, cpb_view rows, uint64_t *counts,
                           const cpb_exec *exec, cpb_error *error) {
  cpb_status status = cpb_check_view(p, "p", rows.cols, error);
  if (status == CPB_OK) status = cpb_check_view(rows, "rows", rows.cols, error);
  if (status != CPB_OK || p.rows == 0 || rows.rows == 0) return status;
  if (limits == NULL || counts == NULL) return cpb_fail_missing(error, limits == NULL ? "limits" : "counts");
  cpb_memory memory = {0};
  count_job job = {
      .rows = rows, .queries = p.rows, .wide = cpb_round_up(p.rows, CPB_TILE_COLS), .limits = limits};
  double *row = cpb_memory_take(&memory, p.cols, sizeof *row);
  job.p = cpb_memory_zeros(&memory, p.cols, job.wide * sizeof *job.p);
  job.counts = cpb_memory_zeros(&memory, p.rows, sizeof *job.counts);
  if (memory.failed) status = cpb_fail_memory(error, "%zu queries", p.rows);
  for (size_t j = 0; j < p.rows && status == CPB_OK; j++) {
    cpb_row_widen(p, j, row);
    for (size_t k = 0; k < p.cols; k++) job.p[k * job.wide + j] = row[k];
  }
  size_t tasks = (rows.rows + COUNTED_ROWS - 1) / COUNTED_ROWS;
  if (status == CPB_OK) status = cpb_exec_try(exec, tasks, count_rows, &job, error);
  for (size_t j = 0; status == CPB_OK && j < p.rows; j++) counts[j] += atomic_load(&job.counts[j]);
  cpb_memory_free(&memory);
  return status;
}
