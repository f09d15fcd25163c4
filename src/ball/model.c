
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "loops/row_state.h"
#include "capball/advanced/rounds.h"
#include "capball/region.h"
#include "base/best.h"
#include "base/elementary.h"
#include "base/column_names.h"
#include "base/fail.h"
#include "base/median.h"
#include "base/memory.h"
#include "base/sized.h"
#include "loops/vector.h"
#include "ball/calibration_ranks.h"
#include "ball/smo.h"
#include "ball/piece_rounds.h"
#include "base/tell.h"

struct cpb_model {
  cpb_model_options options; /* its pointers are ours */
  cpb_memory memory;
};

CPB_DEFAULTS(cpb_model_options, .size = sizeof(cpb_model_options), .converged = true, .kind = CPB_BALL)

static bool has_kernel(const cpb_model_options *o) { return o->kernel.kind != CPB_KERNEL_LINEAR; }

const char *cpb_model_method_name(cpb_model_method method) {
  static const char *const names[CPB_MODEL_METHODS] = {"ball", "exact", "cap-svm", "cap-svm-paper", "region"};
  return (unsigned)method < CPB_MODEL_METHODS ? names[method] : "unknown";
}

static cpb_status check_kind(const cpb_model_options *o, cpb_error *error) {
  bool plane = o->kind == CPB_HALFSPACE;
  if (o->kind == CPB_BALL) return CPB_OK;
  if (o->kind != CPB_COMPLEMENT && !plane)
    return cpb_fail_domain(error, "kind", (double)o->kind,
                           "kind must be a ball, the complement of one, or a half-space");
  if (o->method != CPB_MODEL_REGION || has_kernel(o) || o->balls > 1 || (plane && o->whiten != NULL))
    return cpb_fail(error, CPB_WHY_EXCLUSIVE, "kind", "a %s is the one region of a model of method region%s",
                    plane ? "half-space" : "complement", plane ? ", without W" : "");
  return CPB_OK;
}

static cpb_status check_numbers(const cpb_model_options *o, cpb_error *error) {
  if (o->kind == CPB_HALFSPACE && !isfinite(o->radius))
    return cpb_fail_domain(error, "radius", o->radius, "the offset of a half-space must be finite");
  if (o->kind != CPB_HALFSPACE && !(o->radius > 0 && o->radius < INFINITY))
    return cpb_fail_domain(error, "radius", o->radius, "radius must be > 0 and finite");
  if (!(o->nu >= 0 && o->nu <= 1)) return cpb_fail_domain(error, "nu", o->nu, "nu must lie in [0,1]");
  if (!(o->gap >= 0 && o->gap <= 1)) return cpb_fail_domain(error, "gap", o->gap, "gap must lie in [0,1]");
  if (!isfinite(o->threshold))
    return cpb_fail_domain(error, "threshold", o->threshold, "threshold must be finite");
  size_t stored = cpb_calibration_count(o->calibrated);
  if (stored > 0 && o->calibration == NULL) return cpb_fail_missing(error, "calibration");
  for (size_t i = 0; i < stored; i++)
    if (!isfinite(o->calibration[i]) || (i > 0 && o->calibration[i] < o->calibration[i - 1]))
      return cpb_fail(error, CPB_WHY_LIST_ORDER, "calibration",
                      "calibration score %zu is %.17g: not finite, or below the one before", i,
                      o->calibration[i]);
  bool beyond = isnan(o->lower_bound) && o->nu > 0; /* a square that no double holds */
  if (!beyond && !(o->lower_bound >= 0 && o->lower_bound < INFINITY))
    return cpb_fail_domain(error, "lower_bound", o->lower_bound, "lower_bound must be >= 0 and finite");
  if (o->quantile_count == 1 || (o->quantile_count > 1 && o->quantiles == NULL))
    return cpb_fail(error, CPB_WHY_DOMAIN, "quantiles", "quantiles must be none or at least 2");
  for (size_t i = 0; i < o->quantile_count; i++)
    if (!isfinite(o->quantiles[i]) || (i > 0 && o->quantiles[i] < o->quantiles[i - 1]))
      return cpb_fail(error, CPB_WHY_LIST_ORDER, "quantiles",
                      "quantile %zu is %.17g: not finite, or below the one before", i, o->quantiles[i]);
  return CPB_OK;
}

