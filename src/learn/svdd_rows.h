/* Prepares the rows of SVDD: in a unit in which their squares are normal doubles, with their mean. Rows of weight
 * 0 are ignored and never read. */
#ifndef CPB_LEARN_SVDD_ROWS_H
#define CPB_LEARN_SVDD_ROWS_H

#include "capball/exec.h"
#include "loop/table.h"

typedef struct cpb_svdd_rows {
  cpb_view x;     /* the caller's rows, or copies in units of 2^exponent */
  int exponent;   /* 0 unless squares of differences leave the safe range of double */
  double *origin; /* the mean, in that unit */
  double *copies;
} cpb_svdd_rows;

/* caps: the weight of each row, or NULL: all the same. EROW for the first row with a weight that is not finite,
 * ENOMEM; the rows are then empty. */
cpb_status cpb_svdd_rows_init(cpb_svdd_rows *rows, const cpb_loops *loops, cpb_view x, const double *caps,
                              const cpb_exec *exec, cpb_error *error);
void cpb_svdd_rows_free(cpb_svdd_rows *rows);

#endif
