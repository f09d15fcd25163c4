/* T13: the caps of balls around queries, as vectors for an inner-product engine, and distances from its rows and scores. */
#include <math.h>
#include <stdlib.h>

#include "loops/ruler.h"
#include "loops/row_state.h"
#include "capball/advanced/candidates.h"
#include "base/fail.h"
#include "sphere/t3_cap_ball.h"
#include "sphere/products.h"
#include "sphere/t1_embed.h"
#include "engine/t13_query.h"
#include "sphere/map_object.h"
#include "sphere/embedded_distance.h"

cpb_status cpb_query_cap(const cpb_map *map, const double *x, double r, cpb_cap *cap, cpb_error *error) {
  size_t d = cap->d = map->options.d;
  cpb_region ball = {.kind = CPB_BALL, .d = d, .c = (double *)(uintptr_t)x, .r = r, .W = map->metric};
  if (r > 0) return cpb_map_cap(map, &ball, cap, error);
  cap->b = 1;
  cap->sigma = 0;
  return cpb_map_embed(map, cpb_rows(x, CPB_F64, 1, d), cpb_rows_out(cap->p, CPB_F64, 1, d + 1), NULL, error);
}

typedef struct caps_job {
  const cpb_map *map;
  cpb_view queries;
  const double *radii; /* NULL: all are r */
  double r;
  cpb_out p;
  double *b, *sigma;
} caps_job;

/* memory: 2d+1 doubles. */
static cpb_status answer_row(const caps_job *job, size_t row, double *memory, cpb_error *error) {
  const cpb_loops *loops = cpb_loops_here();
  size_t d = job->map->options.d;
  double *x = memory, r = job->radii != NULL ? job->radii[row] : job->r;
  cpb_cap cap = {.p = memory + d, .b = NAN, .sigma = NAN};
  cpb_status status = cpb_check_finite_row(job->queries, row, "queries", error);
  if (status == CPB_OK) {
    cpb_row_widen(job->queries, row, x);
    status = cpb_query_cap(job->map, x, r, &cap, error);
  }
  if (status == CPB_OK)
    for (size_t offset = 0; offset <= d; offset += CPB_CHUNK)
      cpb_row_store(loops, job->p, row, offset, cpb_chunk_count(d + 1, offset), cap.p + offset);
  else
    cpb_row_fill_nan(job->p, row);
  if (job->b != NULL) job->b[row] = cap.b;
  if (job->sigma != NULL) job->sigma[row] = cap.sigma;
  if (status != CPB_EINVAL || error == NULL) return status;
  cpb_error why = *error;
  return cpb_fail_row(error, CPB_WHY_ROW_NO_CAP, "queries", row, "has no cap: %.400s", why.text);
}

enum { QUERIES_PER_TASK = 64 };

/* All of them, whether or not some fail; the error is that of the first. */
static cpb_status answer_rows(void *arg, size_t task, cpb_error *error) {
  const caps_job *job = arg;
  size_t first = task * QUERIES_PER_TASK, left = job->queries.rows - first;
  double *memory = malloc((2 * job->map->options.d + 1) * sizeof *memory);
  if (memory == NULL) return cpb_fail_memory(error, "a query");
  cpb_status status = CPB_OK;
  for (size_t i = 0; i < (left < QUERIES_PER_TASK ? left : QUERIES_PER_TASK); i++) {
    cpb_status own = answer_row(job, first + i, memory, status == CPB_OK ? error : NULL);
    if (status == CPB_OK) status = own;
  }
  free(memory);
  return status;
}

static cpb_status answer(caps_job *job, const cpb_exec *exec, cpb_error *error) {
  cpb_view queries = job->queries;
  cpb_status status = cpb_check_round(job->map, error);
  if (status != CPB_OK) return status;
  size_t d = job->map->options.d;
  status = cpb_check_view(queries, "queries", d, error);
  if (status == CPB_OK) status = cpb_check_out(job->p, "p", queries.rows, d + 1, error);
  if (status == CPB_OK) status = cpb_check_apart(queries, "queries", job->p, "p", error);
  for (size_t i = 0; i < queries.rows && status == CPB_OK; i++) {
    double r = job->radii != NULL ? job->radii[i] : job->r;
    if (!(r >= 0) || isinf(r))
      status = cpb_fail_domain(error, "radius", r, "a radius must be >= 0 and finite");
  }
  if (status != CPB_OK) return status;
  size_t tasks = (queries.rows + QUERIES_PER_TASK - 1) / QUERIES_PER_TASK;
  return cpb_exec_try(exec, tasks, answer_rows, job, error);
}

