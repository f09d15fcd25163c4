/* The inside of cpb_share_solve, by parts: scores and the best filling (share_fill.c), rows about the edge
 * (share_band.c), rows that are out of the question (share_rows.c), the iteration and its bounds (share.c).
 */
#ifndef CPB_LEARN_SHARE_SOLVER_H
#define CPB_LEARN_SHARE_SOLVER_H

#include "learn/share.h"
#include "learn/twofold.h"

enum { CPB_SHARE_BLOCK = 4096, CPB_BAND_MOST = 4096 };

typedef struct cpb_scored {
  double score;
  size_t row;
} cpb_scored;

/* A sum of caps: counted where all are the same. */
typedef struct cpb_cap_sum {
  size_t rows;
  cpb_twofold sum;
} cpb_cap_sum;

/* Feasible multipliers: rows with a bit are full, parts hold what they say. */
typedef struct cpb_filling {
  uint64_t tag;
  uint64_t *bits;
  size_t part_count;
  cpb_scored *parts; /* a row and, as its score, its multiplier */
} cpb_filling;

/* The column of the best filling at a point. */
typedef struct cpb_best_filling {
  size_t edge; /* the row taken in part */
  double edge_weight, edge_score;
  double value;   /* sum of multiplier times score */
  double height;  /* sum of multiplier times |p|^2 */
  double size;    /* of the numbers that were added for it: what rounding is measured by */
  double *column; /* sum of multiplier times p */
  uint64_t *bits;
} cpb_best_filling;

/* Rows whose multipliers are known to be full: their caps, and the sums of caps times p and |p|^2. */
typedef struct cpb_full_rows {
  cpb_cap_sum cap;
  double squares;
  double *column;
  uint64_t *bits; /* over all rows */
} cpb_full_rows;

/* A decision holds for points within half its slack. */
typedef struct cpb_decision {
  double *point, slack;
} cpb_decision;

typedef struct cpb_share_solver {
  cpb_share *share;
  size_t n, d, blocks; /* n rows are still in question */
  cpb_view x;          /* those rows: the caller's, or copies */
  double *copies;
  size_t *name; /* their numbers in the data; NULL: they are all rows */
  double *caps; /* theirs, once copies were made of rows with caps of their own */
  cpb_full_rows full;
  cpb_decision *decisions;
  size_t decision_count;
  double *score;
  cpb_scored *candidates;
  double *center;  /* origin + point, of the scores */
  double *partial; /* per block: twice d sums */
  double *sums;    /* per block: sum of cap times score */
  cpb_hull hull;
  cpb_filling *fillings;
  size_t filling_count, filling_room;
  uint64_t filling_tag; /* of the next */
  cpb_best_filling now;
  double moved; /* |point - the point before|, for the bracket of the edge */
  double last_edge;
  size_t band_rows;  /* in the next band */
  double unit_error; /* of one sum over the rows, relative to its size */
  double doubt;      /* of the columns: what rounding can have added to a value */
} cpb_share_solver;

static inline double cpb_share_cap(const cpb_share_solver *s, size_t i) {
  const double *caps = s->caps != NULL ? s->caps : s->share->caps;
  return caps == NULL ? s->share->cap : caps[i];
}

static inline size_t cpb_share_name(const cpb_share_solver *s, size_t i) {
  return s->name == NULL ? i : s->name[i];
}

static inline void cpb_cap_sum_add(const cpb_share_solver *s, cpb_cap_sum *to, size_t i) {
  if (s->share->caps == NULL)
    to->rows++;
  else
    cpb_twofold_add(&to->sum, cpb_share_cap(s, i));
}

static inline double cpb_cap_sum_value(const cpb_share_solver *s, cpb_cap_sum of) {
  return (double)of.rows * s->share->cap + cpb_twofold_value(of.sum);
}

/* a before b: the order in which a filling takes them. */
static inline bool cpb_scored_before(cpb_scored a, cpb_scored b) {
  return a.score > b.score || (a.score == b.score && a.row < b.row);
}

/* Whether the present filling takes row i in full. */
static inline bool cpb_share_is_full(const cpb_share_solver *s, size_t i) {
  return cpb_scored_before((cpb_scored){s->score[i], i}, (cpb_scored){s->now.edge_score, s->now.edge});
}

/* to += from, which is then 0: rows join sums in groups, which keeps the error of long sums small. */
void cpb_share_move_sum(double *from, double *to, size_t d);

/* sum += weight p_i */
void cpb_share_add_row(const cpb_share_solver *s, size_t row, double weight, double *sum);

/* The first `count` of the rows in order, in any order, to the front. */
void cpb_scored_select(cpb_scored *rows, size_t n, size_t count);

/* Scores of all rows at point, which becomes that of the nearest centre that is a double. */
void cpb_share_score(cpb_share_solver *s, double *point);

/* The filling that is best at the scores' point, into s->now; marks its rows in s->now.bits. */
void cpb_share_fill(cpb_share_solver *s, const double *point);

/* For qsort: in that order. */
int cpb_scored_compare(const void *a, const void *b);

/* The multipliers of the hull: a mixture of its fillings, one number per row of the data. */
void cpb_share_multipliers(const cpb_share_solver *s, double *a);

/* A column of the hull besides fillings; size as in cpb_best_filling. */
typedef struct cpb_band_column {
  double *p; /* d, the caller's */
  double q, size;
} cpb_band_column;

/* Multipliers better than the hull's, by a band of rows about the edge of s->now: what they are into `made`,
 * which owns it, and their column. */
cpb_status cpb_share_improve(cpb_share_solver *s, cpb_filling *made, cpb_band_column *column);

/* Copies of the rows in question take the place of all rows once they are less than half of them. Without
 * memory for them nothing changes. */
void cpb_share_leave_decided(cpb_share_solver *s, const double *point);

/* Whether everything decided holds at the point. */
bool cpb_share_decisions_hold(const cpb_share_solver *s, const double *point);

/* All rows are in question again. */
void cpb_share_take_all_back(cpb_share_solver *s);

#endif