static cpb_status check_kernel_part(const cpb_model_options *o, cpb_error *error) {
  if (o->kernel.kind > CPB_KERNEL_POLYNOMIAL) return cpb_fail_choice(error, "kernel", (int)o->kernel.kind);
  if (!has_kernel(o)) {
    if (o->center == NULL || !cpb_all_finite(o->center, o->d))
      return cpb_fail(error, CPB_WHY_NOT_FINITE, "center", "center must be %zu finite numbers", o->d);
    return CPB_OK;
  }
  if (o->center != NULL || o->whiten != NULL)
    return cpb_fail(error, CPB_WHY_EXCLUSIVE, "center",
                    "a model with a kernel has neither center nor whitening");
  if (o->listed == 0 || o->vectors == NULL)
    return cpb_fail(error, CPB_WHY_MISSING, "vectors", "a model with a kernel needs its support vectors");
  if (!(o->norm2 >= 0 && o->norm2 < INFINITY) || !cpb_all_finite(o->vectors, o->listed * o->d))
    return cpb_fail(error, CPB_WHY_NOT_FINITE, "norm2", "norm2 and vectors must be finite, norm2 >= 0");
  return cpb_check_kernel(&o->kernel, error);
}

static bool several(const cpb_model_options *o) { return o->balls > 1; }

static cpb_status check_balls(const cpb_model_options *o, cpb_error *error) {
  if (!several(o)) return CPB_OK;
  if (has_kernel(o)) return cpb_fail(error, CPB_WHY_EXCLUSIVE, "balls", "a model with a kernel has one ball");
  if (o->balls > SIZE_MAX / o->d || o->centers == NULL || !cpb_all_finite(o->centers, o->balls * o->d))
    return cpb_fail(error, CPB_WHY_NOT_FINITE, "centers", "centers must be %zu times %zu finite numbers",
                    o->balls, o->d);
  for (size_t k = 0; k < o->balls; k++) {
    if (o->ball_radii != NULL && !(o->ball_radii[k] >= 0 && o->ball_radii[k] < INFINITY))
      return cpb_fail_domain(error, "ball_radii", o->ball_radii[k], "ball_radii must be >= 0 and finite");
    if (o->ball_gaps != NULL && !(o->ball_gaps[k] >= 0 && o->ball_gaps[k] <= 1))
      return cpb_fail_domain(error, "ball_gaps", o->ball_gaps[k], "ball_gaps must lie in [0,1]");
  }
  return CPB_OK;
}

static cpb_status check(const cpb_model_options *o, cpb_error *error) {
  if (o->d == 0) return cpb_fail_count(error, "d", 0, "dimension d must be >= 1");
  if ((unsigned)o->method >= CPB_MODEL_METHODS)
    return cpb_fail_domain(error, "method", (double)o->method, "method must be one of cpb_model_method");
  if (o->listed > o->support || (o->listed > 0 && o->multipliers == NULL))
    return cpb_fail(error, CPB_WHY_EXCLUSIVE, "listed",
                    "%zu of %zu support vectors are listed, with%s multipliers", o->listed, o->support,
                    o->multipliers == NULL ? "out" : "");
  if (o->listed > 0 && !cpb_all_finite(o->multipliers, o->listed))
    return cpb_fail(error, CPB_WHY_NOT_FINITE, "multipliers", "multipliers must be finite");
  cpb_status status = check_kind(o, error);
  if (status == CPB_OK) status = check_numbers(o, error);
  if (status == CPB_OK) status = check_kernel_part(o, error);
  if (status == CPB_OK) status = check_balls(o, error);
  if (status == CPB_OK && o->whiten != NULL && !cpb_all_finite(o->whiten, o->d * o->d))
    status = cpb_fail_not_finite(error, "whiten", "whitening W");
  if (status == CPB_OK && o->fill != NULL && !cpb_all_finite(o->fill, o->d))
    status = cpb_fail_not_finite(error, "fill", "fill");
  return status;
}

