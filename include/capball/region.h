/* Caps on the sphere and the corresponding regions of the data space.
 *
 *   T3  cap <-> ball, half-space, complement of a ball         cpb_cap_from_region, cpb_region_from_cap
 *   T4  a cap given by p and b only                            cpb_cap_complete
 *   T5  cap <-> ellipsoid of revolution, under a general pole  cpb_map_cap, cpb_map_region (map.h)
 *   T6  cap <-> any ellipsoid, by whitening                    the same
 *
 * Boundaries belong to their regions: <p,y> >= b, |x-c| <= r, a score >= 0 is inside. A cap without an
 * interior, b >= 1, is treated as empty.
 *
 * All vectors are the caller's arrays of double, which the structs point to. Nothing here allocates;
 * everything is thread-safe. Lengths and s share one unit, that of the data. */
#ifndef CAPBALL_REGION_H
#define CAPBALL_REGION_H

#include "capball/exec.h"
#include "capball/view.h"

CPB_BEGIN

/** The cap {y on the unit sphere of R^(d+1) : <p,y> >= b}.
 *  p has d+1 coordinates and unit length. sigma = sqrt(1-b^2) and a = b+<p,v> are part of the cap because they cannot
 *  be recovered from (p,b) for a small ball: with them the round trip ball -> cap -> ball keeps every digit. */
typedef struct cpb_cap {
  size_t d;
  double *p;
  double b, sigma, a;
} cpb_cap;

typedef enum cpb_region_kind {
  CPB_EMPTY = 0,
  CPB_BALL = 1,       /* |A(x-c)| <= r */
  CPB_HALFSPACE = 2,  /* <c,x> >= r, where c is the unit normal and r the offset */
  CPB_COMPLEMENT = 3, /* |A(x-c)| >= r */
  CPB_PUNCTURED = 4,  /* everything, with the single point c on the boundary: b = -1 */
  CPB_EVERYTHING = 5,
} cpb_region_kind;

/** A region of R^d. The metric A is one of three:
 *    round        axis == NULL, W == NULL: A = I, a ball of radius r
 *    revolution   axis != NULL: semi-axis `along` > 0 in the unit direction axis, r across it
 *    any          W != NULL: A = W, d*d row-major, invertible
 *  For output the caller provides the arrays; a function writes those its metric needs. */
typedef struct cpb_region {
  cpb_region_kind kind;
  size_t d;
  double *c;       /* d coordinates */
  double r;        /* > 0 for BALL and COMPLEMENT; any real for HALFSPACE */
  double *axis;    /* d coordinates or NULL */
  double along;    /* semi-axis along `axis`; = r for a round region */
  const double *W; /* d*d or NULL, borrowed */
} cpb_region;

/** Completes a cap of which only d, p and b are set: divides p and b by |p| and computes
 *  sigma = sqrt((|p|-b)(|p|+b))/|p| and a = (b+<p,v>)/|p|, with the sum in double-double precision and
 *  before the division, to avoid cancellation.                                              T3, T4
 *  v    pole, d+1 coordinates, or NULL for e
 *  b outside [-|p|,|p|] is left unchanged (empty or everything), with sigma = 0.
 *  EINVAL: p is 0 or not finite, b is NaN. */
CPB_CALL cpb_status cpb_cap_complete(cpb_cap *cap, const double *v, cpb_error *error);

/** The cap of a round region at scale s, pole e.                                              T3
 *    h1 = hypot(|c|+r, s), h2 = hypot(|c|-r, s)
 *    p' = 2(s/h1)(c/h2), p0 = (s/h1)(s/h2) - ((|c|+r)/h1)((|c|-r)/h2)
 *    b = (s/h1)(s/h2) + ((|c|+r)/h1)((|c|-r)/h2), sigma = 2(s/h1)(r/h2), a = 2(s/h1)(s/h2)
 *    half-space: D = hypot(h,s), p = (s n, -h)/D, b = h/D, sigma = s/D, a = 0; a normal n whose
 *    length is not 1 is replaced by n/|n| with offset h/|n|
 *    complement: the ball's p, b, a negated; punctured: the complement for r = 0
 *  region  finite; axis and W must be NULL
 *  Error of every number <= 8u, plus 2^-102 |c|/s if r is near |c|, which matters from |c|/s = 1e15 on. EINVAL
 *  if sigma or a is below the smallest normal double (a ratio of lengths beyond about 1e150): such a cap
 *  would be converted back to another region.
 *  cap     cap->p is the caller's, d+1 coordinates; may not overlap region->c; all other members are set.
 *          EMPTY is p = e, b = 2 and EVERYTHING p = e, b = -2: no point of the sphere scores 0 */
CPB_CALL cpb_status cpb_cap_from_region(const cpb_region *region, double s, cpb_cap *cap, cpb_error *error);

/** The region of a cap at scale s, pole e: c = s p'/a, r = s sigma/|a|, and every other case. T3
 *  cap     complete (see cpb_cap_complete); EINVAL with the numbers if they are inconsistent:
 *          |p| = 1, sigma^2 = 1-b^2, a = b+<p,v>, each within 1e-6
 *  region  region->c is the caller's, d coordinates; axis, W are set to NULL
 *  A cap with 0 < |a| so small that the radius overflows gives EINVAL. */
CPB_CALL cpb_status cpb_region_from_cap(const cpb_cap *cap, double s, cpb_region *region, cpb_error *error);

/* Membership of n points: score >= 0 is inside, for every region. */

/** score_i = <p,y_i> - b for points on the sphere, by the chord form                           T3
 *    b >= 0:  sigma^2/(1+b) - |y-p|^2/2        b < 0:  |y+p|^2/2 - sigma^2/(1-b)
 *  computed as (R-rho)(R+rho)/2 with the chord rho = |y-+p| and its limit R = sigma sqrt(2/(1+|b|)), which has the
 *  right sign down to radii of 1e-9 (f64) and 1e-5 (f32), where the plain product misclassifies half of the points.
 *  cap     complete
 *  y       n rows of d+1, unit length
 *  scores  n rows, 1 column, f32 or f64
 *  For points of the data space use the region of the cap (T3, T5, T6) and cpb_region_scores.
 *  A row with NaN or inf scores NaN: EROW. Thread-safe, allocates nothing. */
CPB_CALL cpb_status cpb_cap_scores(const cpb_cap *cap, cpb_view y, cpb_out scores, const cpb_exec *exec,
                                   cpb_error *error);

/** score_i of points of the data space, in squared units of A(x-c) (half-space: in units of x)
 *    ball          (r-rho)(r+rho), rho = |A(x-c)|        complement   (rho-r)(rho+r)
 *    half-space    <n,x> - h          empty  -inf         everything   +inf
 *    punctured     |x-c|^2
 *  For points of the sphere use the cap of the region and cpb_cap_scores.
 *  x       n rows of d, any dtype
 *  scores  n rows, 1 column, f32 or f64
 *  A row with NaN or inf, or whose score overflows the output's type, scores NaN: EROW. A score that
 *  underflows keeps its sign. Thread-safe, allocates nothing. */
CPB_CALL cpb_status cpb_region_scores(const cpb_region *region, cpb_view x, cpb_out scores,
                                      const cpb_exec *exec, cpb_error *error);

CPB_END
#endif
