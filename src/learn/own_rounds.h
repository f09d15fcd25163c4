/* Rounds in one process: rows identified by their numbers, and the ball without a model. */
#ifndef CPB_LEARN_OWN_ROUNDS_H
#define CPB_LEARN_OWN_ROUNDS_H

#include "capball/advanced/rounds.h"

/** Adds rows first_id, first_id+1, .. to the present round. EROW as above, EINVAL for rows that the first round
 *  cannot have seen; the object is then unchanged. */
cpb_status cpb_ball_rounds_update(cpb_ball_rounds *rounds, cpb_view rows, uint64_t first_id,
                                  const cpb_exec *exec, cpb_error *error);

/** The best ball so far, with ids as the rows of its support. report->passes counts rounds; its seconds are 0.
 *  EINVAL before the second round has ended. */
cpb_status cpb_ball_rounds_ball(const cpb_ball_rounds *rounds, const cpb_ball_out *out,
                                cpb_ball_report *report, cpb_error *error);

/** Adds rows first_id, first_id+1, .. to the present round, with their weights >= 0 (NULL: all 1). EROW and EINVAL
 *  as in cpb_svdd, EINVAL for rows that the first round cannot have seen; the object is then unchanged. */
cpb_status cpb_svdd_rounds_update(cpb_svdd_rounds *rounds, cpb_view rows, uint64_t first_id,
                                  const double *weights, const cpb_exec *exec, cpb_error *error);

/** The best ball so far and its bounds; seconds and support are 0, iterations are rounds. EINVAL before the
 *  second round has ended.
 *  center   d coordinates, owned by the caller */
cpb_status cpb_svdd_rounds_ball(const cpb_svdd_rounds *rounds, double *center, cpb_svdd_report *report,
                                cpb_error *error);

#endif
