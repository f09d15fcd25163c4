/* T8 for one pair of points, inline for the Gram blocks; the public functions call these. */
#ifndef CPB_GEOMETRY_PRODUCT_PAIR_H
#define CPB_GEOMETRY_PRODUCT_PAIR_H

#include <math.h>

/* s^2 d/(a b) by mantissas and exponents, for numbers whose products leave the range of double. */
double cpb_ratio_wide(double s, double d, double a, double b);

/* s^2 d/(a b) without intermediate overflow or underflow. */
static inline double cpb_square_ratio(double s, double d, double a, double b) {
  const double low = 1e-140, high = 1e140;
  if (s >= 1e-70 && s <= 1e70 && d >= low && d <= high && a >= low && a <= high && b >= low && b <= high)
    return s * s * d / (a * b);
  return cpb_ratio_wide(s, d, a, b);
}

/* 1+y0, without cancellation in the south */
static inline double cpb_pair_rise(double y0, double norm2_rest) {
  return y0 >= 0 ? 1 + y0 : norm2_rest / (1 - y0);
}

static inline double cpb_pair_lift_norm2(double xx, double xu, double w, double s) {
  double last = (s - xu) / w;
  return xx + last * last;
}

static inline double cpb_pair_lift_dist2(double dist2, double xu, double yu, double w) {
  double last = (xu - yu) / w;
  return dist2 + last * last;
}

static inline double cpb_pair_embedded_dist2(double D, double Qx, double Qy, double s) {
  return 4 * cpb_square_ratio(s, D, Qx, Qy);
}

static inline double cpb_pair_embedded_product(double D, double Qx, double Qy, double s) {
  return 1 - 2 * cpb_square_ratio(s, D, Qx, Qy);
}

static inline double cpb_pair_original_dist2(double dist2_hat, double rise_x, double rise_y, double s) {
  return cpb_square_ratio(s, dist2_hat, rise_x, rise_y);
}

/* The fused x0 y0 makes the difference exact but for one rounding of the given numbers. */
static inline double cpb_pair_original_product(double product_hat, double x0, double y0, double rise_x,
                                               double rise_y, double s) {
  double rest = fma(-x0, y0, product_hat);
  return copysign(cpb_square_ratio(s, fabs(rest), rise_x, rise_y), rest);
}

/* The lifts' squared distance less that of their last coordinates (s-<x,u>)/w = s(x0+w)/rise. */
static inline double cpb_pair_original_dist2_pole(double dist2_hat, double x0, double y0, double rise_x,
                                                  double rise_y, double w, double s) {
  double last = s * ((x0 + w) / rise_x) - s * ((y0 + w) / rise_y);
  double dist2 = cpb_square_ratio(s, dist2_hat, rise_x, rise_y) - last * last;
  return dist2 < 0 ? 0 : dist2;
}

/* 1+<x^,y^>+<x^,v>+<y^,v> = rise_x + rise_y + (<x^,y^>-1) */
static inline double cpb_pair_original_product_pole(double product_hat, double x0, double y0, double rise_x,
                                                    double rise_y, double w, double s) {
  double lifted = rise_x + rise_y + (product_hat - 1);
  double rest = fma(-(x0 + w), y0 + w, lifted);
  return copysign(cpb_square_ratio(s, fabs(rest), rise_x, rise_y), rest);
}

#endif
