/* T12 for one row: the few numbers from which its gradient is two vectors added.
 *
 * The gradient is toward_g * g' + toward_row * row', row = x or y. To stay in range a caller may
 * give powers of two away: the row as 2^-c row', g as 2^-h g and s as its mantissa (s = 2^m mantissa).
 * Each function says by which power its answers then have to be multiplied. */
#ifndef CPB_GEOMETRY_LAYER_ROW_H
#define CPB_GEOMETRY_LAYER_ROW_H

/* What is known of a row. */
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

/* y = S(x), from x. With a = max(c, m): s is 2^-a s, `factor` the mantissa of s and `unit` 2^(c-a); without
 * powers s, s and 1. Gradient 2^(m-2a+h), t 2^(m-2a+c+h). */
cpb_layer_row cpb_layer_from_x(const cpb_layer_sums *sums, double s, double factor, double unit);

/* y = S(x), from y. `unit` is 2^c, 1 unless y0 < 0. Gradient 2^(2c-m+h), t 2^(c+h). */
cpb_layer_row cpb_layer_from_y(const cpb_layer_sums *sums, double factor, double unit);

/* x = S^-1(y). `unit` as above. Gradient 2^(m-2c+h), t 2^(m-c+h). */
cpb_layer_row cpb_layer_of_inverse(const cpb_layer_sums *sums, double factor, double unit);

#endif
