/* Balls around data: the smallest one, one with a soft margin, and models: learned balls as objects and files.
 *
 * T10: the smallest ball around points, with a proof of its optimality.
 *
 *   R^2 = min_c max_i |x_i-c|^2 = max { sum a_i|x_i|^2 - |sum a_i x_i|^2 : a >= 0, sum a = 1 }
 *
 * Any centre gives an upper bound of R and any multipliers give a lower one; both are returned, with the
 * gap between them. A round reads the data once: the rows farthest from the current centre are added to a
 * working set, whose ball is computed exactly. Two to four rounds are typical, for any number of rows.
 * Cospherical, collinear or repeated points, d >> n and a single row need no special treatment; rows may
 * have any magnitude for which |x-c| is representable. */
#ifndef CAPBALL_BALL_H
#define CAPBALL_BALL_H

#include <stdbool.h>

#include "capball/region.h"

CPB_BEGIN

/** How the ball of the working set is computed. Both methods give the same ball. */
typedef enum cpb_ball_method {
  CPB_BALL_ACTIVE_SET = 0, /* Wolfe's method on the dual */
  CPB_BALL_CAPS = 1, /* the cap iteration: embed about the current centre with s = R, find the point of the
                              hull nearest to the pole, move to the centre of its cap's ball; cubic */
} cpb_ball_method;

/** Start from cpb_ball_options_init. */
typedef struct cpb_ball_options {
  size_t size;       /* sizeof(cpb_ball_options) */
  double gap;        /* requested (R^2 - lower^2)/R^2, >= 0; default 1e-9. The relative error of the radius is
                        at most half of it */
  size_t max_passes; /* limit of rounds over the data, >= 1; default 200 */
  cpb_ball_method method;
} cpb_ball_options;
CPB_API void cpb_ball_options_init(cpb_ball_options *options, size_t size);

/** Quality of the ball. The call succeeds even if the requested gap is not reached, for example for data so
 *  far from 0 that no double is close enough to the centre. Set its size. */
typedef struct cpb_ball_report {
  size_t size;        /* sizeof(cpb_ball_report) */
  bool converged;     /* gap <= the requested gap */
  double gap;         /* (radius^2 - lower_bound^2)/radius^2, 0 for radius 0 */
  double radius;      /* the largest |x_i - center|, for the returned center */
  double lower_bound; /* no ball around these rows has a smaller radius */
  size_t support;     /* rows with a multiplier > 0; at most d+1 */
  size_t iterations;  /* of the active set, or cap steps */
  size_t passes;      /* over the data */
  double seconds;
} cpb_ball_report;

/** Output arrays of the caller. */
typedef struct cpb_ball_out {
  double *center;      /* d coordinates */
  uint64_t *rows;      /* d+1 row numbers of the support, largest multiplier first; or NULL */
  double *multipliers; /* d+1: their multipliers; or NULL */
} cpb_ball_out;

/** The smallest enclosing ball of n >= 1 rows.                                                 T10
 *  x        n rows of d, any dtype                                          borrowed for the call
 *  options  NULL for the defaults
 *  out      out->center is written, the others if not NULL
 *  EROW for the first row with NaN or inf; EINVAL without rows. Then nothing is written.
 *  Thread-safe; the same bits for any number of threads. Allocates about 4096 rows of doubles. */
CPB_CALL cpb_status cpb_enclosing_ball(cpb_view x, const cpb_ball_options *options, const cpb_ball_out *out,
                                       cpb_ball_report *report, const cpb_exec *exec, cpb_error *error);

/* T11: support vector data description, a ball with a soft margin.
 *
 *   min_{c,R}  R^2 + C sum_i w_i max(0, |x_i-c|^2 - R^2),    C = 1/(nu sum w)
 *   = min_c    the mean of |x_i-c|^2 over the worst fraction nu
 *   = max      sum a_i|x_i|^2 - |sum a_i x_i|^2,             0 <= a_i <= C w_i, sum a = 1
 *
 * The fraction nu of the weight may be outside. nu = 1/n gives the enclosing ball (T10). Every result comes
 * with its gap between the second and the third line. */

