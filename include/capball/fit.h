/* From rows to an object in one call.
 *
 * Each call reads one source of rows (cpb_source: an array, an opened file, the caller's own callbacks) as often
 * as it needs to, in blocks, and gives an object:
 *
 *   cpb_map_fit         centre, whitening and scale: a map                        T1 T2 T6 T7 T9 T13
 *   cpb_model_fit       the enclosing ball or SVDD, with quantiles of its scores  T10 T11
 *   cpb_transform_fit   centre and largest norm of a base: a lift, or a rival     T13
 *   cpb_sketch_fit      centre, scale and normals: a sketch                       T14
 *   cpb_recommend_fit   every transform measured on a sample                      T13
 *   cpb_statistics_fit  the statistics of T9's choice, to be merged with others
 *   cpb_norms_fit       what the norms of the rows are
 *   cpb_radius_fit      the usual distance of a neighbour, for ball queries
 *
 * Sums are exact, so that the blocks of the source cannot be seen in the result, and the same bits come out for
 * any number of threads. Memory is constant but for samples, d x d numbers with a whitening, one score per row in
 * a model, and where it is said that rows are held. NULL options are the defaults; NULL reports are fine.
 * A source is read from its first row, and left anywhere. exec->progress is told how far a fit is, and may end it
 * with ESTOPPED. Rows with NaN or inf are EROW, error->row counts from the first row of the source; with
 * `skip_bad` they are left out instead. */
#ifndef CAPBALL_FIT_H
#define CAPBALL_FIT_H

#include "capball/map.h"
#include "capball/model.h"
#include "capball/scale.h"
#include "capball/sketch.h"
#include "capball/transform.h"

