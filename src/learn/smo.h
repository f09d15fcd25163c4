/* The concave form of capped_dual.h where only products of rows are known:
 *
 *   maximise  sum a_i q_i - sum a_i a_j g_ij      over  0 <= a_i <= cap_i, sum a = 1
 *
 * D_i = q_i - 2 (ga)_i is its slope. Optimal multipliers fill the largest D first; as long as a row that can
 * give has a smaller D than one that can take, weight moves between such a pair, the one that gains most. The
 * largest such difference bounds the gap, because the multipliers add up to 1. */
#ifndef CPB_LEARN_SMO_H
#define CPB_LEARN_SMO_H

#include <stdint.h>

#include "capball/exec.h"

typedef struct cpb_smo {
  /* the problem, set by the caller */
  size_t n;
  void (*row)(void *context, size_t i, double *to); /* g_i1 .. g_in */
  void *context;
  const double *height;   /* n numbers q, or NULL: 0 */
  const double *diagonal; /* n numbers g_ii */
  const double *cap;      /* n numbers, sum >= 1 */
  double gap;             /* wanted, relative to the bounds */
  const cpb_exec *exec;   /* for progress reports */
  cpb_error *error;       /* for the error when it is stopped */
  /* the result */
  double *a; /* n numbers: a feasible start, then the multipliers */
  double upper, lower, norm2;
  double edge; /* D where the weight is used up; the mean over the rows in part, if any */
  size_t iterations;
  /* the solver's own */
  double *slope;
  double *cache; /* room rows of n */
  size_t room;
  size_t *owner;  /* row cached in a slot, n: none */
  size_t *slot;   /* slot of a row, room: none */
  uint64_t *used; /* when a slot was used last */
  uint64_t now;
} cpb_smo;

/* A feasible start: the caps of the first rows until they add up to 1. */
void cpb_smo_start(const double *cap, size_t n, double *a);

/* Caches up to 256 MB of rows. Frees what it allocated. */
cpb_status cpb_smo_solve(cpb_smo *smo);

/* The best filling at given slopes: the caps of the rows with the largest slopes, in full except for the last.
 * Returns its sum of part times slope. part: n numbers, or NULL; edge: the slope of its last row. */
cpb_status cpb_smo_fill(const double *slope, const double *cap, size_t n, double *part, double *value,
                        double *edge);

#endif
