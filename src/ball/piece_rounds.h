/* Rounds over pieces of the data: the states of both kinds, and what they share. */
#ifndef CPB_BALL_PIECE_ROUNDS_H
#define CPB_BALL_PIECE_ROUNDS_H

#include <stdbool.h>
#include <stddef.h>

#include "capball/advanced/rounds.h"
#include "capball/ball.h"
#include "capball/status.h"
#include "base/memory.h"
#include "ball/hull.h"
#include "ball/working_set.h"
#include "statistics/exact_sum.h"
#include "statistics/row_sample.h"

enum { CPB_SAFE_EXPONENT = 250 }; /* sums of squares of numbers up to 2^this are safe in double */

/* Widens the extremes of d columns by those of more rows; `first`: there were none before. 0 is never -0. */
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

/* nu n >= 1: below that nu has no effect. Weights may have any unit, so with them it is not checked. */
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

/* The best ball so far, with ids as the rows of its support, and rounds as passes. EINVAL before round 2. */
cpb_status cpb_ball_rounds_ball(const cpb_ball_rounds *rounds, const cpb_ball_out *out,
                                cpb_ball_report *report, cpb_error *error);

/** cpb_svdd_rounds_update_ids for ids of either kind. */
cpb_status cpb_svdd_rounds_update(cpb_svdd_rounds *rounds, cpb_view rows, cpb_row_ids ids,
                                  const double *weights, const cpb_exec *exec, cpb_error *error);

/* The best ball so far and its bounds, with rounds as iterations. EINVAL before round 2. */
cpb_status cpb_svdd_rounds_ball(const cpb_svdd_rounds *rounds, double *center, cpb_svdd_report *report,
                                cpb_error *error);

/* ---- T10 for rows that are read from a source. ---- */

/* cpb_enclosing_ball, to the last bit, for rows that do not fit in memory: reads the source once per pass. T10 */
cpb_status cpb_enclosing_ball_stream(cpb_source *source, const cpb_ball_options *options,
                                     const cpb_ball_out *out, cpb_ball_report *report, const cpb_exec *exec,
                                     cpb_error *error);

/* ---- Quantiles of the scores of a model, and its threshold. ---- */

/* `count` >= 2 quantiles of n >= 1 scores, equally spaced in rank, ascending; sorts the scores. */
void cpb_score_quantiles(double *scores, size_t n, size_t count, double *quantiles);

/* The largest of n >= 1 scores such that at most the fraction `share` < 1 of the rows, or of their weight, scores less.
 * Rows with equal scores are on the same side of it. weights: NULL, all 1. */
cpb_status cpb_score_threshold(const double *scores, const double *weights, size_t n, double share,
                               double *threshold, cpb_error *error);

/* ---- The states of both kinds. ---- */

struct cpb_ball_rounds {
  const cpb_loops *loops;
  size_t d;
  cpb_ball_options options;
  int exponent;
  uint64_t round;     /* 0: the first, which reads the columns and takes the sample */
  uint64_t rows_seen; /* of this pass */
  uint64_t rows;      /* of the whole data, after round 0 */
  bool done;
  double *origin;     /* in the unit, like everything here; the first row of the sample */
  double *point;      /* the ball's centre relative to origin */
  double *center;     /* origin + point */
  double *low, *high; /* of each column, in the unit of the data: round 0 */
  double lower2;      /* dual value */
  double proven2;     /* the part of lower2 that holds despite rounding errors */
  double largest2;    /* of the rows seen in this pass, about center */
  cpb_working_set set,
      staged;           /* staged in round 0: the sample, ranked by rank_of its id, in the unit of the data */
  cpb_hull hull;        /* of the active-set method */
  size_t support_count; /* at most d+1 */
  double *multiplier;
  uint64_t *support_row;
  size_t iterations, newcomers;
  /* the smallest ball seen, in units of the data; of the report radius (inf: none yet), lower_bound and gap */
  double *best_center;
  cpb_ball_report best;
  cpb_memory memory;
};

enum { CPB_EDGE_ROWS = 2048, CPB_EDGE_BINS = 4096 }; /* half of the bins are below the edge */

/* The parameters of a round, the same for all its pieces. */
typedef struct cpb_svdd_question {
  uint64_t round; /* 0: only the columns */
  int exponent;
  int octave;     /* of the squares that occur: the middle of the bins */
  double total;   /* weight of all rows */
  double edge;    /* squared */
  double *center; /* d */
} cpb_svdd_question;

/* What a round gathers. */
typedef struct cpb_svdd_gathered {
  uint64_t rows;      /* with a weight */
  double *low, *high; /* round 0: of each column, in the unit of the data */
  cpb_exact_sum *sum; /* d + 2, of dropped rows: weight times p, weight, weight times squared distance; those
                         beyond the edge, then the same for those on it. Round 0: the columns of all rows,
                         and weights */
  uint64_t *bins;     /* CPB_EDGE_BINS: weight by distance from the edge, in 2^-62 of the total */
  cpb_working_set near_edge; /* rows p = x - center */
} cpb_svdd_gathered;

/* The state of the driver: columns of the hull about `origin`, the bounds, the best centre. */
typedef struct cpb_svdd_known {
  cpb_working_set columns; /* dist2: heights; weight: the one each had in the hull */
  double *origin, *best;
  double rounding_bound, upper, lower, edge;
  uint64_t stalls;
  bool done;
} cpb_svdd_known;

struct cpb_svdd_rounds {
  const cpb_loops *loops;
  size_t d;
  cpb_svdd_options options;
  cpb_svdd_question ask;
  cpb_svdd_gathered got;
  cpb_svdd_known known;
  cpb_memory memory;
};

static inline size_t cpb_svdd_sums(const cpb_svdd_rounds *rounds) { return 2 * (rounds->d + 2); }

#endif
