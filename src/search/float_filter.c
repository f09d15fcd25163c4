#include "search/float_filter.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "loops/ruler.h"
#include "loops/row_state.h"
#include "loops/chunk.h"

/* d+4 roundings (the chain, both factors, the start), plus a tenth for their products. */
static double sum_error(size_t d) { return 1.1 * ((double)d + 4) * 0x1p-24; }

/* Underflow of d terms with factors below 8. */
static double lost_below(size_t d) { return (double)d * 0x1p-142; }

double cpb_float_filter_reach(const double *x, const double *center, size_t n) {
  enum { TOGETHER = 4 }; /* independent maxima, to break the dependency chain */
  double most[TOGETHER] = {0};
  size_t k = 0;
  for (; k + TOGETHER <= n; k += TOGETHER)
    for (size_t j = 0; j < TOGETHER; j++) most[j] = cpb_larger(fabs(x[k + j] - center[k + j]), most[j]);
  for (; k < n; k++) most[0] = cpb_larger(fabs(x[k] - center[k]), most[0]);
  for (size_t j = 1; j < TOGETHER; j++) most[0] = cpb_larger(most[j], most[0]);
  return most[0];
}

static double largest_number(const cpb_loops *loops, cpb_view rows) {
  static const double zeros[CPB_CHUNK];
  double largest = 0, buffer[CPB_CHUNK];
  for (size_t i = 0; i < rows.rows; i++)
    for (size_t offset = 0; offset < rows.cols; offset += CPB_CHUNK) {
      size_t count = cpb_chunk_count(rows.cols, offset);
      const double *x = cpb_row_chunk(loops, rows, i, offset, count, buffer);
      largest = cpb_larger(largest, cpb_float_filter_reach(x, zeros, count));
    }
  return largest;
}

static void find_mean(const cpb_loops *loops, cpb_view rows, double unit, double *mean) {
  double buffer[CPB_CHUNK];
  for (size_t i = 0; i < rows.rows; i++)
    for (size_t offset = 0; offset < rows.cols; offset += CPB_CHUNK) {
      size_t count = cpb_chunk_count(rows.cols, offset);
      const double *x = cpb_row_chunk(loops, rows, i, offset, count, buffer);
      for (size_t k = 0; k < count; k++) mean[offset + k] += unit * x[k];
    }
  for (size_t k = 0; k < rows.cols; k++) mean[k] = mean[k] / (double)rows.rows / unit;
}

void cpb_float_filter_set(cpb_float_filter *filter, cpb_metric metric, size_t d, int exponent, double *center,
                          float *center_f32) {
  *filter = (cpb_float_filter){cpb_loops_here(),   metric, d,          exponent,
                               ldexp(1, exponent), center, center_f32, sum_error(d)};
}

void cpb_float_filter_init(cpb_float_filter *filter, cpb_metric metric, cpb_view rows, double *center,
                           float *center_f32) {
  enum { LEAST = -960, MOST = 1000 }; /* least: distances of rows in range do not overflow */
  size_t d = rows.cols;
  double largest = largest_number(cpb_loops_here(), rows);
  int exponent = largest > 0 ? -ilogb(largest) : 0;
  exponent = exponent < LEAST ? LEAST : exponent > MOST ? MOST : exponent;
  cpb_float_filter_set(filter, metric, d, exponent, center, center_f32);
  memset(center, 0, d * sizeof *center);
  if (metric == CPB_L2) find_mean(filter->loops, rows, filter->unit, center);
  for (size_t k = 0; center_f32 != NULL && k < d; k++) {
    center_f32[k] = (float)center[k];
    center[k] = (double)center_f32[k];
  }
}

/* At least x, and only slightly larger; nextafterf would be a function call per row. */
static float rounded_up(double x) { return (float)(x + fabs(x) * 0x1p-23 + 0x1p-149); }

/* NaN, as from inf - inf, excludes nothing. */
static float rounded_down(double x) { return x >= -FLT_MAX ? nextafterf((float)x, -INFINITY) : -INFINITY; }

/* Rows of floats, or of bytes, which floats represent exactly. */
static bool is_float_row(const cpb_float_filter *filter, cpb_dtype dtype) {
  return filter->center_f32 != NULL && (dtype == CPB_F32 || dtype == CPB_U8 || dtype == CPB_I8);
}

