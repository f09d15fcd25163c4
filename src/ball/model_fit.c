/* T10 T11: a ball from rows. */
#include "capball/advanced/rounds.h"
#include "loops/whitened.h"
#include "ball/calibration.h"
#include "ball/choose_balls.h"
#include "ball/robust_fit.h"
#include "ball/several_balls.h"
#include "sphere/whitening.h"
#include "statistics/passes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "base/sized.h"
#include "loops/chunk.h"
#include "ball/piece_rounds.h"
#include "ball/smo.h"

/* Scores of all rows of a source. */

typedef struct score_pass {
  const cpb_model *model;
  cpb_row_cache scores;
} score_pass;

static cpb_status look_scores(void *arg, const cpb_slot *slot, cpb_first_fault *fault, cpb_error *error) {
  (void)fault;
  const score_pass *p = arg;
  cpb_out out = cpb_rows_out(slot->room, CPB_F64, slot->rows.rows, 1);
  cpb_status status = cpb_model_scores(p->model, slot->rows, out, NULL, error);
  return status == CPB_EROW ? cpb_fail_later(error, slot->first) : status;
}

/* Blocks of rows that take about as long as those of other passes: each row is compared with many balls or vectors. */
static size_t score_block(const cpb_model *model) {
  enum { USUAL = 1 << 18, LEAST = 1 << 12 };
  cpb_model_options o = {.size = sizeof o};
  cpb_model_describe(model, &o);
  size_t compared = o.center == NULL ? o.listed : o.balls;
  size_t bytes = USUAL / (compared == 0 ? 1 : compared);
  return bytes < LEAST ? LEAST : bytes;
}

static cpb_status gather_scores(void *arg, const cpb_slot *slot, cpb_error *error) {
  score_pass *p = arg;
  return cpb_row_cache_add(&p->scores, cpb_rows(slot->room, CPB_F64, slot->rows.rows, 1), error);
}

cpb_status cpb_model_score_source(const cpb_model *model, cpb_source *rows, double **scores, size_t *count,
                                  const cpb_exec *exec, cpb_error *error) {
  cpb_passes passes;
  score_pass p = {.model = model, .scores.row_bytes = sizeof **scores};
  if (model == NULL || scores == NULL) return cpb_fail_missing(error, model == NULL ? "model" : "scores");
  if (count == NULL) return cpb_fail_missing(error, "count");
  cpb_pass pass = {.arg = &p,
                   .per_row = 1,
                   .block_bytes = score_block(model),
                   .look = look_scores,
                   .gather = gather_scores};
  *scores = NULL;
  *count = 0;
  cpb_status status = cpb_passes_init(&passes, rows, 1, exec, error);
  if (status == CPB_OK) status = cpb_pass_run(&passes, &pass, error);
  if (status != CPB_OK) {
    free(p.scores.data);
    return status;
  }
  *scores = (double *)(void *)p.scores.data;
  *count = p.scores.rows;
  return CPB_OK;
}

enum { LISTED = 10000, QUANTILES = 1001 };
static const double ROBUST_NU = 0.9;
static const double CALIBRATED = 0.5; /* of a call that calibrates: when the fit to all rows is done */

/* How far a fit is, as a share, when the rows are held and when the ball is found. */
static const double HELD = 0.2, SOLVED = 0.9;
static const double TRIMMED = 0.6;                  /* when a robust fit knows the ordinary rows */
static const double GROUPED = 0.6, WHITENED = 0.65; /* of the fit of several balls */

CPB_DEFAULTS(cpb_model_fit_options, .gap = 1e-9, .kernel = {.offset = 1, .degree = 3})

