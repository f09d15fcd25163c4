/* Rows of doubles, and results in double, on AVX2. */
#include "loops/lanes_avx2.h"

enum { FEW_MOST = 0 };

#include "loops/rows_double.h"

#include "loops/rows_plan.inc"

const cpb_rows_rule *const cpb_double_rules_avx2 = double_rules;
