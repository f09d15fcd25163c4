/* Point sets that are hard for enclosing balls: random, cospherical, collinear, repeated, lattices, of any size
 * from 1e-300 to 1e150. */
#ifndef CPB_TEST_POINT_SETS_H
#define CPB_TEST_POINT_SETS_H

#include <stddef.h>
#include <stdint.h>

typedef struct point_set {
  const char *name;
  size_t n, d;
  double *x; /* n rows of d; the caller frees it */
} point_set;

/* Set number i of a sequence that cycles through the kinds; d <= most_d, n at most a few hundred. */
point_set point_set_make(uint64_t i, size_t most_d);

#endif
