/* Rows on AVX-512; a file of its own, so that loops compile in parallel. */
#include "loops/lanes_avx512.h"

#include "loops/rows_float.h"

#include "loops/rows_plan.inc"

const cpb_rows_rule *const cpb_float_rules_avx512 = float_rules;
