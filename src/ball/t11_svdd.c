/* T11: SVDD as the maximum of a concave form over a simplex with caps. The mean of the worst share of
 * |x-c|^2 is an upper bound for every c, and the dual value of any multipliers a lower one. */

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "loops/row_state.h"
#include "base/fail.h"
#include "base/sized.h"
#include "ball/paper_schemes.h"
#include "loops/distances.h"
#include "ball/piece_rounds.h"
#include "base/tell.h"

CPB_DEFAULTS(cpb_svdd_options, .size = sizeof(cpb_svdd_options), .nu = 0.1, .gap = 1e-9,
             .max_iterations = 1000)

cpb_status cpb_svdd_check_options(const cpb_svdd_options *options, cpb_error *error) {
  if (!(options->nu > 0 && options->nu <= 1))
    return cpb_fail_domain(error, "nu", options->nu, "nu must lie in (0,1]");
  if (!(options->gap >= 0 && options->gap < INFINITY))
    return cpb_fail_domain(error, "gap", options->gap, "gap must be >= 0 and finite");
  if (options->max_iterations == 0)
    return cpb_fail_count(error, "max_iterations", 0, "max_iterations must be >= 1");
  if (options->method > CPB_SVDD_CAP_SVM_PAPER)
    return cpb_fail_domain(error, "method", (double)options->method, "method must be one of cpb_svdd_method");
  return CPB_OK;
}

cpb_status cpb_svdd_check_share(const cpb_svdd_options *options, size_t rows, cpb_error *error) {
  if (options->weights != NULL || options->nu * (double)rows >= 1 - 1e-12) return CPB_OK;
  return cpb_fail(error, CPB_WHY_DOMAIN, "nu", "nu n must be >= 1, got %.17g times %zu rows", options->nu,
                  rows);
}

double cpb_svdd_gap(double upper, double *lower) {
  *lower = fmin(fmax(*lower, 0), upper);
  return upper > 0 ? (upper - *lower) / upper : 0;
}

/* The sum of weights, after checking each. */
static cpb_status check_weights(const double *weights, size_t n, double *sum, cpb_error *error) {
  cpb_twofold total = {0, 0};
  *sum = (double)n;
  if (weights == NULL) return CPB_OK;
  for (size_t i = 0; i < n; i++) {
    if (!(weights[i] >= 0 && weights[i] < INFINITY)) return cpb_fail_weight(error, i, weights[i]);
    cpb_twofold_add(&total, weights[i]);
  }
  *sum = cpb_twofold_value(total);
  if (!(*sum > 0)) return cpb_fail_weights_zero(error, n);
  return *sum < INFINITY
             ? CPB_OK
             : cpb_fail(error, CPB_WHY_BEYOND_DOUBLE, "weights", "the weights add up to more than a double");
}

/* The rows of SVDD, in a unit in which their squares are normal doubles. Rows of weight 0 are never read. */
typedef struct svdd_rows {
  cpb_view x;     /* the caller's rows, or copies in units of 2^exponent */
  int exponent;   /* 0 unless squares of differences leave the safe range of double */
  double *origin; /* the mean, in that unit */
  cpb_memory *memory;
} svdd_rows;

enum { BLOCK_ROWS = 4096 };

/* The exponent of the largest |x_ij - origin_j| of rows with a weight > 0; INT_MIN when all are 0. */
static int spread_exponent(cpb_view x, const double *weights, const double *origin) {
  int largest = INT_MIN;
  for (size_t i = 0; i < x.rows; i++)
    for (size_t j = 0; j < x.cols && (weights == NULL || weights[i] > 0); j++) {
      double at = cpb_view_at(x, i, j), half = at / 2 - origin[j] / 2;
      if (half == 0) half = at - origin[j]; /* halves of the smallest numbers underflow */
      int exponent = half == 0 || !isfinite(half) ? INT_MIN : ilogb(half) + 1;
      if (exponent > largest) largest = exponent;
    }
  return largest;
}

/* One pass over all rows: sums and largest distance about one of them. */
typedef struct mean_job {
  const cpb_loops *loops;
  cpb_view x;
  const double *caps;
  const double *first;
  double *partial;  /* per block: d sums */
  double *largest2; /* per block */
  cpb_first_fault fault;
} mean_job;

static double weight_of(const mean_job *job, size_t row) { return job->caps == NULL ? 1 : job->caps[row]; }

static void mean_block(void *argument, size_t block, size_t first, size_t count) {
  mean_job *job = argument;
  double *sum = job->partial + block * job->x.cols, largest = 0, dist2[BLOCK_ROWS];
  cpb_dist2_of_rows(job->loops, job->x, 0, first, count, job->first, dist2);
  for (size_t row = first; row < first + count; row++) {
    double weight = weight_of(job, row);
    if (!(weight > 0)) continue;
    cpb_add_row(job->loops, job->x, row, weight, job->first, sum);
    if (dist2[row - first] > largest) largest = dist2[row - first];
    if (dist2[row - first] < INFINITY) continue;
    cpb_record_fault(&job->fault, row, cpb_row_fault(job->loops, job->x, row));
    largest = INFINITY;
  }
  job->largest2[block] = largest;
}

