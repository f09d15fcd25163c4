/* The functions of <math.h> that libraries round differently, as our own: built from + - * / sqrt and fma
 * alone, which IEEE 754 defines to the last bit, they give the same bits under every compiler, processor and
 * libm. Within one unit in the last place; tests/edge/own_functions.c judges them by MPFR. */
#ifndef CPB_CORE_ELEMENTARY_H
#define CPB_CORE_ELEMENTARY_H

#include "core/arithmetic.h"

/* sqrt(x^2 + y^2) without overflow or underflow on the way. */
double cpb_hypot(double x, double y);

double cpb_exp(double x);
double cpb_log(double x);

/* x^y; NaN for x < 0 unless y is a whole number. */
double cpb_pow(double x, double y);

/* Of radians with |x| <= 1024; NaN beyond. */
double cpb_sin(double x);
double cpb_cos(double x);
double cpb_tan(double x);

#endif
