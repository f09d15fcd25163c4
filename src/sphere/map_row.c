/* One row through a map of any kind, in double: S(x) = y' = scale z + along u with z = x - m - s u,
 * and back. Rows are read in chunks, so a row may be long and may be its own output. */
#include <math.h>

#include "sphere/map_object.h"
#include "loops/row_state.h"
#include "sphere/t1_embed.h"

/* The slope that follows S on the sphere or precedes it: the pole's u, or the mirror's normal. */
static const double *slope(const cpb_map *map) { return map->pole != NULL ? map->pole : map->mirror; }

/* factor * z for `count` coordinates of z = x - m - s u from `offset` on. */
static const double *centred_chunk(const cpb_map_rows *rows, size_t row, size_t offset, size_t count,
                                   double factor, double *buffer) {
  const cpb_map *map = rows->map;
  const cpb_loops *loops = rows->loops;
  const double *z = cpb_row_chunk(loops, rows->in, row, offset, count, buffer);
  if (map->center != NULL) {
    loops->axpby(1, z, -1, map->center + offset, buffer, count);
    z = buffer;
  }
  if (map->pole != NULL) {
    loops->axpby(1, z, -map->options.s, map->pole + offset, buffer, count);
    z = buffer;
  }
  if (factor != 1) {
    for (size_t i = 0; i < count; i++) buffer[i] = factor * z[i];
    z = buffer;
  }
  return z;
}

typedef struct row_sums {
  double norm2, along; /* |z|^2, <z,slope> */
} row_sums;

/* NaN, once found, is kept. */
static void largest_of(const double *z, size_t count, double *largest) {
  for (size_t i = 0; i < count; i++)
    if (fabs(z[i]) > *largest || z[i] != z[i]) *largest = fabs(z[i]);
}

void cpb_map_fail_row(const cpb_map_rows *rows, size_t row, cpb_fault fault) {
  cpb_record_fault(rows->fault, rows->first + row, (int)fault);
  cpb_row_fill_nan(rows->out, row);
}

/* The image of infinity: -v, reflected. */
static void store_antipole(const cpb_map_rows *rows, size_t row) {
  const cpb_map *map = rows->map;
  size_t d = map->options.d;
  for (size_t i = 0; i <= d; i++) {
    double y = i == d ? -1.0 : 0.0;
    if (map->pole != NULL) y = -map->pole[i];
    if (map->mirror != NULL) y += 2 * map->mirror[d] * map->mirror[i];
    cpb_row_store(rows->loops, rows->out, row, i, 1, &y);
  }
}

/* largest: of |z_i|, or NULL. */
static row_sums sum_row(const cpb_map_rows *rows, size_t row, double factor, double *buffer,
                        double *largest) {
  size_t d = rows->map->options.d;
  const double *u = slope(rows->map);
  row_sums sums = {0, 0};
  for (size_t offset = 0; offset < d; offset += CPB_CHUNK) {
    size_t count = cpb_chunk_count(d, offset);
    const double *z = centred_chunk(rows, row, offset, count, factor, buffer);
    sums.norm2 += rows->loops->dot(z, z, count);
    if (u != NULL) sums.along += rows->loops->dot(z, u + offset, count);
    if (largest != NULL) largest_of(z, count, largest);
  }
  return sums;
}

void cpb_map_embed_row(void *of, size_t row) {
  const cpb_map_rows *rows = of;
  const cpb_map *map = rows->map;
  size_t d = map->options.d;
  double buffer[CPB_CHUNK], s = map->options.s, factor = 1;
  double w = map->pole != NULL ? map->pole[d] : 1;
  row_sums sums = sum_row(rows, row, factor, buffer, NULL);
  double k = map->pole != NULL ? sums.along / w : 0;
  if (!cpb_row_in_range(sums.norm2, k, s)) {
    double largest = 0;
    sum_row(rows, row, 1, buffer, &largest);
    if (largest != largest) {
      cpb_map_fail_row(rows, row, CPB_FAULT_NAN);
      return;
    }
    if (largest == INFINITY) {
      store_antipole(rows, row);
      return;
    }
    factor = cpb_unit_power(fmax(s, largest));
    s *= factor;
    sums = sum_row(rows, row, factor, buffer, NULL);
    k = map->pole != NULL ? sums.along / w : 0;
  }
  cpb_row_image image = cpb_embed_row(sums.norm2, k, w, s);
  if (map->mirror != NULL) {
    double height = image.scale * sums.along + image.last * map->mirror[d];
    image.along = -2 * height;
    image.last -= 2 * height * map->mirror[d];
  }
  const double *u = slope(map);
  for (size_t offset = 0; offset < d; offset += CPB_CHUNK) {
    size_t count = cpb_chunk_count(d, offset);
    const double *z = centred_chunk(rows, row, offset, count, factor, buffer);
    if (u != NULL)
      rows->loops->axpby(image.scale, z, image.along, u + offset, buffer, count);
    else
      for (size_t i = 0; i < count; i++) buffer[i] = image.scale * z[i];
    cpb_row_store(rows->loops, rows->out, row, offset, count, buffer);
  }
  cpb_row_store(rows->loops, rows->out, row, d, 1, &image.last);
}

/* Turns a stored row Y into coordinates of y + v, y a unit vector: (y+v)_i = unit Y_i + mirrored h_i + u_i. */
typedef struct lifted_row {
  double unit, mirrored, factor;
  double rise; /* (y+v)_0 for v = e in the south, where y_0+1 would cancel; else NAN */
} lifted_row;

