/* Internals of fitting: passes over a source, and what they gather. */
#ifndef CPB_STATISTICS_PASSES_H
#define CPB_STATISTICS_PASSES_H

#include <stdbool.h>

#include "capball/advanced/fitting.h"
#include "capball/advanced/statistics.h"
#include "capball/ball.h"
#include "capball/exec.h"
#include "capball/map.h"
#include "capball/status.h"
#include "capball/view.h"
#include "base/memory.h"
#include "base/blocks.h"
#include "base/tell.h"
#include "statistics/norm_sketch.h"

/* Passes over a source of rows: one block at a time, processed in parallel, gathered in order, in constant memory.
 * What is gathered are exact sums, counts and extremes, so the result depends neither on the blocks of the source
 * nor on the number of threads. */

enum { CPB_PASS_SLOTS = 16 }; /* blocks in progress at once */

/* A fit in progress: what it reads, and how far it is. */
typedef struct cpb_passes {
  cpb_source *source;
  const char *name; /* the name of the caller's argument: "rows", or "base" .. */
  const cpb_exec *exec;
  bool skip_bad;    /* skip rows without a result; else the first one ends the pass */
  double from, to;  /* the range of the whole call's progress that the passes cover */
  unsigned planned; /* number of passes in that range */
  unsigned done;    /* passes so far */
  uint64_t rows;    /* of a pass; CPB_ROWS_UNKNOWN until one has counted them */
} cpb_passes;

/* The whole call is `planned` passes; `to` may be lowered if other work follows. EINVAL, ESHAPE and EDTYPE for an
 * invalid source. */
cpb_status cpb_passes_init(cpb_passes *passes, cpb_source *source, unsigned planned, const cpb_exec *exec,
                           cpb_error *error);

/* ESHAPE unless the source has this many columns; EDTYPE if its dtype is invalid. */
cpb_status cpb_check_source_cols(const cpb_source *source, const char *name, size_t cols, cpb_error *error);

/* "there are no rows to fit to" */
cpb_status cpb_fail_no_rows(cpb_error *error);

/* A block of rows in progress. */
typedef struct cpb_slot {
  size_t number;  /* below CPB_PASS_SLOTS */
  cpb_view rows;  /* f32 to i8 */
  uint64_t first; /* the number of their first row in the source */
  double *room;   /* as cpb_pass demands */
} cpb_slot;

typedef struct cpb_pass {
  void *arg;
  size_t block_bytes;   /* approximate size of a block; 0: 256 KiB */
  size_t per_row, more; /* the numbers in `room`: for every row of a block, and in addition */
  /* Processes a block, on any thread; NULL: nothing to do. Rows without a result are reported to `fault` with their
   * number in the source. */
  cpb_status (*look)(void *arg, const cpb_slot *slot, cpb_first_fault *fault, cpb_error *error);
  /* Takes over what was found, in order, on the calling thread. */
  cpb_status (*gather)(void *arg, const cpb_slot *slot, cpb_error *error);
} cpb_pass;

cpb_status cpb_pass_run(cpb_passes *passes, const cpb_pass *pass, cpb_error *error);

/* The element type of the blocks: wide integers are converted to doubles. */
cpb_dtype cpb_pass_dtype(const cpb_source *source);

/* A `look` that reports the first row with NaN or inf. */
cpb_status cpb_meet_faults(void *arg, const cpb_slot *slot, cpb_first_fault *fault, cpb_error *error);

/* All rows of a source in one view, f32 to i8; *owned is their memory, which the caller frees: NULL if the source
 * has them in memory and lends them. */
cpb_status cpb_passes_hold(cpb_passes *passes, cpb_view *rows, void **owned, cpb_error *error);

/* ---- Caches the rows of a source of unknown length, as long as they are few, so that text is parsed only once. ---- */

typedef struct cpb_row_buffer {
  char *data;
  size_t row_bytes, rows, room; /* rows */
} cpb_row_buffer;

/* Appends the rows of a block without gaps between them. */
cpb_status cpb_row_buffer_add(cpb_row_buffer *to, cpb_view block, cpb_error *error);

typedef struct cpb_kept_source {
  cpb_source source; /* to be read instead of `of`; a view once the rows are cached */
  cpb_source *of;
  uint64_t rows; /* of the last pass that read `of` */
  bool keeping;
  cpb_row_buffer cache;
} cpb_kept_source;

void cpb_kept_source_init(cpb_kept_source *kept, cpb_source *of);
void cpb_kept_source_free(cpb_kept_source *kept);

/* Mergeable statistics of a source, gathered by all threads: one piece per block; the merged result does not
 * depend on the order. */

/* Pass 1 over the rows, the same and pass 2, or pass 1 over the rows divided by their norms. */
typedef enum cpb_gathering { CPB_GATHER_COLUMNS, CPB_GATHER_NORMS, CPB_GATHER_DIRECTIONS } cpb_gathering;

