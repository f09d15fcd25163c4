/* One way to prepare rows for an index, base and query side: a transform, or a map with its query forms. */
#ifndef CPB_RECOMMEND_RECIPE_H
#define CPB_RECOMMEND_RECIPE_H

#include "capball/map.h"
#include "capball/transform.h"

typedef struct cpb_recipe {
  cpb_transform_kind kind;
  double s; /* of the map; NaN if none */
  cpb_map *map;
  cpb_transform *transform; /* one of the two */
} cpb_recipe;

enum { CPB_RECIPES = 9 };

/* The recipes of a recommendation, simpler ones first; free them in any case.
 * spread     the scale of the largest spread         norm_mean, norm_max   about the centre, > 0 */
cpb_status cpb_recipes_new(cpb_recipe recipes[CPB_RECIPES], size_t d, const double *center, double spread,
                           double norm_mean, double norm_max, cpb_error *error);
void cpb_recipes_free(cpb_recipe recipes[CPB_RECIPES]);

size_t cpb_recipe_cols(const cpb_recipe *recipe);

/* Rows as stored in the index: f32, densely packed; finite rows without an image become 0. */
void cpb_recipe_base(const cpb_recipe *recipe, cpb_view rows, float *to);

/* The queries: with radius r > 0 as centres of caps (maps only), with r = 0 as points. */
cpb_status cpb_recipe_queries(const cpb_recipe *recipe, cpb_view rows, double r, float *to, cpb_error *error);

#endif