typedef enum cpb_svdd_method {
  CPB_SVDD_EXACT = 0,
  CPB_SVDD_CAP_SVM = 1,       /* embed, train a linear nu-SVM against the single hard negative -e, move to the
                                 ball of its margin plane, repeat: SVDD except for the weights of the slacks */
  CPB_SVDD_CAP_SVM_PAPER = 2, /* as published: one C for all. The positives never have slack, so nu has no
                                 effect and the result is the enclosing ball; kept to reproduce the figure */
} cpb_svdd_method;

/** Start from cpb_svdd_options_init. */
typedef struct cpb_svdd_options {
  size_t size;           /* sizeof(cpb_svdd_options) */
  double nu;             /* fraction that may be outside, 0 < nu <= 1, nu n >= 1 if unweighted; default 0.1 */
  double gap;            /* requested (upper-lower)/upper of the objective, >= 0; default 1e-9 */
  size_t max_iterations; /* limit of passes over the data, >= 1; default 1000 */
  cpb_svdd_method method;
  const double *weights; /* n sample weights >= 0, not all 0; NULL: all 1 */
  const double *start;   /* d coordinates of the initial centre; NULL: the mean */
} cpb_svdd_options;
CPB_API void cpb_svdd_options_init(cpb_svdd_options *options, size_t size);

/** Quality of the result; the objective is the mean over the worst fraction, in squared units. Set its size. */
typedef struct cpb_svdd_report {
  size_t size;      /* sizeof(cpb_svdd_report) */
  bool converged;   /* gap <= the requested gap; for the cap methods: the centre has converged */
  double gap;       /* (objective - lower_bound)/objective; for the cap methods that of their ball as SVDD */
  double radius;    /* R: the distance of the row that uses up the fraction nu; if it does so exactly, every R
                         down to the next row is optimal, and this is the largest */
  double objective; /* R^2 + C sum w max(0,..) at the returned centre */
  double lower_bound; /* of the objective, from the dual; NaN if it is beyond double */
  size_t support;     /* rows with a multiplier > 0 (0 if multipliers were not requested) */
  size_t iterations;  /* passes over the data; SVM rounds for the cap methods */
  double seconds;
} cpb_svdd_report;

/** SVDD of n >= 1 rows.                                                                          T11
 *  x            n rows of d, any dtype                                      borrowed for the call
 *  center       d coordinates, the caller's
 *  multipliers  n numbers a_i, the caller's, or NULL; for the cap methods those of the last SVM
 *  EROW for the first row with NaN or inf; EINVAL names nu, a weight or an option. Then nothing is written.
 *  Thread-safe; identical bits for any number of threads. Time n d per iteration; allocates n doubles, n(d+1) more
 *  for the cap methods and n d for rows whose squares exceed the range of double. Rows of any magnitude are handled
 *  correctly, and so is the gap; objective and lower_bound, which are squares, may then be inf and NaN, or subnormal
 *  and 0 near 0. Rows of weight 0 are ignored. Progress is measured in digits of the gap. */
CPB_CALL cpb_status cpb_svdd(cpb_view x, const cpb_svdd_options *options, double *center, double *multipliers,
                             cpb_svdd_report *report, const cpb_exec *exec, cpb_error *error);

/** A Mercer kernel k(x,y); SVDD with a kernel is SVDD of the images of the rows in its feature space. */
typedef enum cpb_kernel_kind {
  CPB_KERNEL_LINEAR = 0,     /* <x,y> */
  CPB_KERNEL_RBF = 1,        /* exp(-gamma |x-y|^2) */
  CPB_KERNEL_POLYNOMIAL = 2, /* (gamma <x,y> + offset)^degree */
} cpb_kernel_kind;

typedef struct cpb_kernel {
  cpb_kernel_kind kind;
  double gamma;    /* > 0; ignored by the linear kernel */
  double offset;   /* >= 0; polynomial */
  unsigned degree; /* >= 1; polynomial */
} cpb_kernel;

/* Models: a learned ball as an object and as a file, with scores, ranks, its cap and its SQL. */

/** How a model was computed. Values are fixed. */
typedef enum cpb_model_method {
  CPB_MODEL_BALL = 0,          /* the enclosing ball */
  CPB_MODEL_EXACT = 1,         /* SVDD: CPB_SVDD_EXACT */
  CPB_MODEL_CAP_SVM = 2,       /* CPB_SVDD_CAP_SVM */
  CPB_MODEL_CAP_SVM_PAPER = 3, /* CPB_SVDD_CAP_SVM_PAPER */
  CPB_MODEL_REGION = 4,        /* given: a region that another method has found */
} cpb_model_method;
enum { CPB_MODEL_METHODS = 5 };

