/* T4: ball, half-space, complement and cap as one quadratic form. */
#ifndef CPB_GEOMETRY_QUADRIC_H
#define CPB_GEOMETRY_QUADRIC_H

#include "capball/region.h"

/** The region {x : k2|x|^2 - 2<m,x> + k0 <= 0}.
 *  k2 > 0 is a ball, k2 = 0 a half-space, k2 < 0 a complement. root = sqrt(|m|^2 - k2 k0) >= 0
 *  does not change under translation and keeps the radius root/|k2| where the difference would
 *  lose it. m has d coordinates and is the caller's. */
typedef struct cpb_quadric {
  size_t d;
  double k2, k0, root;
  double *m;
} cpb_quadric;

/** (k2, m, k0, root) = (a, s p', s^2(b-p0), s sigma) of a complete cap, pole e.               T4
 *  b - p0 is computed by the form that does not cancel. EINVAL unless s^2 is a normal double. */
cpb_status cpb_quadric_from_cap(const cpb_cap *cap, double s, cpb_quadric *quadric, cpb_error *error);

/** p' = m/s, p0 = (k2-k0/s^2)/2, b = (k2+k0/s^2)/2, sigma = root/s, a = k2, divided by |p|.   T4
 *  Any s > 0: reading at one scale and writing at another changes the scale exactly.
 *  A form that is constant on the sphere (p = 0) gives the cap of EMPTY or EVERYTHING, p = e.
 *  EINVAL for the form 0 = 0, for anything not finite and for a root that is not the form's. */
cpb_status cpb_cap_from_quadric(const cpb_quadric *quadric, double s, cpb_cap *cap, cpb_error *error);

/** Moves the region by t (d coordinates): {x} becomes {x+t}.                                  T4
 *    m <- m + k2 t,  k0 <- k0 + 2<m,t> + k2|t|^2 = (|m|-root)(|m|+root)/k2
 *  in whichever form of k0 has the smaller terms: a tiny ball far away can be moved onto its own
 *  centre and keeps its radius. k0 is NaN where t, the form or the new m is not finite. */
void cpb_quadric_translate(cpb_quadric *quadric, const double *t);

/** k2|x|^2 - 2<m,x> + k0, the k0 of the form moved by -x; <= 0 inside.                     T4 */
double cpb_quadric_value(const cpb_quadric *quadric, const double *x);

#endif
