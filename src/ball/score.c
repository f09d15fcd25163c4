/* Membership of rows in caps and regions, by one formula: the points of a cap are those within a
 * chord of p, so a cap is scored as the ball (p, chord) of R^(d+1), T3. */

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "loops/row_state.h"
#include "loops/ruler.h"
#include "sphere/map_object.h"
#include "capball/advanced/laws.h"
#include "capball/region.h"
#include "base/fail.h"
#include "sphere/t3_cap_ball.h"
#include "sphere/t5_spheroid.h"
#include "base/system.h"
#include "loops/vector.h"

typedef struct score_job {
  cpb_ruler ruler;
  cpb_region_kind kind;
  const double *normal; /* of a half-space */
  double r;
  double weight, shift; /* score = weight (r-rho)(r+rho) + shift */
  cpb_out scores;
  cpb_first_fault fault;
  double *columns; /* with W: W in columns, for blocks of rows */
  atomic_bool no_memory;
} score_job;

/* weight (x-y)(x+y), with the sign of x-y even where the product underflows. */
static double difference_of_squares(double x, double y, double weight) {
  double product = weight * ((x - y) * (x + y));
  return product != 0 || x == y ? product : copysign(DBL_TRUE_MIN, x - y);
}

static int score_plane(const score_job *job, size_t row, double *score) {
  double value;
  bool below;
  int fault = cpb_ruler_product(&job->ruler, job->normal, row, &value, &below);
  *score = value - job->r;
  if (*score == 0 && job->r == 0 && below) *score = -DBL_TRUE_MIN;
  return fault;
}

/* known: |W(x-c)| of the row, or NULL */
static int score_row(const score_job *job, size_t row, const double *known, double *score) {
  double rho;
  int fault = 0;
  if (job->kind == CPB_BALL || job->kind == CPB_COMPLEMENT || job->kind == CPB_PUNCTURED)
    fault = known == NULL ? cpb_ruler_length(&job->ruler, row, &rho)
                          : cpb_ruler_length_known(&job->ruler, row, *known, &rho);
  switch (job->kind) {
  case CPB_BALL:
  case CPB_COMPLEMENT:
    *score = (job->kind == CPB_BALL ? difference_of_squares(job->r, rho, job->weight)
                                    : difference_of_squares(rho, job->r, job->weight)) +
             job->shift;
    break;
  case CPB_PUNCTURED: *score = rho * rho; break;
  case CPB_HALFSPACE: fault = score_plane(job, row, score); break;
  case CPB_EMPTY: *score = -INFINITY; return cpb_row_fault(job->ruler.loops, job->ruler.x, row);
  default: *score = INFINITY; return cpb_row_fault(job->ruler.loops, job->ruler.x, row);
  }
  bool fits = fabs(*score) < cpb_out_limit(job->scores.dtype) || isinf(job->shift);
  return fault != 0 ? fault : fits ? 0 : CPB_FAULT_RANGE;
}

static void store_score(score_job *job, size_t row, const double *known) {
  double score;
  int fault = score_row(job, row, known, &score);
  cpb_record_fault(&job->fault, row, fault);
  if (job->scores.dtype == CPB_F32 && score < 0 && (float)score == 0)
    score = -(double)FLT_TRUE_MIN; /* keeps its sign */
  cpb_out_set(job->scores, row, 0, fault != 0 ? NAN : score);
}

static void score_whitened(void *arg, size_t first, size_t count, double *room) {
  score_job *job = arg;
  const cpb_loops *loops = job->ruler.loops;
  size_t d = job->ruler.x.cols, stride = cpb_whiten_stride(d);
  double *z = room + CPB_WHITEN_ROWS * stride;
  cpb_whiten_load(loops, cpb_view_slice(job->ruler.x, first, count), job->ruler.c, room);
  cpb_whiten_rows(
      loops, d, job->columns, count, room, z,
      cpb_whiten_look_ahead(job->ruler.x, first + count, cpb_out_slice(job->scores, first, count)));
  for (size_t i = 0; i < count; i++, z += stride) {
    double rho = sqrt(loops->dot(z, z, d));
    store_score(job, first + i, &rho);
  }
}

static void score_block(void *argument, size_t block, size_t first, size_t count) {
  (void)block;
  score_job *job = argument;
  if (job->columns == NULL)
    for (size_t row = first; row < first + count; row++) store_score(job, row, NULL);
  else if (!cpb_whiten_blocks(job->ruler.x.cols, first, count, score_whitened, job))
    atomic_store(&job->no_memory, true);
}

static cpb_status run(score_job *job, const char *name, const cpb_exec *exec, cpb_error *error) {
  enum { SILENT = 4 }; /* so few blocks take no time worth a report */
  size_t rows = cpb_blocks_rows(job->ruler.x.cols);
  if (job->columns != NULL) rows = cpb_round_up(rows, CPB_WHITEN_ROWS);
  cpb_blocks blocks = {job->ruler.x.rows, rows, score_block, job};
  cpb_status status = CPB_OK;
  if (cpb_blocks_count(&blocks) <= SILENT)
    cpb_blocks_run(&blocks, exec);
  else
    status = cpb_blocks_run_told(&blocks, exec, error);
  if (status != CPB_OK) return status;
  if (atomic_load(&job->no_memory))
    return cpb_fail_memory(error, "a block of rows of %zu numbers", job->ruler.x.cols);
  return cpb_first_fault_report(&job->fault, name, error);
}

