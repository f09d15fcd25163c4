/* T2: a general pole v = (u,w) is an affine map in front and a rotation behind,
 *   S(x,v,s) = R S(L(x-su), e, s),  L = I + uu^T/(|w|(1+|w|)),  R = [[I-uu^T/(1+|w|), u],[-sgn(w)u^T, w]]. */
#ifndef CPB_SPHERE_T2_POLE_H
#define CPB_SPHERE_T2_POLE_H

#include "capball/status.h"

/* EINVAL unless v has d+1 finite coordinates, |v| = 1 within 1e-12 and v[d] != 0. */
cpb_status cpb_check_pole(size_t d, const double *v, cpb_error *error);

/* y <- R y and y <- R^T y, in place, d+1 coordinates. */
void cpb_pole_rotate(size_t d, const double *v, double *y);
void cpb_pole_rotate_back(size_t d, const double *v, double *y);

#endif