cpb_status cpb_model_new(const cpb_model_options *given, cpb_model **model, cpb_error *error) {
  if (model == NULL) return cpb_fail_missing(error, "model");
  *model = NULL;
  cpb_model_options taken = defaults, *options = &taken;
  cpb_status status = cpb_sized_take(options, sizeof *options, given, "cpb_model_options", error);
  if (status == CPB_OK) status = check(options, error);
  if (status != CPB_OK) return status;
  cpb_model *made = calloc(1, sizeof *made);
  if (made == NULL) return cpb_fail_memory(error, "a model");
  size_t d = options->d, k = options->listed, balls = several(options) ? options->balls : 0;
  size_t stored = cpb_calibration_count(options->calibrated);
  cpb_model_options *o = &made->options;
  cpb_memory *m = &made->memory;
  *o = *options;
  o->center = cpb_memory_copy(m, options->center, d, sizeof(double));
  o->whiten = cpb_memory_copy(m, options->whiten, d * d, sizeof(double));
  o->quantiles = cpb_memory_copy(m, options->quantiles, options->quantile_count, sizeof(double));
  o->support_rows = cpb_memory_copy(m, options->support_rows, k, sizeof(uint64_t));
  o->multipliers = cpb_memory_copy(m, options->multipliers, k, sizeof(double));
  o->vectors = cpb_memory_copy(m, options->vectors, k * d, sizeof(double));
  o->balls = balls;
  o->centers = cpb_memory_copy(m, options->centers, balls * d, sizeof(double));
  o->ball_radii = cpb_memory_copy(m, options->ball_radii, balls, sizeof(double));
  o->ball_gaps = cpb_memory_copy(m, options->ball_gaps, balls, sizeof(double));
  o->fill = cpb_memory_copy(m, options->fill, d, sizeof(double));
  o->calibration = cpb_memory_copy(m, options->calibration, stored, sizeof(double));
  o->notes = cpb_memory_copy(m, options->notes, options->notes == NULL ? 0 : strlen(options->notes) + 1, 1);
  o->ball_rows = cpb_memory_copy(m, options->ball_rows, balls, sizeof(uint64_t));
  if (!cpb_column_names_copy(options->columns, d, &o->columns) || m->failed) {
    cpb_model_free(made);
    return cpb_fail_memory(error, "a model of dimension %zu", d);
  }
  *model = made;
  return CPB_OK;
}

void cpb_model_free(cpb_model *model) {
  if (model == NULL) return;
  cpb_memory_free(&model->memory);
  cpb_column_names_free(model->options.columns);
  free(model);
}

/* The ball number k as a region; the arrays are the model's. */
static cpb_region region_of(const cpb_model_options *o, size_t k) {
  const double *center = several(o) ? o->centers + k * o->d : o->center;
  return (cpb_region){.kind = o->kind,
                      .d = o->d,
                      .c = (double *)(uintptr_t)center,
                      .r = o->radius,
                      .along = o->radius,
                      .W = o->whiten};
}

/* The centre of the ball that x scores highest by. */
static const double *nearest_center(const cpb_model_options *o, const double *x) {
  const double *nearest = o->center;
  double best = -INFINITY, score;
  for (size_t k = 0; k < o->balls; k++) {
    cpb_region ball = region_of(o, k);
    cpb_view row = cpb_rows(x, CPB_F64, 1, o->d);
    bool scored = cpb_region_scores(&ball, row, cpb_rows_out(&score, CPB_F64, 1, 1), NULL, NULL) == CPB_OK;
    if (!scored || !(score > best)) continue;
    best = score;
    nearest = ball.c;
  }
  return nearest;
}

/* g = W^T W (x-c), and the squared lengths of the columns of W; lengths may be NULL. */
static void gradient(const cpb_model_options *o, const double *c, const double *x, double *g,
                     double *lengths) {
  size_t d = o->d;
  for (size_t j = 0; j < d; j++) g[j] = o->whiten == NULL ? x[j] - c[j] : 0;
  for (size_t j = 0; j < d && lengths != NULL; j++) lengths[j] = o->whiten == NULL;
  for (size_t i = 0; i < d && o->whiten != NULL; i++) { /* z_i of z = W(x-c), and g += z_i row i of W */
    const double *W = o->whiten + i * d;
    double z = 0;
    for (size_t j = 0; j < d; j++) z += W[j] * (x[j] - c[j]);
    for (size_t j = 0; j < d; j++) g[j] += z * W[j];
    for (size_t j = 0; j < d && lengths != NULL; j++) lengths[j] += W[j] * W[j];
  }
}

static bool has_no_columns(const cpb_model_options *o) { return has_kernel(o) || o->kind == CPB_HALFSPACE; }

static cpb_status fail_no_columns(const cpb_model_options *o, cpb_error *error) {
  return has_kernel(o) ? cpb_fail(error, CPB_WHY_NOT_WITH_KERNEL, "model",
                                  "a model with a kernel has no parts by columns")
                       : cpb_fail(error, CPB_WHY_EXCLUSIVE, "model",
                                  "a half-space has no centre, and no parts by columns");
}

