/* Internals of enclosing balls: each round reads the rows once and solves a working set exactly.
 *
 * Everything is in units of 2^exponent of the data and relative to `origin`; the exponent is 0 unless squares
 * of the data would leave the range of double. Data in memory, streams and pieces use the same method: a sample of
 * the rows, then in each round the farthest rows by (distance, id), which join in that order. Nothing depends on how
 * the rows are divided. */
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
  uint64_t round;     /* 0: the first, which reads the columns and takes the sample */
  uint64_t rows_seen; /* of this pass */
  uint64_t rows;      /* of the whole data, after round 0 */
  bool done;
  double *origin;              /* in the unit, like everything here; the first row of the sample */
  double *point;               /* the ball's centre relative to origin */
  double *center;              /* origin + point */
  double *low, *high;          /* of each column, in the unit of the data: round 0 */
  double lower2;               /* dual value */
  double proven2;              /* the part of lower2 that holds despite rounding errors */
  double largest2;             /* of the rows seen in this pass, about center */
  cpb_working_set set, staged; /* staged in round 0: the sample, in the unit of the data */
  double sample_rank;          /* rows still to come enter the sample with a larger rank, */
  uint64_t sample_id;          /* or with the same rank and a smaller id */
  cpb_hull hull;               /* of the active-set method */
  size_t support_count;
  double *multiplier;
  uint64_t *support_row;
  size_t iterations, newcomers;
  cpb_best_ball best;
};

void cpb_ball_rounds_begin_pass(cpb_ball_rounds *rounds);

/* One read about the present centre: stages the farthest rows. *out_of_range: some row is out of the range of the
 * unit, and nothing was staged. */
cpb_status cpb_ball_rounds_read(cpb_ball_rounds *rounds, cpb_view x, cpb_row_ids ids, bool *out_of_range,
                                const cpb_exec *exec, cpb_error *error);

/* Keeps only the staged rows that may join. */
cpb_status cpb_ball_rounds_keep_far(cpb_ball_rounds *rounds);

/* ---- the sample: the rows whose ids have the most trailing zeros, ties in favour of smaller ids ---- */

/* Adds the finite rows of a block that belong to the sample; after a failure the sample may only be too large. */
cpb_status cpb_ball_rounds_sample(cpb_ball_rounds *rounds, cpb_view x, cpb_row_ids ids);

/* The same for a block that begins with row `first` of `rows` rows, whose ids are their numbers. */
cpb_status cpb_ball_rounds_sample_of(cpb_ball_rounds *rounds, cpb_view x, uint64_t first, uint64_t rows);

/* Adds the sample of another piece. */
cpb_status cpb_ball_rounds_sample_join(cpb_ball_rounds *rounds, const cpb_ball_rounds *piece);

/* Begins round 1: unit, origin and first centre. */
cpb_status cpb_ball_rounds_start(cpb_ball_rounds *rounds, int exponent, uint64_t rows, cpb_error *error);

/* Whether round 1, which was read in the unit of the data without reading the columns, is valid; if not, the
 * rounds are reset, and round 0 must be read. */
bool cpb_ball_rounds_may_stand(cpb_ball_rounds *rounds, bool out_of_range);

/* Ends a pass: staged rows join, the ball moves. */
cpb_status cpb_ball_rounds_move(cpb_ball_rounds *rounds, cpb_error *error);

/* After a pass over all rows: keeps the smallest ball seen, and its gap. */
void cpb_ball_rounds_keep_best(cpb_ball_rounds *rounds);

void cpb_ball_rounds_write(const cpb_ball_rounds *rounds, const cpb_ball_out *out, cpb_ball_report *report);

#endif
