/* The map object: checked once, read-only afterwards. */
#include "batch/map_object.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "batch/whiten.h"
#include "core/column_names.h"
#include "core/fail.h"
#include "core/rows.h"
#include "core/sized.h"
#include "geometry/t2_pole.h"

static const cpb_map_options defaults = {.size = sizeof(cpb_map_options), .s = 1};

void cpb_map_options_init(cpb_map_options *options, size_t size) {
  cpb_sized_init(options, size, &defaults, sizeof defaults);
}

void cpb_map_describe(const cpb_map *map, cpb_map_options *options) {
  cpb_sized_give(options, &map->options, sizeof map->options);
}

void cpb_map_free(cpb_map *map) {
  if (map == NULL) return;
  free(map->bare);
  cpb_column_names_free(map->options.columns, map->options.d);
  free(map);
}

static cpb_status check_finite(const double *values, size_t count, const char *argument, const char *name,
                               cpb_error *error) {
  for (size_t i = 0; i < count; i++)
    if (!isfinite(values[i]))
      return cpb_fail_domain(error, argument, values[i], "coordinate %zu of the %s must be finite", i, name);
  return CPB_OK;
}

static cpb_status check_options(const cpb_map_options *o, cpb_error *error) {
  size_t most = SIZE_MAX / sizeof(double) / 16;
  if (o->d == 0 || o->d > most || (o->whiten != NULL && o->d > most / o->d))
    return cpb_fail_dimension(error, "map", o->d);
  if (o->pole != NULL && o->toward != NULL)
    return cpb_fail(error, CPB_WHY_EXCLUSIVE, "pole",
                    "a map takes a pole or a direction to turn onto e, not both");
  cpb_status status = cpb_check_scale(o->s, error);
  if (status == CPB_OK && o->center != NULL)
    status = check_finite(o->center, o->d, "center", "centre", error);
  if (status == CPB_OK && o->pole != NULL) status = cpb_check_pole(o->d, o->pole, error);
  if (status == CPB_OK && o->whiten != NULL)
    status = check_finite(o->whiten, o->d * o->d, "whiten", "whitening", error);
  if (status == CPB_OK && o->toward != NULL)
    status = check_finite(o->toward, o->d + 1, "toward", "direction", error);
  return status;
}

/* Takes pieces of the map's single allocation. */
static double *take(double **free_numbers, size_t count) {
  double *piece = *free_numbers;
  *free_numbers += count;
  return piece;
}

static const double *keep(double **free_numbers, const double *from, size_t count) {
  if (from == NULL) return NULL;
  return memcpy(take(free_numbers, count), from, count * sizeof *from);
}

static double length(const double *x, size_t n) { return sqrt(cpb_loops_here()->dot(x, x, n)); }

static void divide(double *x, size_t n, double by) {
  for (size_t i = 0; i < n; i++) x[i] /= by;
}

enum { LINE_NUMBERS = 64 / sizeof(double) };

/* The first number from here on that is aligned to 64 bytes. */
static double *next_line(double *numbers) {
  size_t beyond = (uintptr_t)numbers / sizeof *numbers % LINE_NUMBERS;
  return beyond == 0 ? numbers : numbers + (LINE_NUMBERS - beyond);
}

/* Numbers from one form of the centre to the next: those in floats are aligned to cache lines, too. */
static size_t center_step(size_t d) {
  const size_t lines = 2 * LINE_NUMBERS;
  return (d + CPB_LANES + lines - 1) / lines * lines;
}

/* m in the forms the loops use, each followed by CPB_LANES zeros: as two floats, which cannot hold every m, and as
 * doubles with either sign. */