/** "ball", "exact", "cap-svm", "cap-svm-paper", "region"; a view, never NULL. */
CPB_API const char *cpb_model_method_name(cpb_model_method method);

/** The definition of a model; pointers are borrowed for the call of cpb_model_new, and views into the
 *  model when returned by cpb_model_describe. Start from cpb_model_options_init. */
typedef struct cpb_model_options {
  size_t size; /* sizeof(cpb_model_options) */
  size_t d;    /* columns of the data, >= 1 */
  cpb_model_method method;
  const double *center; /* d coordinates in the unit of the data; NULL with a kernel */
  double radius;        /* > 0, in the unit of W(x-c), or of the kernel's feature space */
  const double *whiten; /* W: d*d row-major, invertible; NULL = I. The ball is |W(x-c)| <= radius */
  double nu;            /* 0 for the enclosing ball */
  double gap;           /* of the fit */
  double lower_bound;   /* of the radius (enclosing ball) or of the objective (SVDD); NaN if beyond double */
  bool converged;
  uint64_t rows;           /* of the training data */
  size_t quantile_count;   /* >= 2, or 0 */
  const double *quantiles; /* of the training scores, ascending, equally spaced in rank */
  cpb_kernel kernel;       /* linear: no kernel */
  double norm2;            /* with a kernel: |center|^2 in its feature space */
  size_t support;          /* number of support vectors */
  size_t listed;           /* number listed below: all, or 0 (linear models may list none) */
  const uint64_t *support_rows;
  const double *multipliers;
  const double *vectors;      /* listed rows of d; only with a kernel */
  const char *const *columns; /* d column names; NULL: none */
  size_t balls;          /* > 1: this many balls of equal radius; a row is scored by the one with the nearest
                            centre. 0 and 1: one ball. Not with a kernel */
  const double *centers; /* with balls > 1: balls*d coordinates, starting with those of `center` */
  const double *ball_radii;  /* radius of each ball as fitted to its rows; NULL: unknown */
  const double *ball_gaps;   /* gap of each ball; NULL: unknown */
  const uint64_t *ball_rows; /* number of rows each ball was fitted to; NULL: unknown */
  const double *fill;  /* d numbers that replaced NaN before the fit and should replace it before scoring
                         (cpb_reader_fill); scoring does not. NULL: none */
  double threshold;    /* the score below which a row is an outlier; 0 (the default): outside the ball */
  bool robust;         /* fitted by the recipe `robust` of cpb_model_fit_options; default false */
  uint64_t calibrated; /* number of scores of rows that the fit had not seen, behind p-values; 0: none */
  const double *calibration; /* ascending: ranks 1 to 200, then each 1.005 times the one before, the last */
  const char *notes;    /* what such a fit did about rows and columns, a sentence a line; NULL: nothing */
  cpb_region_kind kind; /* CPB_BALL (the default); with method CPB_MODEL_REGION also CPB_COMPLEMENT,
                           |W(x-center)| >= radius, or CPB_HALFSPACE, <center,x> >= radius, without W */
} cpb_model_options;
CPB_API void cpb_model_options_init(cpb_model_options *options, size_t size);

typedef struct cpb_model cpb_model;

/** Creates *model, owned by the caller. All options are checked; EINVAL names the invalid value. */
CPB_CALL cpb_status cpb_model_new(const cpb_model_options *options, cpb_model **model, cpb_error *error);
CPB_API void cpb_model_free(cpb_model *model);
CPB_API void cpb_model_describe(const cpb_model *model, cpb_model_options *options);

/** In place of a number of balls: 1 or 16, chosen by what rows tell that are left out of a trial (with `robust`). */
#define CPB_BALLS_AUTO SIZE_MAX

