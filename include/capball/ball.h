/* Balls around data: the smallest one, one with a soft margin, and a learned ball as an object and a file.
 *
 * T10: the smallest ball around points, with a proof of how small it is.
 *
 *   R^2 = min_c max_i |x_i-c|^2 = max { sum a_i|x_i|^2 - |sum a_i x_i|^2 : a >= 0, sum a = 1 }
 *
 * Any centre gives an upper bound of R and any multipliers a lower one; what is returned is both, and
 * the gap between them. A round reads the data once: the rows farthest from the present centre join a
 * working set, on which the ball is solved exactly. Two to four rounds are usual, for any number of
 * rows. Cospherical, collinear, repeated points, d >> n and a single row are nothing special; rows may
 * have any size that |x-c| itself can have. */
#ifndef CAPBALL_BALL_H
#define CAPBALL_BALL_H

#include <stdbool.h>

#include "capball/region.h"

#ifdef __cplusplus
extern "C" {
#endif

/** How the ball of the working set is found. Both end at the same ball. */
typedef enum cpb_ball_method {
  CPB_BALL_ACTIVE_SET = 0, /* Wolfe's method on the dual */
  CPB_BALL_CAPS = 1,       /* the cap iteration: embed about the present centre with s = R, take the point
                              of the hull nearest to the pole, go to the centre of its cap's ball; cubic */
} cpb_ball_method;

/** Start from cpb_ball_options_init. */
typedef struct cpb_ball_options {
  size_t size;       /* sizeof(cpb_ball_options) */
  double gap;        /* wanted (R^2 - lower^2)/R^2, >= 0; default 1e-9. The relative error of the radius is
                        at most half of it */
  size_t max_passes; /* rounds over the data before giving up, >= 1; default 200 */
  cpb_ball_method method;
} cpb_ball_options;

CPB_API void cpb_ball_options_init(cpb_ball_options *options, size_t size);

/** How good the ball is. The call has done its work even where the gap is not what was wanted, as for
 *  data so far from 0 that no double is near enough to the centre. Set its size. */
typedef struct cpb_ball_report {
  size_t size;        /* sizeof(cpb_ball_report) */
  bool converged;     /* gap <= the wanted gap */
  double gap;         /* (radius^2 - lower_bound^2)/radius^2, 0 for radius 0 */
  double radius;      /* the largest |x_i - center|, center as returned */
  double lower_bound; /* no ball around these rows has a smaller radius */
  size_t support;     /* rows with a multiplier > 0; at most d+1 */
  size_t iterations;  /* columns entered, or cap steps */
  size_t passes;      /* reads of the data */
  double seconds;
} cpb_ball_report;

/** Where an answer goes: the caller's arrays. */
typedef struct cpb_ball_out {
  double *center;      /* d coordinates */
  uint64_t *rows;      /* d+1 row numbers of the support, the largest multiplier first; or NULL */
  double *multipliers; /* d+1: theirs; or NULL */
} cpb_ball_out;

/** The smallest enclosing ball of n >= 1 rows.                                                 T10
 *  x        n rows of d, any dtype                                          borrowed for the call
 *  options  NULL for the defaults
 *  out      out->center is written, the rest where it is not NULL
 *  EROW for the first row with NaN or inf; EINVAL for no rows. Nothing is written then.
 *  Thread-safe; the same bits for any number of threads. Allocates about 4096 rows of doubles. */
CPB_CALL cpb_status cpb_enclosing_ball(cpb_view x, const cpb_ball_options *options, const cpb_ball_out *out,
                                       cpb_ball_report *report, const cpb_exec *exec, cpb_error *error);

/* T11: support vector data description, a ball with a soft margin.
 *
 *   min_{c,R}  R^2 + C sum_i w_i max(0, |x_i-c|^2 - R^2),    C = 1/(nu sum w)
 *   = min_c    the mean of the worst share nu of |x_i-c|^2
 *   = max      sum a_i|x_i|^2 - |sum a_i x_i|^2,             0 <= a_i <= C w_i, sum a = 1
 *
 * The share nu of the weight may lie outside. nu = 1/n is the enclosing ball (T10). Every answer comes
 * with its gap between the second and the third line. */

typedef enum cpb_svdd_method {
  CPB_SVDD_EXACT = 0,
  CPB_SVDD_CAP_SVM = 1,       /* embed, a linear nu-SVM against the one hard negative -e, go to the ball of
                                 its margin plane, again: SVDD but for the weights of the slacks */
  CPB_SVDD_CAP_SVM_PAPER = 2, /* the paper's: one C for all. The positives never get slack, so nu has no
                                 effect and the enclosing ball comes out; kept to repeat its figure */
} cpb_svdd_method;

/** Start from cpb_svdd_options_init. */
typedef struct cpb_svdd_options {
  size_t size;           /* sizeof(cpb_svdd_options) */
  double nu;             /* the share that may lie outside, 0 < nu <= 1, nu n >= 1 unweighted; default 0.1 */
  double gap;            /* wanted (upper-lower)/upper of the objective, >= 0; default 1e-9 */
  size_t max_iterations; /* reads of the data before giving up, >= 1; default 1000 */
  cpb_svdd_method method;
  const double *weights; /* n sample weights >= 0, some > 0; NULL: all 1 */
  const double *start;   /* d coordinates of a centre to start from; NULL: the mean */
} cpb_svdd_options;

CPB_API void cpb_svdd_options_init(cpb_svdd_options *options, size_t size);

/** How good the answer is; the objective is the mean of the worst share, in squared units. Set its size. */
typedef struct cpb_svdd_report {
  size_t size;      /* sizeof(cpb_svdd_report) */
  bool converged;   /* gap <= the wanted gap; for the cap methods: the centre came to rest */
  double gap;       /* (objective - lower_bound)/objective; for the cap methods that of their ball as SVDD */
  double radius;    /* R: the distance of the row at which the share nu is used up; where that is the end of a
                         row, every R down to the next row is as good, and this is the largest */
  double objective; /* R^2 + C sum w max(0,..) at the centre returned */
  double lower_bound; /* of the objective, by the dual; NaN where it is beyond double */
  size_t support;     /* rows with a multiplier > 0 (0 when multipliers were not asked for) */
  size_t iterations;  /* reads of the data; rounds of the SVM for the cap methods */
  double seconds;
} cpb_svdd_report;

/** SVDD of n >= 1 rows.                                                                          T11
 *  x            n rows of d, any dtype                                      borrowed for the call
 *  center       d coordinates, the caller's
 *  multipliers  n numbers a_i, the caller's, or NULL; of the cap methods those of their last SVM
 *  EROW for the first row with NaN or inf; EINVAL names nu, a weight or an option. Nothing is written
 *  then. Thread-safe; the same bits for any number of threads. Time n d per iteration; allocates n
 *  doubles, n(d+1) more for the cap methods and n d for rows whose squares leave the range of double: rows of
 *  any size are right, and so is the gap, but objective and lower_bound, which are squares, may be beyond double:
 *  inf and NaN then, or subnormal and 0 near 0. Rows of weight 0 are not there. exec->progress is told the digits
 *  of the gap. */
CPB_CALL cpb_status cpb_svdd(cpb_view x, const cpb_svdd_options *options, double *center, double *multipliers,
                             cpb_svdd_report *report, const cpb_exec *exec, cpb_error *error);

/** A Mercer kernel k(x,y); SVDD with one is SVDD of the rows' images in its feature space. */
typedef enum cpb_kernel_kind {
  CPB_KERNEL_LINEAR = 0,     /* <x,y> */
  CPB_KERNEL_RBF = 1,        /* exp(-gamma |x-y|^2) */
  CPB_KERNEL_POLYNOMIAL = 2, /* (gamma <x,y> + offset)^degree */
} cpb_kernel_kind;

typedef struct cpb_kernel {
  cpb_kernel_kind kind;
  double gamma;    /* > 0; not used by the linear kernel */
  double offset;   /* >= 0; polynomial */
  unsigned degree; /* >= 1; polynomial */
} cpb_kernel;

/* A learned ball as an object and as a file: scores, ranks, its cap, its SQL. */

/** How a model was found. Pinned, append only. */
typedef enum cpb_model_method {
  CPB_MODEL_BALL = 0,          /* the enclosing ball */
  CPB_MODEL_EXACT = 1,         /* SVDD: CPB_SVDD_EXACT */
  CPB_MODEL_CAP_SVM = 2,       /* CPB_SVDD_CAP_SVM */
  CPB_MODEL_CAP_SVM_PAPER = 3, /* CPB_SVDD_CAP_SVM_PAPER */
} cpb_model_method;
enum { CPB_MODEL_METHODS = 4 };

/** "ball", "exact", "cap-svm", "cap-svm-paper"; a view, never NULL. */
CPB_API const char *cpb_model_method_name(cpb_model_method method);

/** What a model is made from; pointers are borrowed for the call of cpb_model_new, and views into the
 *  model when cpb_model_describe gives it back. Start from cpb_model_options_init. */
typedef struct cpb_model_options {
  size_t size; /* sizeof(cpb_model_options) */
  size_t d;    /* columns of the data, >= 1 */
  cpb_model_method method;
  const double *center; /* d coordinates in the unit of the data; NULL with a kernel */
  double radius;        /* > 0, in the unit of W(x-c), or of the kernel's feature space */
  const double *whiten; /* W: d*d row-major, invertible; NULL = I. The ball is |W(x-c)| <= radius */
  double nu;            /* 0 for the enclosing ball */
  double gap;           /* of the fit */
  double lower_bound;   /* of the radius (enclosing ball) or of the objective (SVDD): NaN beyond double */
  bool converged;
  uint64_t rows;           /* of the training data */
  size_t quantile_count;   /* >= 2, or 0 */
  const double *quantiles; /* of the training scores, ascending, equally spaced in rank */
  cpb_kernel kernel;       /* linear: none */
  double norm2;            /* with a kernel: |center|^2 in its feature space */
  size_t support;          /* number of support vectors */
  size_t listed;           /* those listed below: all, or 0 (linear models may list none) */
  const uint64_t *support_rows;
  const double *multipliers;
  const double *vectors;      /* listed rows of d; with a kernel only */
  const char *const *columns; /* d names of the columns of the data; NULL: they have none */
  size_t balls;          /* > 1: so many balls of one radius, and a row is scored by the one whose centre is
                                 nearest. 0 and 1: one ball. Not with a kernel */
  const double *centers; /* with balls > 1: balls*d coordinates; the first ones are `center` */
  const double *ball_radii;  /* each ball's own radius, of the fit to its rows; NULL: not known */
  const double *ball_gaps;   /* each ball's own gap; NULL: not known */
  const uint64_t *ball_rows; /* rows that each ball was fitted to; NULL: not known */
  const double
      *fill; /* d numbers: what cells that are NaN became before the fit, and are to become before scoring
                         (cpb_reader_fill); scores do not do it. NULL: nothing */
} cpb_model_options;

CPB_API void cpb_model_options_init(cpb_model_options *options, size_t size);

typedef struct cpb_model cpb_model;

/** Gives *model to the caller. Checks everything first: EINVAL names the value. */
CPB_CALL cpb_status cpb_model_new(const cpb_model_options *options, cpb_model **model, cpb_error *error);
CPB_API void cpb_model_free(cpb_model *model);
CPB_API void cpb_model_describe(const cpb_model *model, cpb_model_options *options);

/** What kind of ball is wanted. Start from cpb_model_fit_options_init. */
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
  size_t
      balls; /* for rows in several clouds: they are grouped by k-means, after W, each group of at least 1/8 of its
                    even share gets a ball, and all balls the radius at which the share nu of the rows lies outside
                    of all of them. 0 and 1 (the default): one ball. Not with a kernel; rows are held */
  uint64_t seed;      /* of the first centres of the groups; default 0 */
  const double *fill; /* d numbers for the model to keep; NULL: none */
} cpb_model_fit_options;

