/* Rows of doubles, and results in double, in registers of 128 bits: all of them by the walk. */
#include "loop/lanes_v128.h"

enum { SHORT_DOUBLES = 0 };

static void short_doubles(const cpb_rows_job *job);

#include "loop/rows_double_plan.h"

static void short_doubles(const cpb_rows_job *job) { walk_f64_f64(job); }

cpb_rows_loop *cpb_double_rows_v128(const cpb_rows_job *job) { return plan_doubles(job); }
