/* T7: the scale that puts data on one side of the sphere. */
#ifndef CPB_SPHERE_T7_HEMISPHERE_H
#define CPB_SPHERE_T7_HEMISPHERE_H

#include "capball/region.h"

/** The smallest s for which every |x| <= max_norm has colatitude (angle to e) <= phi:
 *  s = max_norm / tan(phi/2).  phi = pi/2 is the hemisphere: y0 >= 0 <=> |x| <= s.            T7
 *  max_norm > 0 finite, 0 < phi < pi; NaN otherwise, and if s underflows. */
double cpb_hemisphere_scale(double max_norm, double phi);

#endif
