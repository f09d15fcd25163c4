#include "sphere/whitening.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "loops/distances.h"
#include "sphere/t6_ellipsoid.h"
#include "statistics/covariance_parts.h"

/* ---- the covariance ---- */

typedef struct covariance_pass {
  cpb_covariance *covariance;
  const cpb_exec *exec;
} covariance_pass;

static cpb_status gather_covariance(void *arg, const cpb_slot *slot, cpb_error *error) {
  const covariance_pass *p = arg;
  return cpb_covariance_update(p->covariance, slot->rows, p->exec, error);
}

static cpb_status find_covariance(cpb_passes *passes, double *matrix, uint64_t *rows, cpb_error *error) {
  covariance_pass p = {.exec = passes->exec};
  cpb_pass pass = {
      .arg = &p, .block_bytes = (size_t)1 << 20, .look = cpb_record_faults, .gather = gather_covariance};
  cpb_status status = cpb_covariance_new(passes->source->cols, &p.covariance, error);
  if (status == CPB_OK) status = cpb_pass_run(passes, &pass, error);
  if (status == CPB_OK) {
    *rows = p.covariance->rows;
    status = cpb_covariance_finish(p.covariance, NULL, matrix, passes->exec, error);
  }
  cpb_covariance_free(p.covariance);
  return status;
}

/* sum w (x-m)(x-m)^T / sum w; *count is how many rows weigh something. */
static cpb_status find_weighted_covariance(cpb_view rows, const double *weights, double *matrix,
                                           uint64_t *count, cpb_error *error) {
  const cpb_loops *loops = cpb_loops_here();
  size_t d = rows.cols;
  double *mean = calloc(2 * d, sizeof *mean), *z = mean + d, all = 0;
  if (mean == NULL) return cpb_fail_memory(error, "%zu numbers", 2 * d);
  for (size_t i = 0; i < rows.rows; i++) all += weights[i];
  for (size_t i = 0; i < rows.rows; i++) {
    if (!(weights[i] > 0)) continue;
    cpb_row_widen(rows, i, z);
    loops->axpby(weights[i] / all, z, 1, mean, mean, d);
  }
  for (size_t i = 0; i < rows.rows; i++) {
    if (!(weights[i] > 0)) continue;
    cpb_row_about(loops, rows, 0, i, mean, z);
    for (size_t j = 0; j < d; j++)
      loops->axpby(weights[i] / all * z[j], z, 1, matrix + j * d, matrix + j * d, j + 1);
    ++*count;
  }
  for (size_t i = 0; i < d; i++)
    for (size_t j = 0; j < i; j++) matrix[j * d + i] = matrix[i * d + j];
  free(mean);
  return CPB_OK;
}

/* ---- W ---- */

static cpb_status refuse_column(size_t column, const char *why, cpb_error *error) {
  return cpb_fail(
      error, CPB_WHY_COLUMN_SINGULAR, "ridge",
      "column %zu %s, and the covariance has no inverse: give a ridge (1e-6, say, adds that share of "
      "itself to every variance), leave the column out, or do not whiten",
      column, why);
}

/* From this value on variances, and what other columns leave of them, are normal doubles. */
static const double VARIANCE_LEAST = 1e-290;

/* Adds to each variance the share `ridge` of itself, of a column that does not vary that of the mean variance; EINVAL
 * for what no ridge can repair. */
static cpb_status add_ridge(double *covariance, size_t d, double ridge, cpb_error *error) {
  double trace = 0;
  for (size_t i = 0; i < d; i++) trace += covariance[i * d + i] / (double)d;
  if (!(trace >= VARIANCE_LEAST))
    return cpb_fail(error, CPB_WHY_COLUMN_SINGULAR, "rows", "%s: there is nothing to whiten by",
                    trace > 0 ? "the variances of the columns are below what doubles hold with all digits"
                              : "all rows are equal, or their variances are below what doubles hold");
  for (size_t i = 0; i < d; i++) {
    double *variance = covariance + i * d + i;
    *variance += ridge * (*variance > 0 ? *variance : trace);
    if (!(covariance[i * d + i] > 0)) return refuse_column(i, "does not vary", error);
  }
  return CPB_OK;
}

