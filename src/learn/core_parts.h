/* The inside of enclosing balls: rounds of one read of the rows and one exact solution on a working set.
 *
 * Everything is in units of 2^exponent of the data and relative to `origin`; the exponent is 0 unless squares
 * of the data would leave the range of double. Whole data are read by core_read.c with what it finds on the
 * way; pieces by core_round.c, where nothing may depend on how the rows are cut. */
#ifndef CPB_LEARN_CORE_PARTS_H
#define CPB_LEARN_CORE_PARTS_H

#include "capball/ball.h"
#include "learn/working_set.h"

enum { CPB_FAR_ROWS = 512, CPB_SAFE_EXPONENT = 250 };

/* The smallest ball seen, in units of the data. */
typedef struct cpb_best_ball {
  double *center;
  double radius, lower, gap; /* radius inf: none yet */
} cpb_best_ball;

struct cpb_core {
  const cpb_loops *loops;
  size_t d;
  cpb_ball_options options;
  int exponent;
  uint64_t round;     /* of pieces; 0: the first, which looks at the columns */
  uint64_t rows_seen; /* of this pass */
  bool started, done;
  double *origin;     /* in the unit, as all here; a row of whole data, the middle of the columns of pieces */
  double *point;      /* the ball's centre relative to origin */
  double *center;     /* origin + point */
  double *low, *high; /* of each column, in the unit of the data: pieces, round 0 */
  double lower2;      /* dual value */
  double proven2;     /* what of it holds whatever was rounded */
  double largest2;    /* of the rows seen in this pass, about center */
  cpb_working_set set, staged;
  cpb_hull hull; /* of the active-set method */
  size_t support_count;
  double *multiplier;
  uint64_t *support_row;
  size_t iterations, newcomers;
  cpb_best_ball best;
};

/* ids of the rows of a block: ids[i], or first + i. */
typedef struct cpb_row_ids {
  const uint64_t *ids;
  uint64_t first;
} cpb_row_ids;

/* How a block is read: every one of the CPB_FAR_ROWS farthest rows (pieces), or enough of them. */
typedef enum cpb_core_reading { CPB_READ_ENOUGH, CPB_READ_EXACTLY } cpb_core_reading;

void cpb_core_begin_pass(cpb_core *core);

/* Reads rows of whole data; the first ones start the core, and the unit follows what is met. */
cpb_status cpb_core_read(cpb_core *core, cpb_view x, const cpb_exec *exec, cpb_error *error);

/* One read in the unit there is; *out_of_range: some row is not in its range. */
cpb_status cpb_core_read_once(cpb_core *core, cpb_view x, cpb_row_ids ids, cpb_core_reading how,
                              bool *out_of_range, const cpb_exec *exec, cpb_error *error);

/* Ends a pass: what was staged joins, the ball moves. */
cpb_status cpb_core_move(cpb_core *core, cpb_error *error);

/* After a pass over all rows: keeps the smallest ball seen, and its gap. */
void cpb_core_keep_best(cpb_core *core);

void cpb_core_write(const cpb_core *core, const cpb_ball_out *out, cpb_ball_report *report);

#endif