CPB_API void cpb_model_fit_options_init(cpb_model_fit_options *options, size_t size);

/** What the fit took; how good the ball is, is part of the model. */
typedef struct cpb_model_fit_report {
  size_t size;
  size_t iterations; /* reads of the rows, rounds or steps of the method */
  double seconds;
} cpb_model_fit_report;

/** Fits a ball; gives *model to the caller, with 101 quantiles of the scores of the rows.           T10 T11
 *    min_c max |x-c|,   or   min R^2 + 1/(nu n) sum max(0, |x-c|^2 - R^2)
 *  Without nu and whitening the source is read a few times and no row is held; else the rows are held, unless the
 *  source has them in memory. Support vectors are listed up to 10000, with a kernel all.
 *  EINVAL names an option, a weight, or data without a ball of radius > 0; ESHAPE: fewer rows than balls. */
CPB_CALL cpb_status cpb_model_fit(cpb_source *rows, const cpb_model_fit_options *options, cpb_model **model,
                                  cpb_model_fit_report *report, const cpb_exec *exec, cpb_error *error);

/** score_i = r^2 - |W(x_i-c)|^2, with a kernel r^2 - |phi(x_i)-c|^2; >= 0 is inside. Of several balls the largest
 *  of their scores.                                                                            T3 T11
 *  x       n rows of d, any dtype
 *  scores  n rows, 1 column, f32 or f64. EROW as cpb_region_scores. Thread-safe. */
