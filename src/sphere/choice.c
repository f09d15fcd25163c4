/* The scale for a goal, with the evidence for it. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "loops/ruler.h"
#include "capball/advanced/abid.h"
#include "base/elementary.h"
#include "base/fail.h"
#include "base/median.h"
#include "base/sized.h"
#include "sphere/t7_hemisphere.h"
#include "base/tell.h"
#include "sphere/choice.h"

const char *cpb_goal_name(cpb_goal goal) {
  static const char *const names[CPB_GOALS] = {[CPB_GOAL_MEAN] = "mean",
                                               [CPB_GOAL_MEDIAN] = "median",
                                               [CPB_GOAL_HEMISPHERE] = "hemisphere",
                                               [CPB_GOAL_SPREAD] = "spread",
                                               [CPB_GOAL_RECALL] = "recall"};
  return (unsigned)goal < CPB_GOALS ? names[goal] : "unknown";
}

CPB_DEFAULTS(cpb_goal_options, .size = sizeof(cpb_goal_options), .goal = CPB_GOAL_MEAN, .target = 0.99,
             .k = 10, .queries = 1000, .norm_mean = NAN, .norm_median = NAN, .norm_max = NAN)

static const double right_angle = 0x1.921fb54442d18p+0;

enum { ABID_POINTS = 20, MAXIMA = 8, CEILING_POINTS = 40 };

struct cpb_choice {
  cpb_choice_facts facts; /* its pointers refer to the arrays below */
  double alternatives[CPB_GOALS];
  cpb_curve_point abid[ABID_POINTS], ceiling[CEILING_POINTS];
  cpb_abid_maximum maxima[MAXIMA];
};

void cpb_choice_free(cpb_choice *choice) { free(choice); }

const cpb_choice_facts *cpb_choice_facts_of(const cpb_choice *choice) { return &choice->facts; }

/* ---- ABID ---- */

static cpb_status fill_abid(cpb_choice *c, const cpb_abid_curve *curve, cpb_error *error) {
  double unit = c->facts.sample_mean_norm;
  for (size_t i = 0; i < ABID_POINTS; i++) {
    cpb_curve_point *p = &c->abid[i];
    p->s = unit * cpb_pow(10, 2 * (double)i / (ABID_POINTS - 1) - 1);
    cpb_status status = cpb_abid_curve_at(curve, p->s, CPB_PAIRS_ALL, &p->value, NULL, error);
    if (status != CPB_OK) return status;
  }
  c->facts.abid_count = ABID_POINTS;
  return cpb_abid_curve_maxima(curve, unit / 10, unit * 10, CPB_PAIRS_ALL, c->maxima, MAXIMA,
                               &c->facts.maxima_count, error);
}

/* The highest maximum; if the curve has none, its higher end. */
static cpb_curve_point best_spread(const cpb_choice *c) {
  cpb_curve_point best =
      c->abid[0].value >= c->abid[ABID_POINTS - 1].value ? c->abid[0] : c->abid[ABID_POINTS - 1];
  if (c->facts.maxima_count > 0) best = (cpb_curve_point){c->maxima[0].s, c->maxima[0].abid};
  return best;
}

static void set_missing(double *s, double value) {
  if (isnan(*s)) *s = value;
}

/* Takes unknown norms of all rows from the sample. */
static cpb_status fill_norms(cpb_choice *c, cpb_view sample, const double *center, cpb_error *error) {
  double *norms = malloc(sample.rows * sizeof *norms), largest = 0;
  if (norms == NULL) return cpb_fail_memory(error, "%zu norms", sample.rows);
  cpb_ruler ruler = {.loops = cpb_loops_here(), .x = sample, .c = center, .sign = 1};
  for (size_t i = 0; i < sample.rows; i++) {
    cpb_ruler_length(&ruler, i, &norms[i]);
    largest = fmax(largest, norms[i]);
  }
  set_missing(&c->alternatives[CPB_GOAL_MEAN], c->facts.sample_mean_norm);
  set_missing(&c->alternatives[CPB_GOAL_MEDIAN], cpb_median(norms, sample.rows));
  set_missing(&c->alternatives[CPB_GOAL_HEMISPHERE], cpb_hemisphere_scale(largest, right_angle));
  free(norms);
  return CPB_OK;
}

