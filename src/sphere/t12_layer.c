/* T12: gradients of the embedding, of its inverse, and with respect to t = log s, with powers of two taken out. */
#include <math.h>

#include "sphere/layer_row.h"

cpb_layer_answer cpb_layer_answer_of(cpb_layer_law law, const cpb_layer_sums *sums, double s,
                                     cpb_layer_powers taken) {
  double factor = ldexp(s, -taken.s), unit = ldexp(1, taken.row);
  int larger = taken.row > taken.s ? taken.row : taken.s, t_power = taken.s - taken.row + taken.g;
  cpb_layer_answer a = {0};
  switch (law) {
  case CPB_FROM_X:
    a.row = cpb_layer_from_x(sums, ldexp(s, -larger), factor, ldexp(1, taken.row - larger));
    a.power = taken.s - 2 * larger + taken.g;
    t_power = a.power + taken.row;
    break;
  case CPB_FROM_Y:
    a.row = cpb_layer_from_y(sums, factor, unit);
    a.power = 2 * taken.row - taken.s + taken.g;
    t_power = taken.row + taken.g;
    break;
  case CPB_OF_INVERSE:
    a.row = cpb_layer_of_inverse(sums, factor, unit);
    a.power = taken.s - 2 * taken.row + taken.g;
    break;
  }
  a.row.t = ldexp(a.row.t, t_power);
  return a;
}
