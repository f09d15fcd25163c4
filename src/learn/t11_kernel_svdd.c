/* T11 with a Mercer kernel: SVDD needs only k, by SMO; the paper's scheme needs T8 besides. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "batch/row_state.h"
#include "capball/ball.h"
#include "core/elementary.h"
#include "core/fail.h"
#include "core/rows.h"
#include "core/sized.h"
#include "learn/kernel_rows.h"
#include "learn/paper_schemes.h"
#include "learn/smo.h"
#include "learn/svdd_fail.h"
#include "parallel/tell.h"

static cpb_status check_kernel(const cpb_kernel *kernel, cpb_error *error) {
  if (kernel == NULL) return cpb_fail_missing(error, "kernel");
  if (kernel->kind > CPB_KERNEL_POLYNOMIAL) return cpb_fail_choice(error, "kernel", (int)kernel->kind);
  if (kernel->kind != CPB_KERNEL_LINEAR && !(kernel->gamma > 0 && kernel->gamma < INFINITY))
    return cpb_fail_domain(error, "gamma", kernel->gamma, "gamma of the kernel must be > 0 and finite");
  if (kernel->kind == CPB_KERNEL_POLYNOMIAL && !(kernel->offset >= 0 && kernel->offset < INFINITY))
    return cpb_fail_domain(error, "offset", kernel->offset, "offset of the kernel must be >= 0 and finite");
  if (kernel->kind == CPB_KERNEL_POLYNOMIAL && kernel->degree == 0)
    return cpb_fail_count(error, "degree", 0, "degree of the kernel must be >= 1");
  return CPB_OK;
}

/* loops->dot or loops->dist2 of two rows. */
static double of_rows(const cpb_loops *loops, double (*fold)(const double *, const double *, size_t),
                      cpb_view x, size_t i, cpb_view y, size_t j) {
  double a[CPB_CHUNK], b[CPB_CHUNK], sum = 0;
  for (size_t offset = 0; offset < x.cols; offset += CPB_CHUNK) {
    size_t count = cpb_chunk_count(x.cols, offset);
    sum += fold(cpb_row_chunk(loops, x, i, offset, count, a), cpb_row_chunk(loops, y, j, offset, count, b),
                count);
  }
  return sum;
}

/* gamma |x-y|^2 where |x-y|^2 alone is no normal double: half of every difference times twice the root of
 * gamma. */
static double scaled_dist2(double gamma, cpb_view x, size_t i, cpb_view y, size_t j) {
  double root = 2 * sqrt(gamma), sum = 0;
  for (size_t k = 0; k < x.cols; k++) {
    double part = root * (cpb_view_at(x, i, k) / 2 - cpb_view_at(y, j, k) / 2);
    sum += part * part;
  }
  return sum;
}

/* By the difference, not by products: of rows far from 0 these would leave nothing. */
static double rbf(const cpb_loops *loops, double gamma, cpb_view x, size_t i, cpb_view y, size_t j) {
  double dist2 = of_rows(loops, loops->dist2, x, i, y, j);
  bool normal = dist2 == 0 || (dist2 > 1e-290 && dist2 < INFINITY);
  return cpb_exp(-(normal ? gamma * dist2 : scaled_dist2(gamma, x, i, y, j)));
}

static double kernel_of(const cpb_kernel *kernel, const cpb_loops *loops, cpb_view x, size_t i, cpb_view y,
                        size_t j) {
  if (kernel->kind == CPB_KERNEL_RBF) return rbf(loops, kernel->gamma, x, i, y, j);
  double xy = of_rows(loops, loops->dot, x, i, y, j);
  if (kernel->kind == CPB_KERNEL_LINEAR) return xy;
  return cpb_pow(kernel->gamma * xy + kernel->offset, kernel->degree);
}

cpb_status cpb_kernel_row(const cpb_kernel *kernel, cpb_view x, size_t i, cpb_view y, double *z,
                          cpb_error *error) {
  cpb_status status = check_kernel(kernel, error);
  if (status == CPB_OK) status = cpb_check_view(x, "x", x.cols, error);
  if (status == CPB_OK) status = cpb_check_view(y, "y", x.cols, error);
  if (status == CPB_OK && i >= x.rows)
    status = cpb_fail(error, CPB_WHY_NO_SUCH_ROW, "i", "row %zu of x does not exist: it has %zu", i, x.rows);
  if (status != CPB_OK) return status;
  const cpb_loops *loops = cpb_loops_here();
  for (size_t j = 0; j < y.rows; j++) z[j] = kernel_of(kernel, loops, x, i, y, j);
  return CPB_OK;
}