static void write_mean(const mean_job *job, size_t blocks, double *mean) {
  size_t d = job->x.cols;
  cpb_twofold total = {0, 0};
  for (size_t row = 0; job->caps != NULL && row < job->x.rows; row++) cpb_twofold_add(&total, job->caps[row]);
  double weight = job->caps == NULL ? (double)job->x.rows : cpb_twofold_value(total);
  for (size_t j = 0; j < d; j++) {
    double sum = 0;
    for (size_t block = 0; block < blocks; block++) sum += job->partial[block * d + j];
    mean[j] = job->first[j] + sum / weight;
  }
}

/* The mean of the rows, computed relative to `first`, one of them, and the largest squared distance from it. */
static cpb_status look(mean_job *job, cpb_memory *memory, const double *first, double *mean, double *largest2,
                       const cpb_exec *exec, cpb_error *error) {
  cpb_blocks blocks = {job->x.rows, BLOCK_ROWS, mean_block, job};
  size_t count = cpb_blocks_count(&blocks);
  job->first = first;
  job->partial = cpb_memory_zeros(memory, count, job->x.cols * sizeof *job->partial);
  job->largest2 = cpb_memory_zeros(memory, count, sizeof *job->largest2);
  if (memory->failed) return cpb_fail_memory(error, "a pass over %zu rows", job->x.rows);
  cpb_blocks_run(&blocks, exec);
  *largest2 = 0;
  for (size_t block = 0; block < count; block++) *largest2 = fmax(*largest2, job->largest2[block]);
  write_mean(job, count, mean);
  return cpb_first_fault_report(&job->fault, "x", error);
}

/* The row of the largest weight: it is never far out for its weight, so that sums about it lose no digits. */
static size_t heaviest(const double *caps, size_t n) {
  size_t best = 0;
  for (size_t i = 1; caps != NULL && i < n; i++)
    if (caps[i] > caps[best]) best = i;
  return best;
}

static cpb_status copy_in_unit(svdd_rows *rows, const mean_job *job, cpb_error *error) {
  size_t n = job->x.rows, d = job->x.cols;
  double *copies = cpb_memory_zeros(rows->memory, n, d * sizeof *copies);
  if (copies == NULL) return cpb_fail_memory(error, "%zu rows in another unit", n);
  for (size_t i = 0; i < n; i++)
    if (weight_of(job, i) > 0) cpb_scaled_row(job->loops, job->x, rows->exponent, i, copies + i * d);
  rows->x = cpb_rows(copies, CPB_F64, n, d);
  return CPB_OK;
}

/* caps: the weight of each row, or NULL: all the same. EROW for the first row with a weight that is not finite. */
static cpb_status svdd_rows_init(svdd_rows *rows, cpb_memory *memory, cpb_view x, const double *caps,
                                 const cpb_exec *exec, cpb_error *error) {
  mean_job job = {.loops = cpb_loops_here(), .x = x, .caps = caps};
  *rows = (svdd_rows){.x = x, .memory = memory};
  rows->origin = cpb_memory_take(memory, 2 * x.cols, sizeof *rows->origin);
  if (rows->origin == NULL) return cpb_fail_memory(error, "%zu columns", x.cols);
  size_t heavy = heaviest(caps, x.rows);
  double largest2, safe2 = ldexp(1, 2 * CPB_SAFE_EXPONENT), *first = rows->origin + x.cols;
  cpb_scaled_row(job.loops, x, 0, heavy, first);
  if (!cpb_all_finite(first, x.cols)) memset(first, 0, x.cols * sizeof *first); /* reported by its number */
  cpb_status status = look(&job, memory, first, rows->origin, &largest2, exec, error);
  if (status != CPB_OK || (largest2 > 1 / safe2 && largest2 < safe2)) return status;
  int exponent = spread_exponent(x, caps, first);
  if (exponent == INT_MIN || abs(exponent) < CPB_SAFE_EXPONENT / 2) return CPB_OK;
  rows->exponent = exponent;
  status = copy_in_unit(rows, &job, error);
  if (status != CPB_OK) return status;
  job.x = rows->x;
  cpb_scaled_row(job.loops, job.x, 0, heavy, first);
  return look(&job, memory, first, rows->origin, &largest2, exec, error);
}

