#include "fit_passes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "doubles.h"

void cli_fit_new(cli_fit *fit, const cli_job *job, cpb_reader *reader) {
  *fit = (cli_fit){.job = job, .reader = reader, .cols = cpb_reader_info(reader).cols};
  size_t per_block = cli_scan_block_rows(reader);
  for (size_t slot = 0; slot < CLI_SCAN_SLOTS; slot++) {
    fit->slots[slot].row = cli_alloc(fit->cols, sizeof(double));
    fit->slots[slot].sums = cli_alloc(fit->cols, sizeof(double));
    fit->slots[slot].norms = cli_alloc(per_block, sizeof(double));
  }
}

void cli_fit_free(cli_fit *fit) {
  for (size_t slot = 0; slot < CLI_SCAN_SLOTS; slot++) {
    free(fit->slots[slot].row);
    free(fit->slots[slot].sums);
    free(fit->slots[slot].norms);
    free(fit->slots[slot].rows);
  }
}

/* What is wrong with a row of this norm, NULL if nothing is. */
static const char *fault(const cli_fit *fit, double norm) {
  if (isnan(norm)) return "holds NaN";
  if (isinf(norm)) return "holds inf, or its norm overflows";
  return fit->directions && norm == 0 ? "is 0: it has no direction" : NULL;
}

/* Counts the rows of a block; a bad one ends the fit unless --skip-bad. */
static int count_rows(cli_fit *fit, size_t slot, uint64_t first, size_t rows) {
  for (size_t i = 0; i < rows; i++) {
    const char *what = fault(fit, fit->slots[slot].norms[i]);
    if (what == NULL) {
      fit->rows++;
      continue;
    }
    if (!fit->job->options.skip_bad)
      return cli_fail(fit->job, "%s: row %llu %s (--skip-bad leaves such rows out)",
                      cpb_reader_info(fit->reader).path, (unsigned long long)(first + i), what);
    fit->bad++;
  }
  return CLI_OK;
}

static int pass(cli_fit *fit, const cli_scan *scan) {
  cpb_error error;
  if (fit->passes++ > 0 && cpb_reader_rewind(fit->reader, &error) != CPB_OK)
    return cli_fail(fit->job, "%s", error.text);
  fit->rows = fit->bad = 0;
  int result = cli_scan_run(scan);
  if (result == CLI_OK && fit->rows == 0)
    return cli_fail(fit->job, "%s has no rows to fit to", cpb_reader_info(fit->reader).path);
  return result;
}

typedef struct mean_pass {
  cli_fit *fit;
  double *sum;
} mean_pass;

static void look_mean(void *arg, size_t slot, cpb_view rows) {
  const mean_pass *p = arg;
  cli_fit *fit = p->fit;
  cli_fit_slot *s = &fit->slots[slot];
  memset(s->sums, 0, fit->cols * sizeof *s->sums);
  for (size_t i = 0; i < rows.rows; i++) {
    const double *x = cli_row(rows, i, s->row);
    s->norms[i] = cli_norm(x, fit->cols);
    if (fault(fit, s->norms[i]) != NULL) continue;
    double length = fit->directions ? s->norms[i] : 1;
    for (size_t k = 0; k < fit->cols; k++) s->sums[k] += x[k] / length;
  }
}

static int gather_mean(void *arg, size_t slot, uint64_t first, size_t rows) {
  mean_pass *p = arg;
  for (size_t k = 0; k < p->fit->cols; k++) p->sum[k] += p->fit->slots[slot].sums[k];
  return count_rows(p->fit, slot, first, rows);
}

int cli_fit_mean(cli_fit *fit, double *mean) {
  mean_pass p = {fit, mean};
  memset(mean, 0, fit->cols * sizeof *mean);
  int result = pass(fit, &(cli_scan){fit->job, fit->reader, &p, look_mean, gather_mean});
  for (size_t k = 0; k < fit->cols && result == CLI_OK; k++) mean[k] /= (double)fit->rows;
  return result;
}

typedef struct covariance_pass {
  cli_fit *fit;
  double *covariance;
  const double *rows; /* the block that is being added */
  size_t count;
} covariance_pass;

static void look_covariance(void *arg, size_t slot, cpb_view rows) {
  const covariance_pass *p = arg;
  cli_fit *fit = p->fit;
  cli_fit_slot *s = &fit->slots[slot];
  for (size_t i = 0; i < rows.rows; i++) {
    double *z = s->rows + i * fit->cols;
    cli_subtract(cli_row(rows, i, s->row), fit->center, fit->cols, z);
    s->norms[i] = cli_norm(z, fit->cols);
    if (fault(fit, s->norms[i]) != NULL) memset(z, 0, fit->cols * sizeof *z);
  }
}

enum { BAND = 4 };

/* Rows [band*BAND, ..) of the upper triangle. Cutting the matrix instead of the data keeps every
 * element's sum in the order of the rows; four rows of data and the band stay in the first cache. */
static void add_band(void *arg, size_t band) {
  const covariance_pass *p = arg;
  size_t d = p->fit->cols, end = (band + 1) * BAND < d ? (band + 1) * BAND : d, r = 0;
  for (; r + 4 <= p->count; r += 4) {
    const double *a = p->rows + r * d, *b = a + d, *c = b + d, *e = c + d;
    for (size_t i = band * BAND; i < end; i++) {
      double *to = p->covariance + i * d, ai = a[i], bi = b[i], ci = c[i], ei = e[i];
      for (size_t j = i; j < d; j++) to[j] += (ai * a[j] + bi * b[j]) + (ci * c[j] + ei * e[j]);
    }
  }
  for (; r < p->count; r++)
    for (size_t i = band * BAND; i < end; i++)
      for (size_t j = i; j < d; j++) p->covariance[i * d + j] += p->rows[r * d + i] * p->rows[r * d + j];
}

