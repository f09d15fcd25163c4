/* One way to prepare rows for an index, base and query side: a transform, or a map with its query forms. */
#ifndef CPB_RECOMMEND_RECIPE_H
#define CPB_RECOMMEND_RECIPE_H

#include <stdbool.h>

#include "capball/map.h"
#include "capball/transform.h"

typedef struct cpb_recipe {
  cpb_transform_kind kind;
  cpb_metric metric; /* how its rows are compared */
  double s;          /* of the map; NaN if none */
  cpb_map *map;
  cpb_transform *transform; /* one of the two */
} cpb_recipe;

enum { CPB_RECIPES = 9 };

/* Whether an index that ranks by `metric` can use rows of this kind. */
bool cpb_recipe_suits(cpb_transform_kind kind, cpb_metric metric);

/* What the recipes are fitted to: a centre, the norms about it (> 0), and the scale of the largest spread. */
typedef struct cpb_recipe_facts {
  size_t d;
  const double *center;
  double spread, norm_mean, norm_max;
} cpb_recipe_facts;

/* The recipes of a recommendation, simpler ones first; free them in any case.
 * metric   a cpb_metric, or -1: each by its own, raw rows by cosine; those that do not suit it have neither a map nor
 *          a transform */
cpb_status cpb_recipes_new(cpb_recipe recipes[CPB_RECIPES], const cpb_recipe_facts *facts, int metric,
                           cpb_error *error);
void cpb_recipes_free(cpb_recipe recipes[CPB_RECIPES]);

size_t cpb_recipe_cols(const cpb_recipe *recipe);

/* Rows as stored in the index: f32, densely packed; finite rows without an image become 0. */
void cpb_recipe_base(const cpb_recipe *recipe, cpb_view rows, float *to);

/* The queries: with radius r > 0 as centres of caps (maps only), with r = 0 as points. */
cpb_status cpb_recipe_queries(const cpb_recipe *recipe, cpb_view rows, double r, float *to, cpb_error *error);

#endif
