#include "learn/distances.h"

#include <limits.h>
#include <math.h>

#include "core/rows.h"
#include "loop/chunk.h"

double cpb_scaled(double x, int exponent) { return exponent == 0 ? x : ldexp(x, -exponent); }

double cpb_in_data_unit(double x, int exponent) {
  return exponent == 0 ? x : ldexp(ldexp(x, exponent), -exponent);
}

/* Two factors, because a single one may overflow. */
static void scale_chunk(const double *from, size_t count, int exponent, double *to) {
  double first = ldexp(1, -(exponent / 2)), second = ldexp(1, -(exponent - exponent / 2));
  for (size_t i = 0; i < count; i++) to[i] = from[i] * first * second;
}

static double one_row(const cpb_loops *loops, cpb_view x, int exponent, size_t row, const double *c) {
  double buffer[CPB_CHUNK], scaled[CPB_CHUNK], sum = 0;
  for (size_t offset = 0; offset < x.cols; offset += CPB_CHUNK) {
    size_t count = cpb_chunk_count(x.cols, offset);
    const double *chunk = cpb_row_chunk(loops, x, row, offset, count, buffer);
    if (exponent != 0) {
      scale_chunk(chunk, count, exponent, scaled);
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
  double buffer[CPB_CHUNK];
  for (size_t offset = 0; offset < x.cols; offset += CPB_CHUNK) {
    size_t count = cpb_chunk_count(x.cols, offset);
    const double *chunk = cpb_row_chunk(loops, x, i, offset, count, buffer);
    if (exponent != 0)
      scale_chunk(chunk, count, exponent, row + offset);
    else
      for (size_t j = 0; j < count; j++) row[offset + j] = chunk[j];
  }
}

int cpb_spread_exponent(cpb_view x, const double *weights, const double *origin) {
  int largest = INT_MIN;
  for (size_t i = 0; i < x.rows; i++)
    for (size_t j = 0; j < x.cols && (weights == NULL || weights[i] > 0); j++) {
      double at = cpb_view_at(x, i, j), half = at / 2 - origin[j] / 2;
      if (half == 0) half = at - origin[j]; /* halves of the smallest numbers underflow */
      int exponent = half == 0 || !isfinite(half) ? INT_MIN : ilogb(half) + 1;
      if (exponent > largest) largest = exponent;
    }
  return largest;
}
