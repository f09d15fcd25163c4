/* Fits from merged pieces, and properties of rows: norms, columns, cosines.
 *
 * Advanced: can change between releases. */
#ifndef CAPBALL_ADVANCED_FITTING_H
#define CAPBALL_ADVANCED_FITTING_H

#include "capball/advanced/rounds.h"
#include "capball/advanced/statistics.h"
#include "capball/sketch.h"

CPB_BEGIN

/** Arrays for the results of each column: cols numbers each, or NULL. */
typedef struct cpb_column_facts {
  double *mean, *median, *deviation; /* the deviation with 1/n; NaN for a column without finite numbers */
} cpb_column_facts;

/** Mean, median and standard deviation of the finite numbers of every column. The rows are held in memory. */
CPB_CALL cpb_status cpb_columns_fit(cpb_source *rows, const cpb_column_facts *facts, const cpb_exec *exec,
                                    cpb_error *error);

/** How statistics are gathered. Start from cpb_statistics_fit_options_init. */
typedef struct cpb_statistics_fit_options {
  size_t size;
  size_t sample;     /* rows of the sample, at most; default 4096 */
  uint64_t seed;     /* of the sample; default 0 */
  uint64_t first_id; /* number of the first row, if the source is a part of the data; default 0 */
  bool skip_bad;     /* skip rows with NaN or inf; default false */
} cpb_statistics_fit_options;
CPB_API void cpb_statistics_fit_options_init(cpb_statistics_fit_options *options, size_t size);

/** Pass 1 over the source; the caller owns *statistics. 32- and 64-bit integers are gathered as f64. */
CPB_CALL cpb_status cpb_statistics_fit(cpb_source *rows, const cpb_statistics_fit_options *options,
                                       cpb_statistics **statistics, const cpb_exec *exec, cpb_error *error);

/** Pass 2: adds the norms of the source's rows about the mean; starts pass 2 if it has not started. Rows that
 *  pass 1 skipped are skipped. */
CPB_CALL cpb_status cpb_statistics_fit_norms(cpb_statistics *statistics, cpb_source *rows,
                                             const cpb_exec *exec, cpb_error *error);

/** The number of passes of cpb_map_fit, for sources that can be read only once. */
CPB_API size_t cpb_map_fit_passes(const cpb_map_fit_options *options);

/** A map from gathered statistics, about their mean, as cpb_map_fit; of the options only s, goal, target, k and pole
 *  are used. The goals mean, median and hemisphere need pass 2 over all rows. */
CPB_CALL cpb_status cpb_map_from_statistics(cpb_statistics *statistics, const cpb_map_fit_options *options,
                                            cpb_map **map, cpb_map_fit_report *report, const cpb_exec *exec,
                                            cpb_error *error);

/** A model from completed rounds over pieces, as cpb_model_fit: the ball of cpb_ball_rounds, or of cpb_svdd_rounds
 *  (which list no support vectors).
 *  rows     the total number of rows
 *  scores   cpb_model_scores of all rows or of a sample, for the quantiles; sorted in place. NULL, 0: no quantiles */
CPB_CALL cpb_status cpb_model_from_ball_rounds(const cpb_ball_rounds *from, uint64_t rows, double *scores,
                                               size_t count, cpb_model **model, cpb_error *error);
CPB_CALL cpb_status cpb_model_from_svdd_rounds(const cpb_svdd_rounds *from, uint64_t rows, double *scores,
                                               size_t count, cpb_model **model, cpb_error *error);

/** cpb_model_scores of all rows of a source: *count numbers; free *scores with cpb_free.
 *  EROW names the first row without a score. */
CPB_CALL cpb_status cpb_model_score_source(const cpb_model *model, cpb_source *rows, double **scores,
                                           size_t *count, const cpb_exec *exec, cpb_error *error);

/** A sketch from gathered statistics, as cpb_sketch_fit, trained on their sample; the options `sample` and
 *  `skip_bad` are ignored. The goals mean, median and hemisphere need pass 2 over all rows. */
CPB_CALL cpb_status cpb_sketch_from_statistics(cpb_statistics *statistics,
                                               const cpb_sketch_fit_options *options, cpb_sketch **sketch,
                                               cpb_sketch_fit_report *report, const cpb_exec *exec,
                                               cpb_error *error);

/** How to measure norms. Start from cpb_norms_fit_options_init. */
typedef struct cpb_norms_fit_options {
  size_t size;
  const double *center; /* d coordinates; NULL = 0 */
  size_t bars;          /* of the histogram, at most 64; 0 (the default): none, and no second pass */
} cpb_norms_fit_options;
CPB_API void cpb_norms_fit_options_init(cpb_norms_fit_options *options, size_t size);

/** The norms |x-c| of all rows except those with NaN or inf. */
typedef struct cpb_norms_report {
  size_t size;
  uint64_t rows;                 /* all */
  uint64_t nan_rows, inf_rows;   /* excluded; inf: or a norm beyond double */
  uint64_t first_bad;            /* the first of them */
  double min, mean, median, max; /* NaN without norms; the median is the lower one */
  bool exact;  /* median and histogram are from the norms themselves (the median within 2^-30), not from bins
                  of relative width 2^-12, which is all that one pass over more than 2^20 rows gives */
  size_t bars; /* as requested, but 1 if all norms are equal */
  double edges[65];    /* bars+1: of equal width, or of equal ratio if max > 20 median */
  uint64_t counts[64]; /* norms with edges[i] <= norm < edges[i+1]; the last bar includes its end */
} cpb_norms_report;

/** Measures the norms; a second pass is made only for bars of more than 2^20 rows, and if the source can be
 *  rewound. Rows with NaN or inf are counted. */
CPB_CALL cpb_status cpb_norms_fit(cpb_source *rows, const cpb_norms_fit_options *options,
                                  cpb_norms_report *report, const cpb_exec *exec, cpb_error *error);

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