typedef struct fitting {
  cpb_model_fit_options o;
  cpb_passes passes;
  const cpb_exec *whole, *exec; /* of the call; of the solver */
  cpb_view rows, y; /* held rows, data NULL while they stream; what is fitted: the rows, or W times them */
  cpb_cached_source kept; /* what is read instead while they stream */
  cpb_memory memory;
  void *held;         /* memory of the rows */
  double *W, *center; /* NULL without whitening; in the unit of the data */
  cpb_robust robust;  /* of a robust fit */
  double *scores;
  size_t count; /* of rows */
  cpb_balls balls;
  cpb_model_options model;
  cpb_model_fit_report report;
} fitting;

static bool is_whitened(const fitting *f) { return f->o.whiten || f->o.standardize; }

static bool has_kernel(const fitting *f) { return f->o.kernel.kind != CPB_KERNEL_LINEAR; }

static bool several(const fitting *f) { return f->o.balls > 1; }

static cpb_status no_memory(const fitting *f, cpb_error *error) {
  return cpb_fail_memory(error, "a model of %zu rows and %zu columns", f->count, f->model.d);
}

static cpb_status check(const fitting *f, cpb_error *error) {
  const cpb_model_fit_options *o = &f->o;
  if (!(o->nu >= 0 && o->nu <= 1)) return cpb_fail_domain(error, "nu", o->nu, "nu must lie in (0,1]");
  if (!(o->gap >= 0 && o->gap < INFINITY))
    return cpb_fail_domain(error, "gap", o->gap, "gap must be a number >= 0");
  if (!(o->contamination >= 0 && o->contamination <= 0.5))
    return cpb_fail_domain(error, "contamination", o->contamination, "contamination must lie in (0,0.5]");
  if (o->nu == 0 && (o->method != CPB_SVDD_EXACT || has_kernel(f) || o->weights != NULL))
    return cpb_fail(error, CPB_WHY_EXCLUSIVE, "nu", "method, weights and kernel go with nu > 0");
  if (has_kernel(f) && is_whitened(f))
    return cpb_fail(error, CPB_WHY_EXCLUSIVE, "whiten",
                    "a kernel does not go with whitening or standardised columns");
  if (o->robust && (has_kernel(f) || o->method != CPB_SVDD_EXACT))
    return cpb_fail(error, CPB_WHY_EXCLUSIVE, "robust", "robust goes with the method exact and no kernel");
  if (o->balls == CPB_BALLS_AUTO && !o->robust)
    return cpb_fail(error, CPB_WHY_EXCLUSIVE, "balls", "balls are chosen for robust fits only");
  if (several(f) && has_kernel(f))
    return cpb_fail(error, CPB_WHY_EXCLUSIVE, "balls", "several balls do not go with a kernel");
  return CPB_OK;
}

/* ---- whitening ---- */

/* y = W x for all rows. */
static cpb_status whiten_rows(fitting *f, const cpb_exec *exec, cpb_error *error) {
  double *y = cpb_memory_zeros(&f->memory, f->rows.rows, f->rows.cols * sizeof *y);
  if (y == NULL) return no_memory(f, error);
  f->y = cpb_rows(y, CPB_F64, f->rows.rows, f->rows.cols);
  return cpb_whitened_rows(f->W, f->rows, NULL, y, exec, error);
}

/* ---- the kinds of fit ---- */

/* Takes radius, gap, lower bound, convergence and the number of support vectors. */
static void model_take_report(cpb_model_options *model, const cpb_svdd_report *report) {
  model->radius = report->radius;
  model->gap = report->gap;
  model->lower_bound = report->lower_bound;
  model->converged = report->converged;
  model->support = report->support;
}

static void take_report(fitting *f, const cpb_svdd_report *report) {
  if (f->o.nu > 0) f->model.method = (cpb_model_method)(CPB_MODEL_EXACT + (int)f->o.method);
  f->model.nu = f->o.nu;
  f->report.iterations = report->iterations;
  f->report.seconds = report->seconds;
  model_take_report(&f->model, report);
}

