/* T7: the largest norm of rows. */
#include <math.h>
#include <string.h>

#include "batch/ruler.h"
#include "capball/advanced/laws.h"
#include "capball/map.h"
#include "core/fail.h"
#include "core/rows.h"
#include "geometry/vector.h"

/* Numbers >= 0 are ordered as their bits are, and a maximum does not depend on the order of its terms: one atomic
 * word is enough for any number of threads. */
typedef struct norm_job {
  cpb_ruler ruler;
  _Atomic uint64_t largest;
  cpb_first_fault fault;
} norm_job;

static void norm_block(void *argument, size_t block, size_t first, size_t count) {
  (void)block;
  norm_job *job = argument;
  double largest = 0, length;
  for (size_t row = first; row < first + count; row++) {
    int fault = cpb_ruler_length(&job->ruler, row, &length);
    if (fault != 0)
      cpb_first_fault_meet(&job->fault, row, (cpb_fault)fault);
    else if (length > largest)
      largest = length;
  }
  uint64_t bits, known = atomic_load_explicit(&job->largest, memory_order_relaxed);
  memcpy(&bits, &largest, sizeof bits);
  while (bits > known && !atomic_compare_exchange_weak(&job->largest, &known, bits)) {
  }
}

cpb_status cpb_max_norm(cpb_view x, const double *center, double *max_norm, const cpb_exec *exec,
                        cpb_error *error) {
  if (max_norm == NULL) return cpb_fail_missing(error, "max_norm");
  *max_norm = NAN;
  cpb_status status = cpb_check_view(x, "x", x.cols, error);
  if (status != CPB_OK) return status;
  if (x.cols == 0) return cpb_fail_no_columns(error, "x");
  if (x.rows == 0) return cpb_fail(error, CPB_WHY_NO_ROWS, "x", "x has 0 rows: there is no largest norm");
  if (center != NULL && !cpb_all_finite(center, x.cols))
    return cpb_fail_not_finite(error, "center", "center");
  norm_job job = {.ruler = {.loops = cpb_loops_here(), .x = x, .c = center, .sign = 1}};
  atomic_init(&job.largest, 0);
  cpb_first_fault_init(&job.fault);
  cpb_blocks blocks = {x.rows, cpb_blocks_rows(x.cols), norm_block, &job};
  cpb_blocks_run(&blocks, exec);
  status = cpb_first_fault_report(&job.fault, "x", error);
  if (status != CPB_OK) return status;
  uint64_t bits = atomic_load(&job.largest);
  memcpy(max_norm, &bits, sizeof bits);
  return CPB_OK;
}
