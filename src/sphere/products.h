/* T8 for one pair of points: inner products and distances of one space computed in the other. Inline for the Gram
 * blocks.
 *
 * Errors are in u = 2^-53, for arguments each accurate to 1u, lengths and s within 1e-150 .. 1e150. Where a
 * difference of the arguments loses digits, the bound names the term that dominates the cancellation; that error is
 * inherent in the arguments. */
#ifndef CPB_SPHERE_PRODUCTS_H
#define CPB_SPHERE_PRODUCTS_H

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

/* Qx = |H(x)|^2 = <x,x> + (s-<x,u>)^2/w^2; for the pole e (xu = 0, w = 1) it is <x,x> + s^2. T8
 * Error <= 16u Qx/|w|. */
static inline double cpb_lift_norm2(double xx, double xu, double w, double s) {
  double last = (s - xu) / w;
  return xx + last * last;
}

/* D = |x-y|^2 + (<x,u>-<y,u>)^2/w^2, the squared distance of the lifts; |x-y|^2 for the pole e. T8
 * Error <= 16u (D + (|<x,u>|+|<y,u>|) sqrt(D)/|w|). */
static inline double cpb_lift_dist2(double dist2, double xu, double yu, double w) {
  double last = (xu - yu) / w;
  return dist2 + last * last;
}

/* |x^-y^|^2 = 4 s^2 D/(Qx Qy), without overflow. Error <= 16u of itself. NaN when Qx or Qy is inf. T8 */
static inline double cpb_embedded_dist2(double D, double Qx, double Qy, double s) {
  return 4 * cpb_square_ratio(s, D, Qx, Qy);
}

/* <x^,y^> = 1 - 2 s^2 D/(Qx Qy). Error <= 16u; exactly 1 for D = 0. T8 */
static inline double cpb_embedded_product(double D, double Qx, double Qy, double s) {
  return 1 - 2 * cpb_square_ratio(s, D, Qx, Qy);
}

/* 1+y0 of a unit row y = (y',y0), |y'|^2 given: by |y'|^2/(1-y0) where 1+y0 would cancel. T1, T8
 * This is the argument `rise` below; for a general pole it is 1+<y,v> = |y+v|^2/2.
 * Error <= 16u of itself in both hemispheres. */
static inline double cpb_rise(double y0, double norm2_rest) {
  return y0 >= 0 ? 1 + y0 : norm2_rest / (1 - y0);
}

/* |x-y|^2 = s^2 |x^-y^|^2/(rise_x rise_y), pole e. Error <= 16u of itself. T8 */
static inline double cpb_original_dist2(double dist2_hat, double rise_x, double rise_y, double s) {
  return cpb_square_ratio(s, dist2_hat, rise_x, rise_y);
}

/* <x,y> = s^2 (<x^,y^> - x0 y0)/(rise_x rise_y), pole e. T8
 * Error <= 16u of itself for the numbers as given: the fused x0 y0 makes the difference exact but for one rounding.
 * Their own rounding costs 16u (s^2/(rise_x rise_y) + |x||y|), much more than |x||y| near the poles. */
static inline double cpb_original_product(double product_hat, double x0, double y0, double rise_x,
                                          double rise_y, double s) {
  double rest = fma(-x0, y0, product_hat);
  return copysign(cpb_square_ratio(s, fabs(rest), rise_x, rise_y), rest);
}

/* The same for a general pole v = (u,w); x0, y0 are the last coordinates, rise = 1+<.,v>: the squared distance of the
 * lifts less that of their last coordinates (s-<x,u>)/w = s(x0+w)/rise. T8
 *  |x-y|^2 = s^2 (|x^-y^|^2/(rise_x rise_y) - ((x0+w)/rise_x - (y0+w)/rise_y)^2)
 *  never below 0. Error <= 16u (D + h(g + u h)), D = s^2 |x^-y^|^2/(rise_x rise_y) <= |x-y|^2/w^2,
 *  g = |<x,u>-<y,u>|/|w| and h = s(|x0|+|w|)/rise_x + s(|y0|+|w|)/rise_y. */
static inline double cpb_original_dist2_pole(double dist2_hat, double x0, double y0, double rise_x,
                                             double rise_y, double w, double s) {
  double last = s * ((x0 + w) / rise_x) - s * ((y0 + w) / rise_y);
  double dist2 = cpb_square_ratio(s, dist2_hat, rise_x, rise_y) - last * last;
  return dist2 < 0 ? 0 : dist2;
}

/* <x,y> = s^2 (1 + <x^,y^> + <x^,v> + <y^,v> - (x0+w)(y0+w))/(rise_x rise_y), where the first four terms are
 * rise_x + rise_y + (<x^,y^>-1). Error <= 16u s^2/(rise_x rise_y). T8 */
static inline double cpb_original_product_pole(double product_hat, double x0, double y0, double rise_x,
                                               double rise_y, double w, double s) {
  double lifted = rise_x + rise_y + (product_hat - 1);
  double rest = fma(-(x0 + w), y0 + w, lifted);
  return copysign(cpb_square_ratio(s, fabs(rest), rise_x, rise_y), rest);
}

#endif
