/* T9: ABID = n^2 / |Y^T Y|_F^2 of unit rows Y, and of Y = (h u, z), the rows of S(x), for any number of
 * scales in one pass over the pairs. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "capball/advanced/abid.h"
#include "base/elementary.h"
#include "base/fail.h"
#include "base/median.h"
#include "statistics/weighted.h"

/* h = 2 r/(1+r^2), z = (1-r^2)/(1+r^2), r = |x|/s; divides by the larger of norm and s, so that nothing overflows.
 * dh/dlog s = -h z, dz/dlog s = h^2. */
typedef struct cpb_height {
  double h, z;
} cpb_height;

static inline cpb_height cpb_height_of(double norm, double s) {
  int south = norm > s;
  double r = south ? s / norm : norm / s, q = 1 + r * r, z = (1 - r) * (1 + r) / q;
  return (cpb_height){2 * r / q, south ? -z : z};
}

/* The three functions of the norm that F(s) consists of, and their derivatives by log s. */
typedef struct cpb_height_terms {
  double hh, hz, zz;
} cpb_height_terms;

static inline cpb_height_terms cpb_height_values(cpb_height y) {
  return (cpb_height_terms){y.h * y.h, y.h * y.z, y.z * y.z};
}

static inline cpb_height_terms cpb_height_slopes(cpb_height y) {
  double hh = y.h * y.h;
  return (cpb_height_terms){-2 * y.z * hh, y.h * (hh - y.z * y.z), 2 * y.z * hh};
}

/* EINVAL for an unknown kind of pairs, or when n rows have no pair of it. */
static cpb_status check_pairs(size_t n, cpb_pairs pairs, cpb_error *error) {
  if (pairs != CPB_PAIRS_ALL && pairs != CPB_PAIRS_DISTINCT)
    return cpb_fail_domain(error, "pairs", (double)pairs,
                           "pairs must be CPB_PAIRS_ALL or CPB_PAIRS_DISTINCT");
  size_t least = pairs == CPB_PAIRS_ALL ? 1 : 2;
  if (n >= least) return CPB_OK;
  return cpb_fail_count(error, "x", n, "ABID needs at least %zu rows with a direction", least);
}

/* n^2/F or n(n-1)/(F-n), T9. */
static double abid_of(double F, size_t n, cpb_pairs pairs) {
  double rows = (double)n;
  if (pairs == CPB_PAIRS_ALL) return rows * rows / F;
  return F > rows ? rows * (rows - 1) / (F - rows) : INFINITY;
}

/* dABID/dlog s from ABID and F' = dF/dlog s. */
static double abid_slope(double abid, double F, double F_slope, size_t n, cpb_pairs pairs) {
  return -abid * F_slope / (pairs == CPB_PAIRS_ALL ? F : F - (double)n);
}

cpb_status cpb_abid_original(cpb_view x, const double *center, cpb_pairs pairs, double *abid,
                             const cpb_exec *exec, cpb_error *error) {
  if (abid == NULL) return cpb_fail_missing(error, "abid");
  *abid = NAN;
  cpb_memory memory = {0};
  cpb_directions u;
  cpb_weights w;
  double F;
  cpb_status status = cpb_directions_new(&u, &memory, x, center, exec, error);
  if (status == CPB_OK) status = cpb_weights_new(&w, &memory, &u, 1, error);
  size_t n = 0;
  for (size_t i = 0; i < u.n && status == CPB_OK; i++)
    if (u.norm[i] > 0) {
      w.value[i * w.stride] = 1;
      n++;
    }
  if (status == CPB_OK) status = check_pairs(n, pairs, error);
  if (status == CPB_OK) status = cpb_weighted_squares(&u, &w, &F, exec, error);
  if (status == CPB_OK) *abid = abid_of(F, n, pairs);
  cpb_memory_free(&memory);
  return status;
}