#ifdef __cplusplus
extern "C" {
#endif

/** All rows of a source in memory, for calls that want a view: wide whole numbers as f64, else as they are. Gives
 *  *rows; rows->data goes back by cpb_free. */
CPB_API cpb_status cpb_source_hold(cpb_source *source, cpb_view *rows, const cpb_exec *exec,
                                   cpb_error *error);

/** Where what is found of each column goes: cols places each, or NULL. */
typedef struct cpb_column_facts {
  double *mean, *median, *deviation; /* the last with 1/n; NaN for a column without a number */
} cpb_column_facts;

/** Mean, median and standard deviation of every column, of the numbers that are finite. The rows are held. */
CPB_API cpb_status cpb_columns_fit(cpb_source *rows, const cpb_column_facts *facts, const cpb_exec *exec,
                                   cpb_error *error);

/* ---- statistics ---- */

/** How statistics are gathered. */
typedef struct cpb_statistics_fit_options {
  size_t size;
  size_t sample;     /* rows of the sample, at most; default 4096 */
  uint64_t seed;     /* of the sample; default 0 */
  uint64_t first_id; /* number of the first row, where the source is a piece of a whole; default 0 */
  bool skip_bad;     /* leave rows with NaN or inf out; default false */
} cpb_statistics_fit_options;

/** The defaults. */
CPB_API void cpb_statistics_fit_options_init(cpb_statistics_fit_options *options, size_t size);

/** Pass 1 over the source; gives *statistics. Whole numbers of 32 and 64 bits are gathered as f64. */
CPB_API cpb_status cpb_statistics_fit(cpb_source *rows, const cpb_statistics_fit_options *options,
                                      cpb_statistics **statistics, const cpb_exec *exec, cpb_error *error);

/** Pass 2: takes the norms of the source's rows about the mean in; begins pass 2 where it has not begun. Rows that
 *  pass 1 left out are left out. */
CPB_API cpb_status cpb_statistics_fit_norms(cpb_statistics *statistics, cpb_source *rows,
                                            const cpb_exec *exec, cpb_error *error);

/* ---- maps ---- */

/** What the centre of a map is. Pinned, append only. */
typedef enum cpb_centring {
  CPB_CENTRE_MEAN = 0,  /* of rows that are no doubles in floats, if no column moves by more than s/2^22 */
  CPB_CENTRE_NONE = 1,  /* 0 */
  CPB_CENTRE_GIVEN = 2, /* options.center */
} cpb_centring;

/** What kind of map is wanted. */
typedef struct cpb_map_fit_options {
  size_t size;
  double s;              /* the scale, > 0; 0 (the default): chosen by the goal */
  cpb_goal goal;         /* default CPB_GOAL_MEAN */
  double target;         /* of CPB_GOAL_RECALL, 0 < target < 1; default 0.99 */
  size_t k;              /* of CPB_GOAL_RECALL: neighbours; default 10 */
  cpb_centring centring; /* default CPB_CENTRE_MEAN */
  const double *center;  /* d coordinates, with CPB_CENTRE_GIVEN */
  const double *pole;    /* d+1 coordinates of length 1; NULL = e */
  bool whiten;           /* W with W^T W = cov(x)^-1, about the mean whatever the centre; default false */
  double ridge;          /* with whiten: the share of the mean variance that is added to the variance of every
                            column, for columns that do not vary or depend on others; >= 0, default 0 */
  bool spherical; /* rows are directions: their mean direction is turned to e, s = 1, the map's d is one
                            less than the source's columns; nothing of the above goes with it. Default false */
  bool skip_bad;  /* default false */
  size_t sample;  /* of the goals spread and recall: rows that are looked at; default 4096 */
  uint64_t seed;  /* of the sample; default 0 */
  const char *const *columns; /* names for the map to keep, one per column; NULL: those of the source */
} cpb_map_fit_options;

/** The defaults. */
CPB_API void cpb_map_fit_options_init(cpb_map_fit_options *options, size_t size);

/** What a fit has read, and why this scale. */
typedef struct cpb_map_fit_report {
  size_t size;
  uint64_t rows, bad_rows; /* taken, left out; 0 and 0 where no row had to be read */
  size_t passes;           /* reads of the source */
  cpb_choice *choice; /* why this scale: curves and the scales of other goals; NULL where nothing was chosen
                              from. Given to the caller, who takes it back by cpb_choice_free */
} cpb_map_fit_report;

/** Zeroes, for a caller of this size. */
CPB_API void cpb_map_fit_report_init(cpb_map_fit_report *report, size_t size);

/** Fits a map; gives *map to the caller.                                              T1 T2 T6 T7 T9 T13
 *    y = S(W(x-m)),  m = mean x,  W^T W = cov(x)^-1,  s by the goal: a norm |W(x-m)|, ABID, recall
 *  One pass for mean and sample, one for the covariance, one for norms, two for a median that is not about the
 *  mean alone. The median is within 2^-13 of itself, of whitened or other norms within 2^-30.
 *  EINVAL names what does not go together, a column that cannot be whitened, or a goal without a scale. */
CPB_API cpb_status cpb_map_fit(cpb_source *rows, const cpb_map_fit_options *options, cpb_map **map,
                               cpb_map_fit_report *report, const cpb_exec *exec, cpb_error *error);

/** The passes such a fit makes, for sources that can be read only once. */
CPB_API size_t cpb_map_fit_passes(const cpb_map_fit_options *options);

/** The same from gathered statistics, about their mean; of the options s, goal, target, k and pole count. Goals
 *  mean, median and hemisphere want pass 2 of all rows. */
CPB_API cpb_status cpb_map_from_statistics(cpb_statistics *statistics, const cpb_map_fit_options *options,
                                           cpb_map **map, cpb_map_fit_report *report, const cpb_exec *exec,
                                           cpb_error *error);

/* ---- balls ---- */

/** What kind of ball is wanted. */
typedef struct cpb_model_fit_options {
  size_t size;
  double nu;  /* the share of the rows that may lie outside, 0 < nu <= 1; 0 (the default): none, the smallest
                 enclosing ball */
  double gap; /* wanted relative gap, >= 0; default 1e-9 */
  cpb_svdd_method method; /* with nu; default CPB_SVDD_EXACT */
  cpb_kernel kernel;      /* with nu; default linear. gamma = 0: 1/columns */
  bool whiten;            /* |W(x-c)| with W^T W = cov(x)^-1 for |x-c|; not with a kernel. Default false */
  double ridge;           /* as in cpb_map_fit_options */
  const double *weights;  /* with nu: one weight >= 0 per row; NULL: all 1 */
  uint64_t weight_count;  /* of them: the rows there must be */
  bool standardize; /* every column is divided by its standard deviation, one that does not vary stays; with
                             whiten first, so that the ridge is a share of 1. Not with a kernel. Default false */
  const char *const *columns; /* names for the model to keep, one per column; NULL: those of the source */
} cpb_model_fit_options;

/** The defaults. */
CPB_API void cpb_model_fit_options_init(cpb_model_fit_options *options, size_t size);

/** What the fit took; how good the ball is, is part of the model. */
typedef struct cpb_model_fit_report {
  size_t size;
  size_t iterations; /* reads of the rows, rounds or steps of the method */
  double seconds;
} cpb_model_fit_report;

/** Zeroes, for a caller of this size. */
CPB_API void cpb_model_fit_report_init(cpb_model_fit_report *report, size_t size);

/** Fits a ball; gives *model to the caller, with 101 quantiles of the scores of the rows.           T10 T11
 *    min_c max |x-c|,   or   min R^2 + 1/(nu n) sum max(0, |x-c|^2 - R^2)
 *  Without nu and whitening the source is read a few times and no row is held; else the rows are held, unless the
 *  source has them in memory. Support vectors are listed up to 10000, with a kernel all.
 *  EINVAL names an option, a weight, or data without a ball of radius > 0. */
CPB_API cpb_status cpb_model_fit(cpb_source *rows, const cpb_model_fit_options *options, cpb_model **model,
                                 cpb_model_fit_report *report, const cpb_exec *exec, cpb_error *error);

/** The same from rounds over pieces that are done: the ball of cpb_ball_rounds, or of cpb_svdd_rounds (which list no support vectors).
 *  rows     how many rows there were
 *  scores   cpb_model_scores of all rows or of a sample, for the quantiles; sorted by the call. NULL, 0: no quantiles */
CPB_API cpb_status cpb_model_from_ball_rounds(const cpb_ball_rounds *from, uint64_t rows, double *scores,
                                              size_t count, cpb_model **model, cpb_error *error);
CPB_API cpb_status cpb_model_from_svdd_rounds(const cpb_svdd_rounds *from, uint64_t rows, double *scores,
                                              size_t count, cpb_model **model, cpb_error *error);

/** The scores of all rows of a source, cpb_model_scores; gives *scores, *count of them, which cpb_free takes back.
 *  EROW names the first row without a score. */
CPB_API cpb_status cpb_model_score_source(const cpb_model *model, cpb_source *rows, double **scores,
                                          size_t *count, const cpb_exec *exec, cpb_error *error);

/* ---- transforms, sketches, recommendations ---- */

/** Fits a transform to a base: its mean where the kind is centred, its largest norm where it is bounded; a kind
 *  that is neither reads nothing. Gives *transform to the caller.                                        T13
 *  skip_bad   leave rows with NaN or inf out */
CPB_API cpb_status cpb_transform_fit(cpb_source *base, cpb_transform_kind kind, bool skip_bad,
                                     cpb_transform **transform, const cpb_exec *exec, cpb_error *error);

/** What kind of sketch is wanted. */
typedef struct cpb_sketch_fit_options {
  size_t size;
  const cpb_sketch_training *training; /* NULL: the defaults. s and center: see below */
  const cpb_map *map;                  /* a centre and a scale, no more; NULL: of the rows */
  double s;                            /* without a map: the scale, > 0; 0 (the default): by the goal */
  cpb_goal goal;                       /* default CPB_GOAL_MEAN */
  double target;                       /* of CPB_GOAL_RECALL; default 0.99 */
  size_t k;                            /* of CPB_GOAL_RECALL; default 10 */
  size_t sample;                       /* rows the training sees; default 8192 */
  bool skip_bad;                       /* default false */
} cpb_sketch_fit_options;

/** The defaults. */
CPB_API void cpb_sketch_fit_options_init(cpb_sketch_fit_options *options, size_t size);

/** What was read, beside the report of the training. */
typedef struct cpb_sketch_fit_report {
  size_t size;
  uint64_t rows, bad_rows; /* taken, left out */
  size_t sample;           /* rows the training saw */
  cpb_sketch_report training;
} cpb_sketch_fit_report;

/** Zeroes, for a caller of this size. */
CPB_API void cpb_sketch_fit_report_init(cpb_sketch_fit_report *report, size_t size);

/** Trains a sketch on a sample of the source; gives *sketch to the caller. One pass, two for the goals mean, median
 *  and hemisphere. The sample has the seed of the training.                                                 T14 */
CPB_API cpb_status cpb_sketch_fit(cpb_source *rows, const cpb_sketch_fit_options *options,
                                  cpb_sketch **sketch, cpb_sketch_fit_report *report, const cpb_exec *exec,
                                  cpb_error *error);

/** The same from gathered statistics, of whose sample as many rows as they hold are looked at; of the options `sample`
 *  and `skip_bad` do not count. Goals mean, median and hemisphere want pass 2 of all rows. */
CPB_API cpb_status cpb_sketch_from_statistics(cpb_statistics *statistics,
                                              const cpb_sketch_fit_options *options, cpb_sketch **sketch,
                                              cpb_sketch_fit_report *report, const cpb_exec *exec,
                                              cpb_error *error);

/** cpb_recommend on samples of sources: options->sample rows of the base, options->queries of the queries (NULL:
 *  rows of the base ask), options->seed of both.                                                         T13
 *  skip_bad   leave rows with NaN or inf out */
CPB_API cpb_status cpb_recommend_fit(cpb_source *base, cpb_source *queries, bool skip_bad,
                                     const cpb_recommend_options *options,
                                     cpb_recommendation **recommendation, const cpb_exec *exec,
                                     cpb_error *error);

/* ---- what rows are like ---- */

/** What is asked of norms. */
typedef struct cpb_norms_fit_options {
  size_t size;
  const double *center; /* d coordinates; NULL = 0 */
  size_t bars;          /* of the histogram, at most 64; 0 (the default): none, and no second pass */
} cpb_norms_fit_options;

/** The defaults. */
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

/** Zeroes, for a caller of this size. */
CPB_API void cpb_norms_report_init(cpb_norms_report *report, size_t size);

/** Measures the norms; a second pass only for bars of more than 2^20 rows, and not where the source refuses to be
 *  rewound. Rows with NaN or inf are counted. */
CPB_API cpb_status cpb_norms_fit(cpb_source *rows, const cpb_norms_fit_options *options,
                                 cpb_norms_report *report, const cpb_exec *exec, cpb_error *error);

/** What is asked of the cosines of pairs. */
typedef struct cpb_cosines_options {
  size_t size;
  double s;      /* the scale, > 0; 0 (the default): the mean norm of the sample about the mean */
  size_t sample; /* rows, all pairs of which are looked at; default 500 */
  uint64_t seed;
  bool skip_bad;
} cpb_cosines_options;

/** The defaults. */
CPB_API void cpb_cosines_options_init(cpb_cosines_options *options, size_t size);

/** Cosines of pairs of rows about the mean, and of their images. */
typedef struct cpb_cosines {
  size_t size;
  double s;
  size_t pairs;
  double *before, *after;         /* pairs each; given to the caller, who takes them back by cpb_free */
  double correlation, slope, rms; /* of after against before; rms of the differences */
} cpb_cosines;

/** Zeroes, for a caller of this size. */
CPB_API void cpb_cosines_init(cpb_cosines *cosines, size_t size);

/** cos(x-m, y-m) against <S(x-m), S(y-m)> for all pairs of a sample.                                   T8 T9 */
CPB_API cpb_status cpb_cosines_fit(cpb_source *rows, const cpb_cosines_options *options, cpb_cosines *cosines,
                                   const cpb_exec *exec, cpb_error *error);

/** The median, over a sample of the queries, of the distance of their k-th neighbour in the base: the radius for
 *  ball queries.                                                                                        T13 */
CPB_API cpb_status cpb_radius_fit(const cpb_map *map, cpb_source *queries, cpb_source *base, size_t k,
                                  double *radius, const cpb_exec *exec, cpb_error *error);

#ifdef __cplusplus
}
#endif
#endif
