/* T14: a row as a code and numbers. z = (x-m)/s, and c = G z its projections on the n directions; the row is approximated by
 * f G^T v.
 *
 * Joined sketches: v is made of the centres of the bytes, each the nearest one to its part of c, and f = <c,v>/|v|^2, so that f G^T v
 * is the nearest multiple to z. The code has the number of each centre, and of f and e >= |z - f G^T v| in their tables.
 *
 * Principal sketches, of earlier releases: levels v are odd integers, |v_i| < 2^b: the signs of c for b = 1; f = |c|^2/<c,v> makes
 * the estimate of <z,w>, f <v, G w>, exact for w = z. The code stores u_i = (v_i + 2^b - 1)/2, b bits each, and |z|^2, f and e.
 *
 * e is rounded up, with all errors of its computation. */
#ifndef CPB_SKETCH_LEVELS_H
#define CPB_SKETCH_LEVELS_H

#include "sketch/t14_sketch.h"

/* Lengths are in units of s. */
typedef struct cpb_row_factors {
  double size2; /* |z|^2, rounded; joined: unknown, 0 */
  double f;     /* exactly the number that e belongs to */
  double e;     /* inf if the row is beyond the range of its type */
} cpb_row_factors;

/* Largest level: 2^bits_per - 1. */
static inline int cpb_level_top(size_t bits_per) { return (1 << bits_per) - 1; }

/* Level of direction i in the bits of a code. */
static inline int cpb_level_at(const uint8_t *code, size_t bits_per, size_t i) {
  int top = cpb_level_top(bits_per);
  return 2 * (code[i * bits_per / 8] >> i * bits_per % 8 & top) - top;
}

/* How factors are stored. f is about |z|/(sqrt(n) top): multiplied by `scale`, a power of two, it has the magnitude of |z|. */
typedef struct cpb_factor_form {
  const cpb_sketch_options *joined; /* NULL: the sketch is a principal one */
  double factors[256], bounds[256]; /* joined: the tables of f and e */
  cpb_dtype dtype;
  size_t bytes; /* of each */
  double most, scale, unscale;
  double
      loose; /* what rounding and directions that are not quite orthonormal can add to |z - f G^T v|^2, relatively */
} cpb_factor_form;

cpb_factor_form cpb_factor_form_of(const cpb_sketch_options *o);

/* The factors of a code; `at` points behind its bits. */
cpb_row_factors cpb_factors_get(const cpb_factor_form *form, const uint8_t *at);

/* v of a code, n numbers; returns |v|^2. */
double cpb_code_values(const cpb_sketch *sketch, const uint8_t *code, double *v);

/* z <- *factor z, by a power of two, so that its largest element is near 1. False if it holds NaN or inf. */
bool cpb_scale_to_one(double *z, size_t d, double *factor);

/* cpb_sketch_encode for sketches that estimate. */
cpb_status cpb_levels_encode(const cpb_sketch *sketch, cpb_view x, uint8_t *codes, const cpb_exec *exec,
                             cpb_error *error);

#endif
