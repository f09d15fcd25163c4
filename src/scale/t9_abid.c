/* T9: ABID = n^2 / |Y^T Y|_F^2 of unit rows Y, and of Y = (h u, z), the rows of S(x), for any number of
 * scales in one pass over the pairs. */
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "core/fail.h"
#include "scale/abid_ratio.h"
#include "scale/height.h"
#include "scale/weighted.h"

cpb_status cpb_check_pairs(size_t n, cpb_pairs pairs, cpb_error *error) {
  if (pairs != CPB_PAIRS_ALL && pairs != CPB_PAIRS_DISTINCT)
    return cpb_fail_domain(error, "pairs", (double)pairs,
                           "pairs must be CPB_PAIRS_ALL or CPB_PAIRS_DISTINCT");
  size_t least = pairs == CPB_PAIRS_ALL ? 1 : 2;
  if (n >= least) return CPB_OK;
  return cpb_fail_count(error, "x", n, "ABID needs at least %zu rows with a direction", least);
}

double cpb_abid_of(double F, size_t n, cpb_pairs pairs) {
  double rows = (double)n;
  if (pairs == CPB_PAIRS_ALL) return rows * rows / F;
  return F > rows ? rows * (rows - 1) / (F - rows) : INFINITY;
}

double cpb_abid_slope(double abid, double F, double F_slope, size_t n, cpb_pairs pairs) {
  return -abid * F_slope / (pairs == CPB_PAIRS_ALL ? F : F - (double)n);
}

cpb_status cpb_abid_original(cpb_view x, const double *center, cpb_pairs pairs, double *abid,
                             const cpb_exec *exec, cpb_error *error) {
  if (abid == NULL) return cpb_fail_missing(error, "abid");
  *abid = NAN;
  cpb_directions u;
  cpb_weights w = {0};
  double F;
  cpb_status status = cpb_directions_new(&u, x, center, exec, error);
  if (status == CPB_OK) status = cpb_weights_new(&w, &u, 1, error);
  size_t n = 0;
  for (size_t i = 0; i < u.n && status == CPB_OK; i++)
    if (u.norm[i] > 0) {
      w.value[i * w.stride] = 1;
      n++;
    }
  if (status == CPB_OK) status = cpb_check_pairs(n, pairs, error);
  if (status == CPB_OK) status = cpb_weighted_squares(&u, &w, &F, exec, error);
  if (status == CPB_OK) *abid = cpb_abid_of(F, n, pairs);
  cpb_weights_free(&w);
  cpb_directions_free(&u);
  return status;
}

/* Everything for `count` scales: columns k hold values at s_k and, if slopes are requested, columns count+k their
 * derivatives. */
typedef struct sweep {
  size_t count, columns;
  cpb_weights hh, hz;
  double *zz;       /* columns: sums over the rows */
  double *squares;  /* columns x columns */
  double *products; /* columns x columns */
} sweep;

static cpb_status sweep_new(sweep *w, const cpb_directions *u, size_t count, bool slopes, cpb_error *error) {
  *w = (sweep){.count = count, .columns = slopes ? 2 * count : count};
  cpb_status status = cpb_weights_new(&w->hh, u, w->columns, error);
  if (status == CPB_OK) status = cpb_weights_new(&w->hz, u, w->columns, error);
  w->zz = calloc(w->columns, sizeof(double));
  w->squares = calloc(w->columns * w->columns, sizeof(double));
  w->products = calloc(w->columns * w->columns, sizeof(double));
  if (status == CPB_OK && (w->zz == NULL || w->squares == NULL || w->products == NULL))
    status = cpb_fail_memory(error, "%zu scales", count);
  return status;
}

static void sweep_free(sweep *w) {
  cpb_weights_free(&w->hh);
  cpb_weights_free(&w->hz);
  free(w->zz);
  free(w->squares);
  free(w->products);
}

static void set_column(sweep *w, size_t row, size_t column, cpb_height_terms terms) {
  w->hh.value[row * w->hh.stride + column] = terms.hh;
  w->hz.value[row * w->hz.stride + column] = terms.hz;
  w->zz[column] += terms.zz;
}

static void sweep_fill(sweep *w, const cpb_directions *u, const double *s) {
  for (size_t i = 0; i < u->n; i++)
    for (size_t k = 0; k < w->count; k++) {
      cpb_height y = cpb_height_of(u->norm[i], s[k]);
      set_column(w, i, k, cpb_height_values(y));
      if (w->columns > w->count) set_column(w, i, w->count + k, cpb_height_slopes(y));
    }
}

/* Element (k,l) of the three parts of F: squares + 2 products + zz zz. */
static double sweep_part(const sweep *w, size_t k, size_t l) {
  size_t at = k * w->columns + l;
  return w->squares[at] + 2 * w->products[at] + w->zz[k] * w->zz[l];
}

static cpb_status check_sweep(const double *s, size_t count, const double *abid, cpb_error *error) {
  if (count > 0 && (s == NULL || abid == NULL)) return cpb_fail_missing(error, s == NULL ? "s" : "abid");
  if (count > 4096) return cpb_fail_count(error, "count", count, "at most 4096 scales at once");
  for (size_t k = 0; k < count; k++) {
    cpb_status status = cpb_check_scale(s[k], error);
    if (status != CPB_OK) return status;
  }
  return CPB_OK;
}

cpb_status cpb_abid_embedded(cpb_view x, const double *center, cpb_pairs pairs, cpb_abid_scales scales,
                             const cpb_exec *exec, cpb_error *error) {
  size_t count = scales.count;
  cpb_status status = check_sweep(scales.s, count, scales.abid, error);
  if (status == CPB_OK) status = cpb_check_pairs(x.rows, pairs, error);
  if (status != CPB_OK || count == 0) return status;
  cpb_directions u;
  sweep w = {0};
  status = cpb_directions_new(&u, x, center, exec, error);
  if (status == CPB_OK) status = sweep_new(&w, &u, count, scales.slope != NULL, error);
  if (status == CPB_OK) {
    sweep_fill(&w, &u, scales.s);
    status = cpb_weighted_squares(&u, &w.hh, w.squares, exec, error);
  }
  if (status == CPB_OK) status = cpb_weighted_products(&u, &w.hz, w.products, exec, error);
  for (size_t k = 0; k < count && status == CPB_OK; k++) {
    double F = sweep_part(&w, k, k);
    scales.abid[k] = cpb_abid_of(F, x.rows, pairs);
    if (scales.slope != NULL)
      scales.slope[k] = cpb_abid_slope(scales.abid[k], F, 2 * sweep_part(&w, k, count + k), x.rows, pairs);
  }
  sweep_free(&w);
  cpb_directions_free(&u);
  return status;
}
