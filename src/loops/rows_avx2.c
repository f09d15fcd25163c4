/* Rows on AVX2; a file of its own, so that loops compile in parallel. */
#include "loops/lanes_avx2.h"

#include "loops/rows_float.h"

#include "loops/rows_plan.inc"

const cpb_rows_rule *const cpb_float_rules_avx2 = float_rules;