static void lay_out_center(cpb_map *map, double *numbers) {
  size_t d = map->options.d, step = center_step(d);
  double *back = next_line(numbers), *forth = back + step;
  float *high = (float *)(forth + step), *low = high + step;
  map->taken[0] = back;
  map->taken[1] = forth;
  if (map->center == NULL) return;
  for (size_t i = 0; i < d; i++) {
    double m = map->center[i];
    map->center_most = fmax(map->center_most, fabs(m));
    forth[i] = m;
    back[i] = -m;
    if (fabs(m) > CPB_CENTER_MOST_F32) continue;
    high[i] = (float)m;
    low[i] = (float)(m - (double)high[i]);
    map->twofold |= low[i] != 0;
  }
  if (map->center_most > CPB_CENTER_MOST_F32) return;
  map->high = high;
  map->low = low;
}

/* The reflection that swaps t = toward/|toward| and e has the normal t - e; near e the difference of the last
 * coordinates is computed as -|t'|^2/(1+t0), which does not cancel. */
static cpb_status make_mirror(cpb_map *map, double *normal, cpb_error *error) {
  size_t d = map->options.d;
  double largest = 0;
  for (size_t i = 0; i <= d; i++) largest = fmax(largest, fabs(map->options.toward[i]));
  if (largest == 0)
    return cpb_fail(error, CPB_WHY_DOMAIN, "toward", "the direction to turn onto e must not be 0");
  for (size_t i = 0; i <= d; i++) normal[i] = map->options.toward[i] / largest;
  divide(normal, d + 1, length(normal, d + 1));
  double rest2 = cpb_loops_here()->dot(normal, normal, d), last = normal[d];
  if (rest2 == 0 && last > 0) return CPB_OK; /* it is e already */
  normal[d] = last > 0 ? -rest2 / (1 + last) : last - 1;
  divide(normal, d + 1, length(normal, d + 1));
  map->mirror = normal;
  return CPB_OK;
}

/* inverse <- W^-1 by Gauss-Jordan with row pivots; `left` is destroyed. */
static cpb_status invert(size_t d, double *left, double *inverse, cpb_error *error) {
  for (size_t i = 0; i < d * d; i++) inverse[i] = i % (d + 1) == 0 ? 1 : 0;
  for (size_t k = 0; k < d; k++) {
    size_t pivot = k;
    for (size_t i = k + 1; i < d; i++)
      if (fabs(left[i * d + k]) > fabs(left[pivot * d + k])) pivot = i;
    double value = left[pivot * d + k];
    if (value == 0 || !isfinite(1 / value))
      return cpb_fail(error, CPB_WHY_WHITENING_SINGULAR, "whiten",
                      "the whitening W must be invertible, but column %zu depends on the ones before", k);
    for (size_t j = 0; j < d; j++) {
      double kept = left[k * d + j];
      left[k * d + j] = left[pivot * d + j] / value;
      if (pivot != k) left[pivot * d + j] = kept;
      kept = inverse[k * d + j];
      inverse[k * d + j] = inverse[pivot * d + j] / value;
      if (pivot != k) inverse[pivot * d + j] = kept;
    }
    for (size_t i = 0; i < d; i++) {
      double factor = left[i * d + k];
      if (i == k || factor == 0) continue;
      for (size_t j = 0; j < d; j++) {
        left[i * d + j] -= factor * left[k * d + j];
        inverse[i * d + j] -= factor * inverse[k * d + j];
      }
    }
  }
  return CPB_OK;
}

/* L W and m + s W^-1 u: the pole of a whitened map folded into its whitening (T2 in T6). */
static void fold_pole(cpb_map *map) {
  size_t d = map->options.d;
  const cpb_loops *loops = cpb_loops_here();
  memcpy(map->metric, map->whiten, d * d * sizeof *map->metric);
  for (size_t i = 0; i < d; i++) map->onset[i] = map->center == NULL ? 0 : map->center[i];
  if (map->pole == NULL) return;
  double w = fabs(map->pole[d]);
  for (size_t j = 0; j < d; j++) {
    double along = 0;
    for (size_t i = 0; i < d; i++) along += map->pole[i] * map->whiten[i * d + j];
    for (size_t i = 0; i < d; i++) map->metric[i * d + j] += map->pole[i] * along / (w * (1 + w));
  }
  for (size_t i = 0; i < d; i++)
    map->onset[i] += map->options.s * loops->dot(map->unwhiten + i * d, map->pole, d);
}

