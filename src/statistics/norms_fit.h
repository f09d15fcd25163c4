/* Norms |W(x-c)| of all rows of a source: exact sum, extremes, median. */
#ifndef CPB_STATISTICS_NORMS_FIT_H
#define CPB_STATISTICS_NORMS_FIT_H

#include "capball/advanced/statistics.h"
#include "statistics/norm_sketch.h"
#include "statistics/passes.h"

typedef struct cpb_norm_fit {
  const double *center;   /* NULL = 0 */
  const double *whiten;   /* W, lower triangular; NULL = I */
  cpb_norm_sketch sketch; /* of the norms that are finite */
  uint64_t nan_rows, inf_rows, first_bad;
  double *kept; /* the first norms, in order, at most CPB_NORMS_KEPT */
  size_t kept_count;
} cpb_norm_fit;

enum { CPB_NORMS_KEPT = 1 << 20 };

/* One pass; the norms are freed in any case. */
cpb_status cpb_norm_fit_run(cpb_norm_fit *fit, const double *center, const double *whiten, cpb_passes *passes,
                            cpb_error *error);
void cpb_norm_fit_free(cpb_norm_fit *fit);

double cpb_norm_fit_mean(cpb_norm_fit *fit);

/* The norm of the lower middle rank within 2^-30 of itself, from the stored norms if these are all, else by another
 * pass, which also counts the bars of a report unless it is NULL. */
cpb_status cpb_norm_fit_median(cpb_norm_fit *fit, cpb_passes *passes, cpb_norms_report *report,
                               double *median, cpb_error *error);

#endif
