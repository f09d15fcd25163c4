/* Rows with NaN or inf, found before a call that visits the rows in another order. */
#include "loops/row_state.h"

#include "base/fail.h"
#include "loops/ruler.h"

cpb_status cpb_check_finite_row(cpb_view view, size_t row, const char *name, cpb_error *error) {
  int fault = cpb_row_fault(cpb_loops_here(), view, row);
  return fault == 0 ? CPB_OK : cpb_fault_report(row, fault, name, error);
}

static int fault_of(void *arg, size_t row) {
  const cpb_ruler *ruler = arg;
  return cpb_row_fault(ruler->loops, ruler->x, row);
}

cpb_status cpb_check_finite(cpb_view rows, const char *name, size_t cols, const cpb_exec *exec,
                            cpb_error *error) {
  cpb_status status = cpb_check_view(rows, name, cols, error);
  if (status != CPB_OK) return status;
  cpb_ruler ruler = {.loops = cpb_loops_here(), .x = rows};
  return cpb_rows_run(rows.rows, cols, fault_of, &ruler, name, exec, error);
}