cpb_status cpb_query_caps(const cpb_map *map, cpb_view queries, const double *radii, cpb_out p, double *b,
                          double *sigma, const cpb_exec *exec, cpb_error *error) {
  if (map != NULL && queries.rows > 0 && radii == NULL) return cpb_fail_missing(error, "radii");
  return answer(&(caps_job){map, queries, radii, 0, p, b, sigma}, exec, error);
}

cpb_status cpb_query_balls(const cpb_map *map, cpb_view queries, double r, cpb_out p, const cpb_exec *exec,
                           cpb_error *error) {
  return answer(&(caps_job){map, queries, NULL, r, p, NULL, NULL}, exec, error);
}

typedef struct norms_job {
  cpb_ruler metric;
  double *norms;
} norms_job;

static int measure_row(void *arg, size_t row) {
  const norms_job *job = arg;
  int fault = cpb_ruler_length(&job->metric, row, &job->norms[row]);
  if (fault != 0) job->norms[row] = NAN;
  return fault;
}

cpb_status cpb_query_norms(const cpb_map *map, cpb_view queries, double *norms, const cpb_exec *exec,
                           cpb_error *error) {
  cpb_status status = cpb_check_round(map, error);
  if (status == CPB_OK) status = cpb_check_view(queries, "queries", map->options.d, error);
  if (status != CPB_OK) return status;
  if (queries.rows > 0 && norms == NULL) return cpb_fail_missing(error, "norms");
  norms_job job = {
      {.loops = cpb_loops_here(), .x = queries, .c = map->center, .sign = 1, .stretch = 1, .W = map->whiten},
      norms};
  return cpb_rows_run(queries.rows, queries.cols, measure_row, &job, "queries", exec, error);
}

/* ---- original distances from embedded rows, or from the numbers an engine returns ---- */

cpb_status cpb_query_distances(const cpb_map *map, cpb_view query, cpb_view rows, double *distances,
                               cpb_error *error) {
  cpb_status status = cpb_check_round(map, error);
  if (status != CPB_OK) return status;
  size_t d = map->options.d;
  status = cpb_check_view(query, "query", d, error);
  if (status == CPB_OK) status = cpb_check_view(rows, "rows", d + 1, error);
  if (status != CPB_OK) return status;
  if (query.rows != 1) return cpb_fail_rows(error, "query", query.rows, 1);
  if (rows.rows > 0 && distances == NULL) return cpb_fail_missing(error, "distances");
  status = cpb_check_finite_row(query, 0, "query", error);
  if (status != CPB_OK) return status;
  double *memory = malloc(2 * (d + 1) * sizeof *memory);
  if (memory == NULL) return cpb_fail_memory(error, "a row of %zu columns", d + 1);
  cpb_query_image point = {.image = memory};
  status = cpb_query_embed(map, query, &point, error);
  for (size_t i = 0; i < rows.rows && status == CPB_OK; i++) {
    cpb_row_widen(rows, i, memory + d + 1);
    distances[i] = cpb_query_image_distance(&point, memory + d + 1);
    if (isnan(distances[i]))
      status = cpb_fail_row(error, CPB_WHY_ROW_OFF_SPHERE, "rows", i, "is not a point of the sphere");
  }
  free(memory);
  return status;
}

double cpb_query_distance(double norm, double r, double s, double score, double rise) {
  cpb_lift lift;
  bool domain = norm >= 0 && r >= 0 && s > 0 && isfinite(norm) && isfinite(r) && isfinite(s) && rise >= 0;
  if (!domain || isnan(score) || cpb_lift_ball(cpb_squares_of(&norm, 1), r, s, &lift, NULL) != CPB_OK)
    return NAN;
  if (rise == 0) return INFINITY;
  double b = r == 0 ? 1 : lift.b; /* exact, without the rounding of its terms */
  double unit = cpb_unit_power(fmax(r, s)), radius = r * unit, scale = s * unit;
  double beyond = 2 * scale * ((b - score) / (rise * lift.a)) * scale;
  return sqrt(fmax(0, radius * radius + beyond)) / unit;
}