static cpb_status solve(cpb_capped_dual *dual, const cpb_svdd_options *options, cpb_svdd_report *report,
                        cpb_error *error) {
  cpb_status status = CPB_OK;
  bool exact = options->method == CPB_SVDD_EXACT;
  cpb_exec_part after;
  if (!exact) {
    status = cpb_paper_cap_svm(dual, options->method == CPB_SVDD_CAP_SVM_PAPER, report);
    /* the bounds of their ball as a solution of SVDD: one read at its centre */
    dual->exec = cpb_exec_part_of(&after, dual->exec, 1, 1);
    dual->multipliers = NULL;
    dual->max_iterations = 1;
  }
  if (status == CPB_OK) status = cpb_capped_dual_solve(dual);
  if (status == CPB_ENOMEM) return cpb_fail_memory(error, "%zu rows", dual->x.rows);
  if (status != CPB_OK) return status;
  report->objective = dual->upper;
  report->lower_bound = dual->lower;
  report->gap = cpb_svdd_gap(dual->upper, &report->lower_bound);
  if (!exact) return CPB_OK;
  report->radius = sqrt(fmax(dual->edge, 0));
  report->converged = report->gap <= options->gap;
  report->iterations = dual->iterations;
  return CPB_OK;
}

static cpb_status solve_rows(const svdd_rows *rows, const double *caps, const cpb_svdd_options *options,
                             double *center, double *multipliers, cpb_svdd_report *report,
                             const cpb_exec *exec, cpb_error *error) {
  size_t d = rows->x.cols;
  double *point = cpb_memory_take(rows->memory, 2 * d, sizeof *point);
  if (point == NULL) return cpb_fail_memory(error, "%zu columns", d);
  for (size_t j = 0; j < d; j++)
    point[j] = options->start == NULL ? 0 : cpb_scaled(options->start[j], rows->exponent) - rows->origin[j];
  cpb_capped_dual dual = {.loops = cpb_loops_here(),
                          .exec = exec,
                          .x = rows->x,
                          .origin = rows->origin,
                          .exponent = rows->exponent,
                          .squares = true,
                          .caps = caps,
                          .cap = fmin(1 / (options->nu * (double)rows->x.rows), 1),
                          .gap = options->gap,
                          .max_iterations = options->max_iterations,
                          .multipliers = multipliers,
                          .error = error,
                          .point = point,
                          .center = point + d};
  cpb_status status = solve(&dual, options, report, error);
  if (status != CPB_OK) return status;
  int exponent = rows->exponent; /* back to the unit of the data, where squares may overflow */
  for (size_t j = 0; j < d; j++) center[j] = ldexp(dual.center[j], exponent);
  report->radius = ldexp(report->radius, exponent);
  report->objective = ldexp(report->objective, 2 * exponent);
  report->lower_bound = cpb_lower_in_unit(report->lower_bound, 2 * exponent);
  return CPB_OK;
}

cpb_status cpb_svdd(cpb_view x, const cpb_svdd_options *given, double *center, double *multipliers,
                    cpb_svdd_report *report, const cpb_exec *exec, cpb_error *error) {
  cpb_svdd_options taken = defaults, *options = &taken;
  cpb_svdd_report ours = {0};
  double began = cpb_seconds_now(), sum = 0, *caps = NULL;
  if (center == NULL) return cpb_fail_missing(error, "center");
  cpb_status status = cpb_sized_take(options, sizeof *options, given, "cpb_svdd_options", error);
  if (status == CPB_OK) status = cpb_sized_check(report, "cpb_svdd_report", error);
  if (status == CPB_OK) status = cpb_svdd_check_options(options, error);
  if (status == CPB_OK) status = cpb_check_view(x, "x", x.cols, error);
  if (status == CPB_OK && x.cols == 0) status = cpb_fail_no_columns(error, "x");
  if (status == CPB_OK && x.rows == 0) status = cpb_fail_no_ball(error, 0, x.cols);
  if (status == CPB_OK) status = check_weights(options->weights, x.rows, &sum, error);
  if (status == CPB_OK) status = cpb_svdd_check_share(options, x.rows, error);
  if (status != CPB_OK) return status;
  cpb_memory memory = {0};
  svdd_rows rows;
  if (options->weights != NULL) caps = cpb_memory_take(&memory, x.rows, sizeof *caps);
  if (memory.failed) return cpb_fail_memory(error, "%zu rows", x.rows);
  for (size_t i = 0; caps != NULL && i < x.rows; i++) /* divides first: the product nu sum may underflow */
    caps[i] = fmin(options->weights[i] / sum / options->nu, 1);
  status = svdd_rows_init(&rows, &memory, x, caps, exec, error);
  if (status == CPB_OK) status = solve_rows(&rows, caps, options, center, multipliers, &ours, exec, error);
  cpb_memory_free(&memory);
  if (status != CPB_OK) return status;
  for (size_t i = 0; multipliers != NULL && i < x.rows; i++) ours.support += multipliers[i] > 0;
  ours.seconds = cpb_seconds_now() - began;
  cpb_sized_give(report, &ours, sizeof ours);
  return CPB_OK;
}