/* W = U^-T for covariance = U^T U: row i is (e_i - sum_k U_ki row k) / U_ii. */
static void invert_factor(const double *U, size_t d, double *W) {
  for (size_t i = 0; i < d; i++) {
    double *row = W + i * d;
    memset(row, 0, d * sizeof *row);
    row[i] = 1;
    for (size_t k = 0; k < i; k++)
      for (size_t j = 0; j <= k; j++) row[j] -= U[k * d + i] * W[k * d + j];
    for (size_t j = 0; j <= i; j++) row[j] /= U[i * d + i];
  }
}

/* Divides every column by its standard deviation, if that is wanted, except one that does not vary; W is to be
 * multiplied by the factors. */
static void standardize(double *covariance, size_t d, bool wanted, double *factors) {
  for (size_t i = 0; i < d; i++)
    factors[i] = wanted && covariance[i * d + i] > 0 ? 1 / sqrt(covariance[i * d + i]) : 1;
  for (size_t i = 0; i < d; i++)
    for (size_t j = 0; j < d; j++) covariance[i * d + j] *= factors[i] * factors[j];
}

/* A column that does not vary gets the variance of more rows where that is known. Weighted sums are rounded, others are exact. */
static void lend_spread(double *covariance, size_t d, const double *spread, bool weighted) {
  const double rounding = weighted ? 1e-18 : 0, most = 1e300;
  for (size_t i = 0; i < d && spread != NULL; i++) {
    double more = fmin(spread[i], sqrt(most)) * fmin(spread[i], sqrt(most));
    if (!(more > 0) || covariance[i * d + i] > rounding * more) continue;
    for (size_t j = 0; j < d; j++) covariance[i * d + j] = covariance[j * d + i] = 0;
    covariance[i * d + i] = more;
  }
}

static cpb_status make_W(double *covariance, size_t d, uint64_t rows, double ridge, double *U, double *W,
                         cpb_error *error) {
  cpb_status status = add_ridge(covariance, d, ridge, error);
  if (status != CPB_OK) return status;
  if (rows <= d && ridge == 0)
    return cpb_fail(error, CPB_WHY_COLUMN_SINGULAR, "ridge",
                    "%llu rows do not determine the covariance of %zu columns (more than %zu do): "
                    "give a ridge, such as 1e-6, or do not whiten",
                    (unsigned long long)rows, d, d);
  status = cpb_whitening_from_metric(covariance, d, U, error);
  /* U_ii^2 is the part of column i's variance that the columns before it leave. */
  for (size_t i = 0; i < d && status == CPB_OK; i++)
    if (U[i * d + i] * U[i * d + i] < 1e-12 * covariance[i * d + i])
      status = refuse_column(i, "depends linearly on the columns before it", error);
  if (status == CPB_OK) invert_factor(U, d, W);
  return status;
}

cpb_status cpb_whitening_fit(cpb_passes *passes, cpb_whitening_options wish, double **W, cpb_error *error) {
  enum { MOST = 16384 };
  size_t d = passes->source->cols;
  uint64_t rows = 0;
  *W = NULL;
  if (!(wish.ridge >= 0 && wish.ridge < INFINITY))
    return cpb_fail_domain(error, "ridge", wish.ridge, "ridge must be a number >= 0");
  if (d > MOST)
    return cpb_fail(error, CPB_WHY_WHITENING_SIZE, "whiten",
                    "whitening needs %zu x %zu numbers in memory: too many", d, d);
  double *memory = calloc(3 * d * d + d, sizeof *memory), *U = memory + d * d, *made = U + d * d;
  double *factors = made + d * d;
  if (memory == NULL) return cpb_fail_memory(error, "%zu x %zu numbers", d, d);
  cpb_status status = wish.weights != NULL
                          ? find_weighted_covariance(wish.rows, wish.weights, memory, &rows, error)
                          : find_covariance(passes, memory, &rows, error);
  if (status == CPB_OK) lend_spread(memory, d, wish.spread, wish.weights != NULL);
  if (status == CPB_OK) standardize(memory, d, wish.standardize, factors);
  if (status == CPB_OK && wish.whiten) status = make_W(memory, d, rows, wish.ridge, U, made, error);
  for (size_t i = 0; i < d && status == CPB_OK; i++)
    for (size_t j = 0; j < d; j++)
      memory[i * d + j] = wish.whiten ? made[i * d + j] * factors[j] : i == j ? factors[i] : 0;
  if (status == CPB_OK)
    *W = memory;
  else
    free(memory);
  return status;
}