static int gather_covariance(void *arg, size_t slot, uint64_t first, size_t rows) {
  covariance_pass *p = arg;
  const cpb_exec *exec = cpb_pool_exec(p->fit->job->pool);
  p->rows = p->fit->slots[slot].rows;
  p->count = rows;
  exec->run(exec->pool, (p->fit->cols + BAND - 1) / BAND, add_band, p);
  return count_rows(p->fit, slot, first, rows);
}

int cli_fit_covariance(cli_fit *fit, double *covariance) {
  size_t d = fit->cols, per_block = cli_scan_block_rows(fit->reader);
  memset(covariance, 0, d * d * sizeof *covariance);
  for (size_t slot = 0; slot < CLI_SCAN_SLOTS; slot++)
    fit->slots[slot].rows = cli_alloc(per_block * d, sizeof(double));
  covariance_pass p = {.fit = fit, .covariance = covariance};
  int result = pass(fit, &(cli_scan){fit->job, fit->reader, &p, look_covariance, gather_covariance});
  for (size_t i = 0; i < d && result == CLI_OK; i++)
    for (size_t j = i; j < d; j++)
      covariance[i * d + j] = covariance[j * d + i] = covariance[i * d + j] / (double)fit->rows;
  return result;
}

typedef struct norm_pass {
  cli_fit *fit;
  cli_norms *norms;
} norm_pass;

/* norms[i] = |W z_i| of n rows, W lower triangular: each row of W meets a group of rows while it is in
 * the first cache. */
static void whitened_norms(const double *W, const double *z, size_t n, size_t d, double *norms) {
  enum { GROUP = 16 };
  for (size_t group = 0; group < n; group += GROUP) {
    size_t end = n - group < GROUP ? n : group + GROUP;
    for (size_t i = group; i < end; i++) norms[i] = 0;
    for (size_t k = 0; k < d; k++)
      for (size_t i = group; i < end; i++) {
        double coordinate = cli_dot(W + k * d, z + i * d, k + 1);
        norms[i] += coordinate * coordinate;
      }
    for (size_t i = group; i < end; i++) norms[i] = sqrt(norms[i]);
  }
}

static void look_norms(void *arg, size_t slot, cpb_view rows) {
  const norm_pass *p = arg;
  const cli_fit *fit = p->fit;
  const cli_fit_slot *s = &fit->slots[slot];
  for (size_t i = 0; i < rows.rows; i++) {
    double *z = fit->whiten == NULL ? s->row : s->rows + i * fit->cols;
    cli_subtract(cli_row(rows, i, s->row), fit->center, fit->cols, z);
    if (fit->whiten == NULL) s->norms[i] = cli_norm(z, fit->cols);
  }
  if (fit->whiten != NULL) whitened_norms(fit->whiten, s->rows, rows.rows, fit->cols, s->norms);
}

static int gather_norms(void *arg, size_t slot, uint64_t first, size_t rows) {
  norm_pass *p = arg;
  int result = count_rows(p->fit, slot, first, rows);
  if (result != CLI_OK) return result;
  double *values = p->fit->slots[slot].norms;
  size_t good = 0;
  for (size_t i = 0; i < rows; i++)
    if (isfinite(values[i])) values[good++] = values[i];
  cli_norms_add(p->norms, values, good);
  return CLI_OK;
}

int cli_fit_norms(cli_fit *fit, cli_norms *norms) {
  norm_pass p = {fit, norms};
  return pass(fit, &(cli_scan){fit->job, fit->reader, &p, look_norms, gather_norms});
}

static int refuse_column(const cli_fit *fit, size_t column, const char *why) {
  return cli_fail(
      fit->job,
      "%s: the covariance is singular, column %zu %s; leave that column out, or fit without --whiten",
      cpb_reader_info(fit->reader).path, column, why);
}

int cli_fit_whitening(const cli_fit *fit, const double *covariance, double *W) {
  size_t d = fit->cols;
  for (size_t i = 0; i < d; i++)
    if (!(covariance[i * d + i] > 0)) return refuse_column(fit, i, "is constant");
  if (fit->rows <= d)
    return cli_fail(fit->job,
                    "%s: %llu rows cannot give the covariance of %zu columns (more than %zu are needed); "
                    "fit without --whiten",
                    cpb_reader_info(fit->reader).path, (unsigned long long)fit->rows, d, d);
  double *U = cli_alloc(d * d, sizeof *U);
  cpb_error error = {.row = -1};
  int result = CLI_OK;
  const char *depends = "depends linearly on the columns before it";
  if (cpb_whitening_from_metric(covariance, d, U, &error) != CPB_OK)
    result = error.row >= 0
                 ? refuse_column(fit, (size_t)error.row, depends)
                 : cli_fail(fit->job, "the covariance is singular: %s; fit without --whiten", error.text);
  /* U_ii^2 is what is left of column i's variance after the columns before it. */
  for (size_t i = 0; i < d && result == CLI_OK; i++)
    if (U[i * d + i] * U[i * d + i] < 1e-12 * covariance[i * d + i]) result = refuse_column(fit, i, depends);
  /* covariance = U^T U, so W = U^-T: row i is (e_i - sum_k U_ki row k) / U_ii. */
  for (size_t i = 0; i < d && result == CLI_OK; i++) {
    double *row = W + i * d;
    memset(row, 0, d * sizeof *row);
    row[i] = 1;
    for (size_t k = 0; k < i; k++)
      for (size_t j = 0; j <= k; j++) row[j] -= U[k * d + i] * W[k * d + j];
    for (size_t j = 0; j <= i; j++) row[j] /= U[i * d + i];
  }
  free(U);
  return result;
}
