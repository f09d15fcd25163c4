/* Rows on AVX-512; a file of its own, so that loops compile in parallel. */
#include "loop/lanes_avx512.h"

enum { BLOCK_FLOATS = 31, BLOCK_SMALL = 31, RANGES_LEAST = 5 };

#include "loop/rows_float.h"

#include "loop/rows_plan.inc"

const cpb_rows_rule *const cpb_float_rules_avx512 = float_rules;