static cpb_status fit_enclosing(fitting *f, cpb_error *error) {
  size_t d = f->model.d;
  cpb_ball_options options;
  cpb_ball_report report = {.size = sizeof report};
  cpb_ball_options_init(&options, sizeof options);
  options.gap = f->o.gap;
  cpb_ball_out out = {f->center, cpb_memory_zeros(&f->memory, d + 1, sizeof *out.rows),
                      cpb_memory_zeros(&f->memory, d + 1, sizeof *out.multipliers)};
  if (f->memory.failed) return no_memory(f, error);
  cpb_source held = cpb_source_from_view(f->y);
  cpb_status status = cpb_enclosing_ball_stream(f->y.data == NULL ? f->passes.source : &held, &options, &out,
                                                &report, f->exec, error);
  if (status != CPB_OK) return status;
  cpb_svdd_report found = cpb_report_of_ball(&report);
  take_report(f, &found);
  f->model.listed = report.support;
  f->model.support_rows = out.rows;
  f->model.multipliers = out.multipliers;
  return CPB_OK;
}

/* Lists the support vectors, unless they are too many; a kernel needs them all. */
static cpb_status keep_support(fitting *f, const double *a, cpb_error *error) {
  size_t d = f->y.cols, at = 0, listed = has_kernel(f) || f->model.support <= LISTED ? f->model.support : 0;
  f->model.listed = listed;
  if (listed == 0) return CPB_OK;
  uint64_t *rows = cpb_memory_take(&f->memory, listed, sizeof *rows);
  double *multipliers = cpb_memory_take(&f->memory, listed, sizeof *multipliers), *vectors = NULL;
  if (has_kernel(f)) vectors = cpb_memory_take(&f->memory, listed, d * sizeof *vectors);
  if (f->memory.failed) return no_memory(f, error);
  for (size_t i = 0; i < f->y.rows; i++) {
    if (!(a[i] > 0)) continue;
    if (vectors != NULL) cpb_row_widen(f->y, i, vectors + at * d);
    rows[at] = i;
    multipliers[at++] = a[i];
  }
  f->model.support_rows = rows;
  f->model.multipliers = multipliers;
  f->model.vectors = vectors;
  return CPB_OK;
}

static cpb_status fit_svdd(fitting *f, cpb_error *error) {
  cpb_svdd_options options;
  cpb_svdd_report report = {.size = sizeof report};
  cpb_svdd_options_init(&options, sizeof options);
  options.nu = f->o.nu;
  options.gap = f->o.gap;
  options.method = f->o.method;
  options.weights = f->o.robust ? f->robust.weight : f->o.weights;
  double *a = cpb_memory_zeros(&f->memory, f->y.rows, sizeof *a);
  if (a == NULL) return no_memory(f, error);
  cpb_status status;
  if (has_kernel(f)) {
    f->model.kernel = f->o.kernel;
    if (f->model.kernel.gamma == 0) f->model.kernel.gamma = 1 / (double)f->y.cols;
    status = cpb_kernel_svdd(f->y, &f->model.kernel, &options, a, &f->model.norm2, &report, f->exec, error);
  } else
    status = cpb_svdd(f->y, &options, f->center, a, &report, f->exec, error);
  if (status != CPB_OK) return status;
  take_report(f, &report);
  if (f->o.robust)
    status = cpb_radius_of_share(f->y, f->center, f->o.weights, f->o.nu, &f->model.radius, error);
  return status == CPB_OK ? keep_support(f, a, error) : status;
}

/* What balls are fitted by: the options, with weights 0 for rows that a robust fit left out, and its ridge. */
static cpb_model_fit_options fitted_by(const fitting *f) {
  cpb_model_fit_options o = f->o;
  if (!o.robust) return o;
  o.weights = f->robust.weight;
  o.ridge = f->robust.ridge;
  return o;
}

/* W again, from the rows about the means of their groups: how rows spread within a group, not how far the groups are
 * apart. The first W stays where these do not span the columns. y, which W has made, has room for the rows meanwhile. */
