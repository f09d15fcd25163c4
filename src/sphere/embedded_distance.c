/* T8 T13: distances from embedded rows. */
#include "sphere/embedded_distance.h"

#include <float.h>
#include <math.h>

#include "base/fail.h"
#include "sphere/map_object.h"
#include "sphere/products.h"
#include "sphere/t1_embed.h"

cpb_status cpb_check_round(const cpb_map *map, cpb_error *error) {
  if (map == NULL) return cpb_fail_missing(error, "map");
  if (map->pole != NULL)
    return cpb_fail(
        error, CPB_WHY_MAP_POLE, "map",
        "the map has a pole of its own, under which Euclidean balls are not caps: use a map with the pole e");
  if (map->mirror != NULL)
    return cpb_fail(error, CPB_WHY_MAP_POLE, "map",
                    "the map rotates a direction of the sphere to e: its rows are directions, and Euclidean "
                    "balls are not caps under it");
  return CPB_OK;
}

cpb_status cpb_query_embed(const cpb_map *map, cpb_view query, cpb_query_image *point, cpb_error *error) {
  size_t d = map->options.d;
  point->d = d;
  point->s = map->options.s;
  cpb_status status = cpb_map_embed(map, query, cpb_rows_out(point->image, CPB_F64, 1, d + 1), NULL, error);
  point->rise = cpb_rise(point->image[d], cpb_loops_here()->dot(point->image, point->image, d));
  return status;
}

double cpb_query_image_distance(const cpb_query_image *point, const double *y) {
  const cpb_loops *loops = cpb_loops_here();
  size_t d = point->d;
  double rise = cpb_rise(y[d], loops->dot(y, y, d));
  if (rise == 0) return INFINITY;
  double unit = cpb_unit_power(point->s); /* s^2 may exceed the range of double */
  double dist2_hat = loops->dist2(y, point->image, d + 1);
  return sqrt(cpb_original_dist2(dist2_hat, rise, point->rise, point->s * unit)) / unit;
}

static double frobenius(const double *a, size_t n) { return sqrt(cpb_loops_here()->dot(a, a, n)); }

cpb_map_rounding cpb_map_rounding_of(const cpb_map *map) {
  size_t d = map->options.d;
  double center = map->center != NULL ? frobenius(map->center, d) : 0;
  if (map->whiten == NULL) return (cpb_map_rounding){4, center};
  double W = frobenius(map->whiten, d * d), back = frobenius(map->unwhiten, d * d);
  return (cpb_map_rounding){4 + (double)d * W * back, W * center};
}

double cpb_query_row_error(const cpb_map *map, cpb_dtype dtype) {
  static const double u64 = DBL_EPSILON / 2;
  if (map == NULL) return NAN;
  cpb_map_rounding z = cpb_map_rounding_of(map);
  double of_double = u64 * (4 + z.times * (1 + 2 * z.shift / map->options.s));
  switch (dtype) {
  case CPB_F64: return of_double;
  case CPB_F32: return of_double + 4 * 0x1p-24;
  case CPB_F16: return of_double + 4 * 0x1p-11 + sqrt((double)map->options.d + 1) * 0x1p-25;
  default: return NAN;
  }
}
