/* What can be wrong with pieces that come together in rounds, and its sentences. */
#ifndef CPB_LEARN_ROUND_FAIL_H
#define CPB_LEARN_ROUND_FAIL_H

#include <stdbool.h>

#include "capball/status.h"

/* What two pieces must agree in. */
typedef struct cpb_round {
  size_t d;
  uint64_t round;
  bool same_options, same_center;
} cpb_round;

/* CPB_OK when the second may be merged into the first; a == b: they are one object. */
cpb_status cpb_round_check(const void *a, const void *b, cpb_round ours, cpb_round theirs, cpb_error *error);

cpb_status cpb_fail_round_dimensions(cpb_error *error, size_t d, size_t other);
cpb_status cpb_fail_round_itself(cpb_error *error);
cpb_status cpb_fail_round_empty(cpb_error *error, uint64_t round);
cpb_status cpb_fail_round_unseen(cpb_error *error);
cpb_status cpb_fail_round_no_ball(cpb_error *error);

#endif