typedef struct row_job {
  const cpb_kernel_rows *rows;
  size_t row;
  double *to;
} row_job;

static bool is_there(const cpb_kernel_rows *m, size_t i) { return m->cap == NULL || m->cap[i] > 0; }

static void kernel_block(void *argument, size_t block, size_t first, size_t count) {
  (void)block;
  const row_job *job = argument;
  const cpb_kernel_rows *m = job->rows;
  for (size_t j = first; j < first + count; j++)
    job->to[j] = is_there(m, j) ? kernel_of(m->kernel, m->loops, m->x, job->row, m->x, j) : 0;
}

void cpb_kernel_rows_row(void *rows, size_t i, double *to) {
  const cpb_kernel_rows *m = rows;
  row_job job = {m, i, to};
  cpb_blocks_run(&(cpb_blocks){m->x.rows, cpb_blocks_rows(m->x.cols), kernel_block, &job}, m->exec);
}

void cpb_kernel_rows_combine(cpb_kernel_rows *rows, const double *a, double *to, double *scratch) {
  size_t n = rows->x.rows;
  memset(to, 0, n * sizeof *to);
  for (size_t i = 0; i < n; i++) {
    if (a[i] == 0) continue;
    cpb_kernel_rows_row(rows, i, scratch);
    rows->loops->axpby(a[i], scratch, 1, to, to, n);
  }
}

static bool any_number(const cpb_kernel_rows *m) {
  for (size_t i = 0; i < m->x.rows; i++)
    for (size_t j = 0; j < m->x.cols && is_there(m, i); j++)
      if (cpb_view_at(m->x, i, j) != 0) return true;
  return false;
}

/* Norms and the diagonal; EROW for a row that is not finite. */
static cpb_status look_at_rows(cpb_kernel_rows *m, cpb_error *error) {
  double largest = 0;
  for (size_t i = 0; i < m->x.rows; i++) {
    m->norm2[i] = m->diagonal[i] = 0;
    if (!is_there(m, i)) continue;
    int fault = cpb_row_fault(m->loops, m->x, i);
    if (fault != 0) return cpb_fault_report(i, fault, "x", error);
    m->norm2[i] = of_rows(m->loops, m->loops->dot, m->x, i, m->x, i);
    largest = fmax(largest, m->norm2[i]);
    m->diagonal[i] = kernel_of(m->kernel, m->loops, m->x, i, m->x, i);
    if (!isfinite(m->diagonal[i])) /* where the diagonal is finite, all of the matrix is */
      return cpb_fail_row(error, CPB_WHY_ROW_KERNEL, "x", i, "has a k(x,x) too large for a double");
  }
  if (m->kernel->kind != CPB_KERNEL_RBF && largest < 1e-290 && any_number(m))
    return cpb_fail(error, CPB_WHY_KERNEL_SMALL, "x",
                    "the largest <x,x> is %g, no normal double: give the rows another unit", largest);
  return CPB_OK;
}

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
static cpb_status solve_exactly(cpb_kernel_rows *rows, const double *cap, double gap, double *multipliers,
                                double *norm2, cpb_svdd_report *report, cpb_error *error) {
  cpb_smo smo = {.n = rows->x.rows,
                 .row = cpb_kernel_rows_row,
                 .context = rows,
                 .height = rows->diagonal,
                 .diagonal = rows->diagonal,
                 .cap = cap,
                 .gap = gap,
                 .exec = rows->exec,
                 .error = error,
                 .a = multipliers};
  cpb_smo_start(cap, smo.n, multipliers);
  cpb_status status = cpb_smo_solve(&smo);
  *norm2 = smo.norm2;
  report->objective = smo.upper;
  report->lower_bound = smo.lower;
  report->radius = sqrt(fmax(smo.edge + smo.norm2, 0));
  report->iterations = smo.iterations;
  return status;
}

/* What a centre is worth as SVDD: the best filling at its slopes gives the upper bound, feasible multipliers
 * the lower one. a: such, or NULL for the filling; numbers: 3n to write to. */
