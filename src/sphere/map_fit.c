/* T1 T2 T6 T7 T9 T13: fits a map to rows. */
#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "capball/advanced/fitting.h"
#include "base/fail.h"
#include "base/sized.h"
#include "loops/ruler.h"
#include "base/rows.h"
#include "statistics/norms_fit.h"
#include "statistics/statistics_fit.h"
#include "loops/vector.h"
#include "loops/whitened.h"
#include "sphere/choice.h"
#include "sphere/map_fit.h"
#include "sphere/whitening.h"

CPB_DEFAULTS(cpb_map_fit_options, .target = 0.99, .k = 10, .sample = 4096)

cpb_status cpb_scale_fit(cpb_goal goal, double target, size_t k, const cpb_statistics_result *facts,
                         cpb_view sample, const double *center, cpb_choice **choice, double *s,
                         const cpb_exec *exec, cpb_error *error) {
  cpb_goal_options options;
  cpb_goal_options_init(&options, sizeof options);
  options.goal = goal;
  options.target = target;
  options.k = k;
  options.norm_mean = facts->norm_mean;
  options.norm_median = facts->norm_median;
  options.norm_max = facts->norm_max;
  cpb_choice *chosen;
  cpb_status status = cpb_choose_scale(sample, center, &options, &chosen, exec, error);
  if (status == CPB_OK) *s = cpb_choice_facts_of(chosen)->s;
  if (choice != NULL)
    *choice = chosen;
  else
    cpb_choice_free(chosen);
  return status;
}

cpb_status cpb_check_norms(const cpb_statistics_result *facts, cpb_goal goal, cpb_error *error) {
  if (facts->norm_rows == facts->rows) return CPB_OK;
  return cpb_fail(error, CPB_WHY_NORMS_UNKNOWN, "statistics",
                  "goal %s wants the norms of all %llu rows, the statistics hold %llu", cpb_goal_name(goal),
                  (unsigned long long)facts->rows, (unsigned long long)facts->norm_rows);
}

/* ---- the passes that are needed ---- */

typedef struct plan {
  bool statistics; /* centre, sample and norms come from mergeable statistics */
  bool norms;      /* which then need pass 2 */
  bool lengths;    /* norms that the statistics lack: about another centre, or through W */
} plan;

static plan plan_of(const cpb_map_fit_options *o) {
  bool mean = o->centring == CPB_CENTRE_MEAN, sampled = o->s == 0 && cpb_goal_is_sampled(o->goal);
  plan p = {.statistics = mean || sampled || o->whiten};
  p.norms = mean && !o->whiten && cpb_scale_takes_norms(o->s, o->goal);
  p.lengths = !p.norms && cpb_scale_takes_norms(o->s, o->goal);
  return p;
}

static unsigned passes_of(const cpb_map_fit_options *o) {
  plan p = plan_of(o);
  if (o->spherical) return 1;
  unsigned lengths = !p.lengths ? 0 : o->goal == CPB_GOAL_MEDIAN ? 2 : 1;
  return (unsigned)p.statistics + (unsigned)o->whiten + (unsigned)p.norms + lengths;
}

size_t cpb_map_fit_passes(const cpb_map_fit_options *options) {
  cpb_map_fit_options o = defaults;
  return cpb_sized_take(&o, sizeof o, options, "map fit options", NULL) == CPB_OK ? passes_of(&o) : 0;
}

static cpb_status check(const cpb_map_fit_options *o, cpb_error *error) {
  if (o->spherical && (o->s != 0 || o->centring != CPB_CENTRE_MEAN || o->pole != NULL || o->whiten))
    return cpb_fail(error, CPB_WHY_EXCLUSIVE, "spherical",
                    "a spherical map sets scale, centre and pole itself: leave them unset");
  if ((unsigned)o->centring > CPB_CENTRE_GIVEN) return cpb_fail_choice(error, "centring", (int)o->centring);
  if ((o->centring == CPB_CENTRE_GIVEN) != (o->center != NULL))
    return cpb_fail(error, CPB_WHY_EXCLUSIVE, "center",
                    "center must be set with CPB_CENTRE_GIVEN, and only then");
  if (o->s != 0) return cpb_check_scale(o->s, error);
  if ((unsigned)o->goal >= CPB_GOALS) return cpb_fail_choice(error, "goal", (int)o->goal);
  return CPB_OK;
}

/* ---- a flat map ---- */

typedef struct fitting {
  cpb_map_fit_options o;
  size_t d;
  cpb_passes passes;
  plan p;
  cpb_statistics *statistics;
  cpb_statistics_result facts;
  const double *center; /* points into the statistics or to the caller's */
  double *W;
  double s;
  cpb_map_fit_report report;
} fitting;

