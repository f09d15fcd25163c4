#include "recommend/recipe.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "batch/map_object.h"
#include "core/fail.h"
#include "core/rows.h"
#include "loop/chunk.h"

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
static cpb_status add_transform(cpb_recipe *recipe, const cpb_recipe_facts *facts, cpb_error *error) {
  bool direction = recipe->kind == CPB_TRANSFORM_NONE && recipe->metric == CPB_COSINE;
  cpb_transform_options options;
  cpb_transform_options_init(&options, sizeof options);
  options.kind = direction ? CPB_TRANSFORM_NORMALIZE : recipe->kind;
  options.d = facts->d;
  options.center = recipe->kind == CPB_TRANSFORM_NONE ? NULL : facts->center;
  options.max_norm = facts->norm_max;
  return cpb_transform_new(&options, &recipe->transform, error);
}

static cpb_status add_sphere(cpb_recipe *recipe, const cpb_recipe_facts *facts, cpb_error *error) {
  cpb_map_options options;
  cpb_map_options_init(&options, sizeof options);
  options.d = facts->d;
  options.center = facts->center;
  options.s = recipe->s;
  return cpb_map_new(&options, &recipe->map, error);
}

static cpb_metric own_metric(cpb_transform_kind kind) {
  return kind == CPB_TRANSFORM_LIFT_IP ? CPB_IP : CPB_COSINE;
}

cpb_status cpb_recipes_new(cpb_recipe recipes[CPB_RECIPES], const cpb_recipe_facts *facts, int metric,
                           cpb_error *error) {
  static const cpb_transform_kind kinds[CPB_RECIPES] = {
      CPB_TRANSFORM_NONE,   CPB_TRANSFORM_NORMALIZE, CPB_TRANSFORM_SPHERE,
      CPB_TRANSFORM_SPHERE, CPB_TRANSFORM_SPHERE,    CPB_TRANSFORM_SPHERE,
      CPB_TRANSFORM_SPHERE, CPB_TRANSFORM_LIFT_IP,   CPB_TRANSFORM_LIFT_COSINE};
  const double mean = facts->norm_mean,
               scales[CPB_RECIPES] = {NAN, NAN, facts->spread, mean, 2 * mean, 4 * mean, 8 * mean, NAN, NAN};
  cpb_status status = CPB_OK;
  for (size_t i = 0; i < CPB_RECIPES; i++) {
    cpb_metric by = metric < 0 ? own_metric(kinds[i]) : (cpb_metric)metric;
    recipes[i] = (cpb_recipe){.kind = kinds[i], .metric = by, .s = scales[i]};
    if (status != CPB_OK || !cpb_recipe_suits(kinds[i], by)) continue;
    status = kinds[i] == CPB_TRANSFORM_SPHERE ? add_sphere(&recipes[i], facts, error)
                                              : add_transform(&recipes[i], facts, error);
  }
  return status;
}

void cpb_recipes_free(cpb_recipe recipes[CPB_RECIPES]) {
  for (size_t i = 0; i < CPB_RECIPES; i++) {
    cpb_map_free(recipes[i].map);
    cpb_transform_free(recipes[i].transform);
  }
}

size_t cpb_recipe_cols(const cpb_recipe *recipe) {
  return recipe->map != NULL ? recipe->map->options.d + 1 : cpb_transform_cols(recipe->transform);
}

/* Rows that were rejected are NaN throughout. */
static void clear_refused(float *rows, size_t n, size_t cols) {
  for (size_t i = 0; i < n; i++)
    if (isnan(rows[i * cols])) memset(rows + i * cols, 0, cols * sizeof *rows);
}

static void apply(const cpb_recipe *recipe, cpb_role role, cpb_view rows, float *to) {
  size_t cols = cpb_recipe_cols(recipe);
  cpb_out out = cpb_rows_out(to, CPB_F32, rows.rows, cols);
  cpb_status status = recipe->map != NULL
                          ? cpb_map_embed(recipe->map, rows, out, NULL, NULL)
                          : cpb_transform_apply(recipe->transform, role, rows, out, NULL, NULL);
  if (status != CPB_OK) clear_refused(to, rows.rows, cols);
}

void cpb_recipe_base(const cpb_recipe *recipe, cpb_view rows, float *to) {
  apply(recipe, CPB_ROLE_BASE, rows, to);
}

/* p(q,r): the cap of the ball (q,r), T3. */
static cpb_status cap_centres(const cpb_map *map, cpb_view rows, double r, float *to, cpb_error *error) {
  const cpb_loops *loops = cpb_loops_here();
  size_t d = rows.cols;
  double *q = malloc((2 * d + 1) * sizeof *q);
  if (q == NULL) return cpb_fail_memory(error, "a cap of dimension %zu", d);
  cpb_region ball = {.kind = CPB_BALL, .d = d, .c = q, .r = r, .along = r};
  cpb_cap cap = {.d = d, .p = q + d};
  cpb_status status = CPB_OK;
  for (size_t i = 0; i < rows.rows && status == CPB_OK; i++) {
    loops->widen[rows.dtype]((const char *)rows.data + i * rows.stride * cpb_dtype_size(rows.dtype), d, q);
    status = cpb_map_cap(map, &ball, &cap, error);
    loops->narrow(cap.p, d + 1, to + i * (d + 1));
  }
  free(q);
  return status;
}

cpb_status cpb_recipe_queries(const cpb_recipe *recipe, cpb_view rows, double r, float *to,
                              cpb_error *error) {
  if (r > 0) return cap_centres(recipe->map, rows, r, to, error);
  apply(recipe, CPB_ROLE_QUERY, rows, to);
  return CPB_OK;
}
