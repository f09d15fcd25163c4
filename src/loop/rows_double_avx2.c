/* Rows of doubles, and results in double, on AVX2: all of them by the walk. */
#include "loop/lanes_avx2.h"

enum { SHORT_DOUBLES = 0 };

static void short_doubles(const cpb_rows_job *job);

#include "loop/rows_double_plan.h"

static void short_doubles(const cpb_rows_job *job) { walk_f64_f64(job); }

cpb_rows_loop *cpb_double_rows_avx2(const cpb_rows_job *job) { return plan_doubles(job); }
