/* T11 with a Mercer kernel: SVDD needs only k, by SMO; the paper's scheme also needs T8. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "base/rows.h"
#include "base/sized.h"
#include "ball/paper_schemes.h"
#include "ball/piece_rounds.h"
#include "base/tell.h"

static cpb_status set_caps(double *cap, size_t n, const cpb_svdd_options *options, cpb_error *error) {
  double sum = 0;
  for (size_t i = 0; i < n; i++) {
    cap[i] = options->weights == NULL ? 1 : options->weights[i];
    if (!(cap[i] >= 0 && cap[i] < INFINITY)) return cpb_fail_weight(error, i, cap[i]);
    sum += cap[i];
  }
  if (!(sum > 0)) return cpb_fail_weights_zero(error, n);
  for (size_t i = 0; i < n; i++) cap[i] = fmin(1, cap[i] / (options->nu * sum));
  return CPB_OK;
}

/* SVDD itself: g = k, q_i = k_ii. */
static cpb_status solve_exactly(cpb_kernel_rows *rows, double gap, double *multipliers, double *norm2,
                                cpb_svdd_report *report, cpb_error *error) {
  cpb_smo smo = {.n = rows->x.rows,
                 .row = cpb_kernel_rows_row,
                 .context = rows,
                 .height = rows->diagonal,
                 .diagonal = rows->diagonal,
                 .cap = rows->cap,
                 .gap = gap,
                 .exec = rows->exec,
                 .error = error,
                 .a = multipliers};
  cpb_smo_start(rows->cap, smo.n, multipliers);
  cpb_status status = cpb_smo_solve(&smo);
  *norm2 = smo.norm2;
  report->objective = smo.upper;
  report->lower_bound = smo.lower;
  report->radius = sqrt(fmax(smo.edge + smo.norm2, 0));
  report->iterations = smo.iterations;
  return status;
}

/* The bounds of a centre as a solution of SVDD: the best filling at its slopes gives the upper bound, feasible
 * multipliers the lower one. a: feasible multipliers, or NULL for the filling; numbers: space for 3n numbers. */
static cpb_status judge_center(cpb_kernel_rows *rows, const double *center, const double *a, double *numbers,
                               double *norm2, cpb_svdd_report *report) {
  size_t n = rows->x.rows;
  double *slope = numbers, *scratch = numbers + n, *part = numbers + 2 * n;
  const cpb_loops *loops = rows->loops;
  double edge;
  cpb_kernel_rows_combine(rows, center, slope, scratch);
  *norm2 = loops->dot(center, slope, n);
  loops->axpby(1, rows->diagonal, -2, slope, slope, n);
  cpb_status status = cpb_smo_fill(slope, rows->cap, n, part, &report->objective, &edge);
  if (a == NULL) a = part;
  report->objective += *norm2;
  cpb_kernel_rows_combine(rows, a, slope, scratch);
  report->lower_bound = loops->dot(a, rows->diagonal, n) - loops->dot(a, slope, n);
  return status;
}

static cpb_status solve_by_caps(cpb_kernel_rows *rows, const cpb_svdd_options *options, double *multipliers,
                                double *norm2, cpb_svdd_report *report, cpb_error *error) {
  size_t n = rows->x.rows;
  bool paper = options->method == CPB_SVDD_CAP_SVM_PAPER; /* its multipliers may exceed the caps */
  double *numbers = calloc(4 * n, sizeof *numbers);
  cpb_status status = numbers == NULL ? CPB_ENOMEM
                                      : cpb_paper_kernel_cap_svm(rows, fmax(options->gap, 0x1p-40), paper,
                                                                 numbers, multipliers, report, error);
  if (status == CPB_OK)
    status = judge_center(rows, multipliers, paper ? NULL : numbers, numbers + n, norm2, report);
  free(numbers);
  return status;
}

cpb_status cpb_kernel_svdd(cpb_view x, const cpb_kernel *kernel, const cpb_svdd_options *given,
                           double *multipliers, double *norm2, cpb_svdd_report *report, const cpb_exec *exec,
                           cpb_error *error) {
  cpb_svdd_options taken, *options = &taken;
  cpb_svdd_report ours = {0};
  double began = cpb_seconds_now(), ours_norm2 = 0;
  cpb_svdd_options_init(options, sizeof *options);
  if (multipliers == NULL) return cpb_fail_missing(error, "multipliers");
  cpb_status status = cpb_sized_take(options, sizeof *options, given, "cpb_svdd_options", error);
  if (status == CPB_OK) status = cpb_sized_check(report, "cpb_svdd_report", error);
  options->max_iterations = 1; /* not used */
  if (status == CPB_OK) status = cpb_check_kernel(kernel, error);
  if (status == CPB_OK) status = cpb_check_view(x, "x", x.cols, error);
  if (status == CPB_OK && (x.rows == 0 || x.cols == 0)) status = cpb_fail_no_ball(error, x.rows, x.cols);
  if (status == CPB_OK) status = cpb_svdd_check_options(options, error);
  if (status == CPB_OK) status = cpb_svdd_check_share(options, x.rows, error);
  if (status != CPB_OK) return status;
  size_t n = x.rows;
  double *numbers = malloc(3 * n * sizeof *numbers), *cap = numbers, *a = numbers + 2 * n;
  if (numbers == NULL) return cpb_fail_memory(error, "%zu rows", n);
  cpb_kernel_rows rows = {
      .loops = cpb_loops_here(), .exec = exec, .kernel = kernel, .x = x, .cap = cap, .diagonal = numbers + n};
  status = set_caps(cap, n, options, error);
  if (status == CPB_OK) status = cpb_kernel_rows_look(&rows, error);
  if (status == CPB_OK) {
    status = options->method == CPB_SVDD_EXACT
                 ? solve_exactly(&rows, options->gap, a, &ours_norm2, &ours, error)
                 : solve_by_caps(&rows, options, a, &ours_norm2, &ours, error);
    if (status == CPB_ENOMEM) status = cpb_fail_memory(error, "kernel rows of %zu numbers", n);
  }
  if (status == CPB_OK) {
    ours.gap = cpb_svdd_gap(ours.objective, &ours.lower_bound);
    for (size_t i = 0; i < n; i++) ours.support += a[i] > 0;
    memcpy(multipliers, a, n * sizeof *a);
    if (options->method == CPB_SVDD_EXACT) ours.converged = ours.gap <= options->gap;
    ours.seconds = cpb_seconds_now() - began;
    if (norm2 != NULL) *norm2 = ours_norm2;
    cpb_sized_give(report, &ours, sizeof ours);
  }
  free(numbers);
  return status;
}
