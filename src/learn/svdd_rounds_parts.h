/* The inside of SVDD in pieces. A round asks about one centre and one guess of the edge, a squared distance:
 * of the rows beyond it the sums, without rounding, of the rows nearest to it the rows themselves, and of all
 * how their weight is spread about it. Everything is in units of 2^exponent of the data. */
#ifndef CPB_LEARN_SVDD_ROUNDS_PARTS_H
#define CPB_LEARN_SVDD_ROUNDS_PARTS_H

#include "capball/advanced/rounds.h"
#include "capball/ball.h"
#include "learn/hull.h"
#include "scale/exact_sum.h"

enum { CPB_SVDD_ROUNDS_ROWS = 2048, CPB_SVDD_ROUNDS_BINS = 4096 }; /* half of the bins are below the edge */

/* Rows kept, with their ids, weights and squared distances; p = x - center. */
typedef struct cpb_svdd_rounds_rows {
  size_t count, room;
  uint64_t *id;
  double *weight, *dist2;
  double *p; /* count rows of d */
} cpb_svdd_rounds_rows;

/* What a round asks, the same for all its pieces. */
typedef struct cpb_svdd_rounds_question {
  uint64_t round; /* 0: the columns alone */
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
  cpb_exact_sum *sum; /* d + 2, of rows let go: weight times p, weight, weight times squared distance; those
                         beyond the edge, then as many of those upon it. Round 0: of all rows the columns
                         themselves, and weights */
  uint64_t *bins;     /* CPB_SVDD_ROUNDS_BINS: weight by distance from the edge, in 2^-62 of the total */
  cpb_svdd_rounds_rows near_edge; /* a heap, the farthest from the edge first, once it is full */
} cpb_svdd_rounds_gathered;

/* What the driver knows: columns of the hull about `origin`, the bounds, the best centre. */
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

/* Nothing gathered yet. */
void cpb_svdd_rounds_clear(cpb_svdd_rounds *rounds);

/* A row among those near the edge, or what is left of it in the sums when it has to go. */
cpb_status cpb_svdd_rounds_keep(cpb_svdd_rounds *rounds, uint64_t id, double weight, double dist2,
                                const double *p);

/* Room for the rows near the edge. */
cpb_status cpb_svdd_rounds_rows_room(cpb_svdd_rounds_rows *rows, size_t d);

/* The first `count` rows in that room are those near the edge. */
void cpb_svdd_rounds_take_rows(cpb_svdd_rounds *rounds, size_t count);

/* The rows near the edge in the order of distance, the farthest from the centre first; of equals by id. */
cpb_status cpb_svdd_rounds_sort(const cpb_svdd_rounds_rows *rows, size_t d, cpb_svdd_rounds_rows *sorted);
void cpb_svdd_rounds_rows_free(cpb_svdd_rounds_rows *rows);

/* Room for so many columns of the hull in all. */
cpb_status cpb_svdd_rounds_columns_room(cpb_svdd_rounds *rounds, size_t count);

#endif
