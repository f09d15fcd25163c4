#include "learn/round_fail.h"

#include "core/fail.h"

cpb_status cpb_fail_round_dimensions(cpb_error *error, size_t d, size_t other) {
  return cpb_fail(error, CPB_WHY_COLUMNS, "piece", "pieces of dimension %zu and %zu do not merge", d, other);
}

cpb_status cpb_fail_round_itself(cpb_error *error) {
  return cpb_fail(error, CPB_WHY_PIECES, "piece", "a piece cannot be merged into itself");
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

cpb_status cpb_round_check(const void *a, const void *b, cpb_round ours, cpb_round theirs, cpb_error *error) {
  if (a == b) return cpb_fail_round_itself(error);
  if (ours.d != theirs.d) return cpb_fail_round_dimensions(error, ours.d, theirs.d);
  if (!theirs.same_options)
    return cpb_fail(error, CPB_WHY_PIECES, "piece", "the pieces have different options");
  if (ours.round != theirs.round)
    return cpb_fail(error, CPB_WHY_PIECES, "piece", "one piece is of round %llu, the other of %llu",
                    (unsigned long long)ours.round, (unsigned long long)theirs.round);
  if (!theirs.same_center)
    return cpb_fail(error, CPB_WHY_PIECES, "piece", "the pieces are about different centres");
  return CPB_OK;
}