cpb_status cpb_model_parts(const cpb_model *model, const double *x, double *parts, const double **center,
                           cpb_error *error) {
  if (model == NULL || x == NULL || parts == NULL)
    return cpb_fail_missing(error, model == NULL ? "model" : x == NULL ? "x" : "parts");
  const cpb_model_options *o = &model->options;
  size_t d = o->d;
  if (has_no_columns(o)) return fail_no_columns(o, error);
  const double *c = nearest_center(o, x);
  if (center != NULL) *center = c;
  gradient(o, c, x, parts, NULL);
  for (size_t j = 0; j < d; j++) parts[j] *= x[j] - c[j];
  return CPB_OK;
}

/* The score from which on a row counts as ordinary. */
static double ordinary_from(const cpb_model_options *o) {
  enum { HUNDREDTH = 100 };
  bool few_outside = o->nu <= 0.5 || o->threshold != 0 || o->quantile_count <= HUNDREDTH;
  return few_outside ? o->threshold : o->quantiles[(o->quantile_count - 1) / HUNDREDTH];
}

cpb_status cpb_model_ranges(const cpb_model *model, const double *x, double *least, double *most,
                            cpb_error *error) {
  if (model == NULL || x == NULL) return cpb_fail_missing(error, model == NULL ? "model" : "x");
  if (least == NULL || most == NULL) return cpb_fail_missing(error, least == NULL ? "least" : "most");
  const cpb_model_options *o = &model->options;
  size_t d = o->d;
  if (has_no_columns(o)) return fail_no_columns(o, error);
  const double *c = nearest_center(o, x);
  bool outward = o->kind == CPB_COMPLEMENT; /* ordinary is outside of the ball */
  double dist2 = 0, score = ordinary_from(o), limit = o->radius * o->radius + (outward ? score : -score);
  gradient(o, c, x, least, most);
  for (size_t j = 0; j < d; j++) dist2 += least[j] * (x[j] - c[j]);
  for (size_t j = 0; j < d; j++) { /* M u^2 + 2 g u + dist2 = limit, u = t - x_j */
    double M = most[j], best = x[j] - least[j] / M, square = least[j] * least[j] - M * (dist2 - limit);
    double half = square > 0 ? sqrt(square) / M : 0, rounding = half * 1e-12 + fabs(best) * 0x1p-50;
    half = outward ? half + rounding : fmax(half - rounding, 0); /* so that the ends are ordinary, too */
    bool below = x[j] < best;
    least[j] = !outward ? best - half : below ? -INFINITY : best + half;
    most[j] = !outward ? best + half : below ? best - half : INFINITY;
  }
  return CPB_OK;
}

void cpb_model_describe(const cpb_model *model, cpb_model_options *options) {
  cpb_sized_give(options, model == NULL ? NULL : &model->options, sizeof model->options);
}

typedef struct kernel_job {
  const cpb_model_options *o;
  const cpb_loops *loops;
  cpb_view x;
  cpb_out scores;
} kernel_job;

static int kernel_score(void *argument, size_t row) {
  enum { PIECE = 256 };
  const kernel_job *job = argument;
  const cpb_model_options *o = job->o;
  cpb_view vectors = cpb_rows(o->vectors, CPB_F64, o->listed, o->d);
  int fault = cpb_row_fault(job->loops, job->x, row);
  double own = NAN, sum = 0, values[PIECE];
  for (size_t at = 0; fault == 0 && at < o->listed; at += PIECE) {
    size_t piece = o->listed - at < PIECE ? o->listed - at : PIECE;
    cpb_kernel_row(&o->kernel, job->x, row, cpb_view_slice(vectors, at, piece), values);
    sum += job->loops->dot(values, o->multipliers + at, piece);
  }
  if (fault == 0) cpb_kernel_row(&o->kernel, job->x, row, cpb_view_slice(job->x, row, 1), &own);
  cpb_out_set(job->scores, row, 0, o->radius * o->radius - (own - 2 * sum + o->norm2));
  return fault;
}

