#include "engine/recipe.h"

#include <math.h>
#include <string.h>

#include "sphere/map_object.h"
#include "engine/t13_query.h"
#include "engine/t13_transform.h"

bool cpb_recipe_suits(cpb_transform_kind kind, cpb_metric metric) {
  switch (kind) {
  case CPB_TRANSFORM_NONE:
  case CPB_TRANSFORM_SPHERE: return true;
  case CPB_TRANSFORM_NORMALIZE: return metric == CPB_COSINE;
  case CPB_TRANSFORM_LIFT_IP: return metric == CPB_IP;
  case CPB_TRANSFORM_LIFT_COSINE: return metric != CPB_L2;
  default: return false;
  }
}

/* Raw rows under cosine are divided by their lengths. */
static cpb_status add_transform(cpb_recipe *recipe, const cpb_statistics_result *facts, cpb_error *error) {
  bool direction = recipe->kind == CPB_TRANSFORM_NONE && recipe->metric == CPB_COSINE;
  cpb_transform_options options;
  cpb_transform_options_init(&options, sizeof options);
  options.kind = direction ? CPB_TRANSFORM_NORMALIZE : recipe->kind;
  options.d = facts->sample.cols;
  options.center = recipe->kind == CPB_TRANSFORM_NONE ? NULL : facts->mean;
  options.max_norm = facts->norm_max;
  return cpb_transform_new(&options, &recipe->transform, error);
}

static cpb_status add_sphere(cpb_recipe *recipe, const cpb_statistics_result *facts, cpb_error *error) {
  cpb_map *map = NULL;
  cpb_status status = cpb_map_plain(facts->sample.cols, recipe->s, facts->mean, &map, error);
  if (status == CPB_OK) status = cpb_transform_of_map(map, &recipe->transform, error);
  cpb_map_free(map);
  return status;
}

cpb_status cpb_recipes_new(cpb_recipe recipes[CPB_RECIPES], const cpb_statistics_result *facts, double spread,
                           int metric, cpb_error *error) {
  static const cpb_transform_kind kinds[CPB_RECIPES] = {
      CPB_TRANSFORM_NONE,   CPB_TRANSFORM_NORMALIZE, CPB_TRANSFORM_SPHERE,
      CPB_TRANSFORM_SPHERE, CPB_TRANSFORM_SPHERE,    CPB_TRANSFORM_SPHERE,
      CPB_TRANSFORM_SPHERE, CPB_TRANSFORM_LIFT_IP,   CPB_TRANSFORM_LIFT_COSINE};
  const double mean = facts->norm_mean,
               scales[CPB_RECIPES] = {NAN, NAN, spread, mean, 2 * mean, 4 * mean, 8 * mean, NAN, NAN};
  cpb_status status = CPB_OK;
  for (size_t i = 0; i < CPB_RECIPES; i++) {
    cpb_metric by =
        metric < 0 ? (kinds[i] == CPB_TRANSFORM_LIFT_IP ? CPB_IP : CPB_COSINE) : (cpb_metric)metric;
    recipes[i] = (cpb_recipe){.kind = kinds[i], .metric = by, .s = scales[i]};
    if (status != CPB_OK || !cpb_recipe_suits(kinds[i], by)) continue;
    status = kinds[i] == CPB_TRANSFORM_SPHERE ? add_sphere(&recipes[i], facts, error)
                                              : add_transform(&recipes[i], facts, error);
  }
  return status;
}

void cpb_recipes_free(cpb_recipe recipes[CPB_RECIPES]) {
  for (size_t i = 0; i < CPB_RECIPES; i++) cpb_transform_free(recipes[i].transform);
}

/* Rows that were rejected are NaN throughout. */
static cpb_status settle(cpb_status status, bool lenient, float *rows, size_t n, size_t cols) {
  if (status != CPB_EROW || !lenient) return status;
  for (size_t i = 0; i < n; i++)
    if (isnan(rows[i * cols])) memset(rows + i * cols, 0, cols * sizeof *rows);
  return CPB_OK;
}

cpb_status cpb_prepare_rows(const cpb_transform *transform, cpb_view x, bool lenient, float *to,
                            const cpb_exec *exec, cpb_error *error) {
  size_t cols = cpb_transform_cols(transform);
  cpb_out out = cpb_rows_out(to, CPB_F32, x.rows, cols);
  cpb_status status = cpb_transform_apply(transform, CPB_ROLE_BASE, x, out, exec, error);
  return settle(status, lenient, to, x.rows, cols);
}

cpb_status cpb_prepare_queries(const cpb_transform *transform, cpb_view x, const double *radii, double r,
                               bool lenient, float *to, const cpb_exec *exec, cpb_error *error) {
  size_t cols = cpb_transform_cols(transform);
  cpb_out out = cpb_rows_out(to, CPB_F32, x.rows, cols);
  const cpb_map *map = transform->map;
  cpb_status status = radii != NULL ? cpb_query_caps(map, x, radii, out, NULL, NULL, exec, error)
                      : r > 0       ? cpb_query_balls(map, x, r, out, exec, error)
                                    : cpb_transform_apply(transform, CPB_ROLE_QUERY, x, out, exec, error);
  return settle(status, lenient, to, x.rows, cols);
}
