/* T8: inner products and distances of one space from those of the other. */

#include "geometry/product_pair.h"
#include "geometry/products.h"

double cpb_ratio_wide(double s, double d, double a, double b) {
  if (isinf(a) || isinf(b)) return NAN; /* the caller overflowed: this is not a quotient of 0 */
  int es, ed, ea, eb;
  double ms = frexp(s, &es), md = frexp(d, &ed), ma = frexp(a, &ea), mb = frexp(b, &eb);
  return ldexp(ms * ms * md / (ma * mb), 2 * es + ed - ea - eb);
}

double cpb_lift_norm2(double xx, double xu, double w, double s) { return cpb_pair_lift_norm2(xx, xu, w, s); }

double cpb_lift_dist2(double dist2, double xu, double yu, double w) {
  return cpb_pair_lift_dist2(dist2, xu, yu, w);
}

double cpb_embedded_dist2(double D, double Qx, double Qy, double s) {
  return cpb_pair_embedded_dist2(D, Qx, Qy, s);
}

double cpb_embedded_product(double D, double Qx, double Qy, double s) {
  return cpb_pair_embedded_product(D, Qx, Qy, s);
}

double cpb_rise(double y0, double norm2_rest) { return cpb_pair_rise(y0, norm2_rest); }

double cpb_original_dist2(double dist2_hat, double rise_x, double rise_y, double s) {
  return cpb_pair_original_dist2(dist2_hat, rise_x, rise_y, s);
}

double cpb_original_product(double product_hat, double x0, double y0, double rise_x, double rise_y,
                            double s) {
  return cpb_pair_original_product(product_hat, x0, y0, rise_x, rise_y, s);
}

double cpb_original_dist2_pole(double dist2_hat, double x0, double y0, double rise_x, double rise_y, double w,
                               double s) {
  return cpb_pair_original_dist2_pole(dist2_hat, x0, y0, rise_x, rise_y, w, s);
}

double cpb_original_product_pole(double product_hat, double x0, double y0, double rise_x, double rise_y,
                                 double w, double s) {
  return cpb_pair_original_product_pole(product_hat, x0, y0, rise_x, rise_y, w, s);
}