static cpb_status kernel_scores(const cpb_model_options *o, cpb_view x, cpb_out scores, const cpb_exec *exec,
                                cpb_error *error) {
  cpb_status status = cpb_check_view(x, "x", o->d, error);
  if (status == CPB_OK) status = cpb_check_out(scores, "scores", x.rows, 1, error);
  if (status == CPB_OK) status = cpb_check_apart(x, "x", scores, "scores", error);
  if (status != CPB_OK) return status;
  kernel_job job = {.o = o, .loops = cpb_loops_here(), .x = x, .scores = scores};
  return cpb_rows_run_told(x.rows, o->listed * o->d, kernel_score, &job, "x", exec, error);
}

/* The scores by the best ball. Those by the first one have been found before: x and scores fit together. */
static cpb_status best_scores(const cpb_model_options *o, cpb_view x, cpb_out scores, const cpb_exec *exec,
                              cpb_error *error) {
  double *best = calloc(2 * x.rows + 1, sizeof *best), *others = best + x.rows;
  if (best == NULL) return cpb_fail_memory(error, "%zu scores", x.rows);
  cpb_status status = CPB_OK;
  for (size_t k = 0; k < o->balls && status == CPB_OK; k++) {
    cpb_region ball = region_of(o, k);
    const cpb_exec *part =
        CPB_EXEC_PART(exec, (double)k / (double)o->balls, (double)(k + 1) / (double)o->balls);
    status = cpb_region_scores(&ball, x, cpb_rows_out(others, CPB_F64, x.rows, 1), part, error);
    for (size_t i = 0; i < x.rows; i++) best[i] = k == 0 ? others[i] : fmax(best[i], others[i]);
  }
  for (size_t i = 0; i < x.rows && status == CPB_OK; i++) cpb_out_set(scores, i, 0, best[i]);
  free(best);
  return status;
}

cpb_status cpb_model_scores(const cpb_model *model, cpb_view x, cpb_out scores, const cpb_exec *exec,
                            cpb_error *error) {
  if (model == NULL) return cpb_fail_missing(error, "model");
  const cpb_model_options *o = &model->options;
  if (has_kernel(o)) return kernel_scores(o, x, scores, exec, error);
  cpb_region ball = region_of(o, 0);
  cpb_status status =
      cpb_region_scores(&ball, x, scores, several(o) ? CPB_EXEC_PART(exec, 0, 0) : exec, error);
  return status == CPB_OK && several(o) ? best_scores(o, x, scores, exec, error) : status;
}

double cpb_model_rank(const cpb_model *model, double score) {
  if (model == NULL) return NAN;
  const double *q = model->options.quantiles;
  size_t count = model->options.quantile_count, low = 0, high = count;
  if (count < 2 || isnan(score)) return NAN;
  if (score < q[0]) return 0;
  if (score >= q[count - 1]) return 1;
  while (high - low > 1) { /* q[low] <= score < q[high] */
    size_t middle = low + (high - low) / 2;
    if (q[middle] <= score)
      low = middle;
    else
      high = middle;
  }
  return ((double)low + (score - q[low]) / (q[high] - q[low])) / (double)(count - 1);
}

double cpb_model_p_value(const cpb_model *model, double score) {
  if (model == NULL || model->options.calibrated == 0) return NAN;
  return cpb_calibration_p(model->options.calibration, model->options.calibrated, score);
}

bool cpb_model_is_outlier(const cpb_model *model, double score) {
  return model != NULL && !(score >= model->options.threshold);
}

static double weight_of(const double *weights, size_t row) { return weights == NULL ? 1 : weights[row]; }

cpb_status cpb_score_threshold(const double *scores, const double *weights, size_t n, double share,
                               double *threshold, cpb_error *error) {
  cpb_ranked *order = malloc((n + 1) * sizeof *order);
  if (order == NULL) return cpb_fail_memory(error, "%zu scores", n);
  cpb_twofold total = {0, 0}, below = {0, 0};
  for (size_t i = 0; i < n; i++) {
    order[i] = (cpb_ranked){scores[i], i};
    cpb_twofold_add(&total, weight_of(weights, i));
  }
  cpb_ranked_sort(order, n);
  double most =
      share * cpb_twofold_value(total) * (1 + 0x1p-51); /* 0.29 of 100 rows are 29, and not 28.99.. */
  for (size_t i = 0; i < n && cpb_twofold_value(below) <= most; i++) {
    *threshold = order[i].key;
    cpb_twofold_add(&below, weight_of(weights, (size_t)order[i].id));
  }
  free(order);
  return CPB_OK;
}

