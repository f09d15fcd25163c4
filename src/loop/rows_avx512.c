/* Rows on AVX-512, apart from the other loops so that neither waits for the other to compile. */
#include "loop/lanes_avx512.h"

#define LANES_LONG
#define WALK_BYTES
enum { BLOCK_FLOATS = 24, BLOCK_SMALL = 31, BLOCK_OWN = true };

#include "loop/rows_plan.inc"

cpb_rows_loop *cpb_double_rows_avx512(const cpb_rows_job *job);

cpb_rows_loop *cpb_rows_avx512(const cpb_rows_job *job) { return plan_rows(job, cpb_double_rows_avx512); }