static const char *row_at(cpb_view rows, size_t row) {
  return (const char *)rows.data + row * rows.stride * cpb_dtype_size(rows.dtype);
}

/* Writes unit (x - center) of such a row, components `step` floats apart; returns the sum of squares. */
static double spread_floats(const cpb_float_filter *filter, cpb_dtype dtype, const char *x, float unit,
                            float *to, size_t step) {
  const cpb_loops *loops = filter->loops;
  if (dtype == CPB_F32)
    return loops->spread_f32((const float *)(const void *)x, filter->d, unit, filter->center_f32, to, step);
  double sum = 0;
  float chunk[CPB_CHUNK];
  for (size_t offset = 0; offset < filter->d; offset += CPB_CHUNK) {
    size_t count = cpb_chunk_count(filter->d, offset);
    loops->floats[dtype](x + offset, count, chunk);
    sum += loops->spread_f32(chunk, count, unit, filter->center_f32 + offset,
                             to + offset / CPB_PANEL_LINE * step, step);
  }
  return sum;
}

/* 1/|x|; 0 or the fault of a row without a direction. Squares of floats are exact in double, so a plain sum is accurate
 * enough for them. `room` is scratch space for the row. */
static int unit_of_direction(const cpb_float_filter *filter, cpb_view rows, size_t row, float *room,
                             size_t step, double *unit) {
  if (is_float_row(filter, rows.dtype)) {
    double square = spread_floats(filter, rows.dtype, row_at(rows, row), 1, room, step); /* about 0 */
    *unit = 1 / sqrt(square);
    if (square > 0 && square < INFINITY) return 0;
  }
  double length;
  cpb_ruler metric = {.loops = filter->loops, .x = rows, .c = filter->center, .sign = 1};
  int fault = cpb_ruler_length(&metric, row, &length);
  *unit = 1 / length; /* inf for the smallest rows, which are then out of range, .. */
  if (fault == CPB_FAULT_RANGE) {
    *unit = INFINITY; /* .. like the largest */
    return 0;
  }
  return fault == 0 && length == 0 ? CPB_FAULT_ZERO : fault;
}

bool cpb_float_filter_takes_floats(const cpb_float_filter *filter, cpb_dtype dtype) {
  return dtype == CPB_F32 && filter->metric != CPB_COSINE && filter->center_f32 != NULL &&
         (double)(float)filter->unit == filter->unit;
}

/* Writes unit (x - center), components `step` floats apart; returns the sum of squares. */
static double spread_row(const cpb_float_filter *filter, cpb_view rows, size_t row, double unit, float *to,
                         size_t step) {
  const cpb_loops *loops = filter->loops;
  if (is_float_row(filter, rows.dtype) && (double)(float)unit == unit)
    return spread_floats(filter, rows.dtype, row_at(rows, row), (float)unit, to, step);
  double sum = 0, buffer[CPB_CHUNK];
  for (size_t offset = 0; offset < filter->d; offset += CPB_CHUNK) {
    size_t count = cpb_chunk_count(filter->d, offset);
    const double *chunk = cpb_row_chunk(loops, rows, row, offset, count, buffer);
    sum += loops->spread_f64(chunk, count, unit, filter->center + offset, to + offset / CPB_PANEL_LINE * step,
                             step);
  }
  return sum;
}

static double start_of(const cpb_float_filter *filter, double size2) {
  double from = filter->metric == CPB_L2 ? filter->error * size2 - size2 / 2 : filter->error * sqrt(size2);
  return from + lost_below(filter->d);
}

int cpb_float_filter_numbers(const cpb_float_filter *filter, cpb_view rows, size_t row, float *to,
                             size_t step, double *size2) {
  double unit = filter->unit;
  int fault = 0;
  if (filter->metric == CPB_COSINE) fault = unit_of_direction(filter, rows, row, to, step, &unit);
  *size2 = spread_row(filter, rows, row, unit, to, step);
  if (fault == 0 && !(*size2 < CPB_FLOAT_FILTER_MOST)) fault = cpb_row_fault(filter->loops, rows, row);
  return fault;
}

