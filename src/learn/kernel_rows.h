/* Rows of the matrix k(x_i, x_j) of a Mercer kernel, and the paper's scheme on them. */
#ifndef CPB_LEARN_KERNEL_ROWS_H
#define CPB_LEARN_KERNEL_ROWS_H

#include "capball/ball.h"
#include "loop/table.h"

typedef struct cpb_kernel_rows {
  const cpb_loops *loops;
  const cpb_exec *exec;
  const cpb_kernel *kernel;
  cpb_view x;
  const double *cap; /* rows of cap 0 are not there; NULL: all are */
  double *norm2;     /* <x_i,x_i> */
  double *diagonal;  /* k(x_i,x_i) */
} cpb_kernel_rows;

/* to[j] = k(x_i, x_j) for all j. `rows` is a cpb_kernel_rows. */
void cpb_kernel_rows_row(void *rows, size_t i, double *to);

/* to[j] = sum_i a_i k(x_i, x_j), by the rows with a_i != 0; scratch: n numbers. */
void cpb_kernel_rows_combine(cpb_kernel_rows *rows, const double *a, double *to, double *scratch);

typedef struct cpb_kernel_cap {
  const double *cap; /* of each row, sum >= 1 */
  double gap;        /* of each SVM */
  bool paper;        /* one C for all */
  cpb_error *error;  /* what is said when it is stopped */
  /* the answer */
  double *a;      /* n multipliers of the last SVM */
  double *center; /* n coefficients >= 0 of sum 1: c = sum center_i phi(x_i) */
  double radius;
  size_t rounds;
  bool settled;
} cpb_kernel_cap;

/* T11's scheme in the feature space, on Gram rows embedded by T8. */
cpb_status cpb_kernel_cap_svm(cpb_kernel_rows *rows, cpb_kernel_cap *fit);

#endif
