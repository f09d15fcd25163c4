/* Rows of the matrix k(x_i, x_j) of a Mercer kernel. */
#ifndef CPB_LEARN_KERNEL_ROWS_H
#define CPB_LEARN_KERNEL_ROWS_H

#include "capball/ball.h"
#include "loop/table.h"

typedef struct cpb_kernel_rows {
  const cpb_loops *loops;
  const cpb_exec *exec;
  const cpb_kernel *kernel;
  cpb_view x;
  const double *cap; /* rows with cap 0 are ignored; NULL: all rows count */
  double *norm2;     /* <x_i,x_i> */
  double *diagonal;  /* k(x_i,x_i) */
} cpb_kernel_rows;

cpb_status cpb_check_kernel(const cpb_kernel *kernel, cpb_error *error);

/* Computes norms and the diagonal; EROW for a row that is not finite. */
cpb_status cpb_kernel_rows_look(cpb_kernel_rows *rows, cpb_error *error);

/* to[j] = k(x_i, x_j) for all j. `rows` is a cpb_kernel_rows. */
void cpb_kernel_rows_row(void *rows, size_t i, double *to);

/* to[j] = sum_i a_i k(x_i, x_j), using the rows with a_i != 0; scratch: n numbers. */
void cpb_kernel_rows_combine(cpb_kernel_rows *rows, const double *a, double *to, double *scratch);

#endif
