/* The state of the public covariance, for the files that share it. */
#ifndef CPB_SCALE_COVARIANCE_PARTS_H
#define CPB_SCALE_COVARIANCE_PARTS_H

#include "capball/advanced/statistics.h"
#include "scale/pair_sums.h"

/* Every row gets an additional coordinate, 1: the products with it are the column sums. */
struct cpb_covariance {
  size_t d;
  uint64_t rows, nan_rows, inf_rows; /* rows includes those held */
  cpb_pair_sums sums;                /* d+1 columns */
  size_t wide, held;                 /* columns with padding; rows not yet in the sums */
  double *row;                       /* CPB_COVARIANCE_SLAB x wide; NULL before the first row */
  double *limb;                      /* CPB_LIMBS times as many */
};
enum { CPB_COVARIANCE_SLAB = 512, CPB_LIMBS = 4 };

/* Adds the held rows to the sums. */
cpb_status cpb_covariance_flush(cpb_covariance *covariance, const cpb_exec *exec, cpb_error *error);

/** Number of rows added so far. */
uint64_t cpb_covariance_rows(const cpb_covariance *covariance);
/** Number of rows skipped so far, with NaN or inf. */
uint64_t cpb_covariance_bad_rows(const cpb_covariance *covariance);

#endif