CPB_CALL cpb_status cpb_model_scores(const cpb_model *model, cpb_view x, cpb_out scores, const cpb_exec *exec,
                                     cpb_error *error);

/** The share of the training rows that score no more than this: 0 is the strangest, 1 the most ordinary.
 *  Linear between the quantiles; NaN without quantiles or for NaN. */
CPB_API double cpb_model_rank(const cpb_model *model, double score);

/** The scale at which the model's cap is given, hypot(|Wc|, r), and the cap itself: under the map
 *  y = S(W x) of that scale the rows inside are those with <p,y> >= b (T3, T6), a query for an index that
 *  has only inner products. cap->p is the caller's, d+1 coordinates. EINVAL with a kernel and for several
 *  balls. */
CPB_CALL cpb_status cpb_model_cap(const cpb_model *model, double *scale, cpb_cap *cap, cpb_error *error);

/** The ball as a condition on columns: "(a-0.5)*(a-0.5) + .. <= 4", numbers with the fewest digits that bring them back;
 *  several balls are joined by OR.
 *  columns  d names, or NULL for those of the model, or x0, x1, ..
 *  Gives *text, 0-terminated, to the caller, who takes it to cpb_free. EINVAL with a kernel. */
CPB_CALL cpb_status cpb_model_to_sql(const cpb_model *model, const char *const *columns, char **text,
                                     cpb_error *error);

/** The whole text of a model file: JSON with keys "capball", "dim", "columns" (where they have names), "balls" (of several), "method", "center", "radius", "nu",
 *  "gap", "lower_bound", "converged", "rows", "whiten", "kernel", "scale", "cap", "quantiles", "support",
 *  "checksum". Gives *text to the caller, who takes it to cpb_free. */
CPB_CALL cpb_status cpb_model_to_json(const cpb_model *model, char **text, cpb_error *error);

/** Reads that text back, bit for bit; gives *model. Every fault is EFORMAT with a sentence.
 *  name  what the sentence calls the file */
CPB_CALL cpb_status cpb_model_from_json(const char *text, size_t length, const char *name, cpb_model **model,
                                        cpb_error *error);

/** The same two through a file; save writes it whole or not at all, "-" is standard output. */
CPB_CALL cpb_status cpb_model_load(const char *path, cpb_model **model, cpb_error *error);
CPB_CALL cpb_status cpb_model_save(const cpb_model *model, const char *path, cpb_error *error);

#ifdef __cplusplus
}
#endif
#endif