cpb_status cpb_discoveries(const double *p, size_t n, double rate, double *most, cpb_error *error) {
  if (p == NULL || most == NULL) return cpb_fail_missing(error, p == NULL ? "p" : "most");
  if (!(rate > 0 && rate < 1)) return cpb_fail_domain(error, "rate", rate, "rate must lie in (0,1)");
  double *sorted = malloc((n + 1) * sizeof *sorted);
  if (sorted == NULL) return cpb_fail_memory(error, "%zu p-values", n);
  for (size_t i = 0; i < n; i++) sorted[i] = p[i] <= 1 ? p[i] : INFINITY;
  cpb_sort_numbers(sorted, n);
  *most = 0;
  for (size_t k = 0; k < n; k++)
    if (sorted[k] <= rate * (double)(k + 1) / (double)n) *most = sorted[k];
  free(sorted);
  return CPB_OK;
}

void cpb_score_quantiles(double *scores, size_t n, size_t count, double *quantiles) {
  cpb_sort_numbers(scores, n);
  for (size_t k = 0; k < count; k++) {
    double at = (double)k / (double)(count - 1) * (double)(n - 1);
    quantiles[k] = scores[(size_t)(at + 0.5)];
  }
}

cpb_status cpb_model_cap(const cpb_model *model, double *scale, cpb_cap *cap, cpb_error *error) {
  if (model == NULL || scale == NULL) return cpb_fail_missing(error, model == NULL ? "model" : "scale");
  const cpb_model_options *o = &model->options;
  if (has_kernel(o))
    return cpb_fail(error, CPB_WHY_NOT_WITH_KERNEL, "model", "a model with a kernel has no cap");
  if (several(o))
    return cpb_fail(error, CPB_WHY_EXCLUSIVE, "model", "a model of %zu balls has no cap: each ball has one",
                    o->balls);
  double *c = malloc(o->d * sizeof *c);
  if (c == NULL) return cpb_fail_memory(error, "%zu coordinates", o->d);
  for (size_t i = 0; i < o->d; i++)
    c[i] = o->whiten == NULL ? o->center[i] : cpb_dot_from(0, o->whiten + i * o->d, o->center, o->d);
  *scale = cpb_hypot(cpb_norm(c, o->d), o->radius);
  cpb_region ball = {.kind = o->kind, .d = o->d, .c = c, .r = o->radius, .along = o->radius};
  cpb_status status = cpb_cap_from_region(&ball, *scale, cap, error);
  free(c);
  return status;
}

/* Rows in order of strangeness, ties taken together; key: the score, id: 1 for an outlier. */
static void rank_labels(const cpb_ranked *all, size_t n, cpb_ranking *r) {
  double below = 0, sum = 0;
  size_t found = 0, ordinary = n - r->outliers;
  for (size_t first = 0, end; first < n; first = end) {
    size_t here = 0;
    for (end = first; end < n && all[end].key == all[first].key; end++) here += (size_t)all[end].id;
    size_t others = end - first - here;
    double ordinary_before = (double)(first - found);
    below += (double)here * ((double)ordinary - ordinary_before - 0.5 * (double)others);
    found += here;
    sum += (double)here * (double)found / (double)end;
  }
  r->auc = below / ((double)r->outliers * (double)ordinary);
  r->precision = sum / (double)r->outliers;
}

cpb_status cpb_score_ranking(const double *scores, const double *labels, size_t n, cpb_ranking *ranking,
                             cpb_error *error) {
  cpb_ranking found = {.size = sizeof found};
  if (scores == NULL || labels == NULL) return cpb_fail_missing(error, scores == NULL ? "scores" : "labels");
  if (ranking == NULL) return cpb_fail_missing(error, "ranking");
  cpb_ranked *all = malloc((n + 1) * sizeof *all);
  if (all == NULL) return cpb_fail_memory(error, "%zu scores", n);
  for (size_t i = 0; i < n; i++) {
    all[i] = (cpb_ranked){scores[i], labels[i] != 0};
    found.outliers += labels[i] != 0;
  }
  bool both = found.outliers > 0 && found.outliers < n;
  cpb_ranked_sort(all, n);
  if (both) rank_labels(all, n, &found);
  free(all);
  if (!both)
    return cpb_fail(error, CPB_WHY_LABELS, "labels", "%zu of %zu labels are not 0: no AUC", found.outliers,
                    n);
  cpb_sized_give(ranking, &found, sizeof found);
  return CPB_OK;
}
