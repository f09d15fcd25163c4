/* The map object: checked once, read-only afterwards. */

#include <stdlib.h>
#include <string.h>

#include "base/column_names.h"
#include "base/fail.h"
#include "base/rows.h"
#include "base/sized.h"
#include "sphere/t5_spheroid.h"
#include "sphere/t6_ellipsoid.h"
#include "sphere/t2_pole.h"
#include "base/system.h"
#include "sphere/map_object.h"

/* Caps and regions under a whole map: the centre moves the region, the mirror or the pole's rotation moves the
 * cap, with T3, T5 and T6 between them. */

static cpb_status fail_coordinates(cpb_error *error, const char *argument, size_t count, size_t wanted) {
  return cpb_fail(error, CPB_WHY_COLUMNS, argument, "the %s has %zu coordinates, the map wants %zu", argument,
                  count, wanted);
}

static void translate(cpb_region *region, const double *by, double sign) {
  if (by == NULL || region->kind == CPB_EMPTY || region->kind == CPB_EVERYTHING) return;
  if (region->kind == CPB_HALFSPACE)
    region->r += sign * cpb_loops_here()->dot(region->c, by, region->d);
  else
    for (size_t i = 0; i < region->d; i++) region->c[i] += sign * by[i];
}

static void reflect(const cpb_map *map, double *p) {
  if (map->mirror == NULL) return;
  size_t cols = map->options.d + 1;
  double height = cpb_loops_here()->dot(p, map->mirror, cols);
  for (size_t i = 0; i < cols; i++) p[i] -= 2 * height * map->mirror[i];
}