/** How to fit a ball. Start from cpb_model_fit_options_init. */
typedef struct cpb_model_fit_options {
  size_t size;
  double nu;  /* fraction of the rows that may be outside, 0 < nu <= 1; 0 (the default): none, the smallest
                 enclosing ball */
  double gap; /* requested relative gap, >= 0; default 1e-9 */
  cpb_svdd_method method; /* with nu; default CPB_SVDD_EXACT */
  cpb_kernel kernel;      /* with nu; default linear. gamma = 0: 1/columns */
  bool whiten;  /* |W(x-c)| with W^T W = cov(x)^-1 in place of |x-c|; not with a kernel. Default false */
  double ridge; /* as in cpb_map_fit_options */
  const double *weights; /* with nu: one weight >= 0 per row; NULL: all 1 */
  uint64_t weight_count; /* number of weights, which must be the number of rows */
  bool standardize; /* divide every column by its standard deviation unless it is constant; before whitening,
                       so that the ridge is a fraction of 1. Not with a kernel. Default false */
  const char *const *columns; /* column names for the model, one per column; NULL: those of the source */
  size_t balls;  /* for clustered rows: k-means after W; each cluster of at least 1/8 of the mean size gets a
                   ball, all with the radius at which the fraction nu of the rows is outside all of them. With
                   `whiten`, the W of the model is that of the rows about the means of their clusters. 0 and 1
                   (the default): one ball; CPB_BALLS_AUTO: one or 16. Not with a kernel; rows are held */
  uint64_t seed; /* of the initial centres of k-means; default 0 */
  const double *fill;   /* d numbers for the model to store; NULL: none */
  double contamination; /* in (0, 0.5]: the threshold is the largest training score such that at most this
                           fraction of the rows (of their weight) scores less. 0 (the default): threshold 0 */
  bool robust;    /* the recipe for outliers: whitens by the rows that look most ordinary and fits the ball
                     to these, three quarters at most, found in two refits as in fast-MCD. The radius leaves
                     the share nu of all rows outside; gap and lower bound are of the rows kept. nu 0 is 0.9,
                     ridge 0 is 0.1, more with fewer than 5 rows a column. Exact, no kernel. With several balls, groups
                     and balls are of the rows kept */
  bool calibrate; /* p-values of new rows, by fits without parts of the rows, which are held */
} cpb_model_fit_options;
CPB_API void cpb_model_fit_options_init(cpb_model_fit_options *options, size_t size);

/** The cost of the fit; the quality of the ball is part of the model. */
typedef struct cpb_model_fit_report {
  size_t size;
  size_t iterations; /* passes over the rows, rounds or steps of the method */
  double seconds;
} cpb_model_fit_report;

/** Fits a ball; the caller owns *model, with 101 to 1001 quantiles of the scores of the rows.     T10 T11
 *    min_c max |x-c|,   or   min R^2 + 1/(nu n) sum max(0, |x-c|^2 - R^2)
 *  Without nu and whitening the source is read a few times and no rows are held; otherwise the rows are held, unless
 *  the source has them in memory. Support vectors are listed up to 10000, with a kernel all of them.
 *  EINVAL names an option, a weight, or data without a ball of radius > 0; ESHAPE: fewer rows than balls. */
CPB_CALL cpb_status cpb_model_fit(cpb_source *rows, const cpb_model_fit_options *options, cpb_model **model,
                                  cpb_model_fit_report *report, const cpb_exec *exec, cpb_error *error);

/** score_i = r^2 - |W(x_i-c)|^2, with a kernel r^2 - |phi(x_i)-c|^2; >= 0 is inside the ball. For several balls the largest
 *  of their scores; of a region those of cpb_region_scores.                                    T3 T11
 *  x       n rows of d, any dtype
 *  scores  n rows, 1 column, f32 or f64. EROW as in cpb_region_scores. Thread-safe. */
CPB_CALL cpb_status cpb_model_scores(const cpb_model *model, cpb_view x, cpb_out scores, const cpb_exec *exec,
                                     cpb_error *error);

/** The fraction of the training rows with this score or less: 0 is the most unusual, 1 the most typical.
 *  Linear between the quantiles; NaN without quantiles or for NaN. */
CPB_API double cpb_model_rank(const cpb_model *model, double score);

/** p = (1 + m)/(n+1), where m of n scores of rows that the fit had not seen are not above this one, rounded up to stored
 *  ranks: P(p <= a) is about a at most for a new row like these. NaN for NaN, and of a model without `calibrate`. */
CPB_API double cpb_model_p_value(const cpb_model *model, double score);

/** The verdict on a row with this score, the same in all faces: true if it is less than the threshold, or NaN. */
CPB_API bool cpb_model_is_outlier(const cpb_model *model, double score);

