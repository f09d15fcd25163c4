/* T6: any ellipsoid is a cap, by a whitening W in front of the map. */
#include "base/fail.h"
#include "sphere/t3_cap_ball.h"
#include "sphere/t6_ellipsoid.h"

/* W = QR by reflections, in the caller's scratch: R above the diagonal of qr, its diagonal apart, and
 * the vector of each reflection in its column from the diagonal down. */
typedef struct factors {
  size_t d;
  double *qr, *diagonal;
} factors;

/* y <- y - v (2<v,y>/|v|^2) for reflection k, where |v|^2 = -2 R_kk v_k. */
static void reflect(const factors *f, size_t k, double *y, size_t stride) {
  size_t d = f->d;
  cpb_twofold sum = {0, 0};
  for (size_t i = k; i < d; i++) cpb_twofold_add_product(&sum, f->qr[i * d + k], y[i * stride]);
  double part = cpb_twofold_value(sum) / f->diagonal[k] / f->qr[k * d + k];
  for (size_t i = k; i < d; i++) y[i * stride] = fma(part, f->qr[i * d + k], y[i * stride]);
}

static double column_norm(const double *W, size_t d, size_t column, size_t from) {
  cpb_squares squares = cpb_squares_none();
  for (size_t i = from; i < d; i++) cpb_squares_add(&squares, W[i * d + column], 1);
  return cpb_squares_root(&squares, 0);
}

static cpb_status factorise(const double *W, size_t d, double *scratch, factors *f, cpb_error *error) {
  *f = (factors){d, scratch, scratch + d * d};
  for (size_t i = 0; i < d * d; i++) f->qr[i] = W[i];
  for (size_t k = 0; k < d; k++) {
    double whole = column_norm(W, d, k, 0), left = column_norm(f->qr, d, k, k);
    if (!(left > (double)d * 0x1p-52 * whole))
      return cpb_fail(error, CPB_WHY_WHITENING_SINGULAR, "whiten",
                      "whitening W is singular: column %zu keeps %g of its length %g", k, left, whole);
    f->diagonal[k] = f->qr[k * d + k] > 0 ? -left : left;
    f->qr[k * d + k] -= f->diagonal[k];
    for (size_t j = k + 1; j < d; j++) reflect(f, k, f->qr + j, d);
  }
  return CPB_OK;
}

/* y <- W^-1 y. */
static void solve(const factors *f, double *y) {
  size_t d = f->d;
  for (size_t k = 0; k < d; k++) reflect(f, k, y, 1);
  for (size_t k = d; k-- > 0;) {
    cpb_twofold sum = {y[k], 0};
    for (size_t j = k + 1; j < d; j++) cpb_twofold_add_product(&sum, -f->qr[k * d + j], y[j]);
    y[k] = cpb_twofold_value(sum) / f->diagonal[k];
  }
}

/* y <- W^-T y. */
static void solve_transposed(const factors *f, double *y) {
  size_t d = f->d;
  for (size_t k = 0; k < d; k++) {
    cpb_twofold sum = {y[k], 0};
    for (size_t j = 0; j < k; j++) cpb_twofold_add_product(&sum, -f->qr[j * d + k], y[j]);
    y[k] = cpb_twofold_value(sum) / f->diagonal[k];
  }
  for (size_t k = d; k-- > 0;) reflect(f, k, y, 1);
}

static cpb_status check_map(const double *W, const double *m, const double *scratch, size_t d,
                            cpb_error *error) {
  if (W == NULL || scratch == NULL) return cpb_fail_missing(error, W == NULL ? "W" : "scratch");
  if (!cpb_all_finite(W, d * d)) return cpb_fail_not_finite(error, "whiten", "whitening W");
  if (m != NULL && !cpb_all_finite(m, d)) return cpb_fail_not_finite(error, "center", "centre m");
  return CPB_OK;
}

/* <row, c-m> in twofold precision: only the result is rounded. */
static double row_times(const double *row, const double *c, const double *m, size_t d) {
  cpb_twofold sum = {0, 0};
  for (size_t j = 0; j < d; j++) {
    cpb_twofold_add_product(&sum, row[j], c[j]);
    if (m != NULL) cpb_twofold_add_product(&sum, -row[j], m[j]);
  }
  return cpb_twofold_value(sum);
}

/* {<n,x> > h} is {<W^-T n, y> > h - <n,m>}; W is factorised in scratch, the vector is built in the memory of p. */
static cpb_status whiten_halfspace(const cpb_region *region, const double *m, double *scratch, double *p,
                                   double *offset, cpb_error *error) {
  size_t d = region->d;
  factors f;
  cpb_status status = factorise(region->W, d, scratch, &f, error);
  if (status != CPB_OK) return status;
  for (size_t i = 0; i < d; i++) p[i] = region->c[i];
  solve_transposed(&f, p);
  for (size_t i = 0; i < d; i++) scratch[i] = p[i];
  *offset = m == NULL ? region->r : -cpb_dot_from(-region->r, region->c, m, d);
  return CPB_OK;
}