/* EINVAL unless the region's ellipsoids are those of the map's whitening. */
static cpb_status check_metric(const cpb_map *map, const cpb_region *region, cpb_error *error) {
  bool curved = region->kind == CPB_BALL || region->kind == CPB_COMPLEMENT;
  if (map->metric == NULL || !curved || region->W == map->metric) return CPB_OK;
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
    status = cpb_cap_by_whitening(&moved, map->center_with_pole, s, numbers + d, cap, error);
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

static cpb_status region_of(const cpb_map *map, cpb_cap *cap, double *scratch, cpb_region *region,
                            cpb_error *error) {
  double s = map->options.s;
  if (map->metric != NULL) {
    if (map->pole != NULL) cpb_pole_rotate_back(cap->d, map->pole, cap->p);
    return cpb_ellipsoid_from_cap(cap, map->metric, map->center_with_pole, s, scratch, region, error);
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
  cpb_cap before = *cap; /* as seen by S at its pole: complete, with the mirror undone */
  before.p = memcpy(numbers, cap->p, (d + 1) * sizeof *numbers);
  reflect(map, before.p);
  cpb_status status = CPB_OK;
  if (isnan(cap->sigma) || isnan(cap->a)) status = cpb_cap_complete(&before, map->pole, error);
  if (status == CPB_OK) status = region_of(map, &before, numbers + d + 1, region, error);
  free(numbers);
  return status;
}

/* Index of element (k, column) of a product's right side: panels of CPB_TILE_COLS columns, row by row. */
static size_t panel_at(size_t d, size_t k, size_t column) {
  return column / CPB_TILE_COLS * CPB_TILE_COLS * d + k * CPB_TILE_COLS + column % CPB_TILE_COLS;
}

void cpb_whiten_columns(size_t d, const double *W, double *to) {
  memset(to, 0, d * cpb_whiten_stride(d) * sizeof *to);
  for (size_t i = 0; i < d; i++)
    for (size_t j = 0; j < d; j++) to[panel_at(d, j, i)] = W[i * d + j];
}

void cpb_whiten_load(const cpb_loops *loops, cpb_view rows, const double *m, double *z) {
  size_t d = rows.cols, stride = cpb_whiten_stride(d), row_bytes = rows.stride * cpb_dtype_size(rows.dtype);
  for (size_t i = 0; i < rows.rows; i++, z += stride) {
    const char *row = (const char *)rows.data + i * row_bytes;
    bool wide = rows.dtype == CPB_F64 && m != NULL;
    if (!wide) loops->widen[rows.dtype](row, d, z);
    if (m != NULL) loops->axpby(1, wide ? (const double *)row : z, -1, m, z, d);
  }
}

/* A prefetch plan for a whole block in `steps` steps; none if its rows have wide gaps. */
static cpb_ahead ahead_of(cpb_view rows, size_t steps) {
  enum { LINE = 64 };
  size_t bytes = rows.rows * rows.stride * cpb_dtype_size(rows.dtype);
  if (rows.rows == 0 || rows.stride > 2 * rows.cols) return (cpb_ahead){NULL, NULL, 0};
  return (cpb_ahead){rows.data, (const char *)rows.data + bytes, cpb_round_up(bytes / steps + 1, LINE)};
}

void cpb_whiten_rows(const cpb_loops *loops, size_t d, const double *columns, size_t count, double *x,
                     double *z, cpb_whiten_prefetch soon) {
  size_t stride = cpb_whiten_stride(d), rows = cpb_round_up(count, CPB_TILE_ROWS);
  size_t depths = cpb_round_up(d, CPB_PRODUCT_DEPTH) / CPB_PRODUCT_DEPTH;
  size_t tiles = rows / CPB_TILE_ROWS * depths * (stride / CPB_TILE_COLS);
  cpb_ahead ahead[] = {[CPB_AHEAD_READ] = ahead_of(soon.read, tiles),
                       [CPB_AHEAD_WRITTEN] = ahead_of(soon.written, tiles),
                       [CPB_AHEAD_B] = ahead_of(cpb_rows(columns, CPB_F64, stride, d), tiles)};
  if (depths > 1) /* the first depth is used at once */
    ahead[CPB_AHEAD_B].at += CPB_PRODUCT_DEPTH * CPB_TILE_COLS * sizeof(double);
  memset(x + count * stride, 0, (rows - count) * stride * sizeof *x);
  for (size_t column = 0; column < stride; column += CPB_TILE_COLS) {
    cpb_product product = {.rows = rows,
                           .cols = CPB_TILE_COLS,
                           .k = d,
                           .a = x,
                           .a_row = stride,
                           .a_k = 1,
                           .b = columns + panel_at(d, 0, column),
                           .b_k = CPB_TILE_COLS,
                           .c = z + column,
                           .c_row = stride};
    cpb_product_set(loops, &product, ahead);
  }
}

bool cpb_whiten_blocks(size_t d, size_t first, size_t count, cpb_whiten_block *block, void *arg) {
  double *room = cpb_sys_aligned(64, 2 * CPB_WHITEN_ROWS * cpb_whiten_stride(d) * sizeof *room);
  for (size_t done = 0; room != NULL && done < count; done += CPB_WHITEN_ROWS)
    block(arg, first + done, count - done < CPB_WHITEN_ROWS ? count - done : CPB_WHITEN_ROWS, room);
  free(room);
  return room != NULL;
}

cpb_whiten_prefetch cpb_whiten_look_ahead(cpb_view rows, size_t next, cpb_out out) {
  size_t left = rows.rows - next;
  cpb_view read = cpb_view_slice(rows, next, left < CPB_WHITEN_ROWS ? left : CPB_WHITEN_ROWS);
  return (cpb_whiten_prefetch){read, cpb_view_of(out)};
}

CPB_DEFAULTS(cpb_map_options, .size = sizeof(cpb_map_options), .s = 1)

void cpb_map_describe(const cpb_map *map, cpb_map_options *options) {
  cpb_sized_give(options, map == NULL ? NULL : &map->options, sizeof map->options);
}

void cpb_map_free(cpb_map *map) {
  if (map == NULL) return;
  cpb_column_names_free(map->options.columns);
  cpb_memory_free(&map->memory);
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

static void normalise(double *x, size_t n) {
  double length = sqrt(cpb_loops_here()->dot(x, x, n));
  for (size_t i = 0; i < n; i++) x[i] /= length;
}

/* m in the forms the loops use, each followed by CPB_LANES zeros: as doubles, and as two floats, which cannot hold every m. */
static void lay_out_center(cpb_map *map) {
  size_t d = map->options.d,
         step = cpb_round_up(d + CPB_LANES, 128 / sizeof(double)); /* whole lines of floats */
  double *wide = map->center == NULL ? NULL : cpb_memory_lines(&map->memory, 2 * step, sizeof *wide);
  if (wide == NULL) return;
  float *high = (float *)(wide + step), *low = high + step;
  map->wide = wide;
  for (size_t i = 0; i < d; i++) {
    double m = map->center[i];
    map->center_most = fmax(map->center_most, fabs(m));
    wide[i] = m;
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
static cpb_status make_mirror(cpb_map *map, cpb_error *error) {
  size_t d = map->options.d;
  double *normal = map->mirror;
  double largest = 0;
  for (size_t i = 0; i <= d; i++) largest = fmax(largest, fabs(map->options.toward[i]));
  if (largest == 0)
    return cpb_fail(error, CPB_WHY_DOMAIN, "toward", "the direction to turn onto e must not be 0");
  for (size_t i = 0; i <= d; i++) normal[i] = map->options.toward[i] / largest;
  normalise(normal, d + 1);
  double rest2 = cpb_loops_here()->dot(normal, normal, d), last = normal[d];
  if (rest2 == 0 && last > 0) { /* it is e already */
    map->mirror = NULL;
    return CPB_OK;
  }
  normal[d] = last > 0 ? -rest2 / (1 + last) : last - 1;
  normalise(normal, d + 1);
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
    for (size_t j = 0; j < 2 * d; j++) {
      double *column = j < d ? left + j : inverse + j - d, kept = column[k * d];
      column[k * d] = column[pivot * d] / value;
      if (pivot != k) column[pivot * d] = kept;
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
  for (size_t i = 0; i < d; i++) map->center_with_pole[i] = map->center == NULL ? 0 : map->center[i];
  if (map->pole == NULL) return;
  double w = fabs(map->pole[d]);
  for (size_t j = 0; j < d; j++) {
    double along = 0;
    for (size_t i = 0; i < d; i++) along += map->pole[i] * map->whiten[i * d + j];
    for (size_t i = 0; i < d; i++) map->metric[i * d + j] += map->pole[i] * along / (w * (1 + w));
  }
  for (size_t i = 0; i < d; i++)
    map->center_with_pole[i] += map->options.s * loops->dot(map->unwhiten + i * d, map->pole, d);
}

/* For blocks of rows: W and W^-1 in columns, and the map between them and the sphere, which borrows from this one. */
static void make_blocks(cpb_map *map) {
  size_t d = map->options.d, room = d * cpb_whiten_stride(d);
  map->unwhiten_columns = map->whiten_columns + room;
  cpb_whiten_columns(d, map->whiten, map->whiten_columns);
  cpb_whiten_columns(d, map->unwhiten, map->unwhiten_columns);
  *map->bare = *map;
  map->bare->center = map->bare->whiten = NULL;
  map->bare->high = map->bare->low = NULL;
  map->bare->wide = NULL;
  map->bare->center_most = 0;
  map->bare->bare = NULL;
}

/* Copies what the options point to, and takes all memory. */
static bool allocate(cpb_map *map, const cpb_map_options *options) {
  cpb_memory *memory = &map->memory;
  size_t d = options->d, room = d * cpb_whiten_stride(d), row = sizeof(double);
  map->options = *options;
  map->center = map->options.center = cpb_memory_copy(memory, options->center, d, row);
  map->options.pole = cpb_memory_copy(memory, options->pole, d + 1, row);
  map->pole = cpb_memory_copy(memory, options->pole, d + 1, row);
  map->options.toward = cpb_memory_copy(memory, options->toward, d + 1, row);
  map->mirror = cpb_memory_copy(memory, options->toward, d + 1, row);
  lay_out_center(map);
  if (options->whiten != NULL) {
    map->whiten = map->options.whiten = cpb_memory_copy(memory, options->whiten, d * d, row);
    map->metric = cpb_memory_copy(memory, options->whiten, d * d, row);
    map->unwhiten = cpb_memory_take(memory, d * d, row);
    map->center_with_pole = cpb_memory_take(memory, d, row);
    map->whiten_columns = cpb_memory_lines(memory, 2 * room, row);
    map->bare = cpb_memory_take(memory, 1, sizeof *map->bare);
  }
  return !memory->failed;
}

static cpb_status fill(cpb_map *map, cpb_error *error) {
  size_t d = map->options.d;
  if (map->pole != NULL) normalise(map->pole, d + 1);
  cpb_status status = map->options.toward != NULL ? make_mirror(map, error) : CPB_OK;
  if (status != CPB_OK || map->whiten == NULL) return status;
  status = invert(d, map->metric, map->unwhiten, error);
  if (status != CPB_OK) return status;
  fold_pole(map);
  make_blocks(map);
  return CPB_OK;
}

cpb_status cpb_map_new(const cpb_map_options *given, cpb_map **out, cpb_error *error) {
  if (out == NULL) return cpb_fail_missing(error, "map");
  *out = NULL;
  cpb_map_options options = defaults;
  cpb_status status = cpb_sized_take(&options, sizeof options, given, "cpb_map_options", error);
  if (status == CPB_OK) status = check_options(&options, error);
  if (status != CPB_OK) return status;
  cpb_map *map = calloc(1, sizeof *map);
  if (map == NULL || !allocate(map, &options))
    status = cpb_fail_memory(error, "a map of dimension %zu", options.d);
  if (map != NULL) map->options.columns = NULL;
  if (status == CPB_OK && !cpb_column_names_copy(options.columns, options.d, &map->options.columns))
    status = cpb_fail_memory(error, "%zu names", options.d);
  if (status == CPB_OK) status = fill(map, error);
  if (status == CPB_OK)
    *out = map;
  else
    cpb_map_free(map);
  return status;
}

cpb_status cpb_map_plain(size_t d, double s, const double *center, cpb_map **map, cpb_error *error) {
  cpb_map_options options = {.size = sizeof options, .d = d, .s = s, .center = center};
  return cpb_map_new(&options, map, error);
}
