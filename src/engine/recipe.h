/* Ways to prepare rows for an index: transforms, and what an index receives from them. */
#ifndef CPB_ENGINE_RECIPE_H
#define CPB_ENGINE_RECIPE_H

#include <stdbool.h>

#include "capball/advanced/statistics.h"
#include "capball/transform.h"

typedef struct cpb_recipe {
  cpb_transform_kind kind;
  cpb_metric metric;        /* how its rows are compared */
  double s;                 /* of the sphere; NaN if none */
  cpb_transform *transform; /* NULL: it does not suit the metric */
} cpb_recipe;

enum { CPB_RECIPES = 9 };

/* Whether an index that ranks by `metric` can use rows of this kind. */
bool cpb_recipe_suits(cpb_transform_kind kind, cpb_metric metric);

/* The recipes of a recommendation, simpler ones first; free them in any case.
 * facts    of the base, with norms
 * spread   the scale of the largest spread
 * metric   a cpb_metric, or -1: each by its own, raw rows by cosine; those that do not suit it have no transform */
cpb_status cpb_recipes_new(cpb_recipe recipes[CPB_RECIPES], const cpb_statistics_result *facts, double spread,
                           int metric, cpb_error *error);
void cpb_recipes_free(cpb_recipe recipes[CPB_RECIPES]);

/* Rows as an index stores them: f32, densely packed. Rows without an image (a zero that should be a direction) become 0
 * if `lenient`, else they are EROW. */
cpb_status cpb_prepare_rows(const cpb_transform *transform, cpb_view x, bool lenient, float *to,
                            const cpb_exec *exec, cpb_error *error);

/* The same for queries: points, or on the sphere the caps of balls, of one radius each, or (radii NULL) of radius r
 * if r > 0. */
cpb_status cpb_prepare_queries(const cpb_transform *transform, cpb_view x, const double *radii, double r,
                               bool lenient, float *to, const cpb_exec *exec, cpb_error *error);

#endif