cpb_status cpb_cap_from_ellipsoid(const cpb_region *region, const double *m, double s, double *scratch,
                                  cpb_cap *cap, cpb_error *error) {
  cpb_status status = cpb_check_region(region, error);
  if (status == CPB_OK) status = check_map(region->W, m, scratch, region->d, error);
  factors f;
  if (status == CPB_OK) status = factorise(region->W, region->d, scratch, &f, error);
  return status != CPB_OK ? status : cpb_cap_by_whitening(region, m, s, scratch, cap, error);
}

cpb_status cpb_cap_by_whitening(const cpb_region *region, const double *m, double s, double *scratch,
                                cpb_cap *cap, cpb_error *error) {
  cpb_status status = cpb_check_region(region, error);
  if (status != CPB_OK) return status;
  if (region->axis != NULL) return cpb_fail_axis_and_whitening(error);
  if (cap == NULL || cap->p == NULL) return cpb_fail_missing(error, cap == NULL ? "cap" : "cap->p");
  size_t d = region->d;
  cpb_region white = {.kind = region->kind, .d = d, .c = scratch, .r = region->r};
  if (region->kind == CPB_HALFSPACE)
    status = whiten_halfspace(region, m, scratch, cap->p, &white.r, error);
  else if (region->kind != CPB_EMPTY && region->kind != CPB_EVERYTHING)
    for (size_t i = 0; i < d; i++) scratch[i] = row_times(region->W + i * d, region->c, m, d);
  return status != CPB_OK ? status : cpb_cap_from_region(&white, s, cap, error);
}

/* {<n,y> > h} is {<W^T n, x> > h + <W^T n, m>}. */
static void unwhiten_halfspace(const double *W, const double *m, double *scratch, cpb_region *region) {
  size_t d = region->d;
  for (size_t j = 0; j < d; j++) {
    cpb_twofold sum = {0, 0};
    for (size_t i = 0; i < d; i++) cpb_twofold_add_product(&sum, W[i * d + j], region->c[i]);
    scratch[j] = cpb_twofold_value(sum);
  }
  double length = cpb_norm(scratch, d),
         offset = m == NULL ? region->r : cpb_dot_from(region->r, scratch, m, d);
  for (size_t j = 0; j < d; j++) region->c[j] = scratch[j] / length;
  region->r = region->along = offset / length;
}

cpb_status cpb_ellipsoid_from_cap(const cpb_cap *cap, const double *W, const double *m, double s,
                                  double *scratch, cpb_region *region, cpb_error *error) {
  cpb_status status = cpb_region_from_cap(cap, s, region, error);
  if (status == CPB_OK) status = check_map(W, m, scratch, cap->d, error);
  if (status != CPB_OK) return status;
  region->W = W;
  if (region->kind == CPB_EMPTY || region->kind == CPB_EVERYTHING) return CPB_OK;
  if (region->kind == CPB_HALFSPACE) {
    unwhiten_halfspace(W, m, scratch, region);
  } else {
    factors f;
    status = factorise(W, cap->d, scratch, &f, error);
    if (status != CPB_OK) return status;
    solve(&f, region->c);
    for (size_t i = 0; m != NULL && i < cap->d; i++) region->c[i] += m[i];
  }
  return cpb_check_result(region, s, cap->a, error);
}

static cpb_status check_symmetric(const double *G, size_t d, cpb_error *error) {
  for (size_t i = 0; i < d; i++)
    for (size_t j = 0; j < i; j++) {
      double low = G[i * d + j], high = G[j * d + i];
      if (!(fabs(low - high) <= 1e-9 * sqrt(fabs(G[i * d + i])) * sqrt(fabs(G[j * d + j]))))
        return cpb_fail(error, CPB_WHY_NOT_DEFINITE, "G",
                        "metric G is not symmetric: G[%zu][%zu] = %.17g, G[%zu][%zu] = %.17g", i, j, low, j,
                        i, high);
    }
  return CPB_OK;
}

cpb_status cpb_whitening_from_metric(const double *G, size_t d, double *W, cpb_error *error) {
  if (G == NULL || W == NULL) return cpb_fail_missing(error, G == NULL ? "G" : "W");
  if (d == 0) return cpb_fail_dimension(error, "metric", 0);
  if (!cpb_all_finite(G, d * d)) return cpb_fail_not_finite(error, "G", "metric G");
  cpb_status status = check_symmetric(G, d, error);
  if (status != CPB_OK) return status;
  for (size_t k = 0; k < d; k++)
    for (size_t j = k; j < d; j++) {
      cpb_twofold sum = {G[k * d + j], 0};
      for (size_t i = 0; i < k; i++) cpb_twofold_add_product(&sum, -W[i * d + k], W[i * d + j]);
      if (j > k) {
        W[k * d + j] = cpb_twofold_value(sum) / W[k * d + k];
        continue;
      }
      if (!(cpb_twofold_value(sum) > 0))
        return cpb_fail(error, CPB_WHY_NOT_DEFINITE, "G",
                        "metric G is not positive definite: pivot %zu is %.17g", k, cpb_twofold_value(sum));
      W[k * d + k] = sqrt(cpb_twofold_value(sum));
    }
  for (size_t i = 0; i < d; i++)
    for (size_t j = 0; j < i; j++) W[i * d + j] = 0;
  return CPB_OK;
}