int cpb_float_filter_row(const cpb_float_filter *filter, cpb_view rows, size_t row, size_t i, float *factors,
                         float *start) {
  double size2;
  int fault = cpb_float_filter_numbers(filter, rows, row, factors + cpb_panel_at(filter->d, i, 0),
                                       CPB_PANEL_ROWS * CPB_PANEL_LINE, &size2);
  *start = rounded_up(start_of(filter, size2));
  if (size2 < CPB_FLOAT_FILTER_MOST) return fault;
  for (size_t k = 0; k < filter->d; k++) factors[cpb_panel_at(filter->d, i, k)] = 0;
  *start = INFINITY;
  return fault;
}

/* Subnormal values are 2^-1074 apart; those beyond the largest double are all inf. Distances of rows in range are below
 * that, and so are products with the longest such row unless |q| is large. */
static double grain_of(const cpb_float_filter *filter, const cpb_query_scale *query_scale) {
  if (filter->metric == CPB_COSINE) return 0;
  bool far = filter->metric == CPB_L2
                 ? !(query_scale->size2 < CPB_FLOAT_FILTER_MOST)
                 : cpb_query_scale_value(query_scale, 0x1p1020) < sqrt(CPB_FLOAT_FILTER_MOST);
  return far ? INFINITY : cpb_query_scale_value(query_scale, 0x1p-1074);
}

/* An error g (the grain) of a distance D changes the key by g D <= g (|x'|+|q'|) <= c (|x'|^2+|q'|^2)/2 + g^2/c, and
 * the error of the sum has a reserve of c = error/32. */
static double margin_of(const cpb_float_filter *filter, const cpb_query_scale *query_scale) {
  if (filter->metric != CPB_L2) return query_scale->grain;
  return filter->error * query_scale->size2 / 2 +
         32 * query_scale->grain * query_scale->grain / filter->error;
}

static void set_scale(const cpb_float_filter *filter, cpb_query_scale *query_scale) {
  enum { MOST = 1000 };
  int exponent = (filter->metric == CPB_COSINE ? 0 : filter->exponent) + ilogb(query_scale->unit);
  int first = exponent < -MOST ? -MOST : exponent > MOST ? MOST : exponent;
  query_scale->scale[0] = ldexp(1, first);
  query_scale->scale[1] = ldexp(1, exponent - first);
}

void cpb_float_filter_query(const cpb_float_filter *filter, const double *query, cpb_query_scale *query_scale,
                            float *factors, size_t stride) {
  const cpb_query_scale known = *query_scale;
  double size2 = 0;
  for (size_t k = 0; k < filter->d; k++) {
    double z = cpb_float_filter_number(filter, query, &known, k);
    factors[k * stride] = (float)z;
    size2 += z * z;
  }
  set_scale(filter, query_scale);
  query_scale->size2 = size2;
  query_scale->grain = grain_of(filter, query_scale);
  if (isinf(query_scale->grain)) {
    query_scale->size2 = 0;
    for (size_t k = 0; k < filter->d; k++) factors[k * stride] = 0;
  }
  query_scale->margin = margin_of(filter, query_scale);
}

float cpb_float_filter_threshold(const cpb_float_filter *filter, double value,
                                 const cpb_query_scale *query_scale) {
  double of_value = cpb_query_scale_value(query_scale, value), key = of_value, size = fabs(key);
  if (filter->metric == CPB_L2) {
    double distance2 = of_value * of_value;
    key = (query_scale->size2 - distance2) / 2;
    size = query_scale->size2 + distance2;
  } else if (filter->metric == CPB_COSINE)
    size = 1;
  return rounded_down(key - query_scale->margin - ((double)filter->d + 32) * DBL_EPSILON * size);
}

double cpb_float_filter_raise(const cpb_float_filter *filter, const float *start, size_t count) {
  float largest = 0;
  for (size_t i = 0; i < count; i++)
    if (fabsf(start[i]) > largest && start[i] < INFINITY) largest = fabsf(start[i]);
  double share = filter->metric == CPB_L2 ? filter->error / (0.5 - filter->error) : 1;
  return 1.001 * share * (double)largest + lost_below(filter->d);
}
