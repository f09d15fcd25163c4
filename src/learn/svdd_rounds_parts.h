/* Internals of SVDD in pieces. A round is about one centre and one guess of the edge, a squared distance: it
 * gathers the exact sums of the rows beyond the edge, the rows nearest to it, and a histogram of the weight of all
 * rows around it. Everything is in units of 2^exponent of the data. */
#ifndef CPB_LEARN_SVDD_ROUNDS_PARTS_H
#define CPB_LEARN_SVDD_ROUNDS_PARTS_H

#include "capball/advanced/rounds.h"
#include "capball/ball.h"
#include "learn/hull.h"
#include "scale/exact_sum.h"

enum { CPB_SVDD_ROUNDS_ROWS = 2048, CPB_SVDD_ROUNDS_BINS = 4096 }; /* half of the bins are below the edge */

/* Stored rows, with their ids, weights and squared distances; p = x - center. */
typedef struct cpb_svdd_rounds_rows {
  size_t count, room;
  uint64_t *id;
  double *weight, *dist2;
  double *p; /* count rows of d */
} cpb_svdd_rounds_rows;

/* The parameters of a round, the same for all its pieces. */
typedef struct cpb_svdd_rounds_question {
  uint64_t round; /* 0: only the columns */
  int exponent;
  int octave;     /* of the squares that occur: the middle of the bins */
  double total;   /* weight of all rows */
  double edge;    /* squared */
  double *center; /* d */
} cpb_svdd_rounds_question;

/* What a round gathers. */
typedef struct cpb_svdd_rounds_gathered {
  uint64_t rows;      /* with a weight */
  double *low, *high; /* round 0: of each column, in the unit of the data */
  cpb_exact_sum *sum; /* d + 2, of dropped rows: weight times p, weight, weight times squared distance; those
                         beyond the edge, then the same for those on it. Round 0: the columns of all rows,
                         and weights */
  uint64_t *bins;     /* CPB_SVDD_ROUNDS_BINS: weight by distance from the edge, in 2^-62 of the total */
  cpb_svdd_rounds_rows near_edge; /* a heap, the farthest from the edge first, once it is full */
} cpb_svdd_rounds_gathered;

/* The state of the driver: columns of the hull about `origin`, the bounds, the best centre. */
typedef struct cpb_svdd_rounds_known {
  size_t column_count, column_room;
  double *p, *q, *mass; /* rows of d; heights; the weight each had in the hull */
  double *origin, *best;
  double doubt, upper, lower, edge;
  uint64_t stalls;
  bool done;
} cpb_svdd_rounds_known;

struct cpb_svdd_rounds {
  const cpb_loops *loops;
  size_t d;
  cpb_svdd_options options;
  cpb_svdd_rounds_question ask;
  cpb_svdd_rounds_gathered got;
  cpb_svdd_rounds_known known;
};

static inline size_t cpb_svdd_rounds_sums(const cpb_svdd_rounds *rounds) { return 2 * (rounds->d + 2); }

/* Resets what was gathered. */
void cpb_svdd_rounds_clear(cpb_svdd_rounds *rounds);

/* Stores a row among those near the edge; a row that must be dropped for it is added to the sums. */
cpb_status cpb_svdd_rounds_keep(cpb_svdd_rounds *rounds, uint64_t id, double weight, double dist2,
                                const double *p);

/* Allocates space for the rows near the edge. */
cpb_status cpb_svdd_rounds_rows_room(cpb_svdd_rounds_rows *rows, size_t d);

/* Declares the first `count` rows in that space to be those near the edge. */
void cpb_svdd_rounds_take_rows(cpb_svdd_rounds *rounds, size_t count);

/* The rows near the edge by distance, the farthest from the centre first; ties by id. */
cpb_status cpb_svdd_rounds_sort(const cpb_svdd_rounds_rows *rows, size_t d, cpb_svdd_rounds_rows *sorted);
void cpb_svdd_rounds_rows_free(cpb_svdd_rounds_rows *rows);

/* Allocates space for `count` columns of the hull in all. */
cpb_status cpb_svdd_rounds_columns_room(cpb_svdd_rounds *rounds, size_t count);

#endif