static cpb_status whiten_within(fitting *f, const size_t *group, const cpb_exec *exec, cpb_error *error) {
  double *y = (double *)(uintptr_t)f->y.data, *W = NULL;
  cpb_source source = cpb_source_from_view(f->y);
  cpb_passes passes;
  cpb_model_fit_options o = fitted_by(f);
  cpb_whitening_options wish = {o.whiten, o.standardize, o.ridge, o.weights, f->y, f->robust.spread};
  cpb_error why = {0};
  cpb_status status = cpb_group_residuals(f->rows, &o, group, y, error);
  if (status == CPB_OK) status = cpb_passes_init(&passes, &source, 1, exec, error);
  if (status != CPB_OK) return status;
  status = cpb_whitening_fit(&passes, wish, &W, &why);
  if (status != CPB_OK && status != CPB_EINVAL) return cpb_fail_again(error, &why);
  if (status == CPB_OK) {
    free(f->W);
    f->W = f->robust.W = W;
  }
  return cpb_whitened_rows(f->W, f->rows, NULL, y, CPB_EXEC_PART(exec, 1, 1), error);
}

/* What is grouped: rows of doubles without gaps. */
static cpb_status widen_rows(fitting *f, cpb_error *error) {
  size_t n = f->y.rows, d = f->y.cols;
  if (f->y.dtype == CPB_F64 && f->y.stride == d) return CPB_OK;
  double *wide = cpb_memory_take(&f->memory, n, d * sizeof *wide);
  if (wide == NULL) return no_memory(f, error);
  cpb_view_widen(f->y, wide);
  f->y = cpb_rows(wide, CPB_F64, n, d);
  return CPB_OK;
}

static cpb_status fit_several(fitting *f, cpb_error *error) {
  cpb_balls *b = &f->balls;
  size_t *group = cpb_memory_take(&f->memory, f->y.rows, sizeof *group);
  if (group == NULL) return no_memory(f, error);
  cpb_model_fit_options o = fitted_by(f);
  cpb_status status = widen_rows(f, error);
  if (status == CPB_OK) status = cpb_group_rows(f->y, &o, group, CPB_EXEC_PART(f->exec, 0, GROUPED), error);
  if (status == CPB_OK && f->o.whiten)
    status = whiten_within(f, group, CPB_EXEC_PART(f->exec, GROUPED, WHITENED), error);
  if (status == CPB_OK)
    status = cpb_fit_balls(f->y, &o, f->o.weights, group, b, CPB_EXEC_PART(f->exec, WHITENED, 1), error);
  if (status != CPB_OK) return status;
  for (size_t k = 0; k < b->count && f->W != NULL; k++) cpb_unwhiten(f->W, b->d, b->centers + k * b->d);
  memcpy(f->center, b->centers, b->d * sizeof *f->center);
  take_report(f, &b->report);
  f->model.balls = b->count;
  f->model.centers = b->centers;
  f->model.ball_radii = b->radii;
  f->model.ball_gaps = b->gaps;
  f->model.ball_rows = b->rows;
  return CPB_OK;
}

/* ---- the model ---- */

static cpb_status make_model(fitting *f, cpb_model **model, cpb_error *error) {
  cpb_model_free(*model);
  *model = NULL;
  f->model.center = has_kernel(f) ? NULL : f->center;
  f->model.whiten = f->W;
  return cpb_model_new(&f->model, model, error);
}

/* Quantiles of n >= 1 scores, all of them where n is 101 to 1001; sorts the scores and returns the number of quantiles. Steps
 * of a hundredth at the coarsest; those of a thousandth are what shares are printed with. */
static size_t model_quantiles(double *scores, size_t n, double *quantiles) {
  size_t count = n < 101 ? 101 : n < QUANTILES ? n : QUANTILES;
  cpb_score_quantiles(scores, n, count, quantiles);
  return count;
}

/* Quantiles of the scores of all rows, and the threshold, by one more pass; none where scores, which are squares, are no
 * doubles and no threshold was asked for. */