/* Columns k hold values at scale s_k and, if slopes are requested, columns count+k their derivatives. */
typedef struct sweep {
  size_t count, columns;
  cpb_weights hh, hz;
  double *zz;       /* columns: sums over the rows */
  double *squares;  /* columns x columns */
  double *products; /* columns x columns */
} sweep;

static cpb_status sweep_new(sweep *w, cpb_memory *memory, const cpb_directions *u, size_t count, bool slopes,
                            cpb_error *error) {
  *w = (sweep){.count = count, .columns = slopes ? 2 * count : count};
  cpb_status status = cpb_weights_new(&w->hh, memory, u, w->columns, error);
  if (status == CPB_OK) status = cpb_weights_new(&w->hz, memory, u, w->columns, error);
  w->zz = cpb_memory_zeros(memory, w->columns, sizeof(double));
  w->squares = cpb_memory_zeros(memory, w->columns * w->columns, sizeof(double));
  w->products = cpb_memory_zeros(memory, w->columns * w->columns, sizeof(double));
  if (status == CPB_OK && memory->failed) status = cpb_fail_memory(error, "%zu scales", count);
  return status;
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
  if (status == CPB_OK) status = check_pairs(x.rows, pairs, error);
  if (status != CPB_OK || count == 0) return status;
  cpb_memory memory = {0};
  cpb_directions u;
  sweep w;
  status = cpb_directions_new(&u, &memory, x, center, exec, error);
  if (status == CPB_OK) status = sweep_new(&w, &memory, &u, count, scales.slope != NULL, error);
  if (status == CPB_OK) {
    sweep_fill(&w, &u, scales.s);
    status = cpb_weighted_squares(&u, &w.hh, w.squares, exec, error);
  }
  if (status == CPB_OK) status = cpb_weighted_products(&u, &w.hz, w.products, exec, error);
  for (size_t k = 0; k < count && status == CPB_OK; k++) {
    double F = sweep_part(&w, k, k);
    scales.abid[k] = abid_of(F, x.rows, pairs);
    if (scales.slope != NULL)
      scales.slope[k] = abid_slope(scales.abid[k], F, 2 * sweep_part(&w, k, count + k), x.rows, pairs);
  }
  cpb_memory_free(&memory);
  return status;
}

/* T9 as a function of s alone. The rows enter F(s) only through functions of log|x| that are smooth (their poles
 * are pi/2 off the real axis). Replacing the functions by their values at a few nodes moves all sums over rows in
 * front of s: what is left is a quadratic form in the values at the nodes. */

static const double half_pi = 0x1.921fb54442d18p+0, log_10 = 0x1.26bb1bbb55516p+1;

struct cpb_abid_curve {
  cpb_memory memory;
  size_t n, nodes;
  double mean_norm, at_center; /* at_center: rows at the centre, where z = 1 for every s */
  double *norm;                /* nodes */
  double *rows;                /* nodes: sum of the weights */
  double *squares, *products;  /* nodes x nodes */
};

typedef struct range {
  double low, high; /* of log|x|, over the rows that are not at the centre */
} range;

/* The error of interpolation at r Chebyshev nodes falls like rho^-r, rho the sum of the half-axes of the ellipse
 * through the poles; the poles are double, which costs a few more nodes. */
static size_t chebyshev_count(range r) {
  double half = fmax((r.high - r.low) / 2, 1e-9), b = half_pi / half;
  return (size_t)ceil(34 / cpb_log(b + sqrt(1 + b * b))) + 6;
}

/* Chebyshev nodes on [-1,1] and the weights of the barycentric formula. */
static void set_places(size_t nodes, double *place, double *weight) {
  for (size_t k = 0; k < nodes; k++) {
    double angle = (2 * (double)k + 1) * half_pi / (double)nodes;
    place[k] = cpb_cos(angle);
    weight[k] = k % 2 ? -cpb_sin(angle) : cpb_sin(angle);
  }
}

