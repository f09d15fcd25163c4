/* Fits in pieces, and what rows are like: norms, columns, cosines.
 *
 * Advanced: can change between releases. */
#ifndef CAPBALL_ADVANCED_FITTING_H
#define CAPBALL_ADVANCED_FITTING_H

#include "capball/advanced/rounds.h"
#include "capball/advanced/statistics.h"
#include "capball/sketch.h"

CPB_BEGIN

/** Where what is found of each column goes: cols places each, or NULL. */
typedef struct cpb_column_facts {
  double *mean, *median, *deviation; /* the last with 1/n; NaN for a column without a number */
} cpb_column_facts;

/** Mean, median and standard deviation of every column, of the numbers that are finite. The rows are held. */
CPB_CALL cpb_status cpb_columns_fit(cpb_source *rows, const cpb_column_facts *facts, const cpb_exec *exec,
                                    cpb_error *error);

/** How statistics are gathered. Start from cpb_statistics_fit_options_init. */
typedef struct cpb_statistics_fit_options {
  size_t size;
  size_t sample;     /* rows of the sample, at most; default 4096 */
  uint64_t seed;     /* of the sample; default 0 */
  uint64_t first_id; /* number of the first row, where the source is a piece of a whole; default 0 */
  bool skip_bad;     /* leave rows with NaN or inf out; default false */
} cpb_statistics_fit_options;

CPB_API void cpb_statistics_fit_options_init(cpb_statistics_fit_options *options, size_t size);

/** Pass 1 over the source; gives *statistics. Whole numbers of 32 and 64 bits are gathered as f64. */
CPB_CALL cpb_status cpb_statistics_fit(cpb_source *rows, const cpb_statistics_fit_options *options,
                                       cpb_statistics **statistics, const cpb_exec *exec, cpb_error *error);

/** Pass 2: takes the norms of the source's rows about the mean in; begins pass 2 where it has not begun. Rows that
 *  pass 1 left out are left out. */
CPB_CALL cpb_status cpb_statistics_fit_norms(cpb_statistics *statistics, cpb_source *rows,
                                             const cpb_exec *exec, cpb_error *error);

/** The passes that cpb_map_fit makes, for sources that can be read only once. */
CPB_API size_t cpb_map_fit_passes(const cpb_map_fit_options *options);

/** A map from gathered statistics, about their mean, as cpb_map_fit; of the options s, goal, target, k and pole count. Goals
 *  mean, median and hemisphere want pass 2 of all rows. */
CPB_CALL cpb_status cpb_map_from_statistics(cpb_statistics *statistics, const cpb_map_fit_options *options,
                                            cpb_map **map, cpb_map_fit_report *report, const cpb_exec *exec,
                                            cpb_error *error);

/** A model from rounds over pieces that are done, as cpb_model_fit: the ball of cpb_ball_rounds, or of cpb_svdd_rounds (which list no support vectors).
 *  rows     how many rows there were
 *  scores   cpb_model_scores of all rows or of a sample, for the quantiles; sorted by the call. NULL, 0: no quantiles */
CPB_CALL cpb_status cpb_model_from_ball_rounds(const cpb_ball_rounds *from, uint64_t rows, double *scores,
                                               size_t count, cpb_model **model, cpb_error *error);
CPB_CALL cpb_status cpb_model_from_svdd_rounds(const cpb_svdd_rounds *from, uint64_t rows, double *scores,
                                               size_t count, cpb_model **model, cpb_error *error);

/** The scores of all rows of a source, cpb_model_scores; gives *scores, *count of them, which cpb_free takes back.
 *  EROW names the first row without a score. */
CPB_CALL cpb_status cpb_model_score_source(const cpb_model *model, cpb_source *rows, double **scores,
                                           size_t *count, const cpb_exec *exec, cpb_error *error);

/** A sketch from gathered statistics, as cpb_sketch_fit, of whose sample as many rows as they hold are looked at; of the options `sample`
 *  and `skip_bad` do not count. Goals mean, median and hemisphere want pass 2 of all rows. */
CPB_CALL cpb_status cpb_sketch_from_statistics(cpb_statistics *statistics,
                                               const cpb_sketch_fit_options *options, cpb_sketch **sketch,
                                               cpb_sketch_fit_report *report, const cpb_exec *exec,
                                               cpb_error *error);

/** What is asked of norms. Start from cpb_norms_fit_options_init. */
typedef struct cpb_norms_fit_options {
  size_t size;
  const double *center; /* d coordinates; NULL = 0 */
  size_t bars;          /* of the histogram, at most 64; 0 (the default): none, and no second pass */
} cpb_norms_fit_options;

CPB_API void cpb_norms_fit_options_init(cpb_norms_fit_options *options, size_t size);

/** The norms |x-c| of all rows but those with NaN or inf. */
typedef struct cpb_norms_report {
  size_t size;
  uint64_t rows;                 /* all */
  uint64_t nan_rows, inf_rows;   /* not in the norms; inf: or a norm beyond double */
  uint64_t first_bad;            /* the first of them */
  double min, mean, median, max; /* NaN without norms; the median is that of the lower middle */
  bool exact;  /* median and histogram are by the norms themselves (the median within 2^-30), not by bins of
                      relative width 2^-12, which is all that one pass over more than 2^20 rows gives */
  size_t bars; /* as asked for, but 1 where all norms are equal */
  double edges[65];    /* bars+1: of equal width, or equal in the logarithm where max > 20 median */
  uint64_t counts[64]; /* norms with edges[i] <= norm < edges[i+1]; the last bar has its end */
} cpb_norms_report;

/** Measures the norms; a second pass only for bars of more than 2^20 rows, and not where the source refuses to be
 *  rewound. Rows with NaN or inf are counted. */
CPB_CALL cpb_status cpb_norms_fit(cpb_source *rows, const cpb_norms_fit_options *options,
                                  cpb_norms_report *report, const cpb_exec *exec, cpb_error *error);

/** What is asked of the cosines of pairs. Start from cpb_cosines_options_init. */
typedef struct cpb_cosines_options {
  size_t size;
  double s;      /* the scale, > 0; 0 (the default): the mean norm of the sample about the mean */
  size_t sample; /* rows, all pairs of which are looked at; default 500 */
  uint64_t seed;
  bool skip_bad;
} cpb_cosines_options;

CPB_API void cpb_cosines_options_init(cpb_cosines_options *options, size_t size);

/** Cosines of pairs of rows about the mean, and of their images. */
typedef struct cpb_cosines {
  size_t size;
  double s;
  size_t pairs;
  double *before, *after;         /* pairs each; given to the caller, who takes them back by cpb_free */
  double correlation, slope, rms; /* of after against before; rms of the differences */
} cpb_cosines;

/** cos(x-m, y-m) against <S(x-m), S(y-m)> for all pairs of a sample.                                   T8 T9 */
CPB_CALL cpb_status cpb_cosines_fit(cpb_source *rows, const cpb_cosines_options *options,
                                    cpb_cosines *cosines, const cpb_exec *exec, cpb_error *error);

CPB_END
#endif
