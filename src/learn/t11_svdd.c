/* T11: SVDD as the maximum of a concave form over a simplex with caps. The mean of the worst share of
 * |x-c|^2 is an upper bound for every c, and the dual value of any multipliers a lower one. */
#include "capball/ball.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "batch/row_state.h"
#include "core/fail.h"
#include "core/sized.h"
#include "learn/cap_svm.h"
#include "learn/share.h"

static const cpb_svdd_options defaults = {
    .size = sizeof(cpb_svdd_options), .nu = 0.1, .gap = 1e-9, .max_iterations = 1000};

void cpb_svdd_options_init(cpb_svdd_options *options, size_t size) {
  cpb_sized_init(options, size, &defaults, sizeof defaults);
}

void cpb_svdd_report_init(cpb_svdd_report *report, size_t size) {
  cpb_sized_init(report, size, &(cpb_svdd_report){0}, sizeof(cpb_svdd_report));
}

static double seconds_now(void) {
  struct timespec now;
  timespec_get(&now, TIME_UTC);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static cpb_status check_options(const cpb_svdd_options *options, cpb_error *error) {
  if (!(options->nu > 0 && options->nu <= 1))
    return cpb_fail(error, CPB_EINVAL, "nu must lie in (0,1], got %.17g", options->nu);
  if (!(options->gap >= 0 && options->gap < INFINITY))
    return cpb_fail(error, CPB_EINVAL, "gap must be >= 0 and finite, got %.17g", options->gap);
  if (options->max_iterations == 0) return cpb_fail(error, CPB_EINVAL, "max_iterations must be >= 1, got 0");
  if (options->method > CPB_SVDD_CAP_SVM_PAPER)
    return cpb_fail(error, CPB_EINVAL, "method must be one of cpb_svdd_method, got %d", (int)options->method);
  return CPB_OK;
}

/* The sum of weights, after a look at each. */
static cpb_status check_weights(const double *weights, size_t n, double *sum, cpb_error *error) {
  *sum = (double)n;
  if (weights == NULL) return CPB_OK;
  *sum = 0;
  for (size_t i = 0; i < n; i++) {
    if (!(weights[i] >= 0 && weights[i] < INFINITY))
      return cpb_fail_row(error, CPB_EINVAL, i, "weight of row %zu must be >= 0 and finite, got %.17g", i,
                          weights[i]);
    *sum += weights[i];
  }
  return *sum > 0 ? CPB_OK : cpb_fail(error, CPB_EINVAL, "all %zu weights are 0", n);
}

static cpb_status check_rows(cpb_view x, cpb_error *error) {
  cpb_status status = cpb_check_view(x, "x", x.cols, error);
  if (status != CPB_OK) return status;
  if (x.cols == 0) return cpb_fail(error, CPB_ESHAPE, "x has 0 columns, wanted at least 1");
  if (x.rows == 0) return cpb_fail(error, CPB_EINVAL, "x has 0 rows: there is no ball around them");
  return CPB_OK;
}

/* ---- the mean, which is the origin of all sums and looks at every row ---- */

typedef struct mean_job {
  const cpb_loops *loops;
  cpb_view x;
  double *partial;
  cpb_first_fault fault;
} mean_job;

enum { BLOCK_ROWS = 4096 };

static void mean_block(void *argument, size_t block, size_t first, size_t count) {
  mean_job *job = argument;
  double *sum = job->partial + block * job->x.cols, buffer[CPB_CHUNK];
  for (size_t row = first; row < first + count; row++) {
    double probe = 0;
    for (size_t offset = 0; offset < job->x.cols; offset += CPB_CHUNK) {
      size_t length = cpb_chunk_count(job->x.cols, offset);
      const double *chunk = cpb_row_chunk(job->loops, job->x, row, offset, length, buffer);
      for (size_t j = 0; j < length; j++) {
        sum[offset + j] += chunk[j];
        probe += 0 * chunk[j];
      }
    }
    if (probe != 0) /* NaN: 0 times a number that is not finite */
      cpb_first_fault_meet(&job->fault, row, (cpb_fault)cpb_row_fault(job->loops, job->x, row));
  }
}

static cpb_status mean_of_rows(const cpb_loops *loops, cpb_view x, double *mean, const cpb_exec *exec,
                               cpb_error *error) {
  mean_job job = {.loops = loops, .x = x};
  cpb_blocks blocks = {x.rows, BLOCK_ROWS, mean_block, &job};
  size_t count = cpb_blocks_count(&blocks);
  job.partial = calloc(count * x.cols, sizeof *job.partial);
  if (job.partial == NULL) return cpb_fail(error, CPB_ENOMEM, "no memory for a pass over %zu rows", x.rows);
  cpb_first_fault_init(&job.fault);
  cpb_blocks_run(&blocks, exec);
  memset(mean, 0, x.cols * sizeof *mean);
  for (size_t block = 0; block < count; block++)
    for (size_t j = 0; j < x.cols; j++) mean[j] += job.partial[block * x.cols + j];
  for (size_t j = 0; j < x.cols; j++) mean[j] /= (double)x.rows;
  free(job.partial);
  return cpb_first_fault_report(&job.fault, "x", error);
}

static size_t count_support(const double *multipliers, size_t n) {
  size_t count = 0;
  for (size_t i = 0; multipliers != NULL && i < n; i++) count += multipliers[i] > 0;
  return count;
}

static cpb_status solve(cpb_share *share, const cpb_svdd_options *options, cpb_svdd_report *report,
                        cpb_error *error) {
  cpb_status status = CPB_OK;
  size_t rounds = 0;
  bool settled = true;
  if (options->method != CPB_SVDD_EXACT) {
    status =
        cpb_cap_svm(share, options->method == CPB_SVDD_CAP_SVM_PAPER, &rounds, &settled, &report->radius);
    /* what their ball is worth as SVDD: one read at its centre */
    cpb_share judged = *share;
    judged.max_iterations = 2;
    judged.multipliers = NULL;
    double *point = judged.point, *kept = malloc(share->x.cols * sizeof *kept);
    if (kept == NULL) status = CPB_ENOMEM;
    if (status == CPB_OK) {
      memcpy(kept, point, share->x.cols * sizeof *kept);
      judged.max_iterations = 1;
      status = cpb_share_solve(&judged);
      memcpy(point, kept, share->x.cols * sizeof *kept);
      share->upper = judged.upper;
      share->lower = judged.lower;
      share->iterations = rounds;
    }
    free(kept);
  } else {
    status = cpb_share_solve(share);
    report->radius = sqrt(fmax(share->edge, 0));
  }
  if (status != CPB_OK) return cpb_fail(error, status, "no memory for %zu rows", share->x.rows);
  report->objective = share->upper;
  report->lower_bound = fmin(fmax(share->lower, 0), share->upper);
  report->gap = share->upper > 0 ? (share->upper - report->lower_bound) / share->upper : 0;
  report->converged = options->method == CPB_SVDD_EXACT ? report->gap <= options->gap : settled;
  report->iterations = share->iterations;
  return CPB_OK;
}

cpb_status cpb_svdd(cpb_view x, const cpb_svdd_options *given, double *center, double *multipliers,
                    cpb_svdd_report *report, const cpb_exec *exec, cpb_error *error) {
  cpb_svdd_options taken = defaults, *options = &taken;
  cpb_svdd_report ours = {0};
  double began = seconds_now(), sum = 0;
  if (center == NULL) return cpb_fail(error, CPB_EINVAL, "center must not be NULL");
  cpb_status status = cpb_sized_take(options, sizeof *options, given, "cpb_svdd_options", error);
  if (status == CPB_OK) status = cpb_sized_check(report, "cpb_svdd_report", error);
  if (status == CPB_OK) status = check_options(options, error);
  if (status == CPB_OK) status = check_rows(x, error);
  if (status == CPB_OK) status = check_weights(options->weights, x.rows, &sum, error);
  if (status == CPB_OK && options->nu * (double)x.rows < 1 - 1e-12)
    status = cpb_fail(error, CPB_EINVAL, "nu n must be >= 1, got %.17g times %zu rows", options->nu, x.rows);
  if (status != CPB_OK) return status;
  double cap = 1 / (options->nu * sum), *origin = malloc(2 * x.cols * sizeof *origin), *caps = NULL;
  if (options->weights != NULL && (caps = malloc(x.rows * sizeof *caps)) != NULL)
    for (size_t i = 0; i < x.rows; i++) caps[i] = cap * options->weights[i];
  if (origin == NULL || (options->weights != NULL && caps == NULL))
    status = cpb_fail(error, CPB_ENOMEM, "no memory for %zu rows", x.rows);
  const cpb_loops *loops = cpb_loops_here();
  if (status == CPB_OK) status = mean_of_rows(loops, x, origin, exec, error);
  if (status == CPB_OK) {
    double *point = origin + x.cols;
    for (size_t j = 0; j < x.cols; j++) point[j] = options->start == NULL ? 0 : options->start[j] - origin[j];
    cpb_share share = {.loops = loops,
                       .exec = exec,
                       .x = x,
                       .origin = origin,
                       .squares = true,
                       .caps = caps,
                       .cap = fmin(cap, 1),
                       .gap = options->gap,
                       .max_iterations = options->max_iterations,
                       .multipliers = multipliers,
                       .point = point};
    status = solve(&share, options, &ours, error);
    if (status == CPB_OK) {
      for (size_t j = 0; j < x.cols; j++) center[j] = origin[j] + point[j];
      ours.support = count_support(multipliers, x.rows);
      ours.seconds = seconds_now() - began;
      cpb_sized_give(report, &ours, sizeof ours);
    }
  }
  free(origin);
  free(caps);
  return status;
}
