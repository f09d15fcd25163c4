/* Rows of doubles, and results in double, on AVX-512. */
#include "loops/lanes_avx512.h"

enum { FEW_MOST = 4 };

#include "loops/rows_double.h"

#include "loops/rows_plan.inc"

const cpb_rows_rule *const cpb_double_rules_avx512 = double_rules;