/* As part of a longer fit; sets *statistics, and the results so far. EINVAL when no row is left. */
cpb_status cpb_gather(cpb_passes *passes, const cpb_statistics_fit_options *options, cpb_gathering what,
                      cpb_statistics **statistics, cpb_statistics_result *facts, cpb_error *error);

/* EINVAL when statistics hold no row; else their results. */
cpb_status cpb_gathered(cpb_statistics *statistics, cpb_statistics_result *facts, cpb_error *error);

/* EINVAL if a goal needs the norms of all rows, and some are missing. */
cpb_status cpb_check_norms(const cpb_statistics_result *facts, cpb_goal goal, cpb_error *error);

/* ---- The whitening W, W^T W = (covariance + ridge)^-1, and rows transformed by it. ---- */

/* How columns are weighted. */
typedef struct cpb_whitening_wish {
  bool whiten;           /* W^T W = (covariance + ridge)^-1; else W is diagonal */
  bool standardize;      /* columns are divided by their standard deviations first, those that vary */
  double ridge;          /* with whiten: the share of itself that is added to the variance of every column */
  const double *weights; /* of the rows: 2 is a row that is there twice. NULL: all 1 */
  cpb_view rows;         /* with weights: the rows, held */
} cpb_whitening_wish;

/* W for all rows of the source about their mean, in one pass; lower triangular, the caller frees it. EINVAL names
 * a column that does not vary, or depends on those before it, more than the ridge repairs. */
cpb_status cpb_whitening_fit(cpb_passes *passes, cpb_whitening_wish wish, double **W, cpb_error *error);

/* norms[i] = |W(x_i - center)|, by plain sums: the caller must check for overflow and underflow.
 * scratch: cpb_whitened_scratch(d) doubles */
void cpb_whitened_norms(const double *W, cpb_view rows, const double *center, double *scratch, double *norms);
size_t cpb_whitened_scratch(size_t d);

/* z_i = W(x_i - center), n rows of d; center NULL = 0. */
cpb_status cpb_whitened_rows(const double *W, cpb_view rows, const double *center, double *z,
                             const cpb_exec *exec, cpb_error *error);

/* x <- W^-1 x, by forward substitution. */
void cpb_unwhiten(const double *W, size_t d, double *x);

/* ---- Norms |W(x-c)| of all rows of a source: exact sum, extremes, median. ---- */

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

/* ---- The scale that a goal asks for, for the fits that choose one. ---- */

/* Goals that need only a sample; the others need the norms of all rows. */
static inline bool cpb_goal_is_sampled(cpb_goal goal) {
  return goal == CPB_GOAL_SPREAD || goal == CPB_GOAL_RECALL;
}

/* Whether the scale, 0 if the goal decides, comes from the norms of all rows. */
static inline bool cpb_scale_takes_norms(double s, cpb_goal goal) {
  return s == 0 && !cpb_goal_is_sampled(goal);
}

/* Chooses by the goal, from the norms of `facts` or the sample about `center`. Sets *choice, if not NULL, and s. */
cpb_status cpb_scale_fit(cpb_goal goal, double target, size_t k, const cpb_statistics_result *facts,
                         cpb_view sample, const double *center, cpb_choice **choice, double *s,
                         const cpb_exec *exec, cpb_error *error);

/* ---- T10 T11: several balls of one radius, for rows that lie in several clouds. ---- */

/* Balls as cpb_model_options has them, the one of the most rows first, and what their fits took. */
typedef struct cpb_balls {
  size_t count, d;
  double *centers, *radii, *gaps; /* centres in the unit of y */
  uint64_t *rows;
  cpb_svdd_report report; /* of all; gap and lower_bound of the first */
  cpb_memory memory;
} cpb_balls;

/* group[i]: the group of row i, 0 .. balls-1, by k-means.
 *  y   rows of finite numbers, at least as many as there are balls */
cpb_status cpb_group_rows(cpb_view y, const cpb_model_fit_options *options, size_t *group,
                          const cpb_exec *exec, cpb_error *error);

/* Every row minus the mean of its group: rows.rows * rows.cols numbers. */
cpb_status cpb_group_residuals(cpb_view rows, const cpb_model_fit_options *options, const size_t *group,
                               double *residuals, cpb_error *error);

/* Fits a ball to each group that has at least 1/8 of its even share of the rows. The common radius is the distance to
 * the nearest centre at which the share nu is used up. EINVAL where the radius is 0. */
cpb_status cpb_fit_balls(cpb_view y, const cpb_model_fit_options *options, const size_t *group,
                         cpb_balls *balls, const cpb_exec *exec, cpb_error *error);

static inline cpb_svdd_report cpb_report_of_ball(const cpb_ball_report *of) {
  return (cpb_svdd_report){.radius = of->radius,
                           .gap = of->gap,
                           .lower_bound = of->lower_bound,
                           .seconds = of->seconds,
                           .support = of->support,
                           .iterations = of->passes,
                           .converged = of->converged};
}

#endif
