/* Rows in registers of 128 bits. */
#include "loops/lanes_v128.h"

/* Measured on SSE2, whose sixteen registers are too few for sixteen lanes of doubles: plain C is up to four times as
 * fast for shorter rows. */
#if defined(__aarch64__)
enum { RANGES_LEAST = 5 };
#else
#define NO_SMALL_RANGES
enum { RANGES_LEAST = 32 };
#endif

#include "loops/rows_float.h"

#include "loops/rows_plan.inc"

const cpb_rows_rule *const cpb_float_rules_v128 = float_rules;
