#include "ball/piece_rounds.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"

void cpb_columns_widen(double *low, double *high, bool first, const double *more_low, const double *more_high,
                       size_t d) {
  for (size_t j = 0; j < d; j++) {
    low[j] = (first || more_low[j] < low[j] ? more_low[j] : low[j]) + 0.;
    high[j] = (first || more_high[j] > high[j] ? more_high[j] : high[j]) + 0.;
  }
}

int cpb_columns_exponent(const double *low, const double *high, size_t d) {
  double half = 0;
  for (size_t j = 0; j < d; j++) half = fmax(half, high[j] / 2 - low[j] / 2);
  for (size_t j = 0; half == 0 && j < d; j++) half = fmax(half, high[j] - low[j]);
  int exponent = half > 0 ? ilogb(half) + 1 : 0;
  return abs(exponent) < CPB_SAFE_EXPONENT ? 0 : exponent;
}

cpb_status cpb_fail_round_empty(cpb_error *error, uint64_t round) {
  return cpb_fail(error, CPB_WHY_NO_ROWS, "", "round %llu has seen no rows", (unsigned long long)round);
}

cpb_status cpb_fail_round_unseen(cpb_error *error) {
  return cpb_fail(error, CPB_WHY_PIECES, "rows", "rows hold numbers that the first round has not seen");
}

cpb_status cpb_fail_round_no_ball(cpb_error *error) {
  return cpb_fail(error, CPB_WHY_CALL_ORDER, "", "no round has ended with a ball yet");
}

cpb_status cpb_round_check_restart(cpb_round piece, cpb_round whole, cpb_error *error) {
  if (piece.object == whole.object)
    return cpb_fail(error, CPB_WHY_PIECES, "piece", "a piece cannot be merged into itself");
  if (piece.d == whole.d) return CPB_OK;
  return cpb_fail(error, CPB_WHY_COLUMNS, "piece", "pieces of dimension %zu and %zu do not merge", piece.d,
                  whole.d);
}

cpb_status cpb_round_check(cpb_round ours, cpb_round theirs, cpb_error *error) {
  cpb_status status = cpb_round_check_restart(ours, theirs, error);
  if (status != CPB_OK) return status;
  if (memcmp(ours.option, theirs.option, sizeof ours.option) != 0)
    return cpb_fail(error, CPB_WHY_PIECES, "piece", "the pieces have different options");
  if (ours.round != theirs.round)
    return cpb_fail(error, CPB_WHY_PIECES, "piece", "one piece is of round %llu, the other of %llu",
                    (unsigned long long)ours.round, (unsigned long long)theirs.round);
  bool same = memcmp(ours.question, theirs.question, sizeof ours.question) == 0 &&
              memcmp(ours.center, theirs.center, ours.d * sizeof *ours.center) == 0;
  if (ours.round > 0 && !same)
    return cpb_fail(error, CPB_WHY_PIECES, "piece", "the pieces are about different centres");
  return CPB_OK;
}

cpb_status cpb_fail_no_ball(cpb_error *error, size_t rows, size_t cols) {
  return cpb_fail(error, CPB_WHY_NO_ROWS, "x", "x has %zu rows of %zu columns: there is no ball", rows, cols);
}

cpb_status cpb_fail_weight(cpb_error *error, size_t row, double weight) {
  return cpb_fail_row(error, CPB_WHY_WEIGHT, "weights", row, "must be >= 0 and finite, got %.17g", weight);
}

cpb_status cpb_fail_weights_zero(cpb_error *error, size_t count) {
  return cpb_fail(error, CPB_WHY_WEIGHT, "weights", "all %zu weights are 0", count);
}
