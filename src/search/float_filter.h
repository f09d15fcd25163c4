/* The candidate filter in single precision. It excludes rows that cannot be answers: rows and queries are converted to
 * single-precision factors, for which
 *   start_i + <x'_i, q'_j>  >=  key_ij - margin_j,     key: larger is nearer
 * holds in spite of all rounding in the fused multiply-adds of the panel loop.
 *
 *   L2       x' = u(x-m), q' = u(q-m)       key = <x',q'> - |x'|^2/2 = (|q'|^2 - |x'-q'|^2)/2
 *   IP       x' = u x,    q' = q/|q|        key = <x',q'>
 *   COSINE   x' = x/|x|,  q' = q/|q|        key = <x',q'>
 * where u is a power of two that scales the queries to about 1, and m is the mean query: rows far from 0 but close
 * together keep their significant digits. The error of a sum of d fused terms is at most d u32 (|start|+|x'||q'|), and
 * |x'||q'| <= (|x'|^2+|q'|^2)/2 splits it into a part of the row (included in start) and a part of the query (its
 * margin). Rows out of range for single precision get start = inf and so always pass the filter.
 *
 * Values are doubles. Where they are subnormal or infinite, different rows may have equal values, and the lower id then
 * counts as nearer. How far apart such rows can be is the grain of a query, which is part of its margin. */
#ifndef CPB_SEARCH_FLOAT_FILTER_H
#define CPB_SEARCH_FLOAT_FILTER_H

#include <float.h>
#include <math.h>
#include <stdbool.h>

#include "capball/search.h"
#include "loops/table.h"

typedef struct cpb_float_filter {
  const cpb_loops *loops;
  cpb_metric metric;
  size_t d;
  int exponent;      /* u = 2^exponent */
  double unit;       /* u */
  double *center;    /* d; 0 if the metric has none */
  float *center_f32; /* the same if every component is exactly a float; else NULL */
  double error;      /* relative error of a sum of products */
} cpb_float_filter;

/* In place of fmax, which is a libm call and would dominate the time of some queries; x and y are not NaN. */
static inline double cpb_larger(double x, double y) { return x > y ? x : y; }

/* Properties of a query, computed once. |q| = length/unit, where unit is 1 unless the squares would leave the range of
 * double. Both are 1 where the length is not used: under L2, and under COSINE, whose queries have unit length. */
typedef struct cpb_query_scale {
  double length, unit;
  double scale[2]; /* powers of two, both >= 1 or both <= 1: convert values to the unit of the filter */
  double size2;    /* |q'|^2 of its factors */
  double grain;    /* in the unit of the filter; inf: every row is measured, and the factors are 0 */
  double margin;   /* bound on what rounding the query and the values can change in a sum */
} cpb_query_scale;

/* A value, converted to the unit of the filter. */
static inline double cpb_query_scale_value(const cpb_query_scale *query_scale, double value) {
  return value * query_scale->scale[0] * query_scale->scale[1] / query_scale->length;
}

/* Component k of q'. */
static inline double cpb_float_filter_number(const cpb_float_filter *filter, const double *q,
                                             const cpb_query_scale *query_scale, size_t k) {
  if (filter->metric == CPB_L2) return filter->unit * (q[k] - filter->center[k]);
  return q[k] * query_scale->unit / query_scale->length;
}

/* The largest |x_k - center_k|. */
double cpb_float_filter_reach(const double *x, const double *center, size_t n);

/* Chooses unit and centre for these queries. The centres are arrays of d numbers owned by the caller. If the queries are floats (center_f32 not NULL), so is the centre, and rows of floats are centred without
 * conversion to double. */
void cpb_float_filter_init(cpb_float_filter *filter, cpb_metric metric, cpb_view queries, double *center,
                           float *center_f32);

/* The same float filter again, from what it was made of. */
void cpb_float_filter_set(cpb_float_filter *filter, cpb_metric metric, size_t d, int exponent, double *center,
                          float *center_f32);

/* Sums of squares from here on might overflow in single precision; rows and queries of them are too far out. */
#define CPB_FLOAT_FILTER_MOST 1e30

/* Whether rows of this type are floats that can be multiplied by the unit directly. */
bool cpb_float_filter_takes_floats(const cpb_float_filter *filter, cpb_dtype dtype);

/* The components of one row, in whole lines of CPB_PANEL_LINE floats that begin `step` floats apart, and the sum of their
 * squares; 0 or the fault of the row. */
int cpb_float_filter_numbers(const cpb_float_filter *filter, cpb_view rows, size_t row, float *to,
                             size_t step, double *size2);

/* Prefetches the beginning of a row that will be read soon. */
static inline void cpb_fetch_row(cpb_view rows, size_t row) {
  size_t bytes = cpb_dtype_size(rows.dtype), length = rows.cols * bytes;
  const char *first = (const char *)rows.data + row * rows.stride * bytes;
  for (size_t at = 0; at < length && at < 1024; at += 64) __builtin_prefetch(first + at);
}

/* The factors of a base row as row i of those interleaved for the panel loop, and the start value of its sums; 0 or
 * the fault of the row. */
int cpb_float_filter_row(const cpb_float_filter *filter, cpb_view rows, size_t row, size_t i, float *factors,
                         float *start);

/* Writes the factors of a query to every stride-th float, and all members of `query_scale` except the length. */
void cpb_float_filter_query(const cpb_float_filter *filter, const double *query, cpb_query_scale *query_scale,
                            float *factors, size_t stride);

/* A lower bound on the sums of rows at least as near to the query as `value`. */
float cpb_float_filter_threshold(const cpb_float_filter *filter, double value,
                                 const cpb_query_scale *query_scale);

/* The largest amount by which the starts of these rows exceed the exact ones; rows out of range are ignored. */
double cpb_float_filter_raise(const cpb_float_filter *filter, const float *start, size_t count);

/* If k rows with this raise have sums >= `sum`, the sums of the k nearest rows are above sum - blur, rounded down; blur: 2
 * (raise + margin of the query) */
static inline float cpb_float_filter_among(float sum, double blur) {
  double least = (double)sum - blur;
  return least < -FLT_MAX ? -INFINITY : (float)(least - fabs(least) * 0x1p-23 - 0x1p-149);
}

#endif