/* What a whitened map needs for blocks of rows: W and W^-1 in columns, and the map between them and the sphere,
 * which borrows from this one. */
static cpb_status make_blocks(cpb_map *map, double *numbers, cpb_error *error) {
  size_t d = map->options.d, room = d * cpb_whiten_stride(d);
  numbers = next_line(numbers);
  map->whiten_columns = numbers;
  map->unwhiten_columns = numbers + room;
  cpb_whiten_columns(d, map->whiten, map->whiten_columns);
  cpb_whiten_columns(d, map->unwhiten, map->unwhiten_columns);
  cpb_map *bare = map->bare = malloc(sizeof *bare);
  if (bare == NULL) return cpb_fail_memory(error, "a map of dimension %zu", d);
  *bare = *map;
  bare->center = bare->whiten = NULL;
  bare->high = bare->low = NULL;
  bare->taken[0] = bare->taken[1] = numbers + 2 * room;
  bare->center_most = 0;
  bare->bare = NULL;
  return CPB_OK;
}

static size_t center_numbers(size_t d) { return LINE_NUMBERS + 3 * center_step(d); }

/* Numbers of a map in addition to its own whitening, which takes three squares. */
static size_t block_numbers(const cpb_map_options *options) {
  size_t d = options->d;
  return options->whiten == NULL ? 0 : LINE_NUMBERS + 2 * d * cpb_whiten_stride(d) + d + CPB_LANES;
}

cpb_status cpb_map_new(const cpb_map_options *given, cpb_map **out, cpb_error *error) {
  if (out == NULL) return cpb_fail_missing(error, "map");
  *out = NULL;
  cpb_map_options taken = defaults, *options = &taken;
  cpb_status status = cpb_sized_take(options, sizeof *options, given, "cpb_map_options", error);
  if (status == CPB_OK) status = check_options(options, error);
  if (status != CPB_OK) return status;
  size_t d = options->d, square = options->whiten == NULL ? 0 : d * d;
  cpb_map *map =
      calloc(1, sizeof *map + (4 * (d + 1) + d + center_numbers(d) + 3 * square + block_numbers(options)) *
                                  sizeof(double));
  if (map == NULL) return cpb_fail_memory(error, "a map of dimension %zu", d);
  double *numbers = map->numbers;
  map->options = *options;
  if (!cpb_column_names_copy(options->columns, d, &map->options.columns)) {
    free(map);
    return cpb_fail_memory(error, "%zu names", d);
  }
  map->center = map->options.center = keep(&numbers, options->center, d);
  map->whiten = map->options.whiten = keep(&numbers, options->whiten, square);
  map->options.pole = keep(&numbers, options->pole, d + 1);
  map->options.toward = keep(&numbers, options->toward, d + 1);
  if (options->pole != NULL) {
    map->pole = memcpy(take(&numbers, d + 1), options->pole, (d + 1) * sizeof(double));
    divide(map->pole, d + 1, length(map->pole, d + 1));
  }
  lay_out_center(map, take(&numbers, center_numbers(d)));
  if (options->toward != NULL) status = make_mirror(map, take(&numbers, d + 1), error);
  if (status == CPB_OK && options->whiten != NULL) {
    map->unwhiten = take(&numbers, square);
    map->metric = memcpy(take(&numbers, square), options->whiten, square * sizeof(double));
    map->onset = take(&numbers, d);
    status = invert(d, map->metric, map->unwhiten, error);
    if (status == CPB_OK) fold_pole(map);
    if (status == CPB_OK) status = make_blocks(map, take(&numbers, block_numbers(options)), error);
  }
  if (status != CPB_OK) {
    cpb_map_free(map);
    return status;
  }
  *out = map;
  return CPB_OK;
}
