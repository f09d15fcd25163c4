/* T12: gradients of the embedding, of its inverse, and with respect to t = log s. */
#include "capball/product.h"
#include "geometry/layer_row.h"

/* dL/dt = |y'|^2 g0 - y0 <y',g'>, with y' = lambda x taken out once. */
cpb_layer_row cpb_layer_from_x(const cpb_layer_sums *sums, double s, double factor, double unit) {
  double n = unit * unit * sums->norm2, q = n + s * s, lambda = 2 * factor / q;
  double k = 2 * (unit * sums->product + s * sums->g_last) / q;
  double y0 = (s * s - n) / q;
  return (cpb_layer_row){.toward_g = lambda,
                         .toward_row = -lambda * k * unit,
                         .t = lambda * (2 * s * unit * sums->norm2 / q * sums->g_last - y0 * sums->product)};
}

cpb_layer_row cpb_layer_from_y(const cpb_layer_sums *sums, double factor, double unit) {
  double rise = cpb_rise(sums->row_last, sums->norm2);
  return (cpb_layer_row){.toward_g = rise / factor,
                         .toward_row = -(sums->product + unit * rise * sums->g_last) / factor,
                         .t = unit * sums->norm2 * sums->g_last - sums->row_last * sums->product};
}

cpb_layer_row cpb_layer_of_inverse(const cpb_layer_sums *sums, double factor, double unit) {
  double rise = cpb_rise(sums->row_last, sums->norm2), stretch = factor / rise;
  return (cpb_layer_row){.toward_g = stretch,
                         .toward_row = -stretch * (sums->product / rise),
                         .last = -stretch * (unit * sums->product),
                         .t = stretch * sums->product};
}
