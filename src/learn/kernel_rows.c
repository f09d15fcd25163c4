#include "learn/kernel_rows.h"

#include <math.h>
#include <string.h>

#include "batch/row_state.h"
#include "core/elementary.h"
#include "core/fail.h"
#include "core/rows.h"

cpb_status cpb_check_kernel(const cpb_kernel *kernel, cpb_error *error) {
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

/* gamma |x-y|^2 where |x-y|^2 alone is not a normal double: half of every difference times twice the root of
 * gamma. */
static double scaled_dist2(double gamma, cpb_view x, size_t i, cpb_view y, size_t j) {
  double root = 2 * sqrt(gamma), sum = 0;
  for (size_t k = 0; k < x.cols; k++) {
    double part = root * (cpb_view_at(x, i, k) / 2 - cpb_view_at(y, j, k) / 2);
    sum += part * part;
  }
  return sum;
}

/* By the difference, not by products, which would lose all digits for rows far from 0. */
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
  cpb_status status = cpb_check_kernel(kernel, error);
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

cpb_status cpb_kernel_rows_look(cpb_kernel_rows *m, cpb_error *error) {
  double largest = 0;
  for (size_t i = 0; i < m->x.rows; i++) {
    m->norm2[i] = m->diagonal[i] = 0;
    if (!is_there(m, i)) continue;
    int fault = cpb_row_fault(m->loops, m->x, i);
    if (fault != 0) return cpb_fault_report(i, fault, "x", error);
    m->norm2[i] = of_rows(m->loops, m->loops->dot, m->x, i, m->x, i);
    largest = fmax(largest, m->norm2[i]);
    m->diagonal[i] = kernel_of(m->kernel, m->loops, m->x, i, m->x, i);
    if (!isfinite(m->diagonal[i])) /* if the diagonal is finite, the whole matrix is */
      return cpb_fail_row(error, CPB_WHY_ROW_RANGE, "x", i, "has a k(x,x) too large for a double");
  }
  if (m->kernel->kind != CPB_KERNEL_RBF && largest < 1e-290 && any_number(m))
    return cpb_fail(error, CPB_WHY_BEYOND_DOUBLE, "x",
                    "the largest <x,x> is %g, no normal double: give the rows another unit", largest);
  return CPB_OK;
}
