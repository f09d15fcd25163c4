/* T12 for one row: the few numbers from which its gradient is a sum of two vectors. Inline for rows in blocks.
 *
 * The gradient is toward_g * g' + toward_row * row', row = x or y. To stay in range a caller may
 * take out powers of two: the row as 2^-c row', g as 2^-h g and s as its mantissa (s = 2^m mantissa).
 * Each law states the power by which its results must then be multiplied. */
#ifndef CPB_SPHERE_LAYER_ROW_H
#define CPB_SPHERE_LAYER_ROW_H

#include "sphere/products.h"

typedef struct cpb_layer_sums {
  double norm2;    /* <row',row'> */
  double product;  /* <row',g'> */
  double row_last; /* y0; not used from x */
  double g_last;   /* g0; not used by the inverse */
} cpb_layer_sums;

typedef struct cpb_layer_row {
  double toward_g, toward_row;
  double last; /* the gradient's last coordinate, of the inverse only */
  double t;    /* this row's part of dL/dt */
} cpb_layer_row;

/* y = S(x), from x. With a = max(c, m): s is 2^-a s, `factor` the mantissa of s and `unit` 2^(c-a); without powers
 * s, s and 1. Gradient 2^(m-2a+h), t 2^(m-2a+c+h). dL/dt = |y'|^2 g0 - y0 <y',g'>, with the factor lambda of y' =
 * lambda x taken out once. */
static inline cpb_layer_row cpb_layer_from_x(const cpb_layer_sums *sums, double s, double factor,
                                             double unit) {
  double n = unit * unit * sums->norm2, q = n + s * s, lambda = 2 * factor / q;
  double k = 2 * (unit * sums->product + s * sums->g_last) / q;
  double y0 = (s * s - n) / q;
  return (cpb_layer_row){.toward_g = lambda,
                         .toward_row = -lambda * k * unit,
                         .t = lambda * (2 * s * unit * sums->norm2 / q * sums->g_last - y0 * sums->product)};
}

/* y = S(x), from y. `unit` is 2^c, 1 unless y0 < 0. Gradient 2^(2c-m+h), t 2^(c+h). */
static inline cpb_layer_row cpb_layer_from_y(const cpb_layer_sums *sums, double factor, double unit) {
  double rise = cpb_rise(sums->row_last, sums->norm2);
  return (cpb_layer_row){.toward_g = rise / factor,
                         .toward_row = -(sums->product + unit * rise * sums->g_last) / factor,
                         .t = unit * sums->norm2 * sums->g_last - sums->row_last * sums->product};
}

/* x = S^-1(y). `unit` as above. Gradient 2^(m-2c+h), t 2^(m-c+h). */
static inline cpb_layer_row cpb_layer_of_inverse(const cpb_layer_sums *sums, double factor, double unit) {
  double rise = cpb_rise(sums->row_last, sums->norm2), stretch = factor / rise;
  return (cpb_layer_row){.toward_g = stretch,
                         .toward_row = -stretch * (sums->product / rise),
                         .last = -stretch * (unit * sums->product),
                         .t = stretch * sums->product};
}

typedef enum cpb_layer_law { CPB_FROM_X, CPB_FROM_Y, CPB_OF_INVERSE } cpb_layer_law;

/* Without powers taken out. */
static inline cpb_layer_row cpb_layer_row_of(cpb_layer_law law, const cpb_layer_sums *sums, double s) {
  switch (law) {
  case CPB_FROM_X: return cpb_layer_from_x(sums, s, s, 1);
  case CPB_FROM_Y: return cpb_layer_from_y(sums, s, 1);
  default: return cpb_layer_of_inverse(sums, s, 1);
  }
}

/* The powers of two that were taken out of the row (c), g (h) and s (m). */
typedef struct cpb_layer_powers {
  int row, g, s;
} cpb_layer_powers;

/* The row's numbers with t complete, and the power of two by which the gradient must be multiplied. */
typedef struct cpb_layer_answer {
  cpb_layer_row row;
  int power;
} cpb_layer_answer;

cpb_layer_answer cpb_layer_answer_of(cpb_layer_law law, const cpb_layer_sums *sums, double s,
                                     cpb_layer_powers taken);

#endif