static cpb_status find_spread(cpb_choice *c, cpb_view sample, const double *center, const cpb_exec *exec,
                              cpb_error *error) {
  cpb_abid_curve *curve;
  cpb_status status = cpb_abid_curve_new(sample, center, 0, &curve, exec, error);
  if (status != CPB_OK) return status;
  c->facts.sample_mean_norm = cpb_abid_curve_mean_norm(curve);
  if (sample.rows < 2 || !(c->facts.sample_mean_norm > 0))
    status = cpb_fail(error, CPB_WHY_NO_SCALE, "sample",
                      "%zu rows with mean norm %g about the centre have no scale", sample.rows,
                      c->facts.sample_mean_norm);
  if (status == CPB_OK) status = fill_norms(c, sample, center, error);
  if (status == CPB_OK) status = fill_abid(c, curve, error);
  cpb_abid_curve_free(curve);
  if (status == CPB_OK) c->alternatives[CPB_GOAL_SPREAD] = best_spread(c).s;
  return status;
}

/* ---- recall ---- */

enum { GRID = 29, REFINED = 10 }; /* factors of sqrt 2 from 1/4 to 4096; the deciding one in 11 parts */

typedef struct choosing {
  cpb_choice *choice;
  cpb_view sample;
  const double *center;
  const cpb_goal_options *o;
  double
      least[GRID + REFINED]; /* the measured recall minus its standard error, for each point of the curve */
} choosing;

/* Measures `count` scales, from `low` in steps of `factor`, into the curve at `at`. */
static cpb_status measure(choosing *w, size_t at, double low, double factor, size_t count,
                          const cpb_exec *exec, cpb_error *error) {
  cpb_choice *c = w->choice;
  double s[GRID], recall[GRID], spread[GRID];
  for (size_t i = 0; i < count; i++) s[i] = low * cpb_pow(factor, (double)i);
  cpb_status status =
      cpb_search_ceiling(w->sample, w->center, w->o->k, w->o->queries, s, count, recall, spread, exec, error);
  if (status != CPB_OK) return status;
  size_t after = c->facts.ceiling_count - at;
  memmove(c->ceiling + at + count, c->ceiling + at, after * sizeof *c->ceiling);
  memmove(w->least + at + count, w->least + at, after * sizeof *w->least);
  for (size_t i = 0; i < count; i++) {
    c->ceiling[at + i] = (cpb_curve_point){s[i], recall[i]};
    w->least[at + i] = recall[i] - spread[i];
  }
  c->facts.ceiling_count += count;
  return CPB_OK;
}

/* The first point of the curve from which the target is reached throughout. */
static size_t first_reached(const choosing *w) {
  size_t at = w->choice->facts.ceiling_count;
  while (at > 0 && w->least[at - 1] >= w->o->target) at--;
  return at;
}

static cpb_status find_recall(choosing *w, cpb_curve_point *best, const cpb_exec *exec, cpb_error *error) {
  cpb_choice *c = w->choice;
  double step = sqrt(2), fine = cpb_pow(step, 1. / (REFINED + 1));
  cpb_status status =
      measure(w, 0, c->facts.sample_mean_norm / 4, step, GRID, CPB_EXEC_PART(exec, 0, 0.6), error);
  if (status != CPB_OK) return status;
  size_t at = first_reached(w);
  if (at == GRID)
    return cpb_fail(error, CPB_WHY_RECALL_NOT_REACHED, "target",
                    "recall %g is not reached: %g at %g times the mean norm", w->o->target,
                    c->ceiling[GRID - 1].value, c->ceiling[GRID - 1].s / c->facts.sample_mean_norm);
  if (at > 0)
    status = measure(w, at, c->ceiling[at - 1].s * fine, fine, REFINED, CPB_EXEC_PART(exec, 0.6, 1), error);
  if (status != CPB_OK) return status;
  *best = c->ceiling[first_reached(w)];
  c->alternatives[CPB_GOAL_RECALL] = best->s;
  return CPB_OK;
}

