/* Norms |W(x-c)| of all rows of a source: exact sum, extremes, median. */
#ifndef CPB_FIT_NORMS_H
#define CPB_FIT_NORMS_H

#include "fit/passes.h"
#include "scale/norm_sketch.h"

typedef struct cpb_norm_fit {
  const double *center;   /* NULL = 0 */
  const double *whiten;   /* W, lower triangular; NULL = I */
  cpb_norm_sketch sketch; /* of the norms that are finite */
  uint64_t nan_rows, inf_rows, first_bad;
  double *kept; /* the first norms, in order, at most CPB_NORMS_KEPT */
  size_t kept_count;
} cpb_norm_fit;

enum { CPB_NORMS_KEPT = 1 << 20 };

cpb_status cpb_norm_fit_init(cpb_norm_fit *fit, const double *center, const double *whiten, cpb_error *error);
void cpb_norm_fit_free(cpb_norm_fit *fit);

/* One pass: sketch, counts, the first norms. */
cpb_status cpb_norm_fit_run(cpb_norm_fit *fit, cpb_passes *passes, cpb_error *error);

/* Iterates over every finite norm again, from the stored ones if these are all, else by another pass. */
cpb_status cpb_norm_fit_again(cpb_norm_fit *fit, cpb_passes *passes,
                              void (*take)(void *arg, const double *norms, size_t count), void *arg,
                              cpb_error *error);

/* Whether that needs no pass. */
bool cpb_norm_fit_kept_all(const cpb_norm_fit *fit);

double cpb_norm_fit_mean(cpb_norm_fit *fit);

/* The norm of the lower middle rank, within 2^-13 of itself by the sketch alone; `refined` by cpb_norm_fit_again
 * into `fine`, within 2^-30. */
typedef struct cpb_fine_median {
  uint64_t prefix, rank; /* bits of the bin that holds the median, and its rank inside */
  uint64_t *bins;
  double low, high; /* of all norms */
} cpb_fine_median;

cpb_status cpb_fine_median_init(cpb_fine_median *fine, const cpb_norm_fit *fit, cpb_error *error);
void cpb_fine_median_take(cpb_fine_median *fine, const double *norms, size_t count);
double cpb_fine_median_value(const cpb_fine_median *fine);
void cpb_fine_median_free(cpb_fine_median *fine);

#endif
