/* The state of the public statistics, for the two files that share it. */
#ifndef CPB_SCALE_STATISTICS_PARTS_H
#define CPB_SCALE_STATISTICS_PARTS_H

#include "capball/advanced/statistics.h"
#include "scale/column_sums.h"
#include "scale/id_sums.h"
#include "scale/norm_sketch.h"
#include "scale/row_sample.h"

struct cpb_statistics {
  cpb_statistics_options options;
  uint64_t rows, nan_rows, inf_rows;
  cpb_id_sums ids; /* of all of them */
  cpb_column_sums columns;
  cpb_row_sample sample;
  double *mean;    /* set by finish and begin_norms; by restart if there are no rows */
  bool has_norms;  /* pass 2 */
  uint64_t origin; /* pass 2: checksum of the state of pass 1 */
  cpb_norm_sketch norms;
  uint64_t norm_rows; /* pass 2: rows seen, including those without a norm */
};

/* The mean of the rows, if there are any. */
void cpb_statistics_set_mean(cpb_statistics *statistics);

/* EINVAL when a row has certainly been given twice in a pass. */
cpb_status cpb_statistics_check_ids(const cpb_statistics *statistics, cpb_error *error);

#endif
