/* The state behind the public covariance, for the files that share it. */
#ifndef CPB_SCALE_COVARIANCE_PARTS_H
#define CPB_SCALE_COVARIANCE_PARTS_H

#include "capball/advanced/statistics.h"
#include "scale/pair_sums.h"

/* Every row gets one more coordinate, 1: the products with it are the sums of the columns. */
struct cpb_covariance {
  size_t d;
  uint64_t rows, nan_rows, inf_rows; /* rows counts those held, too */
  cpb_pair_sums sums;                /* d+1 columns */
  size_t wide, held;                 /* columns with padding; rows that are not in the sums yet */
  double *row;                       /* CPB_COVARIANCE_SLAB x wide; NULL before the first row */
  double *limb;                      /* CPB_LIMBS times as many */
};
enum { CPB_COVARIANCE_SLAB = 512, CPB_LIMBS = 4 };

/* Takes the rows that are held into the sums. */
cpb_status cpb_covariance_flush(cpb_covariance *covariance, const cpb_exec *exec, cpb_error *error);

/** Rows taken in so far. */
uint64_t cpb_covariance_rows(const cpb_covariance *covariance);
/** Rows left out so far, NaN and inf together. */
uint64_t cpb_covariance_bad_rows(const cpb_covariance *covariance);

#endif