static cpb_status check_rows(cpb_view rows, const char *name, size_t cols, cpb_out scores, cpb_error *error) {
  cpb_status status = cpb_check_view(rows, name, cols, error);
  if (status == CPB_OK) status = cpb_check_out(scores, "scores", rows.rows, 1, error);
  if (status == CPB_OK) status = cpb_check_apart(rows, name, scores, "scores", error);
  return status;
}

cpb_status cpb_cap_scores(const cpb_cap *cap, cpb_view y, cpb_out scores, const cpb_exec *exec,
                          cpb_error *error) {
  cpb_status status = cpb_check_cap(cap, error);
  if (status == CPB_OK) status = check_rows(y, "y", cap->d + 1, scores, error);
  if (status != CPB_OK) return status;
  /* <p,y> = 1 - |y-p|^2/2 and 1-b = sigma^2/(1+b); for b < 0 the same about -p. */
  bool small = cap->b >= 0;
  double size = fabs(cap->b), beyond = size > 1 ? 1 - size : 0;
  score_job job = {
      .ruler = {.loops = cpb_loops_here(), .x = y, .c = cap->p, .sign = small ? 1 : -1},
      .kind = small ? CPB_BALL : CPB_COMPLEMENT,
      .r = size > 1 ? 0 : cap->sigma * sqrt(2 / (1 + size)),
      .weight = 0.5,
      .shift = small ? beyond : -beyond,
      .scores = scores,
  };
  return run(&job, "y", exec, error);
}

cpb_status cpb_region_scores(const cpb_region *region, cpb_view x, cpb_out scores, const cpb_exec *exec,
                             cpb_error *error) {
  cpb_status status = cpb_check_region(region, error);
  bool curved = status == CPB_OK && (region->kind == CPB_BALL || region->kind == CPB_COMPLEMENT);
  if (curved && region->axis != NULL && region->W != NULL) return cpb_fail_axis_and_whitening(error);
  if (curved && region->W != NULL && !cpb_all_finite(region->W, region->d * region->d))
    return cpb_fail_not_finite(error, "whiten", "whitening W");
  double length;
  if (curved && region->axis != NULL) status = cpb_check_axis(region->axis, region->d, &length, error);
  if (status == CPB_OK) status = check_rows(x, "x", region->d, scores, error);
  if (status != CPB_OK) return status;
  score_job job = {
      .ruler = {.loops = cpb_loops_here(), .x = x, .c = region->c, .sign = 1},
      .kind = region->kind,
      .normal = region->c,
      .r = region->r,
      .weight = 1,
      .scores = scores,
  };
  if (region->kind == CPB_HALFSPACE) job.ruler.c = NULL;
  if (curved && region->axis != NULL) {
    job.ruler.axis = region->axis;
    job.ruler.stretch = region->r / region->along;
  }
  if (curved) job.ruler.W = region->W;
  if (job.ruler.W != NULL) {
    job.columns = cpb_sys_aligned(64, region->d * cpb_whiten_stride(region->d) * sizeof *job.columns);
    if (job.columns == NULL) return cpb_fail_memory(error, "a whitening of %zu columns", region->d);
    cpb_whiten_columns(region->d, region->W, job.columns);
  }
  status = run(&job, "x", exec, error);
  free(job.columns);
  return status;
}

/* T7: the largest norm of rows. */

/* Numbers >= 0 are ordered as their bits are: one atomic word is enough for any number of threads. */
typedef struct norm_job {
  cpb_ruler ruler;
  _Atomic uint64_t largest;
} norm_job;

static int take_norm(void *arg, size_t row) {
  norm_job *job = arg;
  double length;
  uint64_t bits;
  int fault = cpb_ruler_length(&job->ruler, row, &length);
  memcpy(&bits, &length, sizeof bits);
  if (fault == 0) cpb_report_largest(&job->largest, bits);
  return fault;
}

cpb_status cpb_max_norm(cpb_view x, const double *center, double *max_norm, const cpb_exec *exec,
                        cpb_error *error) {
  if (max_norm == NULL) return cpb_fail_missing(error, "max_norm");
  *max_norm = NAN;
  cpb_status status = cpb_check_view(x, "x", x.cols, error);
  if (status != CPB_OK) return status;
  if (x.cols == 0) return cpb_fail_no_columns(error, "x");
  if (x.rows == 0) return cpb_fail(error, CPB_WHY_NO_ROWS, "x", "x has 0 rows: there is no largest norm");
  if (center != NULL && !cpb_all_finite(center, x.cols))
    return cpb_fail_not_finite(error, "center", "center");
  norm_job job = {.ruler = {.loops = cpb_loops_here(), .x = x, .c = center, .sign = 1}};
  status = cpb_rows_run(x.rows, x.cols, take_norm, &job, "x", exec, error);
  uint64_t bits = atomic_load(&job.largest);
  if (status == CPB_OK) memcpy(max_norm, &bits, sizeof bits);
  return status;
}
