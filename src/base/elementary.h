/* Our own versions of the <math.h> functions that libraries round differently: built only from + - * / sqrt and
 * fma, which IEEE 754 defines to the last bit, they give the same bits with every compiler, processor and libm.
 * Accurate within one unit in the last place; tests/base/own_functions.c compares them with MPFR. */
#ifndef CPB_BASE_ELEMENTARY_H
#define CPB_BASE_ELEMENTARY_H

#include "base/arithmetic.h"

/* sqrt(x^2 + y^2) without intermediate overflow or underflow. */
double cpb_hypot(double x, double y);

double cpb_exp(double x);
double cpb_log(double x);

/* x^y; NaN for x < 0 unless y is a whole number. */
double cpb_pow(double x, double y);

/* Radians, |x| <= 1024; NaN beyond. */
double cpb_sin(double x);
double cpb_cos(double x);
double cpb_tan(double x);

#endif