/* The values of the nodes' cardinal functions at t. */
static void set_cardinal(size_t nodes, const double *place, const double *weight, double t, double *values) {
  double sum = 0;
  for (size_t k = 0; k < nodes; k++) {
    double gap = t - place[k];
    if (gap == 0) {
      memset(values, 0, nodes * sizeof *values);
      values[k] = 1;
      return;
    }
    values[k] = weight[k] / gap;
    sum += values[k];
  }
  for (size_t k = 0; k < nodes; k++) values[k] /= sum;
}

/* place: room for 2 numbers per node */
static void set_chebyshev(cpb_abid_curve *c, const cpb_directions *u, range r, double *place,
                          cpb_weights *w) {
  double middle = (r.low + r.high) / 2, half = (r.high - r.low) / 2, *weight = place + c->nodes;
  set_places(c->nodes, place, weight);
  for (size_t k = 0; k < c->nodes; k++) c->norm[k] = cpb_exp(middle + half * place[k]);
  for (size_t i = 0; i < u->n; i++)
    if (u->norm[i] > 0) {
      double t = half > 0 ? (cpb_log(u->norm[i]) - middle) / half : 0;
      set_cardinal(c->nodes, place, weight, t, w->value + i * w->stride);
    }
}

/* The borders between bins: half of them follow the number of rows, half the width of log|x|, so that no bin is
 * wide where rows are few or crowded where they are many. `sorted` holds log|x| in ascending order. */
static void set_borders(const double *sorted, size_t count, size_t borders, double *border) {
  double low = sorted[0], width = sorted[count - 1] - low;
  size_t i = 0;
  for (size_t k = 0; k < borders; k++) {
    double share = borders > 1 ? (double)k / (double)(borders - 1) : 0.5;
    while (i + 1 < count &&
           (double)i / (double)(count - 1) + (width > 0 ? (sorted[i] - low) / width : 0) < 2 * share)
      i++;
    border[k] = sorted[i];
  }
}

/* A row between two borders is shared between both in proportion: linear interpolation in log|x|. */
static void set_shares(const cpb_abid_curve *c, const double *border, double log_norm, double *values) {
  size_t low = 0, high = c->nodes - 1;
  while (high - low > 1) {
    size_t middle = (low + high) / 2;
    *(border[middle] <= log_norm ? &low : &high) = middle;
  }
  double gap = border[high] - border[low], share = gap > 0 ? (log_norm - border[low]) / gap : 0;
  values[low] = 1 - share;
  if (high != low) values[high] = share;
}

static void set_bins(cpb_abid_curve *c, const cpb_directions *u, const double *sorted, size_t count,
                     double *border, cpb_weights *w) {
  if (count > 0) set_borders(sorted, count, c->nodes, border);
  for (size_t k = 0; k < c->nodes; k++) c->norm[k] = count > 0 ? cpb_exp(border[k]) : 1;
  for (size_t i = 0; i < u->n; i++)
    if (u->norm[i] > 0) set_shares(c, border, cpb_log(u->norm[i]), w->value + i * w->stride);
}

static cpb_status curve_alloc(cpb_abid_curve **curve, size_t nodes, cpb_error *error) {
  cpb_abid_curve *c = *curve = calloc(1, sizeof *c);
  if (c != NULL) {
    c->nodes = nodes;
    c->norm = cpb_memory_zeros(&c->memory, nodes, sizeof(double));
    c->rows = cpb_memory_zeros(&c->memory, nodes, sizeof(double));
    c->squares = cpb_memory_zeros(&c->memory, nodes * nodes, sizeof(double));
    c->products = cpb_memory_zeros(&c->memory, nodes * nodes, sizeof(double));
    if (!c->memory.failed) return CPB_OK;
  }
  return cpb_fail_memory(error, "a curve of %zu nodes", nodes);
}

enum { BINS_FAR_APART = 256 }; /* for norms that are too far apart for Chebyshev nodes */

static size_t count_nodes(range r, size_t bins) {
  return bins > 0 ? bins : r.low <= r.high ? chebyshev_count(r) : 0;
}