/** parts_j = (x-c)_j (W^T W (x-c))_j: the contribution of each column to |W(x-c)|^2, which lowers the score; none is
 *  negative without W or if W is diagonal. For several balls c is the nearest centre.
 *  x, parts   d numbers each, the caller's
 *  center     receives the centre used, a view into the model; or NULL
 *  EINVAL with a kernel. Thread-safe. */
CPB_CALL cpb_status cpb_model_parts(const cpb_model *model, const double *x, double *parts,
                                    const double **center, cpb_error *error);

/** For each column the numbers with which the row would be ordinary, its other columns as they are: least_j .. most_j, the t
 *  with |W(x-c) + (t-x_j) W e_j|^2 <= r^2 - s. Where there are none both are the number with which the row scores highest. s is the
 *  threshold, or where most rows are below it (a nu above .5 without contamination) the score of the strangest hundredth of the
 *  training rows. For several balls c is the nearest centre. Of the complement of a ball they are the numbers beyond the ball on the side of x_j.
 *  x, least, most   d numbers each, the caller's
 *  EINVAL with a kernel or a half-space. Thread-safe. */
CPB_CALL cpb_status cpb_model_ranges(const cpb_model *model, const double *x, double *least, double *most,
                                     cpb_error *error);

/** How well low scores identify outliers. */
typedef struct cpb_ranking {
  size_t size;
  size_t outliers;
  double auc;       /* fraction of pairs in which the outlier scores lower, ties count half */
  double precision; /* average precision: the mean of the precision over the outliers, lowest scores first,
                       ties taken together */
} cpb_ranking;

/** Evaluates n scores by labels, nonzero for an outlier. EINVAL if all labels are of one kind.
 *  ranking   set its size */
CPB_CALL cpb_status cpb_score_ranking(const double *scores, const double *labels, size_t n,
                                      cpb_ranking *ranking, cpb_error *error);

/** The scale of the model's cap, hypot(|Wc|, r), and the cap itself: under the map y = S(W x) of that scale
 *  the rows inside the ball are those with <p,y> >= b (T3, T6), which is a query for an index that supports only
 *  inner products. cap->p is the caller's, d+1 coordinates. EINVAL with a kernel or several balls. */
CPB_CALL cpb_status cpb_model_cap(const cpb_model *model, double *scale, cpb_cap *cap, cpb_error *error);

/** The rows that are no outliers as an SQL condition: "(a-0.5)*(a-0.5) + .. <= 4", where 4 is r^2 - threshold, with the
 *  fewest digits that give the same doubles; several balls are joined by OR; of a half-space "0.6*a + .. >= 4".
 *  columns  d names, or NULL for those of the model, or x0, x1, ..
 *  *text is 0-terminated; free it with cpb_free. EINVAL with a kernel. */
CPB_CALL cpb_status cpb_model_to_sql(const cpb_model *model, const char *const *columns, char **text,
                                     cpb_error *error);

/** The same condition as a function of C, "int NAME(const double x[D])": 1 for rows that are no outliers, 0 for others and for
 *  rows with NaN. It needs no header and no library.
 *  name     an identifier of C, or NULL for "inside"
 *  *text is 0-terminated; free it with cpb_free. EINVAL with a kernel. */
CPB_CALL cpb_status cpb_model_to_c(const cpb_model *model, const char *name, char **text, cpb_error *error);

/** The content of a model file: JSON with keys "capball", "dim", "columns" (if columns have names), "balls" (if several),
 *  "method", "region" (if it is not a ball: version 2), "center", "radius", "nu", "gap", "lower_bound", "converged", "rows", "whiten", "kernel", "scale", "cap",
 *  "quantiles", "threshold" (if not 0), "recipe", "notes" and "calibration" (if there are), "support", "checksum".
 *  Free *text with cpb_free. */
CPB_CALL cpb_status cpb_model_to_json(const cpb_model *model, char **text, cpb_error *error);

/** Reads that text back, bit for bit, into a new *model. Any defect gives EFORMAT with a message.
 *  name  how messages refer to the file; NULL = "model" */
CPB_CALL cpb_status cpb_model_from_json(const char *text, size_t length, const char *name, cpb_model **model,
                                        cpb_error *error);

/** Load and save a file of that format; save replaces the file atomically, "-" is standard output. */
CPB_CALL cpb_status cpb_model_load(const char *path, cpb_model **model, cpb_error *error);
CPB_CALL cpb_status cpb_model_save(const cpb_model *model, const char *path, cpb_error *error);

CPB_END
#endif
