/* A point of norm |x| on the sphere, seen from the side: y = (h u, z) with u = x/|x|; T1 as T9 needs it. */
#ifndef CPB_SCALE_HEIGHT_H
#define CPB_SCALE_HEIGHT_H

/* h = 2 r/(1+r^2), z = (1-r^2)/(1+r^2), r = |x|/s; divides by the larger of norm and s, so that nothing overflows.
 * dh/dlog s = -h z, dz/dlog s = h^2. */
typedef struct cpb_height {
  double h, z;
} cpb_height;

static inline cpb_height cpb_height_of(double norm, double s) {
  int south = norm > s;
  double r = south ? s / norm : norm / s, q = 1 + r * r, z = (1 - r) * (1 + r) / q;
  return (cpb_height){2 * r / q, south ? -z : z};
}

/* The three functions of the norm that F(s) consists of, and their derivatives by log s. */
typedef struct cpb_height_terms {
  double hh, hz, zz;
} cpb_height_terms;

static inline cpb_height_terms cpb_height_values(cpb_height y) {
  return (cpb_height_terms){y.h * y.h, y.h * y.z, y.z * y.z};
}
static inline cpb_height_terms cpb_height_slopes(cpb_height y) {
  double hh = y.h * y.h;
  return (cpb_height_terms){-2 * y.z * hh, y.h * (hh - y.z * y.z), 2 * y.z * hh};
}

#endif
