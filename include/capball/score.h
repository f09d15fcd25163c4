/* Membership of n points: one sign everywhere, score >= 0 is inside. */
#ifndef CAPBALL_SCORE_H
#define CAPBALL_SCORE_H

#include "capball/exec.h"
#include "capball/region.h"
#include "capball/view.h"

#ifdef __cplusplus
extern "C" {
#endif

/** score_i = <p,y_i> - b for points on the sphere, by the chord form                           T3
 *    b >= 0:  sigma^2/(1+b) - |y-p|^2/2        b < 0:  |y+p|^2/2 - sigma^2/(1-b)
 *  taken as (R-rho)(R+rho)/2 with the chord rho = |y-+p| and its limit R = sigma sqrt(2/(1+|b|)),
 *  which keeps its sign right down to radii of 1e-9 (f64) and 1e-5 (f32) where the plain product
 *  misjudges half of the points.
 *  cap     complete
 *  y       n rows of d+1, unit length
 *  scores  n numbers: an out of n rows and 1 column, f32 or f64
 *  For points of the data space take the region of the cap (T3, T5, T6) and cpb_region_scores.
 *  A row with NaN or inf scores NaN: EROW. Thread-safe, allocates nothing. */
CPB_API cpb_status cpb_cap_scores(const cpb_cap *cap, cpb_view y, cpb_out scores, const cpb_exec *exec,
                                  cpb_error *error);

/** score_i of points of the data space, in squared units of A(x-c) (half-space: in units of x)
 *    ball          (r-rho)(r+rho), rho = |A(x-c)|        complement   (rho-r)(rho+r)
 *    half-space    <n,x> - h          empty  -inf         everything   +inf
 *    punctured     |x-c|^2
 *  For points of the sphere take the cap of the region and cpb_cap_scores.
 *  x       n rows of d, any dtype
 *  scores  n rows, 1 column, f32 or f64
 *  A row with NaN or inf, or whose score overflows the output's type, scores NaN: EROW. A score that
 *  underflows keeps its sign. Thread-safe, allocates nothing. */
CPB_API cpb_status cpb_region_scores(const cpb_region *region, cpb_view x, cpb_out scores,
                                     const cpb_exec *exec, cpb_error *error);

#ifdef __cplusplus
}
#endif
#endif
