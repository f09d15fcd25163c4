#include "batch/check_finite.h"

#include "batch/row_state.h"

typedef struct row_check {
  const cpb_loops *loops;
  cpb_view rows;
  cpb_first_fault fault;
} row_check;

static void check_block(void *arg, size_t block, size_t first, size_t count) {
  (void)block;
  row_check *check = arg;
  for (size_t row = first; row < first + count; row++) {
    int fault = cpb_row_fault(check->loops, check->rows, row);
    if (fault != 0) cpb_first_fault_meet(&check->fault, row, (cpb_fault)fault);
  }
}

cpb_status cpb_check_finite(cpb_view rows, const char *name, size_t cols, const cpb_exec *exec,
                            cpb_error *error) {
  cpb_status status = cpb_check_view(rows, name, cols, error);
  if (status != CPB_OK) return status;
  row_check check = {.loops = cpb_loops_here(), .rows = rows};
  cpb_first_fault_init(&check.fault);
  cpb_blocks blocks = {rows.rows, cpb_blocks_rows(cols), check_block, &check};
  cpb_blocks_run(&blocks, exec);
  return cpb_first_fault_report(&check.fault, name, error);
}
