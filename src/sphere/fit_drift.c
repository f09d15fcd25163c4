/* T13: how far rows have left those of a fit, from sums that are updated as rows come and go. */
#include <math.h>
#include <stdlib.h>

#include "loops/row_state.h"
#include "loops/ruler.h"
#include "capball/advanced/fitting.h"
#include "base/elementary.h"
#include "base/fail.h"
#include "base/rows.h"
#include "loops/chunk.h"

enum { ROWS, NORMS, OFFSETS };

static double drift_of(double norm, size_t d, const double *sums) {
  double now = sums[NORMS] / sums[ROWS], moved = 0;
  if (!(sums[ROWS] > 0) || (norm == 0 && now == 0)) return 0;
  for (size_t i = 0; i < d; i++) moved = cpb_hypot(moved, sums[OFFSETS + i] / sums[ROWS]);
  double drift = fmax(moved / norm, fmax(now / norm, norm / now) - 1);
  return drift >= 0 ? drift : INFINITY; /* sums beyond double */
}

cpb_status cpb_fit_drift(const double *center, double norm, cpb_view rows, int sign, double *sums,
                         double *drift, cpb_error *error) {
  if (sums == NULL || drift == NULL) return cpb_fail_missing(error, sums == NULL ? "sums" : "drift");
  if (!(norm >= 0)) return cpb_fail_domain(error, "norm", norm, "norm must be >= 0");
  if (sign != 1 && sign != -1) return cpb_fail_choice(error, "sign", sign);
  cpb_status status = cpb_check_finite(rows, "rows", rows.cols, NULL, error);
  if (status != CPB_OK) return status;
  cpb_ruler ruler = {.loops = cpb_loops_here(), .x = rows, .c = center, .sign = 1};
  double *row = malloc(rows.cols * sizeof *row), length;
  if (row == NULL) return cpb_fail_memory(error, "a row of %zu columns", rows.cols);
  for (size_t i = 0; i < rows.rows; i++) {
    cpb_ruler_length(&ruler, i, &length);
    cpb_row_widen(rows, i, row);
    sums[NORMS] += sign * length;
    for (size_t k = 0; k < rows.cols; k++)
      sums[OFFSETS + k] += sign * (row[k] - (center != NULL ? center[k] : 0));
  }
  sums[ROWS] += sign * (double)rows.rows;
  *drift = drift_of(norm, rows.cols, sums);
  free(row);
  return CPB_OK;
}
