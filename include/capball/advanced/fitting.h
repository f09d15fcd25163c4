/* A map from merged pieces, and what it does to cosines.
 *
 * Advanced: can change between releases. */
#ifndef CAPBALL_ADVANCED_FITTING_H
#define CAPBALL_ADVANCED_FITTING_H

#include "capball/advanced/statistics.h"
#include "capball/map.h"

CPB_BEGIN

/** The number of passes of cpb_map_fit, for sources that can be read only once. */
CPB_API size_t cpb_map_fit_passes(const cpb_map_fit_options *options);

/** A map from gathered statistics, about their mean, as cpb_map_fit; of the options only s, goal, target, k and pole
 *  are used. The goals mean, median and hemisphere need pass 2 over all rows. */
CPB_CALL cpb_status cpb_map_from_statistics(cpb_statistics *statistics, const cpb_map_fit_options *options,
                                            cpb_map **map, cpb_map_fit_report *report, const cpb_exec *exec,
                                            cpb_error *error);

/** How to compare cosines of pairs. Start from cpb_cosines_options_init. */
typedef struct cpb_cosines_options {
  size_t size;
  double s;      /* the scale, > 0; 0 (the default): the mean norm of the sample about the mean */
  size_t sample; /* number of rows, all pairs of which are compared; default 500 */
  uint64_t seed;
  bool skip_bad;
} cpb_cosines_options;
CPB_API void cpb_cosines_options_init(cpb_cosines_options *options, size_t size);

/** Cosines of pairs of rows about the mean, and of their images. */
typedef struct cpb_cosines {
  size_t size;
  double s;
  size_t pairs;
  double *before, *after;         /* pairs each; owned by the caller: free them with cpb_free */
  double correlation, slope, rms; /* of after against before; rms of the differences */
} cpb_cosines;

/** cos(x-m, y-m) against <S(x-m), S(y-m)> for all pairs of a sample.                                   T8 T9 */
CPB_CALL cpb_status cpb_cosines_fit(cpb_source *rows, const cpb_cosines_options *options,
                                    cpb_cosines *cosines, const cpb_exec *exec, cpb_error *error);

/** How much drift calls for a new fit. */
#define CPB_DRIFT 0.25

/** How far rows that come and go have left those that a map or transform was fitted to: *drift is the largest of
 *    |mean-center|/norm,   now/norm - 1,   norm/now - 1,     now = the mean of |x-center|
 *  0 without rows. Above CPB_DRIFT the fit should be repeated; its center and mean norm would be others.      T13
 *  center, norm   mean of the rows of the fit (NULL = 0), and mean norm about it, >= 0
 *  rows           of d, any dtype, that come (sign 1) or go (sign -1)
 *  sums           d+2 numbers of the caller, 0 at first, that each call updates: the number of rows, the sum of
 *                 |x-center|, and that of x-center
 *  EROW: a row with NaN or inf; the sums are then unchanged. */
CPB_CALL cpb_status cpb_fit_drift(const double *center, double norm, cpb_view rows, int sign, double *sums,
                                  double *drift, cpb_error *error);

CPB_END
#endif
