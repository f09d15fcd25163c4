#include "sphere/t1_embed.h"

#include <math.h>

cpb_row_image cpb_embed_row(double n, double k, double w, double s) {
  double t2 = n + k * k, q = t2 + s * s;
  double scale = 2 * s / q, along = (s * s - t2) / q;
  return (cpb_row_image){scale, along, along * w - scale * k};
}

bool cpb_row_in_range(double n, double k, double s) {
  double q = n + k * k + s * s;
  return s >= 1e-150 && q >= 1e-150 && q <= 1e150;
}

double cpb_unembed_scale(double gap, double s) { return 2 * s / gap; }

double cpb_unit_power(double largest) {
  enum { MOST = 1000 };
  int exponent = ilogb(largest);
  if (exponent > MOST) exponent = MOST;
  if (exponent < -MOST) exponent = -MOST;
  return ldexp(1, -exponent);
}
