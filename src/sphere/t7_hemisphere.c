/* T7: the scale that puts all data within an angle of the pole. */
#include <math.h>

#include "base/elementary.h"
#include "sphere/t7_hemisphere.h"

double cpb_hemisphere_scale(double max_norm, double phi) {
  const double pi = 0x1.921fb54442d18p+1;
  if (!(max_norm > 0 && max_norm < INFINITY && phi > 0 && phi < pi)) return NAN;
  double s = max_norm / cpb_tan(phi / 2);
  return s > 0 && s < INFINITY ? s : NAN;
}