static void count_rows(cpb_abid_curve *c, const cpb_directions *u, const cpb_weights *w) {
  double sum = 0;
  c->n = u->n;
  for (size_t i = 0; i < u->n; i++) {
    sum += u->norm[i] / (double)u->n;
    if (u->norm[i] == 0) c->at_center++;
    for (size_t k = 0; k < c->nodes; k++) c->rows[k] += w->value[i * w->stride + k];
  }
  c->mean_norm = sum;
}

static cpb_status fill_curve(cpb_abid_curve **curve, cpb_memory *memory, const cpb_directions *u, size_t bins,
                             const cpb_exec *exec, cpb_error *error) {
  size_t nodes, count = 0;
  cpb_weights w;
  double *sorted = cpb_memory_take(memory, u->n, sizeof *sorted);
  if (sorted == NULL) return cpb_fail_memory(error, "to sort %zu norms", u->n);
  range r = {INFINITY, -INFINITY};
  for (size_t i = 0; i < u->n; i++)
    if (u->norm[i] > 0) {
      double log = sorted[count++] = cpb_log(u->norm[i]);
      r = (range){fmin(r.low, log), fmax(r.high, log)};
    }
  if (bins > 4096) return cpb_fail_count(error, "bins", bins, "at most 4096 bins");
  if (bins == 0 && r.high - r.low > 18 * log_10) bins = BINS_FAR_APART;
  if (bins > 0) cpb_sort_numbers(sorted, count);
  nodes = count_nodes(r, bins);
  cpb_status status = curve_alloc(curve, nodes, error);
  if (status == CPB_OK) status = cpb_weights_new(&w, memory, u, nodes, error);
  if (status != CPB_OK) return status;
  double *numbers = cpb_memory_take(memory, 2 * nodes, sizeof *numbers);
  if (numbers == NULL) return cpb_fail_memory(error, "%zu nodes", nodes);
  if (bins > 0)
    set_bins(*curve, u, sorted, count, numbers, &w);
  else
    set_chebyshev(*curve, u, r, numbers, &w);
  count_rows(*curve, u, &w);
  if (status == CPB_OK && nodes > 0) status = cpb_weighted_squares(u, &w, (*curve)->squares, exec, error);
  if (status == CPB_OK && nodes > 0) status = cpb_weighted_products(u, &w, (*curve)->products, exec, error);
  return status;
}

cpb_status cpb_abid_curve_new(cpb_view x, const double *center, size_t bins, cpb_abid_curve **curve,
                              const cpb_exec *exec, cpb_error *error) {
  if (curve == NULL) return cpb_fail_missing(error, "curve");
  *curve = NULL;
  cpb_memory memory = {0};
  cpb_directions u;
  cpb_status status = cpb_directions_new(&u, &memory, x, center, exec, error);
  if (status == CPB_OK) status = fill_curve(curve, &memory, &u, bins, exec, error);
  cpb_memory_free(&memory);
  if (status == CPB_OK) return CPB_OK;
  cpb_abid_curve_free(*curve);
  *curve = NULL;
  return status;
}

void cpb_abid_curve_free(cpb_abid_curve *curve) {
  if (curve == NULL) return;
  cpb_memory_free(&curve->memory);
  free(curve);
}

double cpb_abid_curve_mean_norm(const cpb_abid_curve *curve) {
  return curve == NULL ? NAN : curve->mean_norm;
}