static cpb_status begin(fitting *f, const cpb_map_fit_options *options, cpb_map **map, cpb_error *error) {
  *f = (fitting){.d = 0};
  if (map == NULL) return cpb_fail_missing(error, "map");
  *map = NULL;
  cpb_map_fit_options_init(&f->o, sizeof f->o);
  f->report = (cpb_map_fit_report){.size = sizeof f->report};
  cpb_status status = cpb_sized_take(&f->o, sizeof f->o, options, "map fit options", error);
  f->p = plan_of(&f->o);
  return status == CPB_OK ? check(&f->o, error) : status;
}

static cpb_status find_statistics(fitting *f, cpb_error *error) {
  if (!f->p.statistics) return CPB_OK;
  bool sampled = f->o.s == 0 && cpb_goal_is_sampled(f->o.goal);
  cpb_statistics_fit_options options = {
      .sample = sampled ? f->o.sample : 0, .seed = f->o.seed, .skip_bad = f->o.skip_bad};
  cpb_gathering what = f->p.norms ? CPB_GATHER_NORMS : CPB_GATHER_COLUMNS;
  cpb_status status = cpb_gather(&f->passes, &options, what, &f->statistics, &f->facts, error);
  f->report.rows = f->facts.rows;
  f->report.bad_rows = f->facts.nan_rows + f->facts.inf_rows;
  if (f->o.centring == CPB_CENTRE_MEAN) f->center = f->facts.mean;
  return status;
}

/* Chooses s from the statistics; with whitening the sample is transformed first, W(x-m). */
static cpb_status choose(fitting *f, cpb_error *error) {
  cpb_view sample = f->facts.sample;
  const cpb_exec *exec = CPB_EXEC_PART(f->passes.exec, f->passes.to, 1);
  double *whitened = NULL;
  cpb_status status = CPB_OK;
  if (f->W != NULL) {
    whitened = calloc(sample.rows * sample.cols, sizeof *whitened);
    status = whitened == NULL
                 ? cpb_fail_memory(error, "a sample of %zu rows", sample.rows)
                 : cpb_whitened_rows(f->W, sample, f->center, whitened, CPB_EXEC_PART(exec, 0, 0), error);
    sample = cpb_rows(whitened, CPB_F64, sample.rows, sample.cols);
  }
  const double *center = f->W == NULL ? f->center : NULL;
  if (status == CPB_OK)
    status = cpb_scale_fit(f->o.goal, f->o.target, f->o.k, &f->facts, sample, center, &f->report.choice,
                           &f->s, exec, error);
  free(whitened);
  return status;
}

/* Chooses s from norms that the statistics do not have. */
static cpb_status find_lengths(fitting *f, cpb_error *error) {
  cpb_norm_fit norms;
  cpb_statistics_result facts = {.size = sizeof facts, .norm_median = NAN};
  cpb_view none = {NULL, CPB_F32, 0, f->d, f->d};
  f->passes.skip_bad = f->o.skip_bad;
  cpb_status status = cpb_norm_fit_run(&norms, f->center, f->W, &f->passes, error);
  if (status == CPB_OK && norms.sketch.count == 0) status = cpb_fail_no_rows(error);
  if (status == CPB_OK && f->o.goal == CPB_GOAL_MEDIAN)
    status = cpb_norm_fit_median(&norms, &f->passes, NULL, &facts.norm_median, error);
  if (status == CPB_OK) {
    facts.norm_mean = cpb_norm_fit_mean(&norms);
    facts.norm_max = norms.sketch.moments.high[0];
    status = cpb_scale_fit(f->o.goal, f->o.target, f->o.k, &facts, none, NULL, NULL, &f->s, NULL, error);
  }
  f->report.rows = norms.sketch.count;
  f->report.bad_rows = norms.nan_rows + norms.inf_rows;
  cpb_norm_fit_free(&norms);
  return status;
}

static cpb_status find_scale(fitting *f, cpb_error *error) {
  f->s = f->o.s;
  if (f->s != 0) return CPB_OK;
  return f->p.lengths ? find_lengths(f, error) : choose(f, error);
}

/* For rows of other types than double the mean is rounded to floats if that is accurate enough: subtracting it
 * then takes one operation, not two. No column moves by more than this part of the scale. */
#define CENTER_MOVES_MOST 0x1p-22

static bool center_in_floats(const fitting *f, double *floats) {
  for (size_t j = 0; j < f->d; j++) {
    double m = f->center[j];
    if (fabs(m) > FLT_MAX) return false;
    floats[j] = (double)(float)m;
    if (!(fabs(m - floats[j]) <= CENTER_MOVES_MOST * f->s)) return false;
  }
  return true;
}

