/* Rows on AVX2, apart from the other loops so that neither waits for the other to compile. */
#include "loop/lanes_avx2.h"

#define WALK_BYTES
enum { BLOCK_FLOATS = 31, BLOCK_SMALL = 31, BLOCK_OWN = false };

#include "loop/rows_plan.inc"

cpb_rows_loop *cpb_double_rows_avx2(const cpb_rows_job *job);

cpb_rows_loop *cpb_rows_avx2(const cpb_rows_job *job) { return plan_rows(job, cpb_double_rows_avx2); }
