/* T14: fits a sketch to rows. */
#include "base/fail.h"
#include "base/sized.h"
#include "capball/advanced/estimator.h"
#include "sphere/map_fit.h"
#include "statistics/statistics_fit.h"
#include "sketch/sketch_train.h"

CPB_DEFAULTS(cpb_sketch_fit_options, .target = 0.99, .k = 10, .sample = 16384)

typedef struct fitting {
  cpb_sketch_fit_options o;
  cpb_sketch_training training;
  cpb_passes passes;
  cpb_statistics *statistics;
  cpb_statistics_result facts;
  cpb_sketch_fit_report report;
} fitting;

static bool takes_norms(const cpb_sketch_fit_options *o) {
  return o->map == NULL && cpb_scale_takes_norms(o->s, o->goal);
}

static cpb_status take_map(fitting *f, const cpb_source *rows, cpb_error *error) {
  cpb_map_options map = {.size = sizeof map};
  cpb_map_describe(f->o.map, &map);
  cpb_status status = cpb_check_source_cols(rows, "rows", map.d, error);
  if (status != CPB_OK) return status;
  if (map.pole != NULL || map.whiten != NULL || map.toward != NULL)
    return cpb_fail(error, CPB_WHY_MAP_POLE, "map",
                    "the map has a %s; a sketch is made from a centre and a scale alone",
                    map.pole != NULL     ? "pole"
                    : map.whiten != NULL ? "whitening"
                                         : "direction turned to e");
  f->training.center = map.center;
  f->training.s = map.s;
  return CPB_OK;
}

static void take_facts(fitting *f) {
  f->report.rows = f->facts.rows;
  f->report.bad_rows = f->facts.nan_rows + f->facts.inf_rows;
  f->report.sample = f->facts.sample.rows;
}

static cpb_status choose(fitting *f, cpb_error *error) {
  const cpb_exec *exec = CPB_EXEC_PART(f->passes.exec, f->passes.to, f->passes.to + 0.1);
  f->training.center = f->facts.mean;
  f->training.s = f->o.s;
  if (f->o.s != 0) return CPB_OK;
  cpb_status status = cpb_scale_fit(f->o.goal, f->o.target, f->o.k, &f->facts, f->facts.sample, f->facts.mean,
                                    NULL, &f->training.s, exec, error);
  f->training.s *= 2; /* S is then nearly linear on most rows */
  return status;
}

static cpb_status train(fitting *f, cpb_sketch **sketch, cpb_error *error) {
  cpb_status status = f->o.map == NULL ? choose(f, error) : CPB_OK;
  if (status != CPB_OK) return status;
  return cpb_sketch_train(f->facts.sample, &f->training, sketch, &f->report.training,
                          CPB_EXEC_PART(f->passes.exec, f->passes.to + 0.1, 1), error);
}

static cpb_status begin(fitting *f, const cpb_sketch_fit_options *options, cpb_sketch **sketch,
                        cpb_error *error) {
  *f = (fitting){.statistics = NULL};
  if (sketch == NULL) return cpb_fail_missing(error, "sketch");
  *sketch = NULL;
  cpb_sketch_fit_options_init(&f->o, sizeof f->o);
  f->report = (cpb_sketch_fit_report){.size = sizeof f->report, .training.size = sizeof f->report.training};
  cpb_sketch_training_init(&f->training, sizeof f->training);
  cpb_status status = cpb_sized_take(&f->o, sizeof f->o, options, "sketch fit options", error);
  if (status != CPB_OK) return status;
  return cpb_sized_take(&f->training, sizeof f->training, f->o.training, "training options", error);
}

cpb_status cpb_sketch_fit(cpb_source *rows, const cpb_sketch_fit_options *options, cpb_sketch **sketch,
                          cpb_sketch_fit_report *report, const cpb_exec *exec, cpb_error *error) {
  fitting f;
  cpb_status status = begin(&f, options, sketch, error);
  if (status == CPB_OK) status = cpb_passes_init(&f.passes, rows, takes_norms(&f.o) ? 2 : 1, exec, error);
  if (status != CPB_OK) return status;
  f.passes.to = 0.3;
  status = f.o.map != NULL ? take_map(&f, rows, error) : CPB_OK;
  cpb_statistics_fit_options gathering = {
      .sample = f.o.sample, .seed = f.training.seed, .skip_bad = f.o.skip_bad};
  cpb_gathering what = takes_norms(&f.o) ? CPB_GATHER_NORMS : CPB_GATHER_COLUMNS;
  if (status == CPB_OK) status = cpb_gather(&f.passes, &gathering, what, &f.statistics, &f.facts, error);
  take_facts(&f);
  if (status == CPB_OK) status = train(&f, sketch, error);
  cpb_statistics_free(f.statistics);
  if (status == CPB_OK) cpb_sized_give(report, &f.report, sizeof f.report);
  return status;
}

cpb_status cpb_sketch_from_statistics(cpb_statistics *statistics, const cpb_sketch_fit_options *options,
                                      cpb_sketch **sketch, cpb_sketch_fit_report *report,
                                      const cpb_exec *exec, cpb_error *error) {
  fitting f;
  cpb_status status = begin(&f, options, sketch, error);
  if (status == CPB_OK) status = cpb_gathered(statistics, &f.facts, error);
  if (status == CPB_OK && takes_norms(&f.o)) status = cpb_check_norms(&f.facts, f.o.goal, error);
  if (status != CPB_OK) return status;
  cpb_source sample = cpb_source_from_view(f.facts.sample);
  status = f.o.map != NULL ? take_map(&f, &sample, error) : CPB_OK;
  if (status != CPB_OK) return status;
  f.passes.exec = exec;
  take_facts(&f);
  status = train(&f, sketch, error);
  if (status == CPB_OK) cpb_sized_give(report, &f.report, sizeof f.report);
  return status;
}
