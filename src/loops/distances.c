#include "loops/distances.h"

#include <float.h>
#include <math.h>

double cpb_scaled(double x, int exponent) { return exponent == 0 ? x : ldexp(x, -exponent); }

double cpb_in_data_unit(double x, int exponent) {
  return exponent == 0 ? x : ldexp(ldexp(x, exponent), -exponent);
}

double cpb_lower_in_unit(double x, int exponent) {
  double scaled = ldexp(x, exponent);
  if (isinf(scaled)) return NAN;
  return exponent == 0 || scaled >= DBL_MIN ? scaled : fmax(0, scaled - DBL_TRUE_MIN);
}

void cpb_set_center(const double *origin, const double *point, int exponent, size_t d, double *center) {
  for (size_t j = 0; j < d; j++) center[j] = cpb_in_data_unit(origin[j] + point[j], exponent);
}

/* Two factors, because a single one may overflow. */
static void scale(const double *from, size_t count, int exponent, double *to) {
  double first = ldexp(1, -(exponent / 2)), second = ldexp(1, -(exponent - exponent / 2));
  for (size_t i = 0; i < count; i++) to[i] = from[i] * first * second;
}

static double one_row(const cpb_loops *loops, cpb_view x, int exponent, size_t row, const double *c) {
  double buffer[CPB_CHUNK], scaled[CPB_CHUNK], sum = 0;
  for (size_t offset = 0; offset < x.cols; offset += CPB_CHUNK) {
    size_t count = cpb_chunk_count(x.cols, offset);
    const double *chunk = cpb_row_chunk(loops, x, row, offset, count, buffer);
    if (exponent != 0) {
      scale(chunk, count, exponent, scaled);
      chunk = scaled;
    }
    sum += loops->dist2(chunk, c + offset, count);
  }
  return sum;
}

void cpb_dist2_of_rows(const cpb_loops *loops, cpb_view x, int exponent, size_t first, size_t count,
                       const double *c, double *dist2) {
  if (exponent == 0 && loops->rows_dist2[x.dtype] != NULL) {
    const char *start = (const char *)x.data + first * x.stride * cpb_dtype_size(x.dtype);
    loops->rows_dist2[x.dtype](start, x.stride, count, x.cols, c, dist2);
    return;
  }
  for (size_t i = 0; i < count; i++) dist2[i] = one_row(loops, x, exponent, first + i, c);
}

void cpb_scaled_row(const cpb_loops *loops, cpb_view x, int exponent, size_t i, double *row) {
  loops->widen[x.dtype]((const char *)x.data + i * x.stride * cpb_dtype_size(x.dtype), x.cols, row);
  if (exponent != 0) scale(row, x.cols, exponent, row);
}

void cpb_row_about(const cpb_loops *loops, cpb_view x, int exponent, size_t i, const double *c, double *row) {
  cpb_scaled_row(loops, x, exponent, i, row);
  if (c != NULL) loops->axpby(1, row, -1, c, row, x.cols);
}
