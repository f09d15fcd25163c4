/* T10 for rows that are read from a source, and one step of the cap iteration. */
#ifndef CPB_LEARN_BALL_STREAM_H
#define CPB_LEARN_BALL_STREAM_H

#include "capball/ball.h"

/** One step of the cap iteration: embeds the rows about `center` at scale s, finds the cap whose plane goes through
 *  the support vectors of the widest margin to -e, and moves `center` to the centre of its ball (T3).
 *  With s = the present radius the distance to the true centre falls cubically.                  T10
 *  x   n >= 1 finite rows of d, copied and lifted: n(2d+1) doubles are allocated */
cpb_status cpb_ball_cap_step(cpb_view x, double s, double *center, cpb_error *error);

/** The same, to the last bit, for rows that do not fit in memory: reads the source once per pass, and once before
 *  if its rows are not in memory.                                                               T10 */
cpb_status cpb_enclosing_ball_stream(cpb_source *source, const cpb_ball_options *options,
                                     const cpb_ball_out *out, cpb_ball_report *report, const cpb_exec *exec,
                                     cpb_error *error);

#endif
