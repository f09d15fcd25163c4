/* Rows as unit directions and norms about a centre, in double, laid out for tiles of a matrix product. */
#ifndef CPB_SCALE_DIRECTIONS_H
#define CPB_SCALE_DIRECTIONS_H

#include "capball/exec.h"
#include "capball/view.h"

enum { CPB_DIRECTIONS_BLOCK = 192 }; /* a multiple of both sides of a tile */

typedef struct cpb_directions {
  size_t n, d;
  size_t rows, stride; /* n and d rounded up; elements beyond n or d are 0 */
  double *unit;        /* rows x stride; a row at the centre is 0 */
  double *norm;        /* rows */
} cpb_directions;

/* EROW for a row with NaN or inf, or whose norm is beyond double. Must also be freed after a failure. */
cpb_status cpb_directions_new(cpb_directions *directions, cpb_view x, const double *center,
                              const cpb_exec *exec, cpb_error *error);
void cpb_directions_free(cpb_directions *directions);

#endif
