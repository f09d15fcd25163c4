/* The inside of enclosing balls: rounds of one read of the rows and one exact solution on a working set.
 *
 * Everything is in units of 2^exponent of the data and relative to `origin`; the exponent is 0 unless squares
 * of the data would leave the range of double. Whole data, streams and pieces go the same way: a sample of the
 * rows, the farthest rows of each round by (distance, id), which join in that order. Nothing depends on how the
 * rows are cut. */
#ifndef CPB_LEARN_BALL_ROUNDS_PARTS_H
#define CPB_LEARN_BALL_ROUNDS_PARTS_H

#include "capball/advanced/rounds.h"
#include "capball/ball.h"
#include "learn/piece_rounds.h"
#include "learn/working_set.h"

/* The smallest ball seen, in units of the data. */
typedef struct cpb_best_ball {
  double *center;
  double radius, lower, gap; /* radius inf: none yet */
} cpb_best_ball;

struct cpb_ball_rounds {
  const cpb_loops *loops;
  size_t d;
  cpb_ball_options options;
  int exponent;
  uint64_t round;     /* 0: the first, which looks at the columns and takes the sample */
  uint64_t rows_seen; /* of this pass */
  uint64_t rows;      /* of all, after round 0 */
  bool done;
  double *origin;              /* in the unit, as all here; the first row of the sample */
  double *point;               /* the ball's centre relative to origin */
  double *center;              /* origin + point */
  double *low, *high;          /* of each column, in the unit of the data: round 0 */
  double lower2;               /* dual value */
  double proven2;              /* what of it holds whatever was rounded */
  double largest2;             /* of the rows seen in this pass, about center */
  cpb_working_set set, staged; /* staged in round 0: the sample, in the unit of the data */
  double sample_rank;          /* rows of the sample to come have a larger one, .. */
  uint64_t sample_id;          /* .. or the same and a smaller id */
  cpb_hull hull;               /* of the active-set method */
  size_t support_count;
  double *multiplier;
  uint64_t *support_row;
  size_t iterations, newcomers;
  cpb_best_ball best;
};

void cpb_ball_rounds_begin_pass(cpb_ball_rounds *rounds);

/* One read about the present centre: the farthest rows are staged. *out_of_range: some row is not in the range of
 * the unit, and nothing was. */
cpb_status cpb_ball_rounds_read(cpb_ball_rounds *rounds, cpb_view x, cpb_row_ids ids, bool *out_of_range,
                                const cpb_exec *exec, cpb_error *error);

/* Of what was staged the rows that may join stay. */
cpb_status cpb_ball_rounds_keep_far(cpb_ball_rounds *rounds);

/* ---- the sample: the rows whose ids have most zeros at their end, of equals those of the least ids ---- */

/* Takes the rows of a block that belong to it, where they are finite; after a failure there are only more of them. */
cpb_status cpb_ball_rounds_sample(cpb_ball_rounds *rounds, cpb_view x, cpb_row_ids ids);

/* The same of a block that begins with row `first` of so many rows, whose ids are their numbers. */
cpb_status cpb_ball_rounds_sample_of(cpb_ball_rounds *rounds, cpb_view x, uint64_t first, uint64_t rows);

/* Takes that of another piece. */
cpb_status cpb_ball_rounds_sample_join(cpb_ball_rounds *rounds, const cpb_ball_rounds *piece);

/* Begins round 1: unit, origin and first centre. */
cpb_status cpb_ball_rounds_start(cpb_ball_rounds *rounds, int exponent, uint64_t rows, cpb_error *error);

/* Whether round 1, begun in the unit of the data without a look at the columns and read, may stand; if not, the
 * rounds begin anew, and round 0 must be read. */
bool cpb_ball_rounds_may_stand(cpb_ball_rounds *rounds, bool out_of_range);

/* Ends a pass: what was staged joins, the ball moves. */
cpb_status cpb_ball_rounds_move(cpb_ball_rounds *rounds, cpb_error *error);

/* After a pass over all rows: keeps the smallest ball seen, and its gap. */
void cpb_ball_rounds_keep_best(cpb_ball_rounds *rounds);

void cpb_ball_rounds_write(const cpb_ball_rounds *rounds, const cpb_ball_out *out, cpb_ball_report *report);

#endif