static cpb_status make_map(const fitting *f, cpb_map **map, cpb_error *error) {
  cpb_map_options options = {.size = sizeof options,
                             .d = f->d,
                             .s = f->s,
                             .center = f->center,
                             .pole = f->o.pole,
                             .whiten = f->W,
                             .columns = f->o.columns};
  double *floats = NULL;
  if (f->o.centring == CPB_CENTRE_MEAN && f->W == NULL && f->facts.sample.dtype != CPB_F64) {
    floats = malloc(f->d * sizeof *floats);
    if (floats == NULL) return cpb_fail_memory(error, "a centre of %zu numbers", f->d);
    if (center_in_floats(f, floats)) options.center = floats;
  }
  cpb_status status = cpb_map_new(&options, map, error);
  free(floats);
  return status;
}

static cpb_status fit_flat(fitting *f, cpb_map **map, cpb_error *error) {
  f->center = f->o.center;
  cpb_status status = find_statistics(f, error);
  if (status == CPB_OK && f->o.whiten)
    status = cpb_whitening_fit(&f->passes, (cpb_whitening_options){.whiten = true, .ridge = f->o.ridge},
                               &f->W, error);
  if (status == CPB_OK) status = find_scale(f, error);
  if (status == CPB_OK) status = make_map(f, map, error);
  cpb_statistics_free(f->statistics);
  free(f->W);
  return status;
}

static cpb_status fit_spherical(fitting *f, cpb_map **map, cpb_error *error) {
  if (f->d < 2)
    return cpb_fail(error, CPB_WHY_COLUMNS, "rows", "directions need at least 2 columns, got %zu", f->d);
  cpb_statistics_fit_options gathering = {.skip_bad = f->o.skip_bad};
  cpb_status status =
      cpb_gather(&f->passes, &gathering, CPB_GATHER_DIRECTIONS, &f->statistics, &f->facts, error);
  cpb_map_options options = {.size = sizeof options, .d = f->d - 1, .s = 1, .toward = f->facts.mean};
  if (status == CPB_OK && cpb_norm(options.toward, f->d) < 1e-12)
    status = cpb_fail(error, CPB_WHY_NO_MEAN_DIRECTION, "rows",
                      "the directions cancel out: they have no mean direction");
  if (status == CPB_OK) status = cpb_map_new(&options, map, error);
  f->report.rows = f->facts.rows;
  f->report.bad_rows = f->passes.rows - f->facts.rows;
  cpb_statistics_free(f->statistics);
  return status;
}

/* ---- the calls ---- */

/* Fills the report and the choice, if requested. */
static void give_report(const fitting *f, cpb_status status, cpb_map_fit_report *report) {
  if (status == CPB_OK && report != NULL)
    cpb_sized_give(report, &f->report, sizeof f->report);
  else
    cpb_choice_free(f->report.choice);
}

cpb_status cpb_map_fit(cpb_source *rows, const cpb_map_fit_options *options, cpb_map **map,
                       cpb_map_fit_report *report, const cpb_exec *exec, cpb_error *error) {
  fitting f;
  cpb_status status = begin(&f, options, map, error);
  if (status == CPB_OK) status = cpb_passes_init(&f.passes, rows, passes_of(&f.o), exec, error);
  if (status != CPB_OK) return status;
  f.d = rows->cols;
  if (f.o.columns == NULL) f.o.columns = rows->names;
  if (f.o.s == 0 && cpb_goal_is_sampled(f.o.goal)) f.passes.to = 0.5;
  status = f.o.spherical ? fit_spherical(&f, map, error) : fit_flat(&f, map, error);
  f.report.passes = f.passes.done;
  give_report(&f, status, report);
  return status;
}

cpb_status cpb_map_from_statistics(cpb_statistics *statistics, const cpb_map_fit_options *options,
                                   cpb_map **map, cpb_map_fit_report *report, const cpb_exec *exec,
                                   cpb_error *error) {
  fitting f;
  cpb_status status = begin(&f, options, map, error);
  if (status == CPB_OK) status = cpb_gathered(statistics, &f.facts, error);
  if (status != CPB_OK) return status;
  if (f.o.spherical || f.o.whiten || f.o.centring != CPB_CENTRE_MEAN)
    return cpb_fail(error, CPB_WHY_EXCLUSIVE, "options",
                    "statistics support no whitening, no direction and no centre other than the mean");
  status = f.p.norms ? cpb_check_norms(&f.facts, f.o.goal, error) : CPB_OK;
  if (status != CPB_OK) return status;
  f.passes.exec = exec;
  f.d = f.facts.sample.cols;
  f.center = f.facts.mean;
  status = find_scale(&f, error);
  if (status == CPB_OK) status = make_map(&f, map, error);
  f.report.rows = f.facts.rows;
  f.report.bad_rows = f.facts.nan_rows + f.facts.inf_rows;
  give_report(&f, status, report);
  return status;
}
