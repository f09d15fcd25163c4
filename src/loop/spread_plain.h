/* spread.inc of floats in ordinary C. */
#ifndef CPB_LOOP_SPREAD_PLAIN_H
#define CPB_LOOP_SPREAD_PLAIN_H

#include "loop/lanes_f64.h"

#define REAL float
#define SPREAD spread_f32
#define SPREAD_LINE spread_f32_line
#include "loop/spread.inc"
#undef REAL
#undef SPREAD
#undef SPREAD_LINE

#endif
