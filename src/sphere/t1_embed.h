/* T1, and T2 of which it is the case u = 0, w = 1: what one row needs beyond its own coordinates.
 *
 * With z = x - s u, n = |z|^2, k = <z,u>/w:   y' = scale z + along u,   y0 = last. */
#ifndef CPB_SPHERE_T1_EMBED_H
#define CPB_SPHERE_T1_EMBED_H

#include <stdbool.h>

typedef struct cpb_row_image {
  double scale, along, last;
} cpb_row_image;

/* S at scale s of a row with square norm n and slope k; see cpb_row_in_range. */
cpb_row_image cpb_embed_row(double n, double k, double w, double s);

/* True when cpb_embed_row keeps all digits; otherwise scale z and s by a common power of two first. */
bool cpb_row_in_range(double n, double k, double s);

/* x' = cpb_unembed_scale * (y+v)' for a unit row y with gap = |y+v|^2 > 0. */
double cpb_unembed_scale(double gap, double s);

/* A power of two that brings `largest` (> 0, finite) near 1 without leaving the range of double. */
double cpb_unit_power(double largest);

#endif
