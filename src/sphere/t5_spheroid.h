/* T5: caps whose regions are ellipsoids of revolution. */
#ifndef CPB_SPHERE_T5_SPHEROID_H
#define CPB_SPHERE_T5_SPHEROID_H

#include "capball/region.h"

/** The image of a cap under the pole v = (u,w), w != 0: an ellipsoid of revolution about u.   T5
 *    c = s(p'+b u)/a, semi-axis r = s sigma/|a| across u and along = |w| r
 *  cap     complete for this v
 *  v       NULL: e, which is T3
 *  region  region->c and, unless v is NULL, region->axis are the caller's, d coordinates each; kinds as in T3.
 *          axis is set to NULL for a round region (u = 0) and for kinds without axes.
 *  r and along keep every digit; c is known to u s/|a|, because p holds pole and centre in the same
 *  coordinates. EINVAL unless |v| = 1 within 1e-9. */
cpb_status cpb_spheroid_from_cap(const cpb_cap *cap, double s, const double *v, cpb_region *region,
                                 cpb_error *error);

/** The cap of a region under a *given* pole v. EINVAL unless its metric is the pole's: a half-space,
 *  or axis parallel to u and along/r = |w| within 1e-9 (round for u = 0).                     T5
 *    z = c-su, t = [z, -<z,u>/w], then T3 for the ball (t, r) in the hyperplane orthogonal to v */
cpb_status cpb_cap_from_spheroid(const cpb_region *region, double s, const double *v, cpb_cap *cap,
                                 cpb_error *error);

/** The pole under which an oblate ellipsoid of revolution (0 < along <= r) is a cap:
 *    w = along/r, u = +-axis sqrt((r-along)(r+along))/r, with the sign of <c,axis>.           T5
 *  v    caller's, d+1 coordinates. A prolate ellipsoid (along > r) is EINVAL: use T6. */
cpb_status cpb_pole_from_spheroid(const cpb_region *region, double *v, cpb_error *error);

/* EINVAL unless |axis| = 1 within 1e-9; *length is its length. */
cpb_status cpb_check_axis(const double *axis, size_t d, double *length, cpb_error *error);

/* T3 and T5 in one, for a region, a scale and a pole v that have been checked; v NULL: e. */
cpb_status cpb_cap_under(const cpb_region *region, double s, const double *v, cpb_cap *cap, cpb_error *error);

#endif
