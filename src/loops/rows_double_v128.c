/* Rows of doubles, and results in double, in 128-bit registers: ranges on NEON. On SSE2 plain C is up to four times
 * as fast (measured): sixteen lanes of doubles occupy all registers. */
#include "loops/lanes_v128.h"

#if defined(__aarch64__)
#include "loops/rows_double.h"

#include "loops/rows_plan.inc"

const cpb_rows_rule *const cpb_double_rules_v128 = double_rules;
#else
#include "loops/table.h"

static const cpb_rows_rule no_rules[] = {{.walk = NULL}};

const cpb_rows_rule *const cpb_double_rules_v128 = no_rules;
#endif
