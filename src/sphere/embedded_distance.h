/* Distances from embedded rows, and how far stored rows are from the exact images. */
#ifndef CPB_SPHERE_EMBEDDED_DISTANCE_H
#define CPB_SPHERE_EMBEDDED_DISTANCE_H

#include "capball/map.h"

/* EINVAL unless Euclidean balls are caps under this map: pole e, no reflection. */
cpb_status cpb_check_round(const cpb_map *map, cpb_error *error);

/* S(q) and 1+q0 of a query, for the distances of rows. */
typedef struct cpb_query_image {
  size_t d;
  double s, rise;
  double *image; /* d+1 */
} cpb_query_image;
cpb_status cpb_query_embed(const cpb_map *map, cpb_view query, cpb_query_image *point, cpb_error *error);

/* |x-q| of an embedded row y of d+1 doubles. */
double cpb_query_image_distance(const cpb_query_image *point, const double *y);

/* The error of z = W(x-m), in roundings of its size, and an offset added to that size. */
typedef struct cpb_map_rounding {
  double times, shift;
} cpb_map_rounding;
cpb_map_rounding cpb_map_rounding_of(const cpb_map *map);

/* The largest distance from S(x) of a row stored in this type by cpb_map_embed. NaN for u8 and i8. */
double cpb_query_row_error(const cpb_map *map, cpb_dtype dtype);

#endif