static cpb_status add_quantiles(fitting *f, cpb_model **model, cpb_error *error) {
  cpb_error why = {0};
  double quantiles[QUANTILES];
  size_t count = 0;
  cpb_source held = cpb_source_from_view(f->rows);
  cpb_status status =
      cpb_model_score_source(*model, f->rows.data != NULL ? &held : f->passes.source, &f->scores, &count,
                             CPB_EXEC_PART(f->passes.exec, SOLVED, 1), &why);
  bool asked = f->o.contamination > 0,
       finite = f->o.weights == NULL; /* or the fit had refused them; of weight 0 they may be anything */
  if (status == CPB_EROW && finite && !asked) return CPB_OK;
  if (status != CPB_OK) return cpb_fail_again(error, &why);
  if (count != f->count)
    return cpb_fail(error, CPB_WHY_SOURCE_CHANGED, "rows", "the source had %zu rows, and then %zu", f->count,
                    count);
  if (asked)
    status = cpb_score_threshold(f->scores, f->o.weights, f->count, f->o.contamination, &f->model.threshold,
                                 error);
  if (status != CPB_OK) return status;
  f->model.quantiles = quantiles;
  f->model.quantile_count = model_quantiles(f->scores, f->count, quantiles);
  return make_model(f, model, error);
}

/* The model once more, with the scores of rows that fits have not seen. */
static cpb_status add_calibration(fitting *f, cpb_model **model, cpb_error *error) {
  double *stored;
  cpb_model_options o = {.size = sizeof o};
  cpb_model *calibrated = NULL;
  cpb_status status = cpb_calibrate(f->rows, cpb_model_fit, &f->o, *model, &f->memory, &stored,
                                    &f->model.calibrated, CPB_EXEC_PART(f->whole, CALIBRATED, 1), error);
  if (status != CPB_OK || stored == NULL) return status;
  cpb_model_describe(*model, &o);
  o.calibrated = f->model.calibrated;
  o.calibration = stored;
  status = cpb_model_new(&o, &calibrated, error);
  if (status != CPB_OK) return status;
  cpb_model_free(*model);
  *model = calibrated;
  return CPB_OK;
}

/* EINVAL for data without a ball of radius > 0. */
static cpb_status check_ball(const cpb_model_options *model, cpb_error *error) {
  if (model->rows == 1)
    return cpb_fail(error, CPB_WHY_NO_RADIUS, "rows",
                    "there is one row, and no ball of radius > 0 around it");
  if (model->radius > 0) return CPB_OK;
  return cpb_fail(error, CPB_WHY_NO_RADIUS, "rows", "the ball has radius 0%s",
                  model->lower_bound > 0                    ? ""
                  : model->kernel.kind != CPB_KERNEL_LINEAR ? ": the kernel does not tell the rows apart"
                                                            : ", all columns are constant");
}

/* ---- the call ---- */

/* W, and which rows the ball is fitted to. */
static cpb_status trim(fitting *f, cpb_error *error) {
  const double *weights = f->o.weights;
  bool any = weights == NULL;
  for (size_t i = 0; i < f->count && weights != NULL; i++) {
    if (!(weights[i] >= 0 && weights[i] < INFINITY)) return cpb_fail_weight(error, i, weights[i]);
    any = any || weights[i] > 0;
  }
  if (f->count == 0) return cpb_fail_no_rows(error);
  if (!any) return cpb_fail_weights_zero(error, f->count);
  cpb_status status = cpb_robust_fit(&f->robust, &f->memory, f->rows, &f->o, f->model.columns,
                                     CPB_EXEC_PART(f->exec, HELD, TRIMMED), error);
  f->W = f->robust.W;
  if (status != CPB_OK) return status;
  status = whiten_rows(f, CPB_EXEC_PART(f->exec, TRIMMED, TRIMMED), error);
  if (status == CPB_OK && f->o.balls == CPB_BALLS_AUTO)
    status = cpb_choose_balls(f->y, f->robust.weight, &f->o, &f->o.balls, &f->robust.notes,
                              CPB_EXEC_PART(f->exec, TRIMMED, TRIMMED), error);
  f->model.robust = true;
  f->model.notes = f->robust.notes.bytes;
  return status != CPB_OK || f->robust.notes.failure == CPB_JSON_WHOLE ? status : no_memory(f, error);
}