/* factor * (y+v)_i for i = offset .. offset+count, all below d+1. */
static const double *lifted_chunk(const cpb_map_rows *rows, size_t row, size_t offset, size_t count,
                                  lifted_row lift, double *buffer) {
  const cpb_map *map = rows->map;
  const double *y = cpb_row_chunk(rows->loops, rows->in, row, offset, count, buffer);
  if (map->mirror != NULL)
    rows->loops->axpby(lift.unit, y, lift.mirrored, map->mirror + offset, buffer, count);
  else if (map->pole != NULL)
    rows->loops->axpby(lift.unit, y, 1, map->pole + offset, buffer, count);
  else
    for (size_t i = 0; i < count; i++) buffer[i] = lift.unit * y[i];
  if (map->pole == NULL && offset + count == map->options.d + 1)
    buffer[count - 1] = isnan(lift.rise) ? buffer[count - 1] + 1 : lift.rise;
  if (lift.factor != 1)
    for (size_t i = 0; i < count; i++) buffer[i] *= lift.factor;
  return buffer;
}

/* |factor (y+v)|^2, and the largest coordinate of y+v. */
static double lifted_norm2(const cpb_map_rows *rows, size_t row, lifted_row lift, double *buffer,
                           double *largest) {
  size_t cols = rows->map->options.d + 1;
  double sum = 0;
  *largest = 0;
  for (size_t offset = 0; offset < cols; offset += CPB_CHUNK) {
    size_t count = cpb_chunk_count(cols, offset);
    const double *y = lifted_chunk(rows, row, offset, count, lift, buffer);
    sum += rows->loops->dot(y, y, count);
    if (!(sum >= 1e-150)) largest_of(y, count, largest);
  }
  return sum;
}

/* The length and the mirror's coefficient of a stored row; returns its fault, or 0. */
static cpb_fault measure_row(const cpb_map_rows *rows, size_t row, lifted_row *lift, double *buffer) {
  const cpb_map *map = rows->map;
  size_t cols = map->options.d + 1;
  double factor = 1;
  for (int attempt = 0; attempt < 2; attempt++) {
    double norm2 = 0, side2 = 0, last = 0, height = 0, largest = 0;
    for (size_t offset = 0; offset < cols; offset += CPB_CHUNK) {
      size_t count = cpb_chunk_count(cols, offset), sides = offset + count == cols ? count - 1 : count;
      const double *y = cpb_row_chunk(rows->loops, rows->in, row, offset, count, buffer);
      if (factor != 1) {
        for (size_t i = 0; i < count; i++) buffer[i] = factor * y[i];
        y = buffer;
      }
      norm2 += rows->loops->dot(y, y, count);
      side2 += rows->loops->dot(y, y, sides);
      last = y[count - 1];
      if (map->mirror != NULL) height += rows->loops->dot(y, map->mirror + offset, count);
      if (!(norm2 >= 1e-150 && norm2 <= 1e150)) largest_of(y, count, &largest);
    }
    if (norm2 >= 1e-150 && norm2 <= 1e150) {
      double length = sqrt(norm2);
      bool south = map->pole == NULL && map->mirror == NULL && last < 0;
      double rise = south ? side2 / (length * (length - last)) : NAN;
      *lift = (lifted_row){factor / length, -2 * height / length, 1, rise};
      return 0;
    }
    if (largest != largest) return CPB_FAULT_NAN;
    if (largest == INFINITY) return CPB_FAULT_INFINITE;
    if (largest == 0) return CPB_FAULT_ZERO;
    factor = cpb_unit_power(largest);
  }
  return CPB_FAULT_RANGE;
}

void cpb_map_unembed_row(void *of, size_t row) {
  const cpb_map_rows *rows = of;
  const cpb_map *map = rows->map;
  size_t d = map->options.d;
  double buffer[CPB_CHUNK], largest;
  lifted_row lift;
  cpb_fault fault = measure_row(rows, row, &lift, buffer);
  double gap = fault ? 0 : lifted_norm2(rows, row, lift, buffer, &largest);
  if (!fault && gap < 1e-150) {
    if (largest == 0)
      fault = CPB_FAULT_POLE;
    else {
      lift.factor = cpb_unit_power(largest);
      gap = lifted_norm2(rows, row, lift, buffer, &largest);
    }
  }
  if (fault) {
    cpb_map_fail_row(rows, row, fault);
    return;
  }
  double scale = cpb_unembed_scale(gap, map->options.s) * lift.factor, unit = 1;
  if (!isfinite(scale)) { /* s 2/|y+v|^2 overflows, its products with small coordinates need not */
    unit = cpb_unit_power(map->options.s);
    scale = cpb_unembed_scale(gap, map->options.s * unit) * lift.factor;
  }
  bool all_fit = true;
  for (size_t offset = 0; offset < d; offset += CPB_CHUNK) {
    size_t count = cpb_chunk_count(d, offset);
    const double *y = lifted_chunk(rows, row, offset, count, lift, buffer);
    for (size_t i = 0; i < count; i++) buffer[i] = scale * y[i] / unit;
    if (map->center != NULL) rows->loops->axpby(1, buffer, 1, map->center + offset, buffer, count);
    all_fit &= cpb_fits(rows->out.dtype, buffer, count);
    cpb_row_store(rows->loops, rows->out, row, offset, count, buffer);
  }
  if (!all_fit) cpb_map_fail_row(rows, row, CPB_FAULT_RANGE);
}
