/* T11: SVDD as the maximum of a concave form over a simplex with caps. The mean of the worst share of
 * |x-c|^2 is an upper bound for every c, and the dual value of any multipliers a lower one. */

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/fail.h"
#include "core/rows.h"
#include "core/sized.h"
#include "learn/paper_schemes.h"
#include "learn/distances.h"
#include "learn/piece_rounds.h"
#include "parallel/tell.h"

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

static cpb_status check_rows(cpb_view x, cpb_error *error) {
  cpb_status status = cpb_check_view(x, "x", x.cols, error);
  if (status != CPB_OK) return status;
  if (x.cols == 0) return cpb_fail_no_columns(error, "x");
  if (x.rows == 0) return cpb_fail_no_ball(error, 0, x.cols);
  return CPB_OK;
}

static cpb_status solve(cpb_capped_dual *dual, const cpb_svdd_options *options, cpb_svdd_report *report,
                        cpb_error *error) {
  cpb_status status = CPB_OK;
  size_t rounds = 0;
  bool settled = true;
  if (options->method != CPB_SVDD_EXACT) {
    status = cpb_paper_cap_svm(dual, options->method == CPB_SVDD_CAP_SVM_PAPER, &rounds, &settled,
                               &report->radius);
    /* the bounds of their ball as a solution of SVDD: one read at its centre */
    cpb_capped_dual judged = *dual;
    cpb_exec_part part;
    judged.multipliers = NULL;
    judged.exec = cpb_exec_part_of(&part, dual->exec, 1, 1);
    judged.point = malloc(dual->x.cols * sizeof *judged.point);
    if (judged.point == NULL) status = CPB_ENOMEM;
    if (status == CPB_OK) {
      memcpy(judged.point, dual->point, dual->x.cols * sizeof *judged.point);
      judged.max_iterations = 1;
      status = cpb_capped_dual_solve(&judged);
      dual->upper = judged.upper;
      dual->lower = judged.lower;
      dual->iterations = rounds;
    }
    free(judged.point);
  } else {
    status = cpb_capped_dual_solve(dual);
    report->radius = sqrt(fmax(dual->edge, 0));
  }
  if (status == CPB_ENOMEM) return cpb_fail_memory(error, "%zu rows", dual->x.rows);
  if (status != CPB_OK) return status;
  report->objective = dual->upper;
  report->lower_bound = dual->lower;
  report->gap = cpb_svdd_gap(dual->upper, &report->lower_bound);
  report->converged = options->method == CPB_SVDD_EXACT ? report->gap <= options->gap : settled;
  report->iterations = dual->iterations;
  return CPB_OK;
}

static cpb_status solve_rows(const cpb_svdd_rows *rows, const double *caps, const cpb_svdd_options *options,
                             double *center, double *multipliers, cpb_svdd_report *report,
                             const cpb_exec *exec, cpb_error *error) {
  size_t d = rows->x.cols;
  double *point = malloc(2 * d * sizeof *point);
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
  if (status == CPB_OK) {
    int exponent = rows->exponent; /* back to the unit of the data, where squares may overflow */
    for (size_t j = 0; j < d; j++) center[j] = ldexp(dual.center[j], exponent);
    report->radius = ldexp(report->radius, exponent);
    report->objective = ldexp(report->objective, 2 * exponent);
    report->lower_bound = cpb_lower_in_unit(report->lower_bound, 2 * exponent);
  }
  free(point);
  return status;
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
  if (status == CPB_OK) status = check_rows(x, error);
  if (status == CPB_OK) status = check_weights(options->weights, x.rows, &sum, error);
  if (status == CPB_OK) status = cpb_svdd_check_share(options, x.rows, error);
  if (status != CPB_OK) return status;
  if (options->weights != NULL) {
    caps = malloc(x.rows * sizeof *caps);
    if (caps == NULL) return cpb_fail_memory(error, "%zu rows", x.rows);
  }
  for (size_t i = 0; caps != NULL && i < x.rows; i++) /* divides first: the product nu sum may underflow */
    caps[i] = fmin(options->weights[i] / sum / options->nu, 1);
  cpb_svdd_rows rows;
  status = cpb_svdd_rows_init(&rows, cpb_loops_here(), x, caps, exec, error);
  if (status == CPB_OK) {
    status = solve_rows(&rows, caps, options, center, multipliers, &ours, exec, error);
    cpb_svdd_rows_free(&rows);
  }
  free(caps);
  if (status != CPB_OK) return status;
  for (size_t i = 0; multipliers != NULL && i < x.rows; i++) ours.support += multipliers[i] > 0;
  ours.seconds = cpb_seconds_now() - began;
  cpb_sized_give(report, &ours, sizeof ours);
  return CPB_OK;
}
