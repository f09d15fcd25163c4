/* T8 for one pair of points: inner products and distances of one space computed in the other.
 *
 * Errors are in u = 2^-53, for arguments each accurate to 1u, lengths and s within 1e-150 .. 1e150. Where a
 * difference of the arguments loses digits, the bound names what it loses against; no other form of the same
 * arguments does better. */
#ifndef CPB_GEOMETRY_PRODUCTS_H
#define CPB_GEOMETRY_PRODUCTS_H

#include "capball/status.h"

/** Qx = |H(x)|^2 = <x,x> + (s-<x,u>)^2/w^2; for the pole e (xu = 0, w = 1) it is <x,x> + s^2. T8
 *  Error <= 16u Qx/|w|. */
double cpb_lift_norm2(double xx, double xu, double w, double s);

/** D = |x-y|^2 + (<x,u>-<y,u>)^2/w^2, the squared distance of the lifts; |x-y|^2 for the pole e. T8
 *  Error <= 16u (D + (|<x,u>|+|<y,u>|) sqrt(D)/|w|). */
double cpb_lift_dist2(double dist2, double xu, double yu, double w);

/** |x^-y^|^2 = 4 s^2 D/(Qx Qy), without overflow for any finite arguments.                       T8
 *  Error <= 16u of itself. NaN when Qx or Qy is inf. */
double cpb_embedded_dist2(double D, double Qx, double Qy, double s);

/** <x^,y^> = 1 - 2 s^2 D/(Qx Qy). Error <= 16u; exactly 1 for D = 0.                             T8 */
double cpb_embedded_product(double D, double Qx, double Qy, double s);

/** 1+y0 of a unit row y = (y',y0), |y'|^2 given: by |y'|^2/(1-y0) where 1+y0 would cancel.  T1, T8
 *  This is the argument `rise` below; for a general pole it is 1+<y,v> = |y+v|^2/2.
 *  Error <= 16u of itself in both hemispheres. */
double cpb_rise(double y0, double norm2_rest);

/** |x-y|^2 = s^2 |x^-y^|^2/(rise_x rise_y), pole e. Error <= 16u of itself.                       T8 */
double cpb_original_dist2(double dist2_hat, double rise_x, double rise_y, double s);

/** <x,y> = s^2 (<x^,y^> - x0 y0)/(rise_x rise_y), pole e.                                         T8
 *  Error <= 16u of itself for the numbers as given; their own rounding costs
 *  16u (s^2/(rise_x rise_y) + |x||y|), much more than |x||y| near the poles. */
double cpb_original_product(double product_hat, double x0, double y0, double rise_x, double rise_y, double s);

/** The same for a general pole v = (u,w); x0, y0 are the last coordinates, rise = 1+<.,v>:       T8
 *  |x-y|^2 = s^2 (|x^-y^|^2/(rise_x rise_y) - ((x0+w)/rise_x - (y0+w)/rise_y)^2)
 *  never below 0. Error <= 16u (D + h(g + u h)), D = s^2 |x^-y^|^2/(rise_x rise_y) <= |x-y|^2/w^2,
 *  g = |<x,u>-<y,u>|/|w| and h = s(|x0|+|w|)/rise_x + s(|y0|+|w|)/rise_y. */
double cpb_original_dist2_pole(double dist2_hat, double x0, double y0, double rise_x, double rise_y, double w,
                               double s);

/** <x,y> = s^2 (1 + <x^,y^> + <x^,v> + <y^,v> - (x0+w)(y0+w))/(rise_x rise_y)                     T8
 *  Error <= 16u s^2/(rise_x rise_y). */
double cpb_original_product_pole(double product_hat, double x0, double y0, double rise_x, double rise_y,
                                 double w, double s);

#endif
