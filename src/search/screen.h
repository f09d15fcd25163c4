/* Single precision decides which rows cannot be answers: every row and every query become factors, and
 *   start_i + <x'_i, q'_j>  >=  key_ij - margin_j,     key = how near, larger is nearer
 * holds for the chain of fused multiply-adds of the panel loop, whatever rounding does.
 *
 *   L2       x' = u(x-m), q' = u(q-m)       key = <x',q'> - |x'|^2/2 = (|q'|^2 - |x'-q'|^2)/2
 *   IP       x' = u x,    q' = q/|q|        key = <x',q'>
 *   COSINE   x' = x/|x|,  q' = q/|q|        key = <x',q'>
 * with u a power of two that brings the queries near 1, and m the mean query: rows far from 0 but near each
 * other keep their digits. A sum of d fused terms errs by at most d u32 (|start|+|x'||q'|), and
 * |x'||q'| <= (|x'|^2+|q'|^2)/2 tells apart what the row has to bring (in start) from the query's
 * margin. Rows too far out for single precision get start = inf: nobody overlooks them.
 *
 * Values are doubles, and where they are subnormal or infinite, rows that differ may have the same one, of which the
 * lower id is the nearer. How far such rows may be apart is the grain of a query, and part of its margin. */
#ifndef CPB_SEARCH_SCREEN_H
#define CPB_SEARCH_SCREEN_H

#include <float.h>
#include <math.h>
#include <stdbool.h>

#include "capball/search.h"
#include "loop/table.h"

typedef struct cpb_screen {
  const cpb_loops *loops;
  cpb_metric metric;
  size_t d;
  int exponent;      /* u = 2^exponent */
  double unit;       /* u */
  double *center;    /* d; 0 where the metric has none */
  float *center_f32; /* the same, where every number of it is a float; else NULL */
  double error;      /* of a sum of products, relative to the sum of their sizes */
} cpb_screen;

/* A call in libm, and the work of some queries is little else; x and y are numbers. */
static inline double cpb_larger(double x, double y) { return x > y ? x : y; }

/* What is known of a query in advance. |q| = length/unit, with a unit of 1 unless squares would leave the range of double;
 * 1 and 1 where the length is not used, under L2 and, queries being of unit length then, COSINE. */
typedef struct cpb_asked {
  double length, unit;
  double scale[2]; /* powers of two, both >= 1 or both <= 1: from values to the unit of the screen */
  double size2;    /* |q'|^2 of its factors */
  double grain;    /* in the unit of the screen; inf: every row is measured, and its factors are 0 */
  double margin;   /* what rounding of the query, and of values, may cost a sum */
} cpb_asked;

/* A value in the unit of the screen. */
static inline double cpb_asked_value(const cpb_asked *asked, double value) {
  return value * asked->scale[0] * asked->scale[1] / asked->length;
}

/* Number k of q'. */
static inline double cpb_screen_number(const cpb_screen *screen, const double *q, const cpb_asked *asked,
                                       size_t k) {
  if (screen->metric == CPB_L2) return screen->unit * (q[k] - screen->center[k]);
  return q[k] * asked->unit / asked->length;
}

/* The largest |x_k - center_k|. */
double cpb_screen_reach(const double *x, const double *center, size_t n);

/* Chooses unit and centre for these queries, n rows of d doubles; the centres are d numbers each, the
 * caller's. Queries that are floats (center_f32 not NULL) get a centre of floats, about which rows of floats
 * are taken without a detour through double. */
void cpb_screen_init(cpb_screen *screen, cpb_metric metric, const double *queries, size_t n, size_t d,
                     double *center, float *center_f32);

/* The same screen again, from what it was made of. */
void cpb_screen_set(cpb_screen *screen, cpb_metric metric, size_t d, int exponent, double *center,
                    float *center_f32);

/* Sums of squares from here on might overflow in single precision; rows and queries of them are too far out. */
#define CPB_SCREEN_MOST 1e30

/* Whether rows of this type are floats that are multiplied with the unit as they are. */
bool cpb_screen_takes_floats(const cpb_screen *screen, cpb_dtype dtype);

/* The numbers of one row, whole lines of sixteen, and the sum of their squares; 0 or the fault of the row. */
int cpb_screen_numbers(const cpb_screen *screen, cpb_view rows, size_t row, float *numbers, double *size2);

/* Has the beginning of a row that will be read soon fetched. */
static inline void cpb_fetch_row(cpb_view rows, size_t row) {
  size_t bytes = cpb_dtype_size(rows.dtype), length = rows.cols * bytes;
  const char *first = (const char *)rows.data + row * rows.stride * bytes;
  for (size_t at = 0; at < length && at < 1024; at += 64) __builtin_prefetch(first + at);
}

/* The factors of up to CPB_PANEL_ROWS base rows row[0], row[1], .., interleaved as the panel loop wants them,
 * and where their sums start. fault[i] is 0 or the fault of a row. */
void cpb_screen_rows(const cpb_screen *screen, cpb_view rows, const size_t *row, size_t count, float *group,
                     float *start, int *fault);

/* The factors of a query go to every stride-th float, and all but its length to `asked`. */
void cpb_screen_query(const cpb_screen *screen, const double *query, cpb_asked *asked, float *factors,
                      size_t stride);

/* Sums of rows at least as near to the query as `value` are above this. */
float cpb_screen_threshold(const cpb_screen *screen, double value, const cpb_asked *asked);

/* How much higher than need be the sums of these rows start at most, rows too far out aside. */
double cpb_screen_raise(const cpb_screen *screen, const float *start, size_t count);

/* Where k rows of such a raise have sums of at least `sum`, the k nearest rows are above sum - blur, rounded down. */
double cpb_screen_blur(double raise, const cpb_asked *asked);

static inline float cpb_screen_among(float sum, double blur) {
  double least = (double)sum - blur;
  return least < -FLT_MAX ? -INFINITY : (float)(least - fabs(least) * 0x1p-23 - 0x1p-149);
}

#endif