/* ---- the choice ---- */

static cpb_status take_norm(cpb_choice *c, const cpb_goal_options *o, cpb_error *error) {
  double norms[] = {o->norm_mean, o->norm_median, o->norm_max};
  c->facts.s = c->alternatives[o->goal];
  c->facts.value = norms[o->goal];
  if (isnan(c->facts.value))
    return cpb_fail(error, CPB_WHY_NORMS_UNKNOWN, "goal",
                    "goal %s needs the norms of all rows, which are not known", cpb_goal_name(o->goal));
  if (c->facts.s > 0 && c->facts.s < INFINITY) return CPB_OK;
  return cpb_fail(error, CPB_WHY_NO_SCALE, "goal",
                  "the %s norm about the centre is %g, which cannot be a scale",
                  o->goal == CPB_GOAL_HEMISPHERE ? "largest" : cpb_goal_name(o->goal), c->facts.value);
}

static cpb_status choose(cpb_choice *choice, cpb_view sample, const double *center,
                         const cpb_goal_options *options, const cpb_exec *exec, cpb_error *error) {
  choice->facts = (cpb_choice_facts){.s = NAN,
                                     .value = NAN,
                                     .sample_mean_norm = NAN,
                                     .alternative_count = CPB_GOALS,
                                     .alternatives = choice->alternatives,
                                     .abid = choice->abid,
                                     .maxima = choice->maxima,
                                     .ceiling = choice->ceiling};
  choice->alternatives[CPB_GOAL_MEAN] = options->norm_mean;
  choice->alternatives[CPB_GOAL_MEDIAN] = options->norm_median;
  choice->alternatives[CPB_GOAL_HEMISPHERE] = cpb_hemisphere_scale(options->norm_max, right_angle);
  choice->alternatives[CPB_GOAL_SPREAD] = choice->alternatives[CPB_GOAL_RECALL] = NAN;
  if (options->goal < CPB_GOAL_SPREAD) return take_norm(choice, options, error);
  cpb_status status = find_spread(choice, sample, center, CPB_EXEC_PART(exec, 0, 0.2), error);
  cpb_curve_point best = {NAN, NAN};
  bool recall = options->goal == CPB_GOAL_RECALL;
  if (status == CPB_OK && (recall || sample.rows > options->k)) {
    choosing w = {.choice = choice, .sample = sample, .center = center, .o = options};
    status = find_recall(&w, &best, CPB_EXEC_PART(exec, 0.2, 1), error);
    if (!recall && status == CPB_EINVAL) status = CPB_OK; /* only an alternative */
  }
  if (status != CPB_OK) return status;
  if (!recall) best = best_spread(choice);
  choice->facts.s = best.s;
  choice->facts.value = best.value;
  return CPB_OK;
}

cpb_status cpb_choose_scale(cpb_view sample, const double *center, const cpb_goal_options *options,
                            cpb_choice **choice, const cpb_exec *exec, cpb_error *error) {
  *choice = NULL;
  if ((unsigned)options->goal >= CPB_GOALS) return cpb_fail_choice(error, "goal", (int)options->goal);
  if (options->goal == CPB_GOAL_RECALL && !(options->target > 0 && options->target < 1))
    return cpb_fail_domain(error, "target", options->target, "target must be > 0 and < 1");
  cpb_choice *made = calloc(1, sizeof *made);
  if (made == NULL) return cpb_fail_memory(error, "a choice");
  cpb_status status = choose(made, sample, center, options, exec, error);
  if (status == CPB_OK)
    *choice = made;
  else
    cpb_choice_free(made);
  return status;
}
