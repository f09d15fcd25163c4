/* T13: fits a transform to rows. */
#include "capball/advanced/statistics.h"
#include "capball/transform.h"
#include "base/fail.h"
#include "statistics/norms_fit.h"
#include "statistics/statistics_fit.h"

static cpb_status find_largest(cpb_passes *passes, const char *name, cpb_transform_options *options,
                               cpb_error *error) {
  cpb_norm_fit norms;
  cpb_status status = cpb_norm_fit_run(&norms, options->center, NULL, passes, error);
  if (norms.sketch.count > 0) options->max_norm = norms.sketch.moments.high[0];
  cpb_norm_fit_free(&norms);
  if (status == CPB_OK && !(options->max_norm > 0))
    return cpb_fail(error, CPB_WHY_NO_SCALE, "base", "the largest norm%s is %g, no scale for transform %s",
                    options->center != NULL ? " about the mean" : "", options->max_norm, name);
  return status;
}

/* Centred at the mean, with the mean norm as scale. */
static cpb_status fit_sphere(cpb_source *base, bool skip_bad, cpb_transform **transform, const cpb_exec *exec,
                             cpb_error *error) {
  cpb_map_fit_options options;
  cpb_map *map = NULL;
  cpb_map_fit_options_init(&options, sizeof options);
  options.skip_bad = skip_bad;
  cpb_status status = cpb_map_fit(base, &options, &map, NULL, exec, error);
  if (status == CPB_OK) status = cpb_transform_of_map(map, transform, error);
  cpb_map_free(map);
  return status;
}

cpb_status cpb_transform_fit(cpb_source *base, cpb_transform_kind kind, bool skip_bad,
                             cpb_transform **transform, const cpb_exec *exec, cpb_error *error) {
  cpb_passes passes;
  cpb_statistics *statistics = NULL; /* owns the centre */
  cpb_transform_options options;
  cpb_transform_facts facts = cpb_transform_about(kind);
  if (transform == NULL) return cpb_fail_missing(error, "transform");
  *transform = NULL;
  if (kind == CPB_TRANSFORM_SPHERE) return fit_sphere(base, skip_bad, transform, exec, error);
  cpb_status status =
      cpb_passes_init(&passes, base, (unsigned)facts.centred + (unsigned)facts.bounded, exec, error);
  if (status != CPB_OK) return status;
  passes.skip_bad = skip_bad;
  cpb_transform_options_init(&options, sizeof options);
  options.kind = kind;
  options.d = base->cols;
  options.columns = base->names;
  if (facts.centred) {
    cpb_statistics_fit_options gathering = {.skip_bad = skip_bad};
    cpb_statistics_result found;
    status = cpb_gather(&passes, &gathering, CPB_GATHER_COLUMNS, &statistics, &found, error);
    if (status == CPB_OK) options.center = found.mean;
  }
  if (status == CPB_OK && facts.bounded) status = find_largest(&passes, facts.name, &options, error);
  if (status == CPB_OK) status = cpb_transform_new(&options, transform, error);
  cpb_statistics_free(statistics);
  return status;
}
