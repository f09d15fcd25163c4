#include "learn/svdd_fail.h"

#include "core/fail.h"

cpb_status cpb_fail_no_ball(cpb_error *error, size_t rows, size_t cols) {
  return cpb_fail(error, CPB_WHY_NO_ROWS, "x", "x has %zu rows of %zu columns: there is no ball", rows, cols);
}

cpb_status cpb_fail_nu_rows(cpb_error *error, double nu, size_t rows) {
  return cpb_fail(error, CPB_WHY_DOMAIN, "nu", "nu n must be >= 1, got %.17g times %zu rows", nu, rows);
}

cpb_status cpb_fail_weight(cpb_error *error, size_t row, double weight) {
  return cpb_fail_row(error, CPB_WHY_WEIGHT, "weights", row, "must be >= 0 and finite, got %.17g", weight);
}

cpb_status cpb_fail_weights_zero(cpb_error *error, size_t count) {
  return cpb_fail(error, CPB_WHY_WEIGHT, "weights", "all %zu weights are 0", count);
}
