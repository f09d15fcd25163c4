/* Mercer kernels: rows of the matrix k(x_i, x_j), the solver of their dual, and SVDD in feature space. */
#ifndef CPB_BALL_SMO_H
#define CPB_BALL_SMO_H

#include <stdint.h>

#include "capball/ball.h"
#include "capball/exec.h"
#include "loops/table.h"

/* ---- Rows of the matrix k(x_i, x_j) of a Mercer kernel. ---- */

typedef struct cpb_kernel_rows {
  const cpb_loops *loops;
  const cpb_exec *exec;
  const cpb_kernel *kernel;
  cpb_view x;
  const double *cap; /* rows with cap 0 are ignored */
  double *diagonal;  /* k(x_i,x_i) */
} cpb_kernel_rows;

cpb_status cpb_check_kernel(const cpb_kernel *kernel, cpb_error *error);

/* Computes the diagonal; EROW for a row that is not finite. */
cpb_status cpb_kernel_rows_look(cpb_kernel_rows *rows, cpb_error *error);

/* to[j] = k(x_i, x_j) for all j. `rows` is a cpb_kernel_rows. */
void cpb_kernel_rows_row(void *rows, size_t i, double *to);

/* to[j] = sum_i a_i k(x_i, x_j), using the rows with a_i != 0; scratch: n numbers. */
void cpb_kernel_rows_combine(cpb_kernel_rows *rows, const double *a, double *to, double *scratch);

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

/* Caches up to 256 MiB of rows. Frees what it allocated. */
cpb_status cpb_smo_solve(cpb_smo *smo);

/* The best filling at given slopes: the caps of the rows with the largest slopes, in full except for the last.
 * Returns its sum of part times slope. part: n numbers, or NULL; edge: the slope of its last row. */
cpb_status cpb_smo_fill(const double *slope, const double *cap, size_t n, double *part, double *value,
                        double *edge);

/* ---- T11 in the feature space of a Mercer kernel; cpb_model_fit calls it. ---- */

/* z_j = k(x_i, y_j) for one row i of x and all rows of y. */
void cpb_kernel_row(const cpb_kernel *kernel, cpb_view x, size_t i, cpb_view y, double *z);

/** cpb_svdd in the feature space of a kernel, for n up to some ten thousand; start and max_iterations are unused. T8, T11
 *  multipliers  n numbers a_i >= 0 of sum 1, the caller's: the centre is sum a_i phi(x_i), by any method
 *  norm2        |c|^2 = sum a_i a_j k(x_i,x_j), 1 number: with it the score of a point is
 *               R^2 - (k(x,x) - 2 sum a_i k(x_i,x) + norm2)
 *  report       in squared units of the feature space; iterations are steps, or rounds of the SVM
 *  Also EROW for a row whose k(x,x) overflows. */
cpb_status cpb_kernel_svdd(cpb_view x, const cpb_kernel *kernel, const cpb_svdd_options *options,
                           double *multipliers, double *norm2, cpb_svdd_report *report, const cpb_exec *exec,
                           cpb_error *error);

#endif
