/* Inline: errors about pieces that cannot be merged. */
#ifndef CPB_STATISTICS_PIECE_FAIL_H
#define CPB_STATISTICS_PIECE_FAIL_H

#include "base/fail.h"

static inline cpb_status cpb_fail_same_piece(cpb_error *error, const char *what) {
  return cpb_fail(error, CPB_WHY_PIECES, "piece", "whole and piece must be two %s", what);
}

static inline cpb_status cpb_fail_piece_columns(cpb_error *error, size_t one, size_t other) {
  return cpb_fail(error, CPB_WHY_PIECES, "piece", "one piece has %zu columns, the other %zu", one, other);
}

#endif
