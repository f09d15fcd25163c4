/* T8: inner products and distances of one space from those of the other. */
#include "sphere/products.h"

double cpb_ratio_wide(double s, double d, double a, double b) {
  if (isinf(a) || isinf(b)) return NAN; /* the caller overflowed: this is not a quotient of 0 */
  int es, ed, ea, eb;
  double ms = frexp(s, &es), md = frexp(d, &ed), ma = frexp(a, &ea), mb = frexp(b, &eb);
  return ldexp(ms * ms * md / (ma * mb), 2 * es + ed - ea - eb);
}