static cpb_status hold_rows(fitting *f, cpb_error *error) {
  cpb_status status = cpb_passes_hold(&f->passes, &f->rows, &f->held, error);
  f->y = f->rows;
  f->count = f->rows.rows;
  if (status == CPB_OK && f->o.weights != NULL && f->o.weight_count != f->count)
    return cpb_fail(error, CPB_WHY_ROWS, "weights", "there are %llu weights for %zu rows",
                    (unsigned long long)f->o.weight_count, f->count);
  if (status == CPB_OK && f->o.robust) return trim(f, error);
  cpb_whitening_options wish = {f->o.whiten, f->o.standardize, f->o.ridge, f->o.weights, f->rows, NULL};
  if (status == CPB_OK && is_whitened(f)) status = cpb_whitening_fit(&f->passes, wish, &f->W, error);
  if (status == CPB_OK && f->W != NULL) status = whiten_rows(f, CPB_EXEC_PART(f->exec, HELD, HELD), error);
  return status;
}

static cpb_status fit_ball(fitting *f, bool stream, cpb_error *error) {
  f->exec = CPB_EXEC_PART(f->passes.exec, stream ? 0 : f->o.robust ? TRIMMED : HELD, SOLVED);
  cpb_status status = several(f)    ? fit_several(f, error)
                      : f->o.nu > 0 ? fit_svdd(f, error)
                                    : fit_enclosing(f, error);
  if (stream) f->count = (size_t)f->kept.rows;
  f->model.rows = f->count;
  if (status == CPB_OK) status = check_ball(&f->model, error);
  if (status == CPB_OK && f->W != NULL && !several(f)) cpb_unwhiten(f->W, f->model.d, f->center);
  return status;
}

static cpb_status fit(fitting *f, cpb_model **model, cpb_error *error) {
  const cpb_source *source = f->passes.source;
  bool stream = f->o.nu == 0 && !is_whitened(f) && !several(f) && !f->o.calibrate && source->view.rows == 0 &&
                source->dtype <= CPB_I8;
  f->exec = f->passes.exec;
  f->passes.to = HELD;
  if (stream) cpb_cached_source_init(&f->kept, f->passes.source);
  if (stream) f->passes.source = &f->kept.source;
  cpb_status status = stream ? CPB_OK : hold_rows(f, error);
  if (status == CPB_OK) status = fit_ball(f, stream, error);
  if (status == CPB_OK) status = make_model(f, model, error);
  if (status == CPB_OK) status = add_quantiles(f, model, error);
  return status == CPB_OK && f->o.calibrate ? add_calibration(f, model, error) : status;
}

