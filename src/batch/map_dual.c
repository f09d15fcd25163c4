/* Caps and regions under a whole map: the centre moves the region, the mirror or the pole's rotation moves the
 * cap, with T3, T5 and T6 between them. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "batch/map_object.h"
#include "core/fail.h"
#include "geometry/ellipsoids.h"
#include "geometry/lift.h"
#include "geometry/t2_pole.h"

static cpb_status fail_coordinates(cpb_error *error, const char *argument, size_t count, size_t wanted) {
  return cpb_fail(error, CPB_WHY_COLUMNS, argument, "the %s has %zu coordinates, the map wants %zu", argument,
                  count, wanted);
}

static void translate(cpb_region *region, const double *by, double sign) {
  if (by == NULL) return;
  switch (region->kind) {
  case CPB_BALL:
  case CPB_COMPLEMENT:
  case CPB_PUNCTURED:
    for (size_t i = 0; i < region->d; i++) region->c[i] += sign * by[i];
    return;
  case CPB_HALFSPACE: region->r += sign * cpb_loops_here()->dot(region->c, by, region->d); return;
  case CPB_EMPTY:
  case CPB_EVERYTHING: return;
  }
}

static void reflect(const cpb_map *map, double *p) {
  if (map->mirror == NULL) return;
  size_t cols = map->options.d + 1;
  double height = cpb_loops_here()->dot(p, map->mirror, cols);
  for (size_t i = 0; i < cols; i++) p[i] -= 2 * height * map->mirror[i];
}

static bool has_metric(const cpb_region *region) {
  return region->kind == CPB_BALL || region->kind == CPB_COMPLEMENT;
}

/* EINVAL unless the region's ellipsoids are those of the map's whitening. */
static cpb_status check_metric(const cpb_map *map, const cpb_region *region, cpb_error *error) {
  if (map->metric == NULL || !has_metric(region) || region->W == map->metric) return CPB_OK;
  if (region->W == NULL)
    return cpb_fail(error, CPB_WHY_REGION_METRIC, "region",
                    "under a whitened map only ellipsoids of its whitening are caps, got a region without W");
  size_t count = region->d * region->d;
  double largest = 0;
  for (size_t i = 0; i < count; i++) largest = fmax(largest, fabs(map->metric[i]));
  for (size_t i = 0; i < count; i++)
    if (!(fabs(region->W[i] - map->metric[i]) <= 1e-9 * largest))
      return cpb_fail(error, CPB_WHY_REGION_METRIC, "region",
                      "the ellipsoid's W is not the map's whitening: entry %zu is %.17g, the map has %.17g",
                      i, region->W[i], map->metric[i]);
  return CPB_OK;
}

cpb_status cpb_map_cap(const cpb_map *map, const cpb_region *region, cpb_cap *cap, cpb_error *error) {
  if (map == NULL || region == NULL || cap == NULL || cap->p == NULL)
    return cpb_fail(error, CPB_WHY_MISSING, "cap", "a cap needs a map, a region and memory for its p");
  size_t d = map->options.d;
  double s = map->options.s;
  if (region->d != d) return fail_coordinates(error, "region", region->d, d);
  cpb_status status = check_metric(map, region, error);
  if (status != CPB_OK) return status;
  size_t square = map->metric == NULL ? 0 : d * d;
  double *numbers = malloc((2 * d + square) * sizeof *numbers);
  if (numbers == NULL) return cpb_fail_memory(error, "a region of %zu coordinates", d);
  cpb_region moved = *region;
  if (region->c != NULL) moved.c = memcpy(numbers, region->c, d * sizeof *numbers);
  if (map->metric != NULL) {
    moved.W = map->metric;
    status = cpb_cap_by_whitening(&moved, map->onset, s, numbers + d, cap, error);
    if (status == CPB_OK && map->pole != NULL) cpb_pole_rotate(d, map->pole, cap->p);
  } else {
    if (region->c != NULL) translate(&moved, map->center, -1);
    status = map->pole != NULL ? cpb_cap_from_spheroid(&moved, s, map->pole, cap, error)
                               : cpb_cap_from_region(&moved, s, cap, error);
  }
  if (status == CPB_OK) reflect(map, cap->p);
  free(numbers);
  return status;
}

/* The cap as seen by S at its pole, with p in `p` (d+1 numbers): complete, with the mirror undone. */
static cpb_status cap_before_mirror(const cpb_map *map, const cpb_cap *cap, double *p, cpb_cap *before,
                                    cpb_error *error) {
  *before = *cap;
  before->p = memcpy(p, cap->p, (cap->d + 1) * sizeof *p);
  reflect(map, p);
  if (!isnan(cap->sigma) && !isnan(cap->a)) return CPB_OK;
  return cpb_cap_complete(before, map->pole, error);
}

static cpb_status region_of(const cpb_map *map, cpb_cap *cap, double *scratch, cpb_region *region,
                            cpb_error *error) {
  double s = map->options.s;
  if (map->metric != NULL) {
    if (map->pole != NULL) cpb_pole_rotate_back(cap->d, map->pole, cap->p);
    return cpb_ellipsoid_from_cap(cap, map->metric, map->onset, s, scratch, region, error);
  }
  cpb_status status = map->pole != NULL ? cpb_spheroid_from_cap(cap, s, map->pole, region, error)
                                        : cpb_region_from_cap(cap, s, region, error);
  if (status == CPB_OK) translate(region, map->center, 1);
  return status;
}

cpb_status cpb_map_region(const cpb_map *map, const cpb_cap *cap, cpb_region *region, cpb_error *error) {
  if (map == NULL || cap == NULL || cap->p == NULL || region == NULL || region->c == NULL)
    return cpb_fail(error, CPB_WHY_MISSING, "region", "a region needs a map, a cap and memory for its c");
  size_t d = map->options.d, square = map->metric == NULL ? 0 : d * d;
  if (cap->d != d) return fail_coordinates(error, "cap", cap->d + 1, d + 1);
  double *numbers = malloc((2 * d + 1 + square) * sizeof *numbers);
  if (numbers == NULL) return cpb_fail_memory(error, "a cap of %zu coordinates", d + 1);
  cpb_cap before;
  cpb_status status = cap_before_mirror(map, cap, numbers, &before, error);
  if (status == CPB_OK) status = region_of(map, &before, numbers + d + 1, region, error);
  free(numbers);
  return status;
}
