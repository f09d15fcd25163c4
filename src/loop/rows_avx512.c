/* Rows on AVX-512, apart from the other loops so that neither waits for the other to compile. */
#include "loop/lanes_avx512.h"

#define LANES_LONG
enum { BLOCK_FLOATS = 24, BLOCK_SMALL = 31, RANGES_LEAST = 1, FEW_STAGED = true, FEW_GAPS = true };

#include "loop/rows_float_plan.inc"

const cpb_rows_rule *const cpb_float_rules_avx512 = float_rules;