cpb_status cpb_model_fit(cpb_source *rows, const cpb_model_fit_options *options, cpb_model **model,
                         cpb_model_fit_report *report, const cpb_exec *exec, cpb_error *error) {
  fitting f = {.count = 0};
  if (model == NULL) return cpb_fail_missing(error, "model");
  *model = NULL;
  cpb_model_fit_options_init(&f.o, sizeof f.o);
  f.report = (cpb_model_fit_report){.size = sizeof f.report};
  cpb_model_options_init(&f.model, sizeof f.model);
  cpb_status status = cpb_sized_take(&f.o, sizeof f.o, options, "model fit options", error);
  if (f.o.robust) f.o.whiten = f.o.standardize = true;
  if (f.o.robust && f.o.nu == 0) f.o.nu = ROBUST_NU;
  if (status == CPB_OK) status = check(&f, error);
  f.whole = exec;
  const cpb_exec *before = f.o.calibrate ? CPB_EXEC_PART(exec, 0, CALIBRATED) : exec;
  if (status == CPB_OK) status = cpb_passes_init(&f.passes, rows, is_whitened(&f) ? 2 : 1, before, error);
  if (status != CPB_OK) return status;
  f.model.d = rows->cols;
  f.model.fill = f.o.fill;
  f.model.columns = f.o.columns != NULL ? f.o.columns : rows->names;
  f.center = cpb_memory_zeros(&f.memory, rows->cols, sizeof *f.center);
  status = f.center == NULL ? no_memory(&f, error) : fit(&f, model, error);
  cpb_cached_source_free(&f.kept);
  free(f.held);
  free(f.W);
  free(f.robust.notes.bytes);
  free(f.scores);
  cpb_memory_free(&f.memory);
  cpb_memory_free(&f.balls.memory);
  if (status == CPB_OK)
    cpb_sized_give(report, &f.report, sizeof f.report);
  else {
    cpb_model_free(*model);
    *model = NULL;
  }
  return status;
}

/* ---- models from rounds over pieces ---- */

/* From one of the two. */
static cpb_status model_of_rounds(const cpb_ball_rounds *ball, const cpb_svdd_rounds *svdd, uint64_t rows,
                                  double *scores, size_t count, cpb_model **model, cpb_error *error) {
  bool missing = ball == NULL && svdd == NULL;
  if (missing || model == NULL) return cpb_fail_missing(error, missing ? "from" : "model");
  if (scores == NULL && count > 0) return cpb_fail_missing(error, "scores");
  *model = NULL;
  size_t d = ball != NULL ? ball->d : svdd->d;
  double quantiles[QUANTILES];
  cpb_memory memory = {0};
  cpb_ball_report report = {.size = sizeof report};
  cpb_svdd_report found = {.size = sizeof found};
  cpb_ball_out out = {.center = cpb_memory_zeros(&memory, d, sizeof(double)),
                      .rows = cpb_memory_zeros(&memory, d + 1, sizeof(uint64_t)),
                      .multipliers = cpb_memory_zeros(&memory, d + 1, sizeof(double))};
  cpb_status status = memory.failed  ? cpb_fail_memory(error, "a ball of %zu columns", d)
                      : ball != NULL ? cpb_ball_rounds_ball(ball, &out, &report, error)
                                     : cpb_svdd_rounds_ball(svdd, out.center, &found, error);
  if (ball != NULL) found = cpb_report_of_ball(&report);
  cpb_model_options o;
  cpb_model_options_init(&o, sizeof o);
  model_take_report(&o, &found);
  o.d = d;
  o.rows = rows;
  o.method = ball != NULL ? CPB_MODEL_BALL : CPB_MODEL_EXACT;
  o.nu = ball != NULL ? 0 : svdd->options.nu;
  o.listed = o.support; /* of an SVDD the pieces have them */
  o.center = out.center;
  o.support_rows = out.rows;
  o.multipliers = out.multipliers;
  if (status == CPB_OK) status = check_ball(&o, error);
  if (status == CPB_OK && count > 0) {
    o.quantiles = quantiles;
    o.quantile_count = model_quantiles(scores, count, quantiles);
  }
  if (status == CPB_OK) status = cpb_model_new(&o, model, error);
  cpb_memory_free(&memory);
  return status;
}

cpb_status cpb_model_from_ball_rounds(const cpb_ball_rounds *from, uint64_t rows, double *scores,
                                      size_t count, cpb_model **model, cpb_error *error) {
  return model_of_rounds(from, NULL, rows, scores, count, model, error);
}

cpb_status cpb_model_from_svdd_rounds(const cpb_svdd_rounds *from, uint64_t rows, double *scores,
                                      size_t count, cpb_model **model, cpb_error *error) {
  return model_of_rounds(NULL, from, rows, scores, count, model, error);
}
