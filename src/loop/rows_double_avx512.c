/* Rows of doubles, and results in double, on AVX-512. */
#include "loop/lanes_avx512.h"

enum { FEW_MOST = 4 };

#include "loop/rows_double.h"

#include "loop/rows_plan.inc"

const cpb_rows_rule *const cpb_double_rules_avx512 = double_rules;