/* F and dF/dlog s. */
static void curve_form(const cpb_abid_curve *c, double s, double *F, double *F_slope) {
  double zz = c->at_center, zz_slope = 0, sum = 0, slope = 0;
  for (size_t k = 0; k < c->nodes; k++) {
    cpb_height y = cpb_height_of(c->norm[k], s);
    cpb_height_terms left = cpb_height_values(y), left_slope = cpb_height_slopes(y);
    zz += c->rows[k] * left.zz;
    zz_slope += c->rows[k] * left_slope.zz;
    double squares = 0, products = 0;
    for (size_t l = 0; l < c->nodes; l++) {
      cpb_height_terms right = cpb_height_values(cpb_height_of(c->norm[l], s));
      squares += c->squares[k * c->nodes + l] * right.hh;
      products += c->products[k * c->nodes + l] * right.hz;
    }
    sum += left.hh * squares + 2 * left.hz * products;
    slope += left_slope.hh * squares + 2 * left_slope.hz * products;
  }
  *F = sum + zz * zz;
  *F_slope = 2 * (slope + zz * zz_slope);
}

/* ABID and dABID/dlog s. */
static double curve_at(const cpb_abid_curve *c, double s, cpb_pairs pairs, double *slope) {
  double F, F_slope;
  curve_form(c, s, &F, &F_slope);
  double abid = abid_of(F, c->n, pairs);
  *slope = abid_slope(abid, F, F_slope, c->n, pairs);
  return abid;
}

cpb_status cpb_abid_curve_at(const cpb_abid_curve *curve, double s, cpb_pairs pairs, double *abid,
                             double *slope, cpb_error *error) {
  double unused;
  if (curve == NULL || abid == NULL) return cpb_fail_missing(error, curve == NULL ? "curve" : "abid");
  cpb_status status = cpb_check_scale(s, error);
  if (status == CPB_OK) status = check_pairs(curve->n, pairs, error);
  if (status == CPB_OK) *abid = curve_at(curve, s, pairs, slope == NULL ? &unused : slope);
  return status;
}

/* Where the slope changes sign, between a point where it is > 0 and one where it is not. */
static double top_between(const cpb_abid_curve *c, cpb_pairs pairs, double left, double right) {
  double slope;
  for (double middle = (left + right) / 2; right - left > 1e-9; middle = (left + right) / 2) {
    curve_at(c, cpb_exp(middle), pairs, &slope);
    *(slope > 0 ? &left : &right) = middle;
  }
  return (left + right) / 2;
}

/* Keeps the list sorted, higher ones first; a full list drops the lowest. */
static void keep_maximum(cpb_abid_maximum *maxima, size_t room, size_t *found, cpb_abid_maximum top) {
  size_t at = *found < room ? (*found)++ : room;
  for (; at > 0 && maxima[at - 1].abid < top.abid; at--)
    if (at < room) maxima[at] = maxima[at - 1];
  if (at < room) maxima[at] = top;
}

cpb_status cpb_abid_curve_maxima(const cpb_abid_curve *curve, double low, double high, cpb_pairs pairs,
                                 cpb_abid_maximum *maxima, size_t room, size_t *found, cpb_error *error) {
  enum { PER_DECADE = 100 };
  if (curve == NULL || maxima == NULL || found == NULL)
    return cpb_fail_missing(error, curve == NULL ? "curve" : maxima == NULL ? "maxima" : "found");
  *found = 0;
  if (!(low > 0 && low < high && high < INFINITY))
    return cpb_fail(error, CPB_WHY_DOMAIN, "low", "scales must be 0 < low < high, got %g and %g", low, high);
  cpb_status status = check_pairs(curve->n, pairs, error);
  if (status != CPB_OK) return status;
  double from = cpb_log(low), span = cpb_log(high) - from;
  size_t steps = (size_t)ceil(span / log_10 * PER_DECADE) + 2;
  double left = from, before, after;
  curve_at(curve, cpb_exp(left), pairs, &before);
  for (size_t i = 1; i <= steps; i++) {
    double right = from + span * (double)i / (double)steps;
    curve_at(curve, cpb_exp(right), pairs, &after);
    if (before > 0 && after <= 0) {
      double top = cpb_exp(top_between(curve, pairs, left, right)), slope;
      keep_maximum(maxima, room, found, (cpb_abid_maximum){top, curve_at(curve, top, pairs, &slope)});
    }
    left = right;
    before = after;
  }
  return CPB_OK;
}
