/* A ball that was learned, as an object and as a file: scores, ranks, its cap, its SQL. */
#ifndef CAPBALL_MODEL_H
#define CAPBALL_MODEL_H

#include <stdbool.h>

#include "capball/exec.h"
#include "capball/region.h"
#include "capball/ball.h"
#include "capball/view.h"

#ifdef __cplusplus
extern "C" {
#endif

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
} cpb_model_options;

CPB_API void cpb_model_options_init(cpb_model_options *options, size_t size);

typedef struct cpb_model cpb_model;

/** Gives *model to the caller. Checks everything first: EINVAL names the value. */
CPB_API cpb_status cpb_model_new(const cpb_model_options *options, cpb_model **model, cpb_error *error);
CPB_API void cpb_model_free(cpb_model *model);
CPB_API void cpb_model_describe(const cpb_model *model, cpb_model_options *options);

/** score_i = r^2 - |W(x_i-c)|^2, with a kernel r^2 - |phi(x_i)-c|^2; >= 0 is inside.           T3 T11
 *  x       n rows of d, any dtype
 *  scores  n rows, 1 column, f32 or f64. EROW as cpb_region_scores. Thread-safe. */
CPB_API cpb_status cpb_model_scores(const cpb_model *model, cpb_view x, cpb_out scores, const cpb_exec *exec,
                                    cpb_error *error);

/** The share of the training rows that score no more than this: 0 is the strangest, 1 the most ordinary.
 *  Linear between the quantiles; NaN without quantiles or for NaN. */
CPB_API double cpb_model_rank(const cpb_model *model, double score);

/** parts_j = (x-c)_j (W^T W (x-c))_j: what each column adds to |W(x-c)|^2, and so takes from the score; without W, and
 *  where W is diagonal, none is < 0.
 *  x, parts   d numbers each, the caller's
 *  EINVAL with a kernel. Thread-safe. */
CPB_API cpb_status cpb_model_parts(const cpb_model *model, const double *x, double *parts, cpb_error *error);

/** `count` >= 2 quantiles of n >= 1 scores, equally spaced in rank, ascending; sorts the scores.
 *  quantiles  count numbers, the caller's */
CPB_API void cpb_score_quantiles(double *scores, size_t n, size_t count, double *quantiles);

/** How well low scores tell outliers. */
typedef struct cpb_ranking {
  size_t size;
  size_t outliers;
  double auc; /* the share of pairs in which the outlier scores lower, ties count half */
  double
      precision; /* average precision: the mean of the precision over the outliers, lowest scores first, ties
                       taken together */
} cpb_ranking;

/** Judges n scores by labels, not 0 for an outlier. EINVAL where all labels are of one kind.
 *  ranking   set its size */
CPB_API cpb_status cpb_score_ranking(const double *scores, const double *labels, size_t n,
                                     cpb_ranking *ranking, cpb_error *error);

/** The scale at which the model's cap is given, hypot(|Wc|, r), and the cap itself: under the map
 *  y = S(W x) of that scale the rows inside are those with <p,y> >= b (T3, T6), a query for an index that
 *  has only inner products. cap->p is the caller's, d+1 coordinates. EINVAL with a kernel. */
CPB_API cpb_status cpb_model_cap(const cpb_model *model, double *scale, cpb_cap *cap, cpb_error *error);

/** The ball as a condition on columns: "(a-0.5)*(a-0.5) + .. <= 4", numbers with the fewest digits that bring them back.
 *  columns  d names, or NULL for those of the model, or x0, x1, ..
 *  Gives *text, 0-terminated, to the caller, who takes it to cpb_free. EINVAL with a kernel. */
CPB_API cpb_status cpb_model_to_sql(const cpb_model *model, const char *const *columns, char **text,
                                    cpb_error *error);

/** The whole text of a model file: JSON with keys "capball", "dim", "columns" (where they have names), "method", "center", "radius", "nu",
 *  "gap", "lower_bound", "converged", "rows", "whiten", "kernel", "scale", "cap", "quantiles", "support",
 *  "checksum". Gives *text to the caller, who takes it to cpb_free. */
CPB_API cpb_status cpb_model_to_json(const cpb_model *model, char **text, cpb_error *error);

/** Reads that text back, bit for bit; gives *model. Every fault is EFORMAT with a sentence.
 *  name  what the sentence calls the file */
CPB_API cpb_status cpb_model_from_json(const char *text, size_t length, const char *name, cpb_model **model,
                                       cpb_error *error);

/** The same two through a file; save writes it whole or not at all, "-" is standard output. */
CPB_API cpb_status cpb_model_load(const char *path, cpb_model **model, cpb_error *error);
CPB_API cpb_status cpb_model_save(const cpb_model *model, const char *path, cpb_error *error);

#ifdef __cplusplus
}
#endif
#endif
