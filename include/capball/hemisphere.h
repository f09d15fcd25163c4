/* T7: the scale that puts data on one side of the sphere. */
#ifndef CAPBALL_HEMISPHERE_H
#define CAPBALL_HEMISPHERE_H

#include "capball/exec.h"
#include "capball/view.h"

#ifdef __cplusplus
extern "C" {
#endif

/** The smallest s for which every |x| <= max_norm has colatitude (angle to e) <= phi:
 *  s = max_norm / tan(phi/2).  phi = pi/2 is the hemisphere: y0 >= 0 <=> |x| <= s.            T7
 *  max_norm > 0 finite, 0 < phi < pi; NaN otherwise, and where no double > 0 holds s. */
CPB_API double cpb_hemisphere_scale(double max_norm, double phi);

/** max_i |x_i - center| over n >= 1 rows.
 *  center  d coordinates or NULL. EROW for a row with NaN or inf, EINVAL for no rows; *max_norm is
 *  NaN then. Thread-safe, allocates nothing. */
CPB_API cpb_status cpb_max_norm(cpb_view x, const double *center, double *max_norm, const cpb_exec *exec,
                                cpb_error *error);

#ifdef __cplusplus
}
#endif
#endif
