/* Shared by rounds over pieces of the data: row ids, column extremes, and the properties in
 * which two pieces must agree. */
#ifndef CPB_LEARN_PIECE_ROUNDS_H
#define CPB_LEARN_PIECE_ROUNDS_H

#include <stdbool.h>
#include <stddef.h>

#include "capball/advanced/rounds.h"
#include "capball/ball.h"
#include "capball/status.h"
#include "scale/row_sample.h"

enum { CPB_SAFE_EXPONENT = 250 }; /* sums of squares of numbers up to 2^this are safe in double */

/* Widens the extremes of d columns by those of more rows; `first`: there were none before. 0 is never -0: the
 * order of arrival must not show. */
void cpb_columns_widen(double *low, double *high, bool first, const double *more_low, const double *more_high,
                       size_t d);

/* The exponent of a unit in which squares of all differences are safe; 0 if they already are. */
int cpb_columns_exponent(const double *low, const double *high, size_t d);

/* The properties in which two pieces must agree. */
typedef struct cpb_round {
  const void *object;
  size_t d;
  uint64_t round; /* in round 0 there is no question yet */
  double option[2], question[3];
  const double *center;
} cpb_round;

/* CPB_OK when the second may be merged into the first. */
cpb_status cpb_round_check(cpb_round ours, cpb_round theirs, cpb_error *error);

/* CPB_OK when a piece may restart with the round of another: two distinct objects of the same dimension. */
cpb_status cpb_round_check_restart(cpb_round piece, cpb_round whole, cpb_error *error);
cpb_status cpb_fail_round_empty(cpb_error *error, uint64_t round);
cpb_status cpb_fail_round_unseen(cpb_error *error);
cpb_status cpb_fail_round_no_ball(cpb_error *error);

/* ---- Errors shared by the solvers of balls. ---- */

cpb_status cpb_svdd_check_options(const cpb_svdd_options *options, cpb_error *error);

/* nu n >= 1: below that nu has no effect, the result is the enclosing ball. Weights may have any unit, down to 0,
 * so for them this is not a sign of a mistake. */
cpb_status cpb_svdd_check_share(const cpb_svdd_options *options, size_t rows, cpb_error *error);

/* (upper - lower)/upper of an SVDD, 0 for upper 0; first brings *lower into 0 .. upper. */
double cpb_svdd_gap(double upper, double *lower);
cpb_status cpb_fail_no_ball(cpb_error *error, size_t rows, size_t cols);
cpb_status cpb_fail_weight(cpb_error *error, size_t row, double weight);
cpb_status cpb_fail_weights_zero(cpb_error *error, size_t count);

/* ---- Rounds in one process: rows identified by their numbers, and the ball without a model. ---- */

/** cpb_ball_rounds_update_ids for ids of either kind. */
cpb_status cpb_ball_rounds_update(cpb_ball_rounds *rounds, cpb_view rows, cpb_row_ids ids,
                                  const cpb_exec *exec, cpb_error *error);

/** The best ball so far, with ids as the rows of its support. report->passes counts rounds; its seconds are 0.
 *  EINVAL before the second round has ended. */
cpb_status cpb_ball_rounds_ball(const cpb_ball_rounds *rounds, const cpb_ball_out *out,
                                cpb_ball_report *report, cpb_error *error);

/** cpb_svdd_rounds_update_ids for ids of either kind. */
cpb_status cpb_svdd_rounds_update(cpb_svdd_rounds *rounds, cpb_view rows, cpb_row_ids ids,
                                  const double *weights, const cpb_exec *exec, cpb_error *error);

/** The best ball so far and its bounds; seconds and support are 0, iterations are rounds. EINVAL before the
 *  second round has ended.
 *  center   d coordinates, owned by the caller */
cpb_status cpb_svdd_rounds_ball(const cpb_svdd_rounds *rounds, double *center, cpb_svdd_report *report,
                                cpb_error *error);

/* ---- T10 for rows that are read from a source. ---- */

/** cpb_enclosing_ball, to the last bit, for rows that do not fit in memory: reads the source once per pass, and once before
 *  if its rows are not in memory.                                                               T10 */
cpb_status cpb_enclosing_ball_stream(cpb_source *source, const cpb_ball_options *options,
                                     const cpb_ball_out *out, cpb_ball_report *report, const cpb_exec *exec,
                                     cpb_error *error);

/* ---- Quantiles of the scores of a model. ---- */

/** `count` >= 2 quantiles of n >= 1 scores, equally spaced in rank, ascending; sorts the scores.
 *  quantiles  count numbers, owned by the caller */
void cpb_score_quantiles(double *scores, size_t n, size_t count, double *quantiles);

#endif