static cpb_status judge_center(cpb_kernel_rows *rows, const double *cap, const double *center,
                               const double *a, double *numbers, double *norm2, cpb_svdd_report *report) {
  size_t n = rows->x.rows;
  double *slope = numbers, *scratch = numbers + n, *part = numbers + 2 * n;
  const cpb_loops *loops = rows->loops;
  double edge;
  cpb_kernel_rows_combine(rows, center, slope, scratch);
  *norm2 = loops->dot(center, slope, n);
  loops->axpby(1, rows->diagonal, -2, slope, slope, n);
  cpb_status status = cpb_smo_fill(slope, cap, n, part, &report->objective, &edge);
  if (a == NULL) a = part;
  report->objective += *norm2;
  cpb_kernel_rows_combine(rows, a, slope, scratch);
  report->lower_bound = loops->dot(a, rows->diagonal, n) - loops->dot(a, slope, n);
  return status;
}

static cpb_status solve_by_caps(cpb_kernel_rows *rows, const double *cap, const cpb_svdd_options *options,
                                double *multipliers, double *norm2, cpb_svdd_report *report,
                                cpb_error *error) {
  size_t n = rows->x.rows;
  bool paper = options->method == CPB_SVDD_CAP_SVM_PAPER; /* its multipliers may be above the caps */
  double *numbers = calloc(4 * n, sizeof *numbers);
  cpb_paper_kernel_fit fit = {.cap = cap,
                              .gap = fmax(options->gap, 0x1p-40),
                              .paper = paper,
                              .error = error,
                              .a = numbers,
                              .center = multipliers};
  cpb_status status = numbers == NULL ? CPB_ENOMEM : cpb_paper_kernel_cap_svm(rows, &fit);
  if (status == CPB_OK)
    status = judge_center(rows, cap, multipliers, paper ? NULL : fit.a, numbers + n, norm2, report);
  free(numbers);
  report->radius = fit.radius;
  report->iterations = fit.rounds;
  report->converged = fit.settled;
  return status;
}

static cpb_status check_call(cpb_view x, const cpb_kernel *kernel, const cpb_svdd_options *options,
                             cpb_error *error) {
  cpb_status status = check_kernel(kernel, error);
  if (status == CPB_OK) status = cpb_check_view(x, "x", x.cols, error);
  if (status != CPB_OK) return status;
  if (x.rows == 0 || x.cols == 0) return cpb_fail_no_ball(error, x.rows, x.cols);
  if (!(options->nu > 0 && options->nu <= 1))
    return cpb_fail_domain(error, "nu", options->nu, "nu must lie in (0,1]");
  status = cpb_svdd_check_share(options, x.rows, error);
  if (status != CPB_OK) return status;
  if (!(options->gap >= 0 && options->gap < INFINITY))
    return cpb_fail_domain(error, "gap", options->gap, "gap must be >= 0 and finite");
  if (options->method > CPB_SVDD_CAP_SVM_PAPER)
    return cpb_fail_domain(error, "method", (double)options->method, "method must be one of cpb_svdd_method");
  return CPB_OK;
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
  if (status == CPB_OK) status = check_call(x, kernel, options, error);
  if (status != CPB_OK) return status;
  size_t n = x.rows;
  double *numbers = malloc(4 * n * sizeof *numbers), *cap = numbers, *a = numbers + 3 * n;
  if (numbers == NULL) return cpb_fail_memory(error, "%zu rows", n);
  cpb_kernel_rows rows = {.loops = cpb_loops_here(),
                          .exec = exec,
                          .kernel = kernel,
                          .x = x,
                          .cap = cap,
                          .norm2 = numbers + n,
                          .diagonal = numbers + 2 * n};
  status = set_caps(cap, n, options, error);
  if (status == CPB_OK) status = look_at_rows(&rows, error);
  if (status == CPB_OK) {
    status = options->method == CPB_SVDD_EXACT
                 ? solve_exactly(&rows, cap, options->gap, a, &ours_norm2, &ours, error)
                 : solve_by_caps(&rows, cap, options, a, &ours_norm2, &ours, error);
    if (status == CPB_ENOMEM) status = cpb_fail_memory(error, "kernel rows of %zu numbers", n);
  }
  if (status == CPB_OK) {
    ours.lower_bound = fmin(fmax(ours.lower_bound, 0), ours.objective);
    ours.gap = ours.objective > 0 ? (ours.objective - ours.lower_bound) / ours.objective : 0;
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
